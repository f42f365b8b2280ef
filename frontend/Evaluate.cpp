//===- Evaluate.cpp - Expressions of the forward language -------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"
#include "frontend/Elaborator.h"

#include "llvm/ADT/STLExtras.h"

using namespace ff;
using namespace ff::frontend;

Diagnostics::Report Evaluator::error(SMLoc loc, const Twine &message) {
  return elaborator ? elaborator->error(loc, message)
                    : diags.error(loc, message);
}

Val Evaluator::evaluate(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Integer:
    return Val::of(expr.integer);
  case Expr::Kind::Float:
    return Val::of(expr.number);
  case Expr::Kind::String:
    return Val::ofString(expr.text);
  case Expr::Kind::Boolean:
    return Val::of(expr.integer != 0);
  case Expr::Kind::None:
    return Val::none();
  case Expr::Kind::Ellipsis:
    return Val::of(Val::Kind::Ellipsis);
  case Expr::Kind::Name:
    return evaluateName(expr);
  case Expr::Kind::List:
  case Expr::Kind::Tuple:
    return evaluateItems(expr);
  case Expr::Kind::Record:
    return evaluateRecord(expr);
  case Expr::Kind::Unary:
    return evaluateUnary(expr);
  case Expr::Kind::Binary:
    return evaluateBinary(expr);
  case Expr::Kind::Call:
    return evaluateCall(expr);
  case Expr::Kind::Index:
    return evaluateIndex(expr);
  case Expr::Kind::Conditional:
    return evaluateConditional(expr);
  case Expr::Kind::Member: {
    Val object = evaluate(*expr.operands[0]);
    if (auto value = member(object, expr.text, expr.loc))
      return *value;
    error(expr.loc, describeKind(object) + " has no '" + expr.text + "'");
    return Val::error();
  }
  case Expr::Kind::Slice:
    error(expr.loc, "a range stands only in an index");
    return Val::error();
  }
  llvm_unreachable("all kinds are covered");
}

Val Evaluator::evaluateName(const Expr &expr) {
  if (auto value = lookup(expr.text, expr.loc))
    return *value;
  return undefined(expr.text, expr.loc);
}

Val Evaluator::evaluateItems(const Expr &expr) {
  Val list = Val::of(Val::Kind::List);
  bool ok = true;
  for (const ExprPtr &operand : expr.operands) {
    list.items.push_back(evaluate(*operand));
    ok &= !list.items.back().isError();
  }
  return ok ? list : Val::error();
}

