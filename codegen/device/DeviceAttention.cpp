//===- DeviceAttention.cpp - Attention as kernels of a GPU ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/DeviceAttention.h"

#include "codegen/kernels/FormKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstring>
#include <numeric>

using namespace mlir;
using namespace ff;

/// The largest head dim that the library has kernels for.
static constexpr int64_t kMostDim = 128;
static constexpr int64_t kMostWarps = 4;
/// Of shared memory, for a block on any chip since sm_80.
static constexpr int64_t kMostShared = 99 * 1024;
/// Blocks that keep a chip busy: what has fewer is cut into smaller ones.
static constexpr int64_t kEnoughBlocks = 132;

/// What all rows of a [B, S, H, D] view are aligned to, and so long.
static int64_t alignmentOf(const StridedView &view, ArrayRef<int64_t> shape,
                           int64_t bytes) {
  int64_t alignment =
      std::gcd(int64_t(16), std::gcd(view.offset, shape.back()) * bytes);
  for (auto [size, stride] : llvm::zip(shape.drop_back(), view.strides))
    if (size > 1)
      alignment = std::gcd(alignment, stride * bytes);
  return alignment;
}

DeviceAttention::DeviceAttention(Operation *op, double scale, bool causal)
    : op(op) {
  auto query = tensorType(op->getOperand(0));
  element = query.getElementType();
  batch = query.getDimSize(0);
  sizes.heads = query.getDimSize(2);
  sizes.queries = query.getDimSize(1);
  sizes.keys = tensorType(op->getOperand(1)).getDimSize(1);
  sizes.dim = query.getDimSize(3);
  sizes.scale = scale;
  sizes.causal = causal;
  sizes.resultAlignment = std::gcd(int64_t(16), sizes.dim * bytes());
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    StridedView view = resolveView(operand);
    // The mask is the last, and row-major.
    if (getElementTypeOrSelf(operand).isInteger(1)) {
      sizes.masked = true;
      views.push_back(std::move(view));
      break;
    }
    bool isLse = i == AttentionSizes::Lse;
    sizes.alignment[i] =
        alignmentOf(view, tensorType(operand).getShape(), bytes());
    sizes.batchStride[i] = view.strides[0];
    sizes.rowStride[i] = view.strides[isLse ? 2 : 1];
    sizes.headStride[i] = view.strides[isLse ? 1 : 2];
    views.push_back(std::move(view));
  }
}

LogicalResult DeviceAttention::verify() const {
  if (element.isF64())
    return op->emitOpError("has no device code for f64; fix: "
                           "compute_dtype = \"fp32\", or --target=cpu");
  if (sizes.dim > kMostDim)
    return op->emitOpError()
           << "has device code for head dims up to " << kMostDim << ", not "
           << sizes.dim << ": use more heads";
  return success();
}

int DeviceAttention::bytes() const {
  return static_cast<int>(element.getIntOrFloatBitWidth() / 8);
}

