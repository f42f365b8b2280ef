//===- Value.cpp - What an expression of the forward language is -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Value.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/raw_ostream.h"

using namespace ff::frontend;

StringRef ff::frontend::describeKind(const Val &value) {
  switch (value.kind) {
  case Val::Kind::Error:
    return "an error";
  case Val::Kind::None:
    return "None";
  case Val::Kind::Integer:
    return "an integer";
  case Val::Kind::Float:
    return "a float";
  case Val::Kind::Boolean:
    return "a boolean";
  case Val::Kind::String:
    return "a string";
  case Val::Kind::List:
    return "a list";
  case Val::Kind::Tensor:
    return "a tensor";
  case Val::Kind::Module:
    return "a module";
  case Val::Kind::Modules:
    return "a list of modules";
  case Val::Kind::Params:
    return "a group of parameters";
  case Val::Kind::Record:
    return "a record";
  case Val::Kind::Ellipsis:
    return "'...'";
  }
  llvm_unreachable("all kinds are covered");
}

bool ff::frontend::isTooLarge(llvm::ArrayRef<int64_t> shape) {
  int64_t left = int64_t(1) << 40;
  for (int64_t size : shape)
    if (size > 1)
      left /= size;
  return left == 0;
}

std::string ff::frontend::describeDim(StringRef name, int64_t size) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Not for a name that is a number, which says the same.
  if (llvm::any_of(name, llvm::isAlpha)) {
    for (char c : name)
      if (c != ' ')
        os << c;
    os << "=";
  }
  os << size;
  return text;
}

std::string ff::frontend::dtypeName(mlir::Type type) {
  if (type.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

mlir::Type ff::frontend::dtypeOf(mlir::MLIRContext *context, StringRef name) {
  mlir::Builder b(context);
  return llvm::StringSwitch<mlir::Type>(name)
      .Case("f32", b.getF32Type())
      .Case("f64", b.getF64Type())
      .Case("bf16", b.getBF16Type())
      .Case("f16", b.getF16Type())
      .Case("i64", b.getI64Type())
      .Case("i32", b.getI32Type())
      .Cases("i8", "f8_e4m3", "f8_e5m2", b.getI8Type()) // see Precision.cpp
      .Default({});
}

mlir::Type ff::frontend::dtypeOfKey(mlir::MLIRContext *context,
                                    StringRef name) {
  mlir::Builder b(context);
  return llvm::StringSwitch<mlir::Type>(name)
      .Case("fp32", b.getF32Type())
      .Case("fp64", b.getF64Type())
      .Case("bf16", b.getBF16Type())
      .Case("fp16", b.getF16Type())
      .Default({});
}

std::string ff::frontend::describeTensor(const Val &tensor) {
  std::string text = "[";
  for (int64_t i = 0; i < tensor.rank(); ++i) {
    if (i)
      text += ", ";
    text += describeDim(tensor.dimName(i), tensor.shape()[i]);
  }
  return text + "] " + dtypeName(tensor.type().getElementType());
}

void ff::frontend::printKey(const Val &value, llvm::raw_ostream &os) {
  switch (value.kind) {
  case Val::Kind::Integer:
    os << 'i' << value.integer;
    break;
  case Val::Kind::Boolean:
    os << (value.integer ? "true" : "false");
    break;
  case Val::Kind::Float:
    os << 'f' << llvm::bit_cast<uint64_t>(value.number);
    break;
  case Val::Kind::String:
    os << 's' << value.text.size() << ':' << value.text;
    break;
  case Val::Kind::List:
    os << '[';
    for (const Val &item : value.items) {
      printKey(item, os);
      os << ',';
    }
    os << ']';
    break;
  case Val::Kind::Tensor:
    value.tensor.getType().print(os);
    break;
  default:
    os << '?' << static_cast<int>(value.kind);
    break;
  }
}
