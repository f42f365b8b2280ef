//===- Value.h - What an expression of the forward language is --*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_VALUE_H
#define FF_FRONTEND_VALUE_H

#include "frontend/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <vector>

namespace ff::frontend {

struct ModuleType;

/// A module at its place: in a component, or in the block that is being built.
struct Instance {
  ModuleType *type = nullptr;
  /// In front of the names of its parameters, with a dot at the end if any.
  std::string prefix;
  /// The component; null inside a block, whose parameters are arguments.
  mlir::StringAttr component;
  /// Whether it is a block: an element of a list, or of a `unit` module.
  bool isBlock = false;
  /// Whether adapters are left out: `component.base(...)`.
  bool isBase = false;
};

/// The value of an expression. All but tensors are known at compile time.
struct Val {
  enum class Kind {
    Error, ///< reported already; whatever uses it stays silent
    None,
    Integer,
    Float,
    Boolean,
    String,
    List,
    Tensor,
    Module,  ///< a submodule or component
    Modules, ///< a list of submodules, in `items`
    Params,  ///< parameters with a common prefix: `net.0.proj`
    Record,  ///< named outputs: `items` with `text`
    Ellipsis,
  };

  Kind kind = Kind::Error;
  int64_t integer = 0; ///< of an Integer or Boolean
  double number = 0;   ///< of a Float
  /// Of a String; of an Integer the name of the dim that it is, of Params the
  /// prefix, of an item of a Record its name.
  std::string text;
  std::vector<Val> items;
  mlir::Value tensor;
  /// Of a Tensor of bf16 or f16: the same value in f32 before it was rounded,
  /// as long as the expression that computes it is being evaluated. A name, an
  /// argument and a result hold what was rounded.
  mlir::Value wide;
  /// Of a Tensor that is a parameter: its name in the component.
  std::string param;
  /// Names of the dims of a Tensor where known, for messages; may be shorter
  /// than its rank.
  llvm::SmallVector<StringRef, 4> dims;
  Instance instance;

  static Val error() { return {}; }
  static Val none() { return of(Kind::None); }
  static Val of(Kind kind) {
    Val v;
    v.kind = kind;
    return v;
  }
  static Val of(int64_t value) {
    Val v = of(Kind::Integer);
    v.integer = value;
    return v;
  }
  static Val of(double value) {
    Val v = of(Kind::Float);
    v.number = value;
    return v;
  }
  static Val of(bool value) {
    Val v = of(Kind::Boolean);
    v.integer = value;
    return v;
  }
  static Val ofString(StringRef value) {
    Val v = of(Kind::String);
    v.text = value.str();
    return v;
  }
  static Val ofTensor(mlir::Value value, llvm::ArrayRef<StringRef> dims = {}) {
    Val v = of(Kind::Tensor);
    v.tensor = value;
    v.dims.assign(dims.begin(), dims.end());
    return v;
  }

  bool isError() const { return kind == Kind::Error; }
  bool isNone() const { return kind == Kind::None; }
  bool isInteger() const { return kind == Kind::Integer; }
  bool isNumber() const { return isInteger() || kind == Kind::Float; }
  bool isBoolean() const { return kind == Kind::Boolean; }
  bool isString() const { return kind == Kind::String; }
  bool isList() const { return kind == Kind::List; }
  bool isTensor() const { return kind == Kind::Tensor; }
  double asDouble() const {
    return isInteger() ? static_cast<double>(integer) : number;
  }
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType());
  }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  bool isFloatTensor() const {
    return isTensor() && llvm::isa<mlir::FloatType>(type().getElementType());
  }
  bool isIntTensor() const {
    return isTensor() && type().getElementType().isInteger(64);
  }
  bool isBoolTensor() const {
    return isTensor() && type().getElementType().isInteger(1);
  }
  /// What a name holds: the value as it was rounded.
  Val settled() const {
    Val v = *this;
    v.wide = {};
    for (Val &item : v.items)
      item = item.settled();
    return v;
  }
  StringRef dimName(int64_t dim) const {
    return static_cast<size_t>(dim) < dims.size() ? dims[dim] : StringRef();
  }
};

/// Whether a tensor has more than 2^40 elements. Sizes below 1 do not count.
bool isTooLarge(llvm::ArrayRef<int64_t> shape);
/// "a tensor", "an integer", ...
StringRef describeKind(const Val &value);
/// "[B=128, S=16, 64] f32".
std::string describeTensor(const Val &tensor);
/// "dim=128" or "128".
std::string describeDim(StringRef name, int64_t size);
/// The value as text, equal for equal compile-time values: a key for caches.
void printKey(const Val &value, llvm::raw_ostream &os);
/// "f32", "i64", "bool" as in specs and safetensors.
std::string dtypeName(mlir::Type type);
/// The type of a dtype as safetensors and the forward language name it ("f32",
/// "bf16", "i64"); null for others.
mlir::Type dtypeOf(mlir::MLIRContext *context, StringRef name);
/// The type of a dtype as keys name it: "fp32", "fp64", "bf16", "fp16".
mlir::Type dtypeOfKey(mlir::MLIRContext *context, StringRef name);

} // namespace ff::frontend

#endif // FF_FRONTEND_VALUE_H
