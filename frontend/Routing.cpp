//===- Routing.cpp - Branches on the value of a tensor ----------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `if t >= boundary:` with a tensor per sample, or a scalar. Samples differ,
// and so do ranks: a branch that skipped a component on one rank would leave
// the others waiting in its gathers (V5). So both sides are computed, and each
// sample takes the values of its side:
//
//   if t >= 0.9:                     a = high(x, t)
//       v = high(x, t)          ->   b = low(x, t)
//   else:                            v = where(t >= 0.9, a, b)
//       v = low(x, t)
//
// A sample that takes one side adds nothing to the gradient of the other, as
// long as the other one is finite for it: zero times infinity is not a number,
// so sqrt(t - 0.5) under `if t >= 0.5` needs a clamp. Where the range of the
// condition's operands decides it, the other side does not exist.
//
//===----------------------------------------------------------------------===//

#include "frontend/Elaborator.h"
#include "frontend/Ranges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;

static void collectNames(const Expr *expr, std::vector<std::string> &names) {
  if (!expr)
    return;
  if (expr->kind == Expr::Kind::Name)
    names.push_back(StringRef(expr->text).split('.').first.str());
  for (const ExprPtr &operand : expr->operands)
    collectNames(operand.get(), names);
  for (const Keyword &keyword : expr->keywords)
    collectNames(keyword.value.get(), names);
}

static void collectNames(llvm::ArrayRef<Stmt> body,
                         std::vector<std::string> &names) {
  for (const Stmt &stmt : body) {
    collectNames(stmt.value.get(), names);
    collectNames(stmt.body, names);
    collectNames(stmt.orelse, names);
  }
}

/// Takes for each sample the value of its side. Error after an error.
Val Evaluator::selectBySample(const Val &condition, const Val &a, const Val &b,
                              const Twine &what, SMLoc loc) {
  if (a.isError() || b.isError())
    return Val::error();
  if (a.isTensor() && b.isTensor() && a.tensor == b.tensor)
    return a;
  bool lists = (a.isList() || a.kind == Val::Kind::Record) &&
               a.kind == b.kind && a.items.size() == b.items.size();
  if (lists) {
    Val result = a;
    for (auto [item, other] : llvm::zip_equal(result.items, b.items)) {
      std::string name = item.text;
      item = selectBySample(condition, item, other, what, loc);
      item.text = name;
      if (item.isError())
        return Val::error();
    }
    return result;
  }
  if (!a.isTensor() || !b.isTensor()) {
    std::string left, right;
    llvm::raw_string_ostream leftText(left), rightText(right);
    printKey(a, leftText);
    printKey(b, rightText);
    if (a.kind == b.kind && left == right)
      return a;
    bool sameKind = describeKind(a) == describeKind(b);
    error(loc, what + " is " + describeKind(a) +
                   (sameKind ? " of another value on each side of this branch"
                             : " on one side of this branch and " +
                                   describeKind(b).str() + " on the other"))
        .note("samples take different sides, so that both must give tensors of "
              "one shape; full([B], value) makes one of a number");
    return Val::error();
  }
  Val lhs = a.settled(), rhs = b.settled();
  bool ok = lhs.shape() == rhs.shape() && lhs.type() == rhs.type();
  bool perSample = condition.rank() == 1;
  ok = ok && (!perSample ||
              (lhs.rank() > 0 && lhs.shape()[0] == condition.shape()[0]));
  if (!ok && lhs.shape() == rhs.shape() && lhs.type() == rhs.type()) {
    error(loc, what + " is " + describeTensor(lhs) +
                   " on both sides of this branch, one value for all samples")
        .note("samples take different sides, so that dim 0 must be B: return "
              "or assign values of samples, and reduce them after the branch");
    return Val::error();
  }
  if (!ok) {
    error(loc, what + " is " + describeTensor(lhs) +
                   " on one side of this "
                   "branch and " +
                   describeTensor(rhs) + " on the other")
        .note("samples take different sides, so that both must have one dtype "
              "and one shape, with dim 0 of size B");
    return Val::error();
  }
  Value flags = condition.tensor;
  if (perSample) {
    SmallVector<int64_t> shape(lhs.rank(), 1);
    shape[0] = condition.shape()[0];
    flags = elaborator->reshape(flags, shape, loc);
  }
  flags = elaborator->broadcast(flags, lhs.shape(), loc);
  return Val::ofTensor(
      elaborator->builder().create<arith::SelectOp>(
          elaborator->location(loc), flags, lhs.tensor, rhs.tensor),
      lhs.dims);
}

