//===- FusedPlan.cpp - Which dim of an ff.fused goes to which loop -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"
#include "dialect/View.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ff;

/// A piece of work moves at least about as many bytes, so that handing it to a
/// thread costs little beside it.
static constexpr int64_t kBytesPerPiece = 32768;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

void ff::collapseDims(SmallVectorImpl<int64_t> &sizes,
                      MutableArrayRef<SmallVector<int64_t>> strides) {
  for (size_t d = sizes.size(); d-- > 0;) {
    bool single = sizes[d] == 1;
    bool joins = !single && d + 1 < sizes.size() &&
                 llvm::all_of(strides, [&](ArrayRef<int64_t> stride) {
                   return stride[d] == stride[d + 1] * sizes[d + 1];
                 });
    if (joins) {
      sizes[d] *= sizes[d + 1];
      sizes.erase(sizes.begin() + d + 1);
      for (SmallVector<int64_t> &stride : strides)
        stride.erase(stride.begin() + d);
    } else if (single) {
      sizes.erase(sizes.begin() + d);
      for (SmallVector<int64_t> &stride : strides)
        stride.erase(stride.begin() + d);
    }
  }
}

/// The bytes of an element that fills its share of a vector: of the widest
/// float that is computed on, else of an integer. Where nothing is computed,
/// elements are moved at their own width.
static int64_t widestElement(FusedOp op) {
  int64_t floats = 0, integers = 0;
  bool computes = false;
  for (Operation &inner : op.getBody().front()) {
    computes |= isElementwise(&inner) && !isa<arith::SelectOp>(inner);
    computes |= isa<ReduceOp, IotaOp>(inner);
    for (Type type : inner.getOperandTypes()) {
      Type element = getElementTypeOrSelf(type);
      int64_t bytes = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
      int64_t &widest = isa<FloatType>(element) ? floats : integers;
      widest = std::max(widest, bytes);
    }
  }
  int64_t least = computes ? 4 : 2;
  return std::max(least, floats > 0 ? floats : integers);
}

FusedKernel::FusedKernel(FusedOp op, int64_t vectorBytes)
    : op(op), vectorBytes(vectorBytes), body(op.getBody().front()),
      yield(cast<YieldOp>(body.getTerminator())), domain(op.getDomain()) {
  bool isConcat =
      llvm::any_of(body, [](Operation &inner) { return isa<ConcatOp>(inner); });
  for (auto [arg, input] :
       llvm::zip_equal(body.getArguments(), op.getInputs())) {
    StridedView view = resolveView(input);
    addAccess(arg, arg.getType(), inputRoots.size(), view.strides);
    inputRoots.push_back(view);
  }
  for (IotaOp iota : body.getOps<IotaOp>()) {
    SmallVector<int64_t> strides(tensorType(iota.getResult()).getRank(), 0);
    strides[iota.getDim()] = 1;
    addAccess(iota.getResult(), iota.getType(), -1, strides);
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    Access access;
    auto type = tensorType(value);
    access.element = type.getElementType();
    access.buffer = static_cast<int64_t>(inputRoots.size() + i);
    access.strides = rowMajorStrides(type.getShape());
    outputs.push_back(std::move(access));
  }
  if (isConcat)
    planConcat();
  else if (op.getColumns())
    planColumns();
  else if (op.getReduced() > 0)
    planRows();
  else
    planElementwise();
}

void FusedKernel::addAccess(Value value, Type type, int64_t buffer,
                            ArrayRef<int64_t> strides) {
  Access access;
  access.element = getElementTypeOrSelf(type);
  access.buffer = buffer;
  access.strides.assign(strides.begin(), strides.end());
  inputs[value] = std::move(access);
}

/// Collapses the domain dims `dims` for all accesses at once; the strides go to
/// the member `to` of each, the sizes are returned.
SmallVector<int64_t> FusedKernel::collapse(ArrayRef<int64_t> dims,
                                           SmallVector<int64_t> Access::*to) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : dims)
    sizes.push_back(domain[dim]);
  SmallVector<Access *> all;
  for (auto &entry : inputs)
    all.push_back(&entry.second);
  for (Access &access : outputs)
    all.push_back(&access);
  SmallVector<SmallVector<int64_t>> strides;
  for (Access *access : all) {
    strides.emplace_back();
    // What has fewer dims repeats along the last dims (a value of the rows).
    for (int64_t dim : dims)
      strides.back().push_back(
          dim < static_cast<int64_t>(access->strides.size())
              ? access->strides[dim]
              : 0);
  }
  collapseDims(sizes, strides);
  for (auto [access, stride] : llvm::zip_equal(all, strides))
    access->*to = stride;
  return sizes;
}

void FusedKernel::setGrain(int64_t elementsPerIteration) {
  int64_t bytes = 0;
  for (auto &entry : inputs)
    if (entry.second.buffer >= 0)
      bytes += entry.second.element.getIntOrFloatBitWidth() / 8;
  for (Access &access : outputs)
    bytes += access.element.getIntOrFloatBitWidth() / 8;
  bytes = std::max<int64_t>(1, bytes) * elementsPerIteration;
  shape.grain = std::max<int64_t>(1, kBytesPerPiece / bytes);
}

/// Splits the innermost of `sizes` off as the lanes.
static void splitLanes(SmallVectorImpl<int64_t> &sizes,
                       SmallVectorImpl<int64_t> &laneSizes) {
  laneSizes.assign(1, 1);
  if (!sizes.empty())
    laneSizes[0] = sizes.pop_back_val();
}