Val Evaluator::evaluateRecord(const Expr &expr) {
  Val record = Val::of(Val::Kind::Record);
  bool ok = true;
  for (const Keyword &keyword : expr.keywords) {
    Val value = evaluate(*keyword.value);
    ok &= !value.isError();
    value.text = keyword.name;
    record.items.push_back(std::move(value));
  }
  return ok ? record : Val::error();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Val Evaluator::evaluateUnary(const Expr &expr) {
  Val value = evaluate(*expr.operands[0]);
  if (value.isError())
    return value;
  if (expr.op == Operator::Not) {
    if (value.isBoolean())
      return Val::of(value.integer == 0);
    error(expr.loc,
          "'not' needs a compile-time boolean, not " + describeKind(value));
    return Val::error();
  }
  if (value.isInteger())
    return foldBinary(Operator::Sub, Val::of(int64_t(0)), value, expr.loc,
                      diags);
  if (value.isNumber())
    return Val::of(-value.number);
  if (value.isTensor() && elaborator)
    return elaborator->negate(value, expr.loc);
  error(expr.loc, "'-' cannot be applied to " + describeKind(value));
  return Val::error();
}

Val Evaluator::evaluateLogical(const Expr &expr) {
  Val lhs = evaluate(*expr.operands[0]);
  if (lhs.isError())
    return lhs;
  if (!lhs.isBoolean()) {
    error(expr.operands[0]->loc, "'" + spelling(expr.op) +
                                     "' needs compile-time booleans, not " +
                                     describeKind(lhs));
    return Val::error();
  }
  if ((lhs.integer != 0) != (expr.op == Operator::And))
    return lhs;
  return evaluate(*expr.operands[1]);
}

Val Evaluator::evaluateBinary(const Expr &expr) {
  if (expr.op == Operator::And || expr.op == Operator::Or)
    return evaluateLogical(expr);
  Val lhs = evaluate(*expr.operands[0]), rhs = evaluate(*expr.operands[1]);
  if (lhs.isError() || rhs.isError())
    return Val::error();
  // An input that may be left out.
  bool equality = expr.op == Operator::Eq || expr.op == Operator::Ne;
  if (equality && (lhs.isNone() || rhs.isNone()))
    return Val::of((lhs.kind == rhs.kind) == (expr.op == Operator::Eq));
  if (lhs.isTensor() || rhs.isTensor()) {
    if (elaborator)
      return elaborator->binary(expr.op, lhs, rhs, expr.loc);
    error(expr.loc, "a tensor cannot stand here");
    return Val::error();
  }
  return foldBinary(expr.op, lhs, rhs, expr.loc, diags);
}

Val Evaluator::evaluateConditional(const Expr &expr) {
  std::optional<bool> holds = condition(*expr.operands[1]);
  if (!holds)
    return Val::error();
  return evaluate(*expr.operands[*holds ? 0 : 2]);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Val Evaluator::evaluateCall(const Expr &expr) {
  const Expr &callee = *expr.operands[0];
  bool isName = callee.kind == Expr::Kind::Name;
  const Builtin *builtin = isName ? findBuiltin(callee.text) : nullptr;
  std::optional<Val> target;
  // A builtin that no variable or submodule hides is called as it is.
  if (!isName)
    target = evaluate(callee);
  else if (auto found = lookup(callee.text, callee.loc))
    if (!builtin || found->kind == Val::Kind::Module)
      target = std::move(found);
  if (target && target->isError())
    return Val::error();
  std::vector<Arg> args;
  bool ok = true;
  for (const ExprPtr &operand : llvm::drop_begin(expr.operands)) {
    args.push_back({"", operand->loc, evaluate(*operand)});
    ok &= !args.back().value.isError();
  }
  for (const Keyword &keyword : expr.keywords) {
    args.push_back({keyword.name, keyword.loc, evaluate(*keyword.value)});
    ok &= !args.back().value.isError();
  }
  if (target && target->kind == Val::Kind::Module && elaborator)
    return ok ? elaborator->callModule(target->instance, args, callee.text,
                                       expr.loc)
              : Val::error();
  if (target) {
    error(expr.loc, describeKind(*target) + " cannot be called");
    return Val::error();
  }
  if (builtin && !builtin->emit)
    return ok ? lookupByString(args, expr.loc) : Val::error();
  if (builtin)
    return ok ? callBuiltin(*builtin, args, expr.loc, elaborator, diags)
              : Val::error();
  auto report =
      error(callee.loc, "undefined function or module '" + callee.text + "'");
  std::vector<std::string> known;
  for (const Builtin &candidate : getBuiltins())
    known.push_back(candidate.name.str());
  if (scope.type)
    for (const Submodule &sub : scope.type->modules)
      known.push_back(sub.name);
  else if (elaborator)
    for (auto &component : elaborator->components)
      known.push_back(component.first().str());
  if (auto near = nearest(callee.text, known))
    report.note("did you mean '" + *near + "'?");
  return Val::error();
}

/// param("name"), for names that are not names of this language.
Val Evaluator::lookupByString(llvm::ArrayRef<Arg> args, SMLoc loc) {
  if (args.size() != 1 || !args[0].value.isString() || !scope.type) {
    error(loc, "param takes the name of a parameter of the module, a string");
    return Val::error();
  }
  StringRef name = args[0].value.text;
  if (elaborator)
    if (auto value = lookupInModule(scope.instance, name, elaborator, loc))
      return *value;
  return undefined(name, args[0].loc);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

std::optional<int64_t>
Evaluator::evaluateIndexValue(const Expr &expr, int64_t size, StringRef what) {
  Val value = evaluate(expr);
  if (value.isError())
    return std::nullopt;
  if (!value.isInteger()) {
    error(expr.loc, what + " must be an integer known at compile time, not " +
                        describeKind(value));
    return std::nullopt;
  }
  return value.integer < 0 ? value.integer + size : value.integer;
}

Val Evaluator::evaluateIndex(const Expr &expr) {
  Val object = evaluate(*expr.operands[0]);
  if (object.isError())
    return object;
  if (object.isTensor())
    return indexTensor(expr, std::move(object));
  if (object.isList() || object.kind == Val::Kind::Modules)
    return indexList(expr, object);
  error(expr.loc, describeKind(object) + " cannot be indexed");
  return Val::error();
}

Val Evaluator::indexList(const Expr &expr, const Val &list) {
  const Expr &item = *expr.operands[1];
  int64_t size = list.items.size();
  if (item.kind == Expr::Kind::Slice) {
    int64_t start = 0, stop = size;
    if (item.operands[0]) {
      auto v = evaluateIndexValue(*item.operands[0], size, "the start");
      if (!v)
        return Val::error();
      start = std::clamp<int64_t>(*v, 0, size);
    }
    if (item.operands[1]) {
      auto v = evaluateIndexValue(*item.operands[1], size, "the end");
      if (!v)
        return Val::error();
      stop = std::clamp<int64_t>(*v, start, size);
    }
    Val part = Val::of(list.kind);
    part.items.assign(list.items.begin() + start, list.items.begin() + stop);
    return part;
  }
  auto index = evaluateIndexValue(item, size, "the index");
  if (!index)
    return Val::error();
  if (*index >= 0 && *index < size && expr.operands.size() == 2)
    return list.items[*index];
  error(item.loc,
        "index " + Twine(*index) + " is outside of a list of " + Twine(size));
  return Val::error();
}

bool Evaluator::sliceDim(const Expr &slice, const Val &tensor, int64_t dim,
                         int64_t &start, int64_t &size) {
  int64_t whole = tensor.shape()[dim], stop = whole;
  start = 0;
  if (slice.operands[2]) {
    error(slice.loc, "a step is not supported");
    return false;
  }
  for (auto [i, bound] : {std::pair(0, &start), std::pair(1, &stop)}) {
    if (!slice.operands[i])
      continue;
    auto value =
        evaluateIndexValue(*slice.operands[i], whole, "the bound of a range");
    if (!value)
      return false;
    *bound = *value;
  }
  size = stop - start;
  if (start >= 0 && stop <= whole && size > 0)
    return true;
  error(slice.loc, "range " + Twine(start) + ":" + Twine(stop) +
                       " does not lie in dim " + Twine(dim) + " of " +
                       describeTensor(tensor));
  return false;
}

Val Evaluator::indexTensor(const Expr &expr, Val tensor) {
  llvm::ArrayRef<ExprPtr> items = llvm::ArrayRef(expr.operands).drop_front();
  int64_t consumed = llvm::count_if(items, [](const ExprPtr &i) {
    return i->kind != Expr::Kind::None && i->kind != Expr::Kind::Ellipsis;
  });
  if (consumed > tensor.rank()) {
    error(expr.loc, Twine(consumed) + " indices for a tensor of rank " +
                        Twine(tensor.rank()) + ", " + describeTensor(tensor));
    return Val::error();
  }
  // Cut every dim, then drop and add dims of size 1 in one reshape.
  int64_t dim = 0;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<StringRef> names;
  auto keep = [&] {
    shape.push_back(tensor.shape()[dim]);
    names.push_back(tensor.dimName(dim));
    ++dim;
  };
  for (const ExprPtr &item : items) {
    if (item->kind == Expr::Kind::None) {
      shape.push_back(1);
      names.push_back("");
    } else if (item->kind == Expr::Kind::Ellipsis) {
      for (int64_t i = tensor.rank() - consumed; i > 0; --i)
        keep();
    } else if (item->kind == Expr::Kind::Slice) {
      int64_t start, size;
      if (!sliceDim(*item, tensor, dim, start, size))
        return Val::error();
      tensor = elaborator->slice(tensor, dim, start, size, item->loc);
      keep();
    } else {
      int64_t whole = tensor.shape()[dim];
      auto index = evaluateIndexValue(*item, whole, "an index");
      if (!index)
        return Val::error();
      if (*index < 0 || *index >= whole) {
        error(item->loc, "index " + Twine(*index) + " is outside of dim " +
                             Twine(dim) + " of " + describeTensor(tensor));
        return Val::error();
      }
      tensor = elaborator->slice(tensor, dim, *index, 1, item->loc);
      ++dim;
    }
  }
  while (dim < tensor.rank())
    keep();
  return elaborator->reshaped(tensor, shape, names, expr.loc);
}
