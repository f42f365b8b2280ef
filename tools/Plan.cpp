//===- Plan.cpp - The plan of a spec, and what makes it fit --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fix is not estimated: the spec is imported and planned again with the
// changed value, which takes as long as the first plan did.
//
//===----------------------------------------------------------------------===//

#include "tools/Plan.h"

#include "codegen/host/Host.h"
#include "tools/Register.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ff;

/// The place of a key of [mesh], or that of the spec.
static Location placeOf(ModuleOp module, StringRef key) {
  if (auto places = module->getAttrOfType<DictionaryAttr>(kPlacesAttr))
    if (auto place = dyn_cast_or_null<LocationAttr>(places.get(key)))
      return place;
  return module.getLoc();
}

bool ff::hasMemoryLimit(ModuleOp module) {
  auto spec = module->getAttrOfType<DictionaryAttr>(kSpecAttr);
  return spec &&
         (spec.contains("device_memory") || spec.contains("host_memory"));
}

std::optional<rt::Plan> ff::planModule(ModuleOp module, int64_t ranks) {
  std::string error;
  auto planner = rt::Planner::create(buildPlanMetadata(module), error);
  std::optional<rt::Plan> plan;
  if (planner)
    plan = planner->plan(ranks, error);
  if (!plan)
    emitError(
        placeOf(module, StringRef(error).starts_with("[mesh]") ? "shard" : ""))
        << error;
  return plan;
}

//===----------------------------------------------------------------------===//
// Planning again
//===----------------------------------------------------------------------===//

namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

/// A change that may make the plan smaller.
struct Fix {
  std::string text;
  Overrides overrides;
};

class FixSearch {
public:
  FixSearch(const rt::Plan &plan, const PlanSetup &setup,
            const rt::Planner &planner)
      : plan(plan), setup(setup), planner(planner),
        metadata(planner.metadata()) {}

  /// Up to three fixes, each with its numbers, or what the smallest plan is.
  std::vector<std::string> run();

private:
  std::vector<Fix> candidates() const;
  /// One fix for all components to which `value` gives the same value.
  template <typename Value>
  void addPerComponent(std::vector<Fix> &fixes, StringRef section,
                       StringRef key, Value value) const;
  std::string describe(StringRef text, const rt::Plan &changed) const;
  /// Tries as many fixes together as it takes.
  std::string combine(ArrayRef<Fix> fixes) const;
  /// The least power of two of ranks on the shard axis with which it fits;
  /// `smallest` is the smallest plan on the way.
  std::optional<rt::Plan> onMoreRanks(const rt::Planner &changed,
                                      std::string &text,
                                      rt::Plan &smallest) const;

  const rt::Plan &plan;
  const PlanSetup &setup;
  const rt::Planner &planner;
  const rt::Metadata &metadata;
};

} // namespace

/// Compiles the spec with other values, as far as the plan needs it.
static std::optional<rt::Planner> compileWith(const PlanSetup &setup,
                                              const Overrides &overrides) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  // What does not compile is no fix, and needs no diagnostic.
  ScopedDiagnosticHandler silent(&context,
                                 [](Diagnostic &) { return success(); });
  ImportOptions import = setup.import;
  for (const auto &change : overrides) {
    llvm::erase_if(import.overrides, [&](const auto &given) {
      return given.first == change.first;
    });
    import.overrides.push_back(change);
  }
  auto module = importSpec(context, setup.path, import, llvm::nulls());
  PipelineOptions pipeline = setup.pipeline;
  pipeline.stopAfter = Stage::PlanMemory;
  pipeline.dumpDir.clear();
  pipeline.timing = false;
  pipeline.afterPlan = nullptr;
  if (!module || failed(runPipeline(*module, pipeline)))
    return std::nullopt;
  std::string error;
  return rt::Planner::create(buildPlanMetadata(*module), error);
}

