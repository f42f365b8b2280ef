//===- DevicePlan.cpp - How dims fall on blocks and threads ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ff;

/// Threads of a block where the kind does not ask for another number: few
/// enough that each may have 128 registers with two blocks on a processor.
static constexpr int64_t kThreads = 256;
/// Blocks that fill the largest chip of the targets: 132 processors, 8 blocks
/// of 256 threads on each.
static constexpr int64_t kMaxBlocks = 132 * 8;
/// Blocks below which a chip has idle processors.
static constexpr int64_t kEnoughBlocks = 132 * 2;
/// Elements that a thread holds of one row, for all operands together.
static constexpr int64_t kRowRegisters = 64;
/// A thread of a larger block has less than 128 registers.
static constexpr int64_t kMaxRowThreads = 512;
/// Parts of a sum over columns that one thread of the second kernel adds up.
static constexpr int64_t kMaxParts = 64;
/// Elements of a column that one thread sums up in less time than it takes to
/// launch a second kernel.
static constexpr int64_t kFewPerThread = 16;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t DeviceAccess::bytes() const {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t DeviceAccess::vectorBytes(int64_t width,
                                  ArrayRef<int64_t> sizes) const {
  if (buffer < 0 || width == 1 || strides.back() != 1)
    return 0;
  int64_t all = std::min<int64_t>(16, width * bytes());
  if (alignment % all != 0)
    return 0;
  for (int64_t stride : ArrayRef(strides).drop_back())
    if (stride * bytes() % all != 0)
      return 0;
  return all;
}

DeviceKernel::DeviceKernel(FusedOp op, ArrayRef<StridedView> views)
    : op(op), body(op.getBody().front()),
      yield(cast<YieldOp>(body.getTerminator())) {
  for (auto [arg, view] : llvm::zip_equal(body.getArguments(), views)) {
    DeviceAccess &access = inputs[arg];
    access.element = getElementTypeOrSelf(arg.getType());
    access.buffer = arg.getArgNumber();
    access.domain = view.strides;
    // Buffers are aligned; what a view begins at may be in their middle.
    while (view.offset * access.bytes() % access.alignment != 0)
      access.alignment /= 2;
  }
  for (IotaOp iota : body.getOps<IotaOp>()) {
    DeviceAccess &access = inputs[iota.getResult()];
    access.element = getElementTypeOrSelf(iota.getType());
    access.domain.assign(tensorType(iota.getResult()).getRank(), 0);
    access.domain[iota.getDim()] = 1;
  }
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    DeviceAccess access;
    access.element = tensorType(value).getElementType();
    access.buffer = static_cast<int64_t>(views.size() + i);
    access.domain = rowMajorStrides(tensorType(value).getShape());
    outputs.push_back(std::move(access));
  }
  if (llvm::any_of(body, [](Operation &o) { return isa<ConcatOp>(o); }))
    planConcat();
  else if (op.getColumns())
    planColumns();
  else if (op.getReduced() > 0)
    planRows();
  else
    planLinear();
}

/// The kernel's dims: those of the domain in `first`, then those in `last`,
/// each collapsed as far as all accesses allow.
void DeviceKernel::collapse(ArrayRef<int64_t> first, ArrayRef<int64_t> last) {
  SmallVector<DeviceAccess *> all;
  for (auto &entry : inputs)
    all.push_back(&entry.second);
  for (DeviceAccess &access : outputs)
    all.push_back(&access);
  for (DeviceAccess *access : all)
    access->strides.clear();
  sizes.clear();
  for (ArrayRef<int64_t> dims : {first, last}) {
    SmallVector<int64_t> group;
    SmallVector<SmallVector<int64_t>> strides(all.size());
    for (int64_t dim : dims) {
      group.push_back(op.getDomain()[dim]);
      // What has fewer dims repeats along the last ones.
      for (auto [access, stride] : llvm::zip_equal(all, strides))
        stride.push_back(dim < static_cast<int64_t>(access->domain.size())
                             ? access->domain[dim]
                             : 0);
    }
    collapseDims(group, strides);
    split = sizes.size();
    llvm::append_range(sizes, group);
    for (auto [access, stride] : llvm::zip_equal(all, strides))
      llvm::append_range(access->strides, stride);
  }
  // There is always a last dim for places to lie along.
  if (sizes.size() > split)
    return;
  sizes.push_back(1);
  for (DeviceAccess *access : all)
    access->strides.push_back(0);
}

/// Elements of a place such that the narrowest operand is read 16 bytes at a
/// time and `size` consists of whole places.
int64_t DeviceKernel::widthFor(int64_t size) const {
  int64_t least = 8;
  bool isMoved = true;
  for (const auto &entry : inputs) {
    const DeviceAccess &access = entry.second;
    if (access.buffer < 0 || access.strides.back() == 0)
      continue;
    least = std::min(least, access.bytes());
    isMoved &= access.bytes() == 1;
  }
  for (const DeviceAccess &access : outputs) {
    least = std::min(least, access.bytes());
    isMoved &= access.bytes() == 1;
  }
  // Sixteen numbers at a time are many registers; bytes that are only moved
  // are few.
  int64_t result = std::min<int64_t>(16 / least, isMoved ? 16 : 8);
  while (size % result != 0)
    result /= 2;
  return result;
}

void DeviceKernel::planLinear() {
  collapse({}, llvm::to_vector(llvm::seq<int64_t>(0, op.getDomain().size())));
  int64_t total = product(sizes);
  // One dim may end in a piece of a place.
  width = widthFor(sizes.size() == 1 ? 16 : sizes.back());
  int64_t groups = total / width;
  shape.threads = kThreads;
  unroll = std::max<int64_t>(1, std::min<int64_t>(4, 16 / width));
  while (unroll > 1 && groups / (kThreads * unroll) < kEnoughBlocks)
    unroll /= 2;
  int64_t blocks = llvm::divideCeil(groups, kThreads * unroll);
  shape.blocks = std::clamp<int64_t>(blocks, 1, kMaxBlocks);
}

