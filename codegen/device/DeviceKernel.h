//===- DeviceKernel.h - An ff.fused as a kernel of a GPU --------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread computes scalars; what it reads and writes at once is a place: some
// consecutive elements along the last dim, at most 16 bytes of an operand. How
// threads and blocks walk the places is the difference between the kinds
// (elementwise, concatenations, rows, columns); the value of the body at a
// place is common. See docs/decisions for the reasons.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_DEVICEKERNEL_H
#define FF_CODEGEN_DEVICE_DEVICEKERNEL_H

#include "codegen/kernels/KernelBuilder.h"
#include "dialect/View.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace ff {

/// Dynamic shared memory, as a symbol of the gpu.module.
inline constexpr llvm::StringLiteral kSharedSymbol = "ff_shared";

/// How a block argument, an iota or a result is reached.
struct DeviceAccess {
  mlir::Type element;
  int64_t buffer = -1;    ///< -1: an iota, whose value is the index itself
  int64_t alignment = 16; ///< in bytes, of the first element
  llvm::SmallVector<int64_t> domain;  ///< strides over the dims of the domain
  llvm::SmallVector<int64_t> strides; ///< over the dims of the kernel

  int64_t bytes() const;
  /// Bytes of one access to `width` elements, or 0 where each element is an
  /// access of its own.
  int64_t vectorBytes(int64_t width, llvm::ArrayRef<int64_t> sizes) const;
};

/// Some consecutive elements along the last dim of the kernel.
struct Place {
  llvm::SmallVector<mlir::Value> indices; ///< of the first element
  int64_t width = 1;
  /// Values here: one for each element, or one for all.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> values;
};

struct DeviceLaunch {
  int64_t blocks = 1;
  int64_t threads = 1;
  int64_t sharedBytes = 0;
};

/// A reduction over the places of a thread, to be joined with other threads'.
struct Partial {
  ReduceOp reduce;
  mlir::Value value;
};

class DeviceKernel {
public:
  DeviceKernel(FusedOp op, llvm::ArrayRef<StridedView> views);

  DeviceLaunch launch() const { return shape; }
  /// Parts into which sums over columns are split, each in blocks of its own.
  /// Where there are several, the kernel writes them to buffers of `partTypes`
  /// in the place of its results, and a second kernel adds them up.
  int64_t parts() const { return numParts; }
  llvm::SmallVector<mlir::Type> partTypes();
  DeviceLaunch secondLaunch() const;

  /// The body of `function`, whose arguments are the operands, then the
  /// results.
  mlir::LogicalResult emit(mlir::gpu::GPUFuncOp function);
  mlir::LogicalResult emitSecond(mlir::gpu::GPUFuncOp function);

private:
  // Where the dims go.
  void collapse(llvm::ArrayRef<int64_t> first, llvm::ArrayRef<int64_t> last);
  int64_t widthFor(int64_t size) const;
  int64_t fullOperands() const;
  void planLinear();
  void planConcat();
  void planRows();
  void planColumns();

  // Values at a place.
  void open(mlir::gpu::GPUFuncOp function);
  mlir::Value thread();
  mlir::Value block();
  mlir::Value lessThan(mlir::Value x, int64_t bound);
  mlir::Value both(mlir::Value x, mlir::Value y);
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value linear,
                                             llvm::ArrayRef<int64_t> sizes);
  /// The place of element `linear` of the dims `sizes`.
  Place placeAt(mlir::Value linear, llvm::ArrayRef<int64_t> sizes,
                int64_t width);
  mlir::Value offsetOf(const DeviceAccess &access, const Place &place);
  llvm::SmallVector<mlir::Value> read(const DeviceAccess &access,
                                      const Place &place);
  void write(const DeviceAccess &access, const Place &place,
             llvm::ArrayRef<mlir::Value> values);
  /// Inside scf.if where `condition` is not null.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  llvm::SmallVector<mlir::Value> at(mlir::Value value, Place &place);
  llvm::SmallVector<mlir::Value> compute(mlir::Value value, Place &place);
  mlir::Value emitScalar(mlir::Operation *op, mlir::ValueRange operands);
  mlir::Value power(mlir::Value x, mlir::Value y);
  /// Reads what `values` need at `places` before anything is computed.
  void readAhead(llvm::ArrayRef<mlir::Value> values,
                 llvm::MutableArrayRef<Place> places);

  // Reductions.
  mlir::Value identity(ReduceOp reduce);
  mlir::Value combine(ReduceOp reduce, mlir::Value x, mlir::Value y);
  mlir::Value accumulate(ReduceOp reduce, mlir::Value sum, Place &place,
                         mlir::Value mask);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value sharedAddress(mlir::Type type, int64_t start,
                            mlir::Value element);
  void joinThreads(llvm::MutableArrayRef<Partial> partials, int64_t &slot);

  // Kinds.
  void emitPlaces(int64_t total, llvm::ArrayRef<int64_t> sizes, int64_t wide,
                  llvm::function_ref<void(llvm::MutableArrayRef<Place>)> body);
  void emitLinear();
  void emitConcat();
  void emitRows();
  void emitRowInRegisters(int64_t stage, llvm::MutableArrayRef<Place> places,
                          llvm::ArrayRef<mlir::Value> masks, mlir::Value isRow,
                          int64_t &slot);
  void emitRowInLoops(int64_t stage, mlir::Value lane, mlir::Value isRow,
                      int64_t &slot);
  void emitColumns();
  void addTo(ReduceOp reduce, llvm::MutableArrayRef<mlir::Value> sums,
             Place &place);
  void joinColumns(llvm::MutableArrayRef<mlir::Value> sums, mlir::Value y);
  bool isRowValue(mlir::Value value);
  bool isRowOutput(size_t i);
  int64_t stageOf(mlir::Value value);
  void prepareRow(mlir::Value value);
  Place inRow(mlir::Value group);

  FusedOp op;
  mlir::Block &body;
  YieldOp yield;
  DeviceLaunch shape;
  KernelBuilder *k = nullptr;
  bool isFailed = false;
  mlir::Block *entry = nullptr;

  llvm::DenseMap<mlir::Value, DeviceAccess> inputs;
  std::vector<DeviceAccess> outputs;
  llvm::SmallVector<int64_t> sizes; ///< dims of the kernel
  size_t split = 0;   ///< dims before those that the last one is among
  int64_t width = 1;  ///< elements of a place
  int64_t unroll = 1; ///< places that a thread reads at once

  // Rows.
  int64_t rowThreads = 1, rowGroups = 1, rowPlaces = 0;
  Place row;
  bool hasRow = false;
  llvm::DenseMap<mlir::Value, bool> rowValues;
  llvm::DenseMap<mlir::Value, int64_t> stages;
  llvm::DenseSet<mlir::Value> prepared;

  // Columns.
  int64_t numParts = 1, partLength = 1, columnThreads = 1, columnBlocks = 1;
};

} // namespace ff

#endif // FF_CODEGEN_DEVICE_DEVICEKERNEL_H