std::optional<rt::Plan> FixSearch::onMoreRanks(const rt::Planner &changed,
                                               std::string &text,
                                               rt::Plan &smallest) const {
  constexpr int64_t most = 4096; // beyond it nobody reads the proposal
  int64_t replicate = plan.mesh.replicate;
  for (int64_t shard = llvm::PowerOf2Ceil(plan.mesh.shard + 1);
       shard * replicate <= most; shard *= 2) {
    std::string error;
    auto result = changed.planOnMesh({replicate, shard}, error);
    if (!result)
      return std::nullopt;
    if (result->peakDeviceBytes < smallest.peakDeviceBytes)
      smallest = *result;
    if (!result->fits())
      continue;
    text = llvm::formatv("{0} ranks instead of {1}", shard * replicate,
                         plan.mesh.world());
    if (metadata.shard) // the spec says it, too
      text += llvm::formatv(" (shard = {0} in [mesh])", shard);
    return result;
  }
  return std::nullopt;
}

/// A value that a component sets itself comes before that of the section, so
/// the value is set for each of them.
template <typename Value>
void FixSearch::addPerComponent(std::vector<Fix> &fixes, StringRef section,
                                StringRef key, Value value) const {
  // All components that need the same value are one fix.
  llvm::MapVector<StringRef, Fix> byValue;
  for (const rt::Component &component : metadata.components) {
    StringRef wanted = value(component);
    if (wanted.empty())
      continue;
    Fix &fix = byValue[wanted];
    fix.text += (fix.text.empty() ? "" : ", ") + component.name;
    fix.overrides.emplace_back(
        llvm::formatv("bundle.{0}.{1}.{2}", component.name, section, key),
        wanted.str());
  }
  for (auto &[wanted, fix] : byValue) {
    fix.text = llvm::formatv("{0} = {1} in the {2} of {3}", key, wanted,
                             section, fix.text);
    fixes.push_back(std::move(fix));
  }
}

/// The value of a key for a dtype of a file, or "" where no key can say it.
static StringRef keyOfFileDtype(StringRef dtype) {
  return llvm::StringSwitch<StringRef>(dtype)
      .Case("BF16", "\"bf16\"")
      .Case("F16", "\"fp16\"")
      .Case("F32", "\"fp32\"")
      .Default("");
}

/// Cheapest first: what changes neither numbers nor speed, then what costs
/// collectives, then compute, then what also sums in another order.
std::vector<Fix> FixSearch::candidates() const {
  std::vector<Fix> fixes;
  addPerComponent(fixes, "sharding", "mixed_dtype",
                  [&](const rt::Component &) { return "\"split\""; });
  // Frozen parameters that are stored wider than their files.
  auto dtypeOfFile = [&](const rt::Component &component) -> StringRef {
    for (const rt::Group &group : metadata.groups) {
      if (&metadata.components[group.component] != &component ||
          group.trainable)
        continue;
      for (const rt::Param &param : group.params)
        if (param.source && rt::fileDtypeSize(param.source->dtype) <
                                rt::fileDtypeSize(param.savedDtype))
          if (StringRef name = keyOfFileDtype(param.source->dtype);
              !name.empty())
            return name;
    }
    return "";
  };
  addPerComponent(fixes, "precision", "frozen_parameters_dtype", dtypeOfFile);
  addPerComponent(fixes, "sharding", "reshard_after_forward",
                  [&](const rt::Component &component) {
                    return component.reshardAfterForward ? "" : "true";
                  });
  fixes.push_back(
      {"recompute = \"block\" in [train]", {{"train.recompute", "\"block\""}}});
  int64_t micro = plan.batch.micro;
  for (int64_t part : {2, 4})
    if (micro % part == 0)
      fixes.push_back(
          {llvm::formatv("micro_batch = {0} instead of {1} in [train]",
                         micro / part, micro),
           {{"train.micro_batch", std::to_string(micro / part)}}});
  return fixes;
}

std::string FixSearch::describe(StringRef text, const rt::Plan &changed) const {
  std::string line =
      ("fix: " + text + ": " + rt::bytesText(changed.peakDeviceBytes) +
       " of device memory")
          .str();
  if (plan.hostMemory)
    line += ", " + rt::bytesText(changed.peakHostBytes) + " of host memory";
  return line;
}

