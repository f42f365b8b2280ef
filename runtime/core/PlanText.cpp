//===- PlanText.cpp - A plan to read --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Plan.h"

#include <fmt/core.h>

#include <algorithm>

namespace ff::rt {

std::string bytesText(size_t bytes) {
  constexpr const char *names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024)
    return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < std::size(names)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, names[unit]);
}

namespace {

std::string scaled(double count, const char *const (&names)[7]) {
  size_t unit = 0;
  while (count >= 999.95 && unit + 1 < std::size(names)) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", count, unit ? 1 : 0, names[unit]);
}

/// "351.4 M".
std::string countText(double count) {
  return scaled(count, {"", " k", " M", " B", " T", " P", " E"});
}

/// "1.5 TFLOP".
std::string flopsText(double count) {
  return scaled(count, {" FLOP", " KFLOP", " MFLOP", " GFLOP", " TFLOP",
                        " PFLOP", " EFLOP"});
}

/// A table whose first column is aligned to the left, the others to the right.
class Table {
public:
  void row(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }

  std::string text() const {
    std::vector<size_t> widths;
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i) {
        widths.resize(std::max(widths.size(), row.size()));
        widths[i] = std::max(widths[i], row[i].size());
      }
    std::string result;
    for (const auto &row : rows) {
      std::string line = "  ";
      for (size_t i = 0; i < row.size(); ++i)
        line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                       : fmt::format("   {:>{}}", row[i], widths[i]);
      result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return result;
  }

private:
  std::vector<std::vector<std::string>> rows;
};

std::string limitText(const char *key, std::optional<int64_t> limit,
                      bool fits) {
  return limit ? fmt::format("{} = {}, {}", key,
                             bytesText(static_cast<size_t>(*limit)),
                             fits ? "fits" : "DOES NOT FIT")
               : std::string();
}

std::string memoryText(const Plan &plan) {
  Table peaks;
  auto peak = [&](const char *what, size_t bytes, const char *key,
                  std::optional<int64_t> limit, bool fits) {
    std::vector<std::string> cells = {what, bytesText(bytes),
                                      fmt::format("{} bytes", bytes)};
    if (limit)
      cells.push_back(limitText(key, limit, fits));
    peaks.row(std::move(cells));
  };
  peak("device, reserved at start", plan.peakDeviceBytes, "device_memory",
       plan.deviceMemory, plan.fitsDevice());
  peak("host, at most", plan.peakHostBytes, "host_memory", plan.hostMemory,
       plan.fitsHost());
  std::string text = "\neach rank takes\n" + peaks.text();
  text +=
      fmt::format("  largest buffer: {}, {}\n",
                  bytesText(plan.largestBuffer.bytes), plan.largestBuffer.what);

  Table table;
  table.row(
      {"in use, per rank", "load", "forward, backward", "optimizer", "save"});
  auto line = [&](const char *what, size_t PlanPhase::*member) {
    std::vector<std::string> cells = {what};
    for (const PlanPhase &phase : plan.phases)
      cells.push_back(phase.*member ? bytesText(phase.*member) : "-");
    table.row(std::move(cells));
  };
  line("parameters", &PlanPhase::parameters);
  line("gradients", &PlanPhase::gradients);
  line("optimizer state", &PlanPhase::optimizer);
  line("activations", &PlanPhase::activations);
  line("gathered, in flight", &PlanPhase::gather);
  std::vector<std::string> sums = {"together"};
  for (const PlanPhase &phase : plan.phases)
    sums.push_back(bytesText(phase.deviceBytes()));
  table.row(std::move(sums));
  line("besides, on the host", &PlanPhase::host);
  text += "\n" + table.text();
  text +=
      fmt::format("  of the parameters {} are trained, {} frozen\n",
                  bytesText(plan.trainedBytes), bytesText(plan.frozenBytes));
  return text;
}

std::string componentsText(const Plan &plan) {
  Table table;
  table.row({"component", "train", "parameters", "trained", "stored",
             "per rank", "in files"});
  for (const PlanComponent &component : plan.components)
    table.row({component.name + " (" + component.module + ")", component.train,
               countText(static_cast<double>(component.params)),
               countText(static_cast<double>(component.trainableParams)),
               bytesText(component.bytes), bytesText(component.rankBytes),
               component.fileBytes ? bytesText(component.fileBytes) : "-"});
  std::string text = "\n" + table.text();
  for (const PlanComponent &component : plan.components)
    if (component.train == "lora")
      text += fmt::format(
          "  adapters of {}: {} parameters on {} of {} layers, {:.1f} % of its "
          "weights\n",
          component.name,
          countText(static_cast<double>(component.adapterParams)),
          component.adaptedLayers, component.layers,
          100 * static_cast<double>(component.adaptedParams) /
              static_cast<double>(component.params - component.adapterParams));
  return text;
}

std::string groupText(const PlanGroup &group) {
  std::string text = group.dtype;
  if (group.gatherDtype != group.dtype)
    text += " gathered as " + group.gatherDtype;
  text += group.trainable ? " trained" : " frozen";
  if (group.trainable && group.masterDtype != group.dtype)
    text += " with master " + group.masterDtype;
  if (group.trainable)
    text += " reduced in " + group.reduceDtype;
  return text + " " + countText(static_cast<double>(group.params));
}

/// What of two units must be equal for them to be one line.
std::string unitText(const Plan &plan, const Unit &unit) {
  std::string text;
  for (int index : unit.groups)
    text += (text.empty() ? "" : ", ") + groupText(plan.groups[index]);
  return "{" + text + "}";
}

/// "blocks" and 3 of "blocks.3"; -1 where the name ends otherwise.
std::pair<std::string, int64_t> splitNumber(const std::string &name) {
  size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot + 1 == name.size() ||
      name.find_first_not_of("0123456789", dot + 1) != std::string::npos ||
      name.size() - dot > 10)
    return {name, -1};
  return {name.substr(0, dot), std::stoll(name.substr(dot + 1))};
}

