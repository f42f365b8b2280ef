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
#include "llvm/ADT/StringExtras.h"
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
  int64_t factor = 1; ///< of the shard axis
};

class FixSearch {
public:
  FixSearch(const rt::Plan &plan, const PlanSetup &setup,
            const rt::Metadata &metadata)
      : plan(plan), setup(setup), metadata(metadata) {}

  /// Attaches up to three fixes, or what the smallest plan is.
  void report(InFlightDiagnostic &error);

private:
  std::vector<Fix> candidates() const;
  /// The components of which `wanted` holds, with a value for each.
  template <typename Value>
  void addPerComponent(std::vector<Fix> &fixes, StringRef section,
                       StringRef key, Value value) const;
  void note(InFlightDiagnostic &error, const Fix &fix,
            const rt::Plan &changed) const;
  std::optional<rt::Plan> planWith(const Fix &fix) const;
  /// The least power of two of ranks on the shard axis with which the plan
  /// fits after `fix`.
  std::optional<rt::Plan> planOnMoreRanks(Fix &fix) const;

  const rt::Plan &plan;
  const PlanSetup &setup;
  const rt::Metadata &metadata;
};

} // namespace

/// Plans the spec with other values, on a mesh with `shard` on its axis; 0: as
/// it was asked for.
static std::optional<rt::Plan> replan(const PlanSetup &setup,
                                      const Overrides &overrides,
                                      std::optional<rt::MeshShape> mesh) {
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
  auto planner = rt::Planner::create(buildPlanMetadata(*module), error);
  if (!planner)
    return std::nullopt;
  return mesh ? planner->planOnMesh(*mesh, error)
              : planner->plan(setup.ranks, error);
}

std::optional<rt::Plan> FixSearch::planWith(const Fix &fix) const {
  rt::MeshShape mesh = plan.mesh;
  mesh.shard *= fix.factor;
  return replan(setup, fix.overrides, mesh);
}

std::optional<rt::Plan> FixSearch::planOnMoreRanks(Fix &fix) const {
  constexpr int64_t most = 4096; // beyond it nobody reads the proposal
  for (int64_t shard = llvm::PowerOf2Ceil(plan.mesh.shard + 1);
       shard * plan.mesh.replicate <= most; shard *= 2) {
    auto changed =
        replan(setup, fix.overrides, rt::MeshShape{plan.mesh.replicate, shard});
    if (!changed)
      return std::nullopt;
    if (!changed->fits())
      continue;
    std::string ranks = llvm::formatv("{0} ranks instead of {1}",
                                      changed->mesh.world(), plan.mesh.world());
    fix.text += fix.text.empty() ? ranks : ", and " + ranks;
    return changed;
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
          return param.source->dtype == "BF16"  ? "\"bf16\""
                 : param.source->dtype == "F16" ? "\"fp16\""
                                                : "\"fp32\"";
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

void FixSearch::note(InFlightDiagnostic &error, const Fix &fix,
                     const rt::Plan &changed) const {
  Diagnostic &note = error.attachNote(UnknownLoc::get(
      error.getUnderlyingDiagnostic()->getLocation()->getContext()));
  note << "fix: " << fix.text << ": " << rt::bytesText(changed.peakDeviceBytes);
  if (plan.hostMemory)
    note << " of device memory, " << rt::bytesText(changed.peakHostBytes)
         << " of host memory";
}

void FixSearch::report(InFlightDiagnostic &error) {
  constexpr int wanted = 3;
  int found = 0;
  Fix all;
  std::vector<Fix> helpful;
  rt::Plan smallest = plan;
  for (Fix &fix : candidates()) {
    if (found == wanted)
      return;
    auto changed = planWith(fix);
    if (!changed || changed->peakDeviceBytes >= plan.peakDeviceBytes)
      continue;
    if (changed->fits()) {
      note(error, fix, *changed);
      ++found;
    }
    helpful.push_back(fix);
  }
  Fix ranks;
  if (auto changed = found < wanted ? planOnMoreRanks(ranks) : std::nullopt) {
    note(error, ranks, *changed);
    ++found;
  }
  if (found)
    return;
  // Nothing alone is enough: as many together as it takes.
  for (const Fix &fix : helpful) {
    // The last micro_batch counts.
    for (const auto &change : fix.overrides)
      llvm::erase_if(all.overrides, [&](const auto &other) {
        return other.first == change.first;
      });
    llvm::append_range(all.overrides, fix.overrides);
    all.text += (all.text.empty() ? "" : ", ") + fix.text;
    auto changed = planWith(all);
    if (!changed)
      continue;
    if (changed->peakDeviceBytes < smallest.peakDeviceBytes)
      smallest = *changed;
    if (changed->fits())
      return note(error, all, *changed);
  }
  if (auto changed = planOnMoreRanks(all))
    return note(error, all, *changed);
  error.attachNote(UnknownLoc::get(
      error.getUnderlyingDiagnostic()->getLocation()->getContext()))
      << "nothing makes it fit: with "
      << (all.text.empty() ? "any of recompute, micro_batch and sharding"
                           : all.text)
      << " a rank still needs " << rt::bytesText(smallest.peakDeviceBytes)
      << " of device memory and " << rt::bytesText(smallest.peakHostBytes)
      << " of host memory";
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
    InFlightDiagnostic diag = emitError(placeOf(module, key));
    diag << "a rank needs " << rt::bytesText(bytes) << " (" << bytes
         << " bytes) of " << what << " memory on " << ranks
         << (ranks == 1 ? " rank" : " ranks") << ", and " << key << " is "
         << rt::bytesText(static_cast<size_t>(*limit)) << " (" << *limit
         << " bytes)";
    if (first && planner)
      FixSearch(plan, setup, planner->metadata()).report(diag);
    first = false;
  };
  check("device_memory", "device", plan.fitsDevice(), plan.peakDeviceBytes,
        plan.deviceMemory);
  check("host_memory", "host", plan.fitsHost(), plan.peakHostBytes,
        plan.hostMemory);
  return failure();
}
