//===- Builtins.h - The operations of the forward language ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_BUILTINS_H
#define FF_FRONTEND_BUILTINS_H

#include "frontend/Elaborator.h"

namespace ff::frontend {

struct Builtin;

/// A call of a builtin, its arguments in the order of the signature.
class Call {
public:
  Call(const Builtin &builtin, SMLoc loc, Elaborator &elaborator)
      : builtin(builtin), loc(loc), e(elaborator) {}

  const Builtin &builtin;
  SMLoc loc;
  Elaborator &e;
  std::vector<Arg> args; ///< None where not given

  const Val &operator[](size_t i) const { return args[i].value; }
  bool has(size_t i) const { return !args[i].value.isNone(); }

  /// Each reports an error where the argument is something else.
  bool isTensor(size_t i);
  bool isFloatTensor(size_t i);
  std::optional<int64_t> integer(size_t i);
  std::optional<double> number(size_t i);
  std::optional<bool> boolean(size_t i);
  /// A dim of argument `tensor`; negative ones count from the end.
  std::optional<int64_t> dim(size_t i, size_t tensor);
  /// A dim or a list of dims of argument `tensor`, ascending; all if None.
  std::optional<std::vector<int64_t>> dims(size_t i, size_t tensor);
  /// A list of positive integers. -1 stays where `infer` is set.
  bool shape(size_t i, llvm::SmallVectorImpl<int64_t> &sizes,
             llvm::SmallVectorImpl<StringRef> &names, bool infer = false);
  /// Likewise, for the shape of a tensor, which must not be too large.
  bool tensorShape(size_t i, llvm::SmallVectorImpl<int64_t> &sizes,
                   llvm::SmallVectorImpl<StringRef> &names, bool infer = false);
  /// Replaces a group of parameters `norm` by its `norm.SUFFIX`, if there is.
  std::optional<Val> paramOf(size_t i, StringRef suffix);

  Val fail(const Twine &message);
  Val failAt(size_t i, const Twine &message);

private:
  bool wrong(size_t i, StringRef wanted);
};

/// In which dtype a builtin computes where its operands are bf16 or f16.
enum class Numerics {
  /// It sees the operands as they are.
  AsIs,
  /// In f32; the result is rounded to the dtype of the operands.
  Wide,
  /// In f32; the result is rounded to the dtype of the first operand, whatever
  /// the dtypes of the parameters.
  WideLikeFirst,
};

struct Builtin {
  llvm::StringLiteral name;
  llvm::StringLiteral signature; ///< "x, weight, bias=None"
  llvm::StringLiteral doc;
  llvm::StringLiteral example;
  Val (*emit)(Call &);
  Numerics numerics = Numerics::AsIs;
};

llvm::ArrayRef<Builtin> getBuiltins();
const Builtin *findBuiltin(StringRef name);
/// The names of the signature, and whether each may be left out.
std::vector<std::pair<StringRef, bool>> parametersOf(const Builtin &builtin);

/// Binds the arguments and calls. Without an elaborator only functions of
/// numbers can be called.
Val callBuiltin(const Builtin &builtin, llvm::ArrayRef<Arg> args, SMLoc loc,
                Elaborator *elaborator, Diagnostics &diags);

} // namespace ff::frontend

#endif // FF_FRONTEND_BUILTINS_H
