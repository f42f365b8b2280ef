//===- Evaluator.h - Executes the forward language --------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_EVALUATOR_H
#define FF_FRONTEND_EVALUATOR_H

#include "frontend/Ast.h"
#include "frontend/Modules.h"
#include "llvm/ADT/StringMap.h"

namespace ff::frontend {

class Elaborator;

/// The names that a forward function sees.
struct Scope {
  ModuleType *type = nullptr; ///< null in a program
  Instance instance;
  llvm::StringMap<Val> variables;
  llvm::StringMap<SMLoc> oneSided; ///< by a branch that samples take or not
};

/// An argument of a call.
struct Arg {
  std::string name; ///< empty: positional
  SMLoc loc;        ///< of the name, or of the value
  Val value;
};

/// Evaluates expressions and statements. Tensor operations are emitted through
/// the elaborator; without one (shapes, configs) they are errors.
class Evaluator {
public:
  Evaluator(Diagnostics &diags, Elaborator *elaborator, Scope &scope)
      : diags(diags), elaborator(elaborator), scope(scope) {}

  Val evaluate(const Expr &expr);
  /// Runs a body up to its `return`. Nothing where it does not return.
  std::optional<Val> run(llvm::ArrayRef<Stmt> body) {
    return run(body, nullptr);
  }
  /// What `return` returned, to name the outputs of a program.
  const Expr *getReturned() const { return returned; }

private:
  /// What follows the body that is run, up to the end of the function.
  struct Continuation {
    llvm::ArrayRef<Stmt> rest;
    const Continuation *next;
  };

  std::optional<Val> run(llvm::ArrayRef<Stmt> body, const Continuation *next);
  /// `body`, then what follows it.
  std::optional<Val> runToEnd(llvm::ArrayRef<Stmt> body,
                              const Continuation *next);
  std::optional<Val> execute(const Stmt &stmt);
  std::optional<Val> executeFor(const Stmt &stmt);
  void assign(const Stmt &stmt, Val value);
  std::optional<bool> condition(const Expr &expr);
  std::optional<bool> truthOf(const Val &value, const Expr &expr);

  // Routing.cpp
  std::optional<Val> executeRouted(const Stmt &stmt, const Val &condition,
                                   const Continuation &after, bool &consumed);
  Val selectBySample(const Val &condition, const Val &a, const Val &b,
                     const Twine &what, SMLoc loc);

  Val evaluateName(const Expr &expr);
  Val evaluateUnary(const Expr &expr);
  Val evaluateBinary(const Expr &expr);
  Val evaluateLogical(const Expr &expr);
  Val evaluateCall(const Expr &expr);
  Val lookupByString(llvm::ArrayRef<Arg> args, SMLoc loc);
  Val evaluateConditional(const Expr &expr);
  Val evaluateItems(const Expr &expr);
  Val evaluateRecord(const Expr &expr);
  Val evaluateIndex(const Expr &expr);
  Val indexList(const Expr &expr, const Val &list);
  Val indexTensor(const Expr &expr, Val tensor);
  bool sliceDim(const Expr &slice, const Val &tensor, int64_t dim,
                int64_t &start, int64_t &size);
  std::optional<int64_t> evaluateIndexValue(const Expr &expr, int64_t size,
                                            StringRef what);

  /// What a dotted name means; nothing where it means nothing.
  std::optional<Val> lookup(StringRef path, SMLoc loc);
  std::optional<Val> member(const Val &value, StringRef name, SMLoc loc);
  Val undefined(StringRef name, SMLoc loc);
  Diagnostics::Report error(SMLoc loc, const Twine &message);

  Diagnostics &diags;
  Elaborator *elaborator;
  Scope &scope;
  const Expr *returned = nullptr;
};

/// What `path` names in a module: a parameter, a submodule, or parameters with
/// that prefix; nothing otherwise. Parameters become tensors.
std::optional<Val> lookupInModule(const Instance &instance, StringRef path,
                                  Elaborator *elaborator, SMLoc loc);

/// Arithmetic on numbers. An error is reported at `loc`.
Val foldBinary(Operator op, const Val &lhs, const Val &rhs, SMLoc loc,
               Diagnostics &diags);

} // namespace ff::frontend

#endif // FF_FRONTEND_EVALUATOR_H