std::string unitsText(const Plan &plan) {
  Table table;
  for (size_t first = 0; first < plan.units.size();) {
    std::string groups = unitText(plan, plan.units[first]);
    auto [list, begin] = splitNumber(plan.units[first].name);
    size_t last = first;
    while (begin >= 0 && last + 1 < plan.units.size()) {
      auto [otherList, number] = splitNumber(plan.units[last + 1].name);
      if (otherList != list ||
          number != begin + static_cast<int64_t>(last + 1 - first) ||
          unitText(plan, plan.units[last + 1]) != groups)
        break;
      ++last;
    }
    std::string name = plan.units[first].name;
    if (last > first)
      name += "-" + std::to_string(splitNumber(plan.units[last].name).second);
    table.row({fmt::format("{}: {} x {}", name, last - first + 1, groups)});
    first = last + 1;
  }
  return "\nunits\n" + table.text();
}

std::string collectivesText(const Plan &plan) {
  if (plan.collectives.empty())
    return "\nno collectives: one rank\n";
  struct Sum {
    std::string kind, axis;
    int64_t count = 0;
    size_t rankBytes = 0, totalBytes = 0;
  };
  std::vector<Sum> sums;
  for (const PlanCollective &collective : plan.collectives) {
    auto it = std::find_if(sums.begin(), sums.end(), [&](const Sum &sum) {
      return sum.kind == collective.kind && sum.axis == collective.axis;
    });
    if (it == sums.end())
      it = sums.insert(sums.end(), {collective.kind, collective.axis, 0, 0, 0});
    it->count += collective.count;
    it->rankBytes += collective.rankBytes;
    it->totalBytes += collective.totalBytes;
  }
  Table table;
  table.row({"collectives of a step", "axis", "count", "received by a rank",
             "by all"});
  for (const Sum &sum : sums)
    table.row({sum.kind, sum.axis, std::to_string(sum.count),
               bytesText(sum.rankBytes), bytesText(sum.totalBytes)});
  return "\n" + table.text();
}