std::optional<Val> Evaluator::runToEnd(llvm::ArrayRef<Stmt> body,
                                       const Continuation *next) {
  for (; true; body = next->rest, next = next->next) {
    if (auto result = run(body, next))
      return result;
    if (!next)
      return std::nullopt;
  }
}

/// Runs both sides of a branch on a tensor and what follows it where only one
/// side returns; `consumed` is set where what is `after` has been run.
std::optional<Val> Evaluator::executeRouted(const Stmt &stmt,
                                            const Val &condition,
                                            const Continuation &next,
                                            bool &consumed) {
  bool scalar = condition.rank() == 0;
  bool fits = condition.isBoolTensor() && elaborator &&
              (scalar || (condition.rank() == 1 &&
                          condition.shape()[0] == elaborator->function->batch));
  if (!fits) {
    error(stmt.value->loc, "a branch on " + describeTensor(condition))
        .note("the condition must be a comparison with one value for each "
              "sample, [B], or a scalar; where(condition, a, b) selects single "
              "elements");
    return Val::error();
  }
  if (std::optional<bool> known =
          foldComparison(condition.tensor, elaborator->facts)) {
    DeadBranch dead{
        stmt.value->loc,
        std::string("this condition is always ") + (*known ? "true" : "false") +
            " (" + describeComparison(condition.tensor, elaborator->facts) +
            ")",
        {}};
    collectNames(*known ? stmt.orelse : stmt.body, dead.components);
    elaborator->deadBranches.push_back(std::move(dead));
    return run(*known ? stmt.body : stmt.orelse, &next);
  }
  llvm::StringMap<Val> before = scope.variables;
  // Each side runs, and what it returns is taken, under its condition alone.
  auto under = [&](bool holds, llvm::function_ref<std::optional<Val>()> body) {
    size_t known = elaborator->facts.size();
    if (auto fact = factOf(condition.tensor, holds, elaborator->facts))
      elaborator->facts.push_back(*fact);
    std::optional<Val> result = body();
    elaborator->facts.resize(known);
    return result;
  };
  std::optional<Val> first = under(true, [&] { return run(stmt.body, &next); });
  llvm::StringMap<Val> after = std::exchange(scope.variables, before);
  std::optional<Val> second =
      under(false, [&] { return run(stmt.orelse, &next); });
  if (first.has_value() != second.has_value()) {
    // if c: return a            if c: return a
    // return b             ->   else: return b
    consumed = true;
    if (first) {
      second = under(false, [&] { return runToEnd(next.rest, next.next); });
    } else {
      scope.variables = std::move(after);
      first = under(true, [&] { return runToEnd(next.rest, next.next); });
    }
    bool broken = (first && first->isError()) || (second && second->isError());
    if (broken)
      return Val::error();
    if (!first || !second) {
      error(stmt.loc, "one side of this branch returns and the other does not")
          .note("samples take different sides, so that both must return");
      return Val::error();
    }
  }
  if (first)
    return selectBySample(condition, *first, *second, "the result", stmt.loc);
  llvm::StringMap<Val> merged;
  for (auto &entry : after) {
    auto other = scope.variables.find(entry.first());
    // What one side alone defines is not defined after the branch.
    if (other == scope.variables.end()) {
      scope.oneSided[entry.first()] = stmt.loc;
      continue;
    }
    Val value = selectBySample(condition, entry.second, other->second,
                               "'" + entry.first() + "'", stmt.loc);
    merged[entry.first()] = std::move(value);
  }
  for (auto &entry : scope.variables)
    if (!after.count(entry.first()))
      scope.oneSided[entry.first()] = stmt.loc;
  scope.variables = std::move(merged);
  return std::nullopt;
}
