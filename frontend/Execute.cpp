//===- Execute.cpp - Statements of the forward language ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Elaborator.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <limits>

using namespace ff;
using namespace ff::frontend;

std::optional<Val> Evaluator::run(llvm::ArrayRef<Stmt> body,
                                  const Continuation *next) {
  for (auto [i, stmt] : llvm::enumerate(body)) {
    if (stmt.kind == Stmt::Kind::If) {
      Val condition = evaluate(*stmt.value);
      if (condition.isTensor()) {
        bool consumed = false;
        Continuation after{body.drop_front(i + 1), next};
        auto result = executeRouted(stmt, condition, after, consumed);
        if (result || consumed)
          return result;
        continue;
      }
      std::optional<bool> holds = truthOf(condition, *stmt.value);
      if (!holds) // neither side is known to run: what follows is moot
        return Val::error();
      Continuation after{body.drop_front(i + 1), next};
      if (auto result = run(*holds ? stmt.body : stmt.orelse, &after))
        return result;
      continue;
    }
    if (auto result = execute(stmt))
      return result;
  }
  return std::nullopt;
}

std::optional<bool> Evaluator::condition(const Expr &expr) {
  return truthOf(evaluate(expr), expr);
}

std::optional<bool> Evaluator::truthOf(const Val &value, const Expr &expr) {
  if (value.isError())
    return std::nullopt;
  if (value.isBoolean() || value.isInteger())
    return value.integer != 0;
  if (value.isNone())
    return false;
  if (value.isTensor()) {
    error(expr.loc, "a tensor cannot choose between two expressions")
        .note("samples differ; where(condition, a, b) selects values, and an "
              "'if' statement takes a condition [B]");
    return std::nullopt;
  }
  error(expr.loc,
        "a condition must be true or false, not " + describeKind(value));
  return std::nullopt;
}

std::optional<Val> Evaluator::execute(const Stmt &stmt) {
  switch (stmt.kind) {
  case Stmt::Kind::Expression: {
    Val value = evaluate(*stmt.value);
    if (!value.isError())
      diags.warning(stmt.loc, "the value of this line is not used");
    return std::nullopt;
  }
  case Stmt::Kind::Assign:
    assign(stmt, evaluate(*stmt.value));
    return std::nullopt;
  case Stmt::Kind::AugAssign: {
    auto &[name, loc] = stmt.targets.front();
    auto variable = scope.variables.find(name);
    Val rhs = evaluate(*stmt.value);
    if (variable == scope.variables.end()) {
      undefined(name, loc);
      return std::nullopt;
    }
    Val lhs = variable->second;
    Val result = Val::error();
    if (lhs.isTensor() || rhs.isTensor()) {
      if (!lhs.isError() && !rhs.isError())
        result = elaborator->binary(stmt.op, lhs, rhs, stmt.loc);
    } else if (!lhs.isError() && !rhs.isError()) {
      result = foldBinary(stmt.op, lhs, rhs, stmt.loc, diags);
    }
    scope.variables[name] = result.settled();
    return std::nullopt;
  }
  case Stmt::Kind::Return:
    returned = stmt.value.get();
    return stmt.value ? evaluate(*stmt.value) : Val::none();
  case Stmt::Kind::For:
    return executeFor(stmt);
  case Stmt::Kind::If: // by run()
    break;
  }
  llvm_unreachable("all kinds are covered");
}

void Evaluator::assign(const Stmt &stmt, Val value) {
  size_t count = stmt.targets.size();
  if (count == 1) {
    scope.variables[stmt.targets.front().first] = value.settled();
    return;
  }
  bool isList = value.isList() || value.kind == Val::Kind::Modules;
  if (!value.isError() && (!isList || value.items.size() != count)) {
    error(stmt.loc, "cannot unpack " +
                        (isList ? Twine(value.items.size()) + " values"
                                : Twine(describeKind(value))) +
                        " into " + Twine(count) + " names");
    value = Val::error();
  }
  for (auto [i, target] : llvm::enumerate(stmt.targets))
    scope.variables[target.first] =
        value.isError() ? Val::error() : value.items[i].settled();
}