static void splitLanes(SmallVectorImpl<Access *> &accesses,
                       SmallVector<int64_t> Access::*from) {
  for (Access *access : accesses) {
    access->lanes.assign(1, 0);
    if (!(access->*from).empty())
      access->lanes[0] = (access->*from).pop_back_val();
  }
}

void FusedKernel::planRows() {
  lanes = std::max<int64_t>(1, vectorBytes / widestElement(op));
  int64_t rank = domain.size(), kept = rank - op.getReduced();
  outerSizes =
      collapse(llvm::to_vector(llvm::seq<int64_t>(0, kept)), &Access::outer);
  loopSizes =
      collapse(llvm::to_vector(llvm::seq<int64_t>(kept, rank)), &Access::loops);
  SmallVector<Access *> all;
  for (auto &entry : inputs)
    all.push_back(&entry.second);
  for (Access &access : outputs)
    all.push_back(&access);
  splitLanes(loopSizes, laneSizes);
  splitLanes(all, &Access::loops);
  shape.iterations = product(outerSizes);
  setGrain(product(loopSizes) * laneSizes[0]);
}

void FusedKernel::planElementwise() {
  lanes = std::max<int64_t>(1, vectorBytes / widestElement(op));
  SmallVector<Access *> all;
  for (auto &entry : inputs)
    all.push_back(&entry.second);
  for (Access &access : outputs)
    all.push_back(&access);
  outerSizes = collapse(llvm::to_vector(llvm::seq<int64_t>(0, domain.size())),
                        &Access::outer);
  isLinear = outerSizes.size() <= 1 || outerSizes.back() <= lanes / 2;
  if (!isLinear) {
    splitLanes(outerSizes, laneSizes);
    splitLanes(all, &Access::outer);
    shape.iterations = product(outerSizes);
    setGrain(laneSizes[0]);
    return;
  }
  // Short last dims would leave most lanes empty: walk all elements as one dim
  // and compute the address of each.
  laneSizes = outerSizes;
  outerSizes.clear();
  for (Access *access : all) {
    access->lanes = access->outer;
    access->outer.clear();
    if (access->lanes == rowMajorStrides(laneSizes))
      access->lanes.assign(1, 1);
    else if (llvm::all_of(access->lanes, [](int64_t s) { return s == 0; }))
      access->lanes.assign(1, 0);
  }
  shape.iterations = product(laneSizes);
  setGrain(1);
}

void FusedKernel::planColumns() {
  lanes = std::max<int64_t>(1, vectorBytes / widestElement(op));
  ArrayRef<int64_t> columns = *op.getColumns();
  SmallVector<int64_t> keptDims;
  for (int64_t d = 0; d < static_cast<int64_t>(domain.size()); ++d)
    if (!llvm::is_contained(columns, d))
      keptDims.push_back(d);
  // The results have only the kept dims.
  for (Access &access : outputs) {
    SmallVector<int64_t> strides(domain.size(), 0);
    for (auto [i, dim] : llvm::enumerate(keptDims))
      strides[dim] = access.strides[i];
    access.strides = strides;
  }
  outerSizes = collapse(keptDims, &Access::outer);
  loopSizes = collapse(columns, &Access::loops);
  // The results are stored behind the loops.
  for (Access &access : outputs)
    access.loops.clear();
  SmallVector<Access *> all;
  for (auto &entry : inputs)
    all.push_back(&entry.second);
  for (Access &access : outputs)
    all.push_back(&access);
  splitLanes(outerSizes, laneSizes);
  splitLanes(all, &Access::outer);
  int64_t vectors = llvm::divideCeil(laneSizes[0], lanes);
  columnVectors = 1;
  for (int64_t count : {4, 3, 2})
    if (columnVectors == 1 && vectors % count == 0)
      columnVectors = count;
  shape.iterations = product(outerSizes) * (vectors / columnVectors);
  setGrain(product(loopSizes) * columnVectors * lanes);
}

void FusedKernel::planConcat() {
  lanes = std::max<int64_t>(1, vectorBytes / widestElement(op));
  auto concat = cast<ConcatOp>(yield.getValues()[0].getDefiningOp());
  int64_t outer = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(concat.getDim()); ++d)
    outer *= domain[d];
  shape.iterations = outer;
  setGrain(product(domain) / outer);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

std::string FusedKernel::key() {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto list = [&](ArrayRef<int64_t> values) {
    os << "[";
    llvm::interleaveComma(values, os);
    os << "]";
  };
  list(domain);
  os << op.getReduced();
  if (op.getColumns())
    list(*op.getColumns());
  llvm::DenseMap<Value, int64_t> numbers;
  for (BlockArgument arg : body.getArguments()) {
    const Access &access = inputs[arg];
    numbers[arg] = static_cast<int64_t>(numbers.size());
    os << arg.getType();
    list(access.strides);
  }
  for (Operation &inner : body) {
    // Attributes and types are unique in their context: pointers name them.
    os << "\n" << inner.getName().getAsOpaquePointer();
    os << inner.getAttrDictionary().getAsOpaquePointer();
    for (Value operand : inner.getOperands())
      os << " %" << numbers.lookup(operand);
    for (Value result : inner.getResults()) {
      os << " " << result.getType().getAsOpaquePointer();
      numbers[result] = static_cast<int64_t>(numbers.size());
    }
  }
  return text;
}