std::vector<std::string> FixSearch::run() {
  constexpr size_t wanted = 3;
  std::vector<std::string> notes;
  std::vector<Fix> helpful;
  std::string error;
  for (const Fix &fix : candidates()) {
    if (notes.size() == wanted)
      return notes;
    auto compiled = compileWith(setup, fix.overrides);
    auto changed =
        compiled ? compiled->planOnMesh(plan.mesh, error) : std::nullopt;
    if (!changed || changed->peakDeviceBytes >= plan.peakDeviceBytes)
      continue;
    helpful.push_back(fix);
    if (changed->fits())
      notes.push_back(describe(fix.text, *changed));
  }
  std::string text;
  rt::Plan smallest = plan;
  if (notes.size() < wanted)
    if (auto changed = onMoreRanks(planner, text, smallest))
      notes.push_back(describe(text, *changed));
  if (notes.empty())
    notes.push_back(combine(helpful));
  return notes;
}

std::string FixSearch::combine(ArrayRef<Fix> fixes) const {
  Fix all;
  std::string error;
  std::optional<rt::Planner> last;
  rt::Plan smallest = plan;
  for (const Fix &fix : fixes) {
    // Of two values for one key the later one is the smaller.
    for (const auto &change : fix.overrides)
      llvm::erase_if(all.overrides, [&](const auto &other) {
        return other.first == change.first;
      });
    llvm::append_range(all.overrides, fix.overrides);
    bool replaces = !all.text.empty() &&
                    StringRef(fix.text).starts_with("micro_batch") &&
                    StringRef(all.text).contains("micro_batch");
    if (replaces)
      all.text.erase(all.text.find("micro_batch"));
    else if (!all.text.empty())
      all.text += ", ";
    all.text += fix.text;
    auto compiled = compileWith(setup, all.overrides);
    auto changed =
        compiled ? compiled->planOnMesh(plan.mesh, error) : std::nullopt;
    if (!changed)
      continue;
    if (changed->fits())
      return describe(all.text, *changed);
    last = std::move(compiled);
    smallest = *changed;
  }
  std::string ranks;
  if (last)
    if (auto changed = onMoreRanks(*last, ranks, smallest))
      return describe(all.text + ", and " + ranks, *changed);
  return llvm::formatv(
      "nothing makes it fit, nor do more ranks: the least that a rank needs is "
      "{0} of device memory and {1} of host memory on {2} ranks{3}",
      rt::bytesText(smallest.peakDeviceBytes),
      rt::bytesText(smallest.peakHostBytes), smallest.mesh.world(),
      all.text.empty() ? "" : ", with " + all.text);
}

/// A note in the form of the frontend: a place, without its line of source.
static void printNote(Location loc, StringRef text) {
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    llvm::errs() << place.getFilename().getValue() << ":" << place.getLine()
                 << ":" << place.getColumn() << ": ";
  llvm::errs() << "note: " << text << "\n";
}

LogicalResult ff::checkFit(ModuleOp module, const rt::Plan &plan,
                           const PlanSetup &setup) {
  if (plan.fits())
    return success();
  std::string error;
  auto planner = rt::Planner::create(buildPlanMetadata(module), error);
  bool first = true;
  auto check = [&](StringRef key, StringRef what, bool fits, size_t bytes,
                   std::optional<int64_t> limit) {
    if (fits)
      return;
    int64_t ranks = plan.mesh.world();
    Location place = placeOf(module, key);
    emitError(place) << "a rank needs " << rt::bytesText(bytes) << " (" << bytes
                     << " bytes) of " << what << " memory on " << ranks
                     << (ranks == 1 ? " rank" : " ranks") << ", and " << key
                     << " is " << rt::bytesText(static_cast<size_t>(*limit))
                     << " (" << *limit << " bytes)";
    if (first && planner)
      for (const std::string &note : FixSearch(plan, setup, *planner).run())
        printNote(place, note);
    first = false;
  };
  check("device_memory", "device", plan.fitsDevice(), plan.peakDeviceBytes,
        plan.deviceMemory);
  check("host_memory", "host", plan.fitsHost(), plan.peakHostBytes,
        plan.hostMemory);
  return failure();
}
