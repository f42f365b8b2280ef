//===- Quantized.cpp - Frozen weights of fp8 and int8 with scales *- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A frozen weight that its file holds in F8_E4M3, F8_E5M2 or I8 is stored and
// gathered as it is: one byte per number. Where it is used it becomes
// number · scale in the compute dtype. The scale is the tensor NAME_scale of
// the files: one number, or one for each row of the weight.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"
#include "frontend/Weights.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

static bool isQuantized(StringRef dtype) {
  return llvm::StringSwitch<bool>(dtype)
      .Cases("f8_e4m3", "f8_e5m2", "i8", true)
      .Default(false);
}

static int64_t numelOf(llvm::ArrayRef<int64_t> shape) {
  int64_t product = 1;
  for (int64_t size : shape)
    product *= size;
  return product;
}

/// What stands in front of all names in the files, such as a wrapper's name.
static std::string
commonPrefix(const ComponentInfo &info,
             const llvm::StringMap<const WeightFiles::Tensor *> &tensors) {
  for (const ComponentParam &param : info.params) {
    if (tensors.count(param.name))
      return "";
    // The longest prefix of a name that ends like this one, of those that fit
    // the most other parameters.
    std::string best;
    size_t most = 0;
    for (auto &tensor : tensors) {
      StringRef key = tensor.first();
      if (!key.ends_with("." + param.name))
        continue;
      std::string prefix = key.drop_back(param.name.size()).str();
      size_t fits = llvm::count_if(info.params, [&](const ComponentParam &p) {
        return tensors.count(prefix + p.name);
      });
      if (fits > most || (fits == most && prefix < best)) {
        most = fits;
        best = prefix;
      }
    }
    if (most)
      return best;
  }
  return "";
}