Type DeviceAttention::statisticsType() const {
  return RankedTensorType::get({batch, sizes.heads, sizes.queries},
                               Float32Type::get(op->getContext()));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static AttentionTiles tilesOf(AttentionKernel kernel, int bytes, int64_t dim) {
  return attentionTiles(kernel, bytes,
                        attentionPaddedDim(static_cast<int>(dim)));
}

int64_t DeviceAttention::blocks(AttentionKernel kernel, int64_t warps) const {
  bool ofKeys = kernel == AttentionKernel::KeyGrad;
  AttentionTiles tiles = tilesOf(kernel, bytes(), sizes.dim);
  int64_t rows = attentionBlockRows(tiles, static_cast<int>(warps));
  return batch * sizes.heads *
         llvm::divideCeil(ofKeys ? sizes.keys : sizes.queries, rows);
}

/// Fewer where the shared memory is too small, or the rows are too few for all
/// warps of a block, or for blocks on all processors. Results do not depend on
/// it: a row is the work of one warp.
int64_t DeviceAttention::warps(AttentionKernel kernel) const {
  int dim = attentionPaddedDim(static_cast<int>(sizes.dim));
  for (int64_t warps = kMostWarps; warps > 1; warps /= 2) {
    int64_t shared =
        attentionSharedBytes(kernel, bytes(), dim, static_cast<int>(warps));
    int64_t count = blocks(kernel, warps);
    if (shared <= kMostShared && count >= kEnoughBlocks &&
        count < blocks(kernel, warps / 2))
      return warps;
  }
  return 1;
}

DeviceLaunch DeviceAttention::launch(AttentionKernel kernel) const {
  DeviceLaunch launch;
  int64_t warps = this->warps(kernel);
  launch.blocks = blocks(kernel, warps);
  launch.threads = warps * 32;
  launch.sharedBytes = attentionSharedBytes(
      kernel, bytes(), attentionPaddedDim(static_cast<int>(sizes.dim)),
      static_cast<int>(warps));
  return launch;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

AttentionSizes DeviceAttention::sizesFor(AttentionKernel kernel) const {
  AttentionSizes result = sizes;
  result.warps = warps(kernel);
  return result;
}

static constexpr size_t kWords = sizeof(AttentionSizes) / sizeof(int64_t);

static std::array<int64_t, kWords> wordsOf(const AttentionSizes &sizes) {
  std::array<int64_t, kWords> words;
  std::memcpy(words.data(), &sizes, sizeof(sizes));
  return words;
}

std::string DeviceAttention::libraryFunction(AttentionKernel kernel) const {
  StringRef kind = kernel == AttentionKernel::Forward     ? "forward"
                   : kernel == AttentionKernel::QueryGrad ? "query_grad"
                                                          : "key_grad";
  std::string name;
  llvm::raw_string_ostream(name)
      << "ff_attention_" << kind << "_" << element << "_"
      << attentionPaddedDim(static_cast<int>(sizes.dim));
  return name;
}

std::string DeviceAttention::key(AttentionKernel kernel) const {
  std::string text = libraryFunction(kernel);
  for (int64_t word : wordsOf(sizesFor(kernel)))
    text += "," + std::to_string(word);
  return text;
}

void DeviceAttention::emit(AttentionKernel kernel,
                           gpu::GPUFuncOp function) const {
  auto device = function->getParentOfType<gpu::GPUModuleOp>();
  Block &entry = function.getBody().front();
  Location loc = function.getLoc();
  auto b = OpBuilder(function);
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());

  std::string name = libraryFunction(kernel);
  auto callee = device.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    int64_t count = function.getNumArguments() + (sizes.masked ? 1 : 2);
    SmallVector<Type> types(count, pointer);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(b.getContext()), types);
    callee = b.create<LLVM::LLVMFuncOp>(loc, name, type);
  }
  auto words = wordsOf(sizesFor(kernel));
  auto array = LLVM::LLVMArrayType::get(b.getI64Type(), kWords);
  auto constant = b.create<LLVM::GlobalOp>(
      loc, array, /*isConstant=*/true, LLVM::Linkage::Internal,
      (function.getName() + "_sizes").str(), b.getI64TensorAttr(words));

  b.setInsertionPointToEnd(&entry);
  // The mask is the last of the inputs, and the last but one of the library.
  SmallVector<Value> arguments(function.getArguments());
  Value mask;
  if (sizes.masked) {
    auto *it = arguments.end() - 3; // in front of two results
    mask = *it;
    arguments.erase(it);
  } else {
    mask = b.create<LLVM::ZeroOp>(loc, pointer);
  }
  arguments.push_back(mask);
  arguments.push_back(b.create<LLVM::AddressOfOp>(loc, constant));
  b.create<LLVM::CallOp>(loc, callee, arguments);
  b.create<gpu::ReturnOp>(loc);
}
