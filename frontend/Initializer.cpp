//===- Initializer.cpp - Initial values of parameters -----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Modules.h"

#include <cmath>

using namespace ff;
using namespace ff::frontend;

static InitAttr make(mlir::MLIRContext *context, InitKind kind, double first,
                     double second) {
  mlir::Builder b(context);
  return InitAttr::get(context, kind, b.getF64FloatAttr(first),
                       b.getF64FloatAttr(second));
}

/// A weight is [out, in...]: its fans are the sizes of what one output and one
/// input reaches.
static std::pair<double, double> fans(llvm::ArrayRef<int64_t> shape) {
  if (shape.size() < 2) {
    double n = shape.empty() ? 1 : static_cast<double>(shape[0]);
    return {n, n};
  }
  double field = 1;
  for (int64_t size : shape.drop_front(2))
    field *= static_cast<double>(size);
  return {static_cast<double>(shape[1]) * field,
          static_cast<double>(shape[0]) * field};
}

static InitAttr fromTable(mlir::MLIRContext *context, const Node &node,
                          Diagnostics &diags) {
  const Node &value = *node.entries.front().value;
  llvm::SmallVector<const Node *> numbers{&value};
  for (const auto &item : value.items)
    numbers.push_back(item.get());
  for (const Node *number : numbers) {
    if (!number->isNumber() || std::isfinite(number->number))
      continue;
    diags.error(number->loc, "a number of an initialiser must be finite");
    return {};
  }
  if (const Node *std = node.get("normal"); std && std->isNumber())
    return make(context, InitKind::Normal, 0, std->number);
  if (const Node *number = node.get("constant"); number && number->isNumber())
    return make(context, InitKind::Constant, number->number, 0);
  const Node *range = node.get("uniform");
  if (range && range->isArray() && range->items.size() == 2 &&
      range->items[0]->isNumber() && range->items[1]->isNumber())
    return make(context, InitKind::Uniform, range->items[0]->number,
                range->items[1]->number);
  diags.error(node.loc, "this is not an initialiser")
      .note("it can be { normal = 0.02 }, { uniform = [-1.0, 1.0] } or "
            "{ constant = 0.5 }");
  return {};
}

InitAttr ff::frontend::getInitializer(mlir::MLIRContext *context,
                                      const Node *node, StringRef name,
                                      llvm::ArrayRef<int64_t> shape,
                                      Diagnostics &diags) {
  StringRef kind;
  if (node && node->isTable()) {
    if (node->entries.size() == 1)
      return fromTable(context, *node, diags);
    diags.error(node->loc, "an initialiser has one key");
    return {};
  }
  if (node)
    kind = node->string;
  else if (shape.size() >= 2)
    kind = "xavier_uniform";
  else
    kind = name.rsplit('.').second == "weight" || name == "weight" ? "ones"
                                                                   : "zeros";
  auto [in, out] = fans(shape);
  double xavier = std::sqrt(6.0 / (in + out)), kaiming = 1.0 / std::sqrt(in);
  if (kind == "zeros" || kind == "ones")
    return make(context, InitKind::Constant, kind == "ones", 0);
  if (kind == "xavier_uniform")
    return make(context, InitKind::Uniform, -xavier, xavier);
  if (kind == "kaiming_uniform") // as torch.nn.Linear does
    return make(context, InitKind::Uniform, -kaiming, kaiming);
  auto report = diags.error(node->loc, "unknown initialiser \"" + kind + "\"");
  StringRef known[] = {"zeros", "ones", "xavier_uniform", "kaiming_uniform"};
  if (auto near = nearest(kind, known))
    report.note("did you mean \"" + *near + "\"?");
  else
    report.note("it can be " + quotedList(llvm::ArrayRef(known)));
  return {};
}