void DeviceKernel::planConcat() {
  collapse({}, llvm::to_vector(llvm::seq<int64_t>(0, op.getDomain().size())));
  shape.threads = kThreads;
  int64_t blocks = llvm::divideCeil(product(sizes), kThreads * 4);
  shape.blocks = std::clamp<int64_t>(blocks, 1, kMaxBlocks);
}

/// Operands and results that are walked along rows.
int64_t DeviceKernel::fullOperands() const {
  auto isFull = [&](const DeviceAccess &access) {
    return llvm::any_of(ArrayRef(access.strides).drop_front(split),
                        [](int64_t stride) { return stride != 0; });
  };
  int64_t count = llvm::count_if(
      inputs, [&](const auto &entry) { return isFull(entry.second); });
  return std::max<int64_t>(1, count + llvm::count_if(outputs, isFull));
}

void DeviceKernel::planRows() {
  int64_t rank = op.getDomain().size(), kept = rank - op.getReduced();
  collapse(llvm::to_vector(llvm::seq<int64_t>(0, kept)),
           llvm::to_vector(llvm::seq<int64_t>(kept, rank)));
  int64_t rows = product(ArrayRef(sizes).take_front(split));
  width = widthFor(sizes.back());
  rowGroups = product(ArrayRef(sizes).drop_front(split)) / width;
  int64_t held = std::clamp<int64_t>(kRowRegisters / fullOperands() / width, 1,
                                     std::max<int64_t>(1, 32 / width));
  int64_t want = llvm::divideCeil(rowGroups, std::min<int64_t>(held, 4));
  // Few places fill a part of a warp, and one warp is better than many: it
  // needs no shared memory.
  if (rowGroups <= 32 * held)
    want = std::min<int64_t>(rowGroups, 32);
  rowThreads = std::min<int64_t>(llvm::PowerOf2Ceil(want), kMaxRowThreads);
  int64_t places = llvm::divideCeil(rowGroups, rowThreads);
  rowPlaces = places <= held ? places : 0;
  if (rowThreads <= 32) {
    shape.threads = 128;
    shape.blocks = llvm::divideCeil(rows, shape.threads / rowThreads);
    return;
  }
  shape.threads = rowThreads;
  shape.blocks = rows;
  for (ReduceOp reduce : body.getOps<ReduceOp>())
    shape.sharedBytes +=
        rowThreads / 32 * (numberTypeOf(elementOf(reduce)).isF64() ? 8 : 4);
}

void DeviceKernel::planColumns() {
  ArrayRef<int64_t> columns = *op.getColumns();
  SmallVector<int64_t> kept;
  for (int64_t d = 0; d < static_cast<int64_t>(op.getDomain().size()); ++d)
    if (!llvm::is_contained(columns, d))
      kept.push_back(d);
  // The results have only the kept dims.
  for (DeviceAccess &access : outputs) {
    SmallVector<int64_t> strides(op.getDomain().size(), 0);
    for (auto [i, dim] : llvm::enumerate(kept))
      strides[dim] = access.domain[i];
    access.domain = strides;
  }
  collapse(columns, kept);
  int64_t length = product(ArrayRef(sizes).take_front(split));
  int64_t others = product(ArrayRef(sizes).slice(split).drop_back());
  int64_t reductions = llvm::range_size(body.getOps<ReduceOp>());
  width = widthFor(sizes.back());
  // All partial sums of a block lie in shared memory, at most 32 KiB.
  while (width > 1 && width * reductions > 16)
    width /= 2;
  int64_t groups = sizes.back() / width;
  shape.threads = kThreads;
  while (shape.threads > 32 && shape.threads * reductions * width * 8 > 32768)
    shape.threads /= 2;
  columnThreads = std::min<int64_t>(32, llvm::PowerOf2Ceil(groups));
  columnBlocks = llvm::divideCeil(groups, columnThreads);
  int64_t down = shape.threads / columnThreads;
  int64_t blocks = others * columnBlocks;
  // A part is worth a block if each thread has a few elements in it.
  numParts = std::clamp<int64_t>(
      llvm::divideCeil(kEnoughBlocks, blocks), 1,
      std::clamp<int64_t>(length / (down * 4), 1, kMaxParts));
  // Nor is a second launch worth it for what a thread sums up in a few reads.
  if (length <= down * kFewPerThread)
    numParts = 1;
  partLength = llvm::divideCeil(length, numParts);
  numParts = llvm::divideCeil(length, partLength);
  shape.blocks = numParts * blocks;
  if (down > 1)
    for (ReduceOp reduce : body.getOps<ReduceOp>())
      shape.sharedBytes += shape.threads * width *
                           (numberTypeOf(elementOf(reduce)).isF64() ? 8 : 4);
}

SmallVector<Type> DeviceKernel::partTypes() {
  SmallVector<Type> types;
  for (Value value : yield.getValues()) {
    SmallVector<int64_t> shape{numParts};
    llvm::append_range(shape, tensorType(value).getShape());
    types.push_back(RankedTensorType::get(
        shape, numberTypeOf(getElementTypeOrSelf(value.getType()))));
  }
  return types;
}

DeviceLaunch DeviceKernel::secondLaunch() const {
  DeviceLaunch launch;
  launch.threads = 64;
  int64_t kept = product(ArrayRef(sizes).drop_front(split));
  launch.blocks = llvm::divideCeil(kept, launch.threads);
  return launch;
}