bool Importer::addScales(ComponentInfo &info, const WeightFiles &files,
                         SMLoc loc) {
  llvm::StringMap<const WeightFiles::Tensor *> tensors;
  bool any = false;
  for (const WeightFiles::Tensor &tensor : files.tensors) {
    tensors[tensor.key] = &tensor;
    any |= isQuantized(tensor.dtype);
  }
  if (!any)
    return true;
  std::string prefix = commonPrefix(info, tensors);
  auto find = [&](StringRef name) {
    return tensors.lookup(prefix + name.str());
  };
  std::vector<ComponentParam> old;
  old.swap(info.params);
  info.index.clear();
  bool ok = true;
  for (ComponentParam &param : old) {
    const WeightFiles::Tensor *tensor = find(param.name);
    bool isOwn = tensor && isQuantized(tensor->dtype) && !param.isAdapter &&
                 !param.isBuffer();
    std::string scaleName = param.name + "_scale";
    const WeightFiles::Tensor *scale = isOwn ? find(scaleName) : nullptr;
    if (isOwn && param.trainable) {
      diags
          .error(loc, "'" + info.name + "." + param.name + "' is " +
                          tensor->dtype + " in its file and would be trained")
          .note("only floats of 16 bits and more can be trained: adapt the "
                "component with train = \"lora\", or convert the file");
      ok = false;
    } else if (isOwn && !scale && tensor->dtype == "i8") {
      diags
          .error(loc, "'" + info.name + "." + param.name +
                          "' is i8 in its file, which has no '" + scaleName +
                          "'")
          .note("numbers of int8 weights are value · scale");
      ok = false;
    }
    if (scale)
      param.scaleName = scaleName;
    int64_t rows = param.decl->shape.empty() ? 1 : param.decl->shape[0];
    int64_t scaleSize = scale ? numelOf(scale->shape) : 1;
    SMLoc declLoc = param.decl->loc;
    std::string block = param.block;
    info.add(std::move(param));
    if (!scale || info.index.count(scaleName))
      continue;
    if (scaleSize != 1 && scaleSize != rows) {
      diags
          .error(loc, "'" + info.name + "." + scaleName + "' has " +
                          Twine(scaleSize) + " numbers")
          .note(declLoc, "a scale is one number, or one for each of the " +
                             Twine(rows) + " rows of the weight");
      ok = false;
      continue;
    }
    auto decl = std::make_unique<Param>();
    decl->name = scaleName;
    decl->loc = declLoc;
    decl->shape.assign(scale->shape.begin(), scale->shape.end());
    decl->dims.assign(scale->shape.size(), "");
    decl->init =
        InitAttr::get(context, InitKind::Constant, builder.getF64FloatAttr(1),
                      builder.getF64FloatAttr(0));
    decl->decay = false;
    decl->used = true;
    decl->buffer = true;
    ComponentParam own;
    own.name = scaleName;
    own.decl = decl.get();
    own.block = block;
    info.ownDecls.push_back(std::move(decl));
    info.add(std::move(own));
  }
  return ok;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// The numbers that bytes of `dtype` stand for, as f32.
static Value decode(Elaborator &e, Value bytes, StringRef dtype, SMLoc loc) {
  OpBuilder &b = e.builder();
  Location at = e.location(loc);
  auto type = cast<RankedTensorType>(bytes.getType());
  RankedTensorType f32 = type.clone(b.getF32Type());
  if (dtype == "i8")
    return b.create<arith::SIToFPOp>(at, f32, bytes);
  if (dtype == "f8_e5m2") { // the upper byte of an f16
    RankedTensorType i16 = type.clone(b.getIntegerType(16));
    Value wide = b.create<arith::ExtUIOp>(at, i16, bytes);
    Value bits = b.create<arith::ShLIOp>(at, wide, e.splat(i16, 8, loc));
    Value half =
        b.create<arith::BitcastOp>(at, type.clone(b.getF16Type()), bits);
    return b.create<arith::ExtFOp>(at, f32, half);
  }
  // E4M3: the bits of a number 2^120 times as small, subnormal ones as well, as
  // the exponents are biased by 7 and by 127. All ones are not a number.
  RankedTensorType i32 = type.clone(b.getI32Type());
  Value wide = b.create<arith::ExtUIOp>(at, i32, bytes);
  Value low = b.create<arith::AndIOp>(at, wide, e.splat(i32, 0x7f, loc));
  Value high = b.create<arith::AndIOp>(at, wide, e.splat(i32, 0x80, loc));
  Value bits = b.create<arith::OrIOp>(
      at, b.create<arith::ShLIOp>(at, low, e.splat(i32, 20, loc)),
      b.create<arith::ShLIOp>(at, high, e.splat(i32, 24, loc)));
  Value small = b.create<arith::BitcastOp>(at, f32, bits);
  Value number = b.create<arith::MulFOp>(at, small, e.splat(f32, 0x1p120, loc));
  Value isNan = b.create<arith::CmpIOp>(at, arith::CmpIPredicate::eq, low,
                                        e.splat(i32, 0x7f, loc));
  return b.create<arith::SelectOp>(
      at, isNan, e.splat(f32, std::numeric_limits<double>::quiet_NaN(), loc),
      number);
}

Val Elaborator::decoded(Val value, ComponentInfo &info,
                        const ComponentParam &param, SMLoc loc) {
  if (param.isBuffer() || !isQuantized(param.fileDtype))
    return value;
  Val numbers =
      Val::ofTensor(decode(*this, value.tensor, param.fileDtype, loc));
  numbers.dims = value.dims;
  if (!param.scaleName.empty()) {
    const ComponentParam &own = *info.find(param.scaleName);
    Val scale = Val::ofTensor(paramValue(value.instance, own, loc));
    scale = convert(scale, builder().getF32Type(), loc);
    // One for each row, or one.
    SmallVector<int64_t> shape(numbers.rank(), 1);
    if (scale.type().getNumElements() != 1)
      shape[0] = scale.type().getNumElements();
    scale = Val::ofTensor(reshape(scale.tensor, shape, loc));
    numbers = binary(Operator::Mul, numbers, scale, loc);
  }
  Val result = convert(numbers, elementType, loc);
  result.dims = value.dims;
  result.param = value.param;
  result.instance = value.instance;
  return result;
}