std::string runText(const Plan &plan) {
  const PlanBatch &batch = plan.batch;
  const PlanSchedule &schedule = plan.schedule;
  std::string text = fmt::format(
      "\nbatch: {} samples = {} micro-batches of {}, {} round{} on {} rank{}",
      batch.global, batch.global / batch.micro, batch.micro, batch.accumulation,
      batch.accumulation == 1 ? "" : "s", batch.dataParallel,
      batch.dataParallel == 1 ? "" : "s");
  if (batch.idleMicroBatches)
    text += fmt::format("; {} micro-batch{} of a step count nothing",
                        batch.idleMicroBatches,
                        batch.idleMicroBatches == 1 ? "" : "es");
  if (!plan.buckets.empty()) {
    text += fmt::format("\nbuckets: {}, of which a step has one; the first is "
                        "the one above and below\n",
                        plan.buckets.size());
    Table table;
    table.row({"inputs", "micro-batch", "rounds", "compute in a step"});
    for (const PlanBucket &bucket : plan.buckets)
      table.row({bucket.inputs, std::to_string(bucket.micro),
                 std::to_string(bucket.accumulation), flopsText(bucket.flops)});
    text += table.text();
    text.pop_back();
  }
  text += fmt::format("\nlr: {}, {:g} in step 1, {:g} after {} steps of "
                      "warmup, {:g} in step {}\n",
                      schedule.kind, schedule.lrFirst, schedule.lrAfterWarmup,
                      schedule.warmupSteps, schedule.lrLast, schedule.steps);
  if (schedule.samples) {
    text += fmt::format("data: {} samples, of which the run reads {} ({:.2f} "
                        "epochs)",
                        *schedule.samples, schedule.samplesRead,
                        static_cast<double>(schedule.samplesRead) /
                            static_cast<double>(*schedule.samples));
    if (schedule.samplesDropped)
      text += fmt::format("; {} are never read", schedule.samplesDropped);
    text += "\n";
  }
  text += fmt::format(
      "compute: {} in a step, {} on a rank; {}\n", flopsText(plan.flopsPerStep),
      flopsText(plan.flopsPerRank),
      plan.recompute.empty() ? std::string("nothing is computed again")
                             : fmt::format("{} units are computed again in the "
                                           "backward",
                                           plan.recompute.size()));
  return text;
}

std::string saveText(const Plan &plan) {
  Table table;
  table.row({"in a checkpoint", "kind", "tensors", "size"});
  for (const PlanSave &save : plan.save)
    for (const PlanFile &file : save.files)
      table.row({file.name, save.kind, std::to_string(file.tensors),
                 bytesText(file.bytes)});
  const PlanCheckpoint &checkpoint = plan.checkpoint;
  table.row({"state/", "", "", bytesText(checkpoint.state)});
  table.row({"together", "", "", bytesText(checkpoint.total)});
  return "\n" + table.text() +
         fmt::format("  in {}, keep = {}: {} stay, {} while the newest is "
                     "written\n",
                     plan.checkpointDir, checkpoint.keep,
                     bytesText(checkpoint.kept), bytesText(checkpoint.peak));
}

} // namespace

std::string planToText(const Plan &plan) {
  int64_t ranks = plan.mesh.world();
  return fmt::format("plan of {}: {} rank{} (replicate {} x shard {}){}\n",
                     plan.name, ranks, ranks == 1 ? "" : "s",
                     plan.mesh.replicate, plan.mesh.shard,
                     plan.fits() ? "" : ", which DOES NOT FIT") +
         memoryText(plan) + componentsText(plan) + unitsText(plan) +
         collectivesText(plan) + runText(plan) + saveText(plan);
}

} // namespace ff::rt