std::optional<Val> Evaluator::executeFor(const Stmt &stmt) {
  Val list = evaluate(*stmt.value);
  if (list.isError())
    return Val::error();
  if (!list.isList() && list.kind != Val::Kind::Modules) {
    error(stmt.value->loc, "a loop runs over a list, a list of submodules or "
                           "range(n), not " +
                               describeKind(list));
    return Val::error();
  }
  for (Val &item : list.items) {
    item.text = item.isString() ? item.text : "";
    assign(stmt, std::move(item));
    if (auto result = run(stmt.body))
      return result;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arithmetic on numbers
//===----------------------------------------------------------------------===//

static Val compare(Operator op, double lhs, double rhs) {
  switch (op) {
  case Operator::Eq:
    return Val::of(lhs == rhs);
  case Operator::Ne:
    return Val::of(lhs != rhs);
  case Operator::Lt:
    return Val::of(lhs < rhs);
  case Operator::Le:
    return Val::of(lhs <= rhs);
  case Operator::Gt:
    return Val::of(lhs > rhs);
  default:
    return Val::of(lhs >= rhs);
  }
}

static Val foldIntegers(Operator op, int64_t a, int64_t b, SMLoc loc,
                        Diagnostics &diags) {
  int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case Operator::Add:
    overflow = llvm::AddOverflow(a, b, result);
    break;
  case Operator::Sub:
    overflow = llvm::SubOverflow(a, b, result);
    break;
  case Operator::Mul:
    overflow = llvm::MulOverflow(a, b, result);
    break;
  case Operator::FloorDiv:
  case Operator::Mod: {
    overflow = a == std::numeric_limits<int64_t>::min() && b == -1;
    if (overflow)
      break;
    // As in Python: rounded down, so that the remainder has b's sign.
    int64_t quotient = a / b;
    if (a % b != 0 && (a < 0) != (b < 0))
      --quotient;
    result = op == Operator::FloorDiv ? quotient : a - quotient * b;
    break;
  }
  default: { // Pow, with an exponent of at least 0
    result = 1;
    // The powers of -1, 0 and 1 repeat; all others overflow soon.
    if (a >= -1 && a <= 1 && b > 2)
      b = 2 - b % 2;
    for (int64_t i = 0; i < b && !overflow; ++i)
      overflow = llvm::MulOverflow(result, a, result);
    break;
  }
  }
  if (!overflow)
    return Val::of(result);
  diags.error(loc, "integer overflow: the result does not fit in 64 bits");
  return Val::error();
}

Val ff::frontend::foldBinary(Operator op, const Val &lhs, const Val &rhs,
                             SMLoc loc, Diagnostics &diags) {
  if (op == Operator::Add && lhs.isList() && rhs.isList()) {
    Val joined = lhs;
    joined.items.insert(joined.items.end(), rhs.items.begin(), rhs.items.end());
    return joined;
  }
  if (op == Operator::In && rhs.isList())
    return Val::of(llvm::any_of(rhs.items, [&](const Val &item) {
      return foldBinary(Operator::Eq, lhs, item, loc, diags).integer != 0;
    }));
  bool equality = op == Operator::Eq || op == Operator::Ne;
  if (equality && (!lhs.isNumber() || !rhs.isNumber())) {
    bool equal = lhs.kind == rhs.kind && lhs.integer == rhs.integer &&
                 (!lhs.isString() || lhs.text == rhs.text);
    return Val::of(equal == (op == Operator::Eq));
  }
  if (!lhs.isNumber() || !rhs.isNumber() || op == Operator::MatMul ||
      op == Operator::In) {
    diags.error(loc, "'" + spelling(op) + "' cannot combine " +
                         describeKind(lhs) + " and " + describeKind(rhs));
    return Val::error();
  }
  if (equality || op == Operator::Lt || op == Operator::Le ||
      op == Operator::Gt || op == Operator::Ge)
    return compare(op, lhs.asDouble(), rhs.asDouble());
  bool divides =
      op == Operator::Div || op == Operator::FloorDiv || op == Operator::Mod;
  if (divides && rhs.asDouble() == 0) {
    diags.error(loc, "division by zero");
    return Val::error();
  }
  if (lhs.isInteger() && rhs.isInteger() && op != Operator::Div &&
      (op != Operator::Pow || rhs.integer >= 0))
    return foldIntegers(op, lhs.integer, rhs.integer, loc, diags);
  double a = lhs.asDouble(), b = rhs.asDouble();
  switch (op) {
  case Operator::Add:
    return Val::of(a + b);
  case Operator::Sub:
    return Val::of(a - b);
  case Operator::Mul:
    return Val::of(a * b);
  case Operator::Div:
    return Val::of(a / b);
  case Operator::FloorDiv:
    return Val::of(std::floor(a / b));
  case Operator::Mod:
    return Val::of(a - b * std::floor(a / b));
  default:
    return Val::of(std::pow(a, b));
  }
}
