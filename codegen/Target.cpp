//===- Target.cpp - What a program is compiled for ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Target.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace ff;

static constexpr llvm::StringLiteral kChips[] = {"sm_80", "sm_90", "sm_90a"};

bool ff::isKnownChip(StringRef chip) {
  return llvm::is_contained(kChips, chip);
}

std::string ff::knownChips() {
  return llvm::join(std::begin(kChips), std::end(kChips), ", ");
}

std::optional<Target> ff::parseTarget(StringRef text, std::string &error) {
  auto [kind, chip] = text.split(':');
  if (text == "cpu")
    return Target();
  if (kind != "cuda") {
    error = "there is no target '" + text.str() +
            "'; the targets are cpu and cuda[:chip]";
    return std::nullopt;
  }
  if (text == "cuda")
    chip = "sm_90";
  if (!isKnownChip(chip)) {
    error = "there is no chip '" + chip.str() + "'; the chips are " +
            knownChips() + ", of which newer ones run the code of sm_90";
    return std::nullopt;
  }
  return Target{chip.str()};
}

void ff::setTarget(ModuleOp module, const Target &target) {
  if (!target.isCuda()) {
    module->removeAttr(kTargetAttr);
    return;
  }
  Builder b(module.getContext());
  module->setAttr(kTargetAttr,
                  b.getDictionaryAttr(
                      {b.getNamedAttr("kind", b.getStringAttr("cuda")),
                       b.getNamedAttr("chip", b.getStringAttr(target.chip))}));
}

Target ff::getTarget(ModuleOp module) {
  auto dict = module->getAttrOfType<DictionaryAttr>(kTargetAttr);
  auto chip = dict ? dict.getAs<StringAttr>("chip") : StringAttr();
  return chip ? Target{chip.str()} : Target();
}
