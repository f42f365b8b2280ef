//===- MergeLaunches.cpp - Independent kernels of a GPU as one ------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch takes microseconds, in which a chip moves megabytes, and a sum of
// few columns leaves most of it idle. Two launches that do not depend on each
// other become one whose first blocks do the one and whose others the other.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "dialect/Buffers.h"
#include "dialect/Flops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/StringMap.h"

namespace ff {
#define GEN_PASS_DEF_MERGELAUNCHESPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// Parameters of a kernel, which are at most 4 KiB.
static constexpr unsigned kMaxBuffers = 64;
/// What a launch reads may be kept for any time if it is as small as this.
static constexpr int64_t kSmallBytes = 1 << 19;
/// What reads more keeps a chip busy for several times as long as a launch
/// takes, and is large enough to matter to the size of the frame.
static constexpr int64_t kLargeBytes = 1 << 25;
/// Launches past which one with larger operands may move: they stay in memory
/// for as long.
static constexpr unsigned kMaxPassed = 1;

namespace {
struct MergeLaunches : ff::impl::MergeLaunchesPassBase<MergeLaunches> {
  void runOnOperation() override;

private:
  void mergeIn(Block &block);
  bool canMove(LaunchDeviceOp launch, LaunchDeviceOp to, unsigned passed);
  LaunchDeviceOp merge(LaunchDeviceOp a, LaunchDeviceOp b);
  SymbolRefAttr kernelOf(LaunchDeviceOp a, LaunchDeviceOp b);
  gpu::GPUFuncOp lookup(LaunchDeviceOp launch);

  llvm::StringMap<SymbolRefAttr> kernels;
};
} // namespace

gpu::GPUFuncOp MergeLaunches::lookup(LaunchDeviceOp launch) {
  return dyn_cast_or_null<gpu::GPUFuncOp>(
      SymbolTable::lookupSymbolIn(getOperation(), launch.getKernelAttr()));
}

/// Kernels of loops and branches. What calls a function may have shared memory
/// of its own.
static bool isPlain(gpu::GPUFuncOp kernel) {
  return kernel && kernel.getBody().hasOneBlock() &&
         !kernel.walk([](CallOpInterface) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

/// What launches may move past: no collective, no call and no return.
static bool mayPass(Operation &op) {
  return isViewOp(&op) || isa<ViewOp>(op) ||
         isa<LaunchDeviceOp, MatmulOp, RandomOp, EmbeddingOp, AttentionOp,
             AttentionBackwardOp, EmbeddingBackwardOp>(op);
}

static int64_t operandBytes(Operation *op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getBytes(type);
  return bytes;
}

/// Moves views, and launches that read little, down to their first uses, where
/// they are in the way of nothing: the second step of a sum that is split does
/// not hold the first one back.
static void moveToUses(Block &block) {
  Operation *end = block.getTerminator();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!mayPass(op))
      end = &op;
    bool isSmall = isa<LaunchDeviceOp>(op) && operandBytes(&op) <= kSmallBytes;
    if ((!isViewOp(&op) && !isSmall) || op.use_empty())
      continue;
    Operation *first = isSmall ? end : block.getTerminator();
    for (Operation *user : op.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    op.moveBefore(first);
  }
}

bool MergeLaunches::canMove(LaunchDeviceOp launch, LaunchDeviceOp to,
                            unsigned passed) {
  if (launch.getThreads() != to.getThreads() ||
      launch->getNumOperands() + launch->getNumResults() +
              to->getNumOperands() + to->getNumResults() >
          kMaxBuffers)
    return false;
  int64_t bytes = operandBytes(launch);
  if (bytes > kLargeBytes || (passed > kMaxPassed && bytes > kSmallBytes))
    return false;
  return llvm::all_of(launch->getUsers(), [&](Operation *user) {
    return to->isBeforeInBlock(user);
  });
}

SymbolRefAttr MergeLaunches::kernelOf(LaunchDeviceOp a, LaunchDeviceOp b) {
  std::string key;
  llvm::raw_string_ostream(key)
      << a.getKernel() << ":" << a.getBlocks() << ":" << b.getKernel();
  SymbolRefAttr &symbol = kernels[key];
  if (symbol)
    return symbol;
  gpu::GPUFuncOp first = lookup(a), second = lookup(b);
  auto device = first->getParentOfType<gpu::GPUModuleOp>();
  auto builder = OpBuilder::atBlockTerminator(device.getBody());
  Location loc = builder.getFusedLoc({first.getLoc(), second.getLoc()});
  SmallVector<Type> types(first.getNumArguments() + second.getNumArguments(),
                          LLVM::LLVMPointerType::get(&getContext()));
  auto merged = builder.create<gpu::GPUFuncOp>(
      loc, ("merged_" + Twine(kernels.size() - 1)).str(),
      builder.getFunctionType(types, {}));
  merged->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  merged.setKnownBlockSizeAttr(first.getKnownBlockSizeAttr());
  merged->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  first->getAttr(NVVM::NVVMDialect::getMinctasmAttrName()));

  Block &entry = merged.getBody().front();
  builder.setInsertionPointToStart(&entry);
  Value block = builder.create<gpu::BlockIdOp>(loc, gpu::Dimension::x);
  Value count = builder.create<arith::ConstantIndexOp>(loc, a.getBlocks());
  Value isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult,
                                                block, count);
  auto branch =
      builder.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/true);
  // Operands of both, then results of both. They may be one kernel, twice.
  unsigned next = 0;
  IRMapping ofFirst, ofSecond;
  auto take = [&](gpu::GPUFuncOp kernel, IRMapping &mapping, unsigned begin,
                  unsigned end) {
    for (unsigned i = begin; i < end; ++i, ++next) {
      mapping.map(kernel.getArgument(i), entry.getArgument(next));
      for (NamedAttribute attr :
           cast<FunctionOpInterface>(*kernel).getArgAttrs(i))
        merged.setArgAttr(next, attr.getName(), attr.getValue());
    }
  };
  take(first, ofFirst, 0, a->getNumOperands());
  take(second, ofSecond, 0, b->getNumOperands());
  take(first, ofFirst, a->getNumOperands(), first.getNumArguments());
  take(second, ofSecond, b->getNumOperands(), second.getNumArguments());
  auto clone = [&](gpu::GPUFuncOp kernel, IRMapping &mapping, Block *into) {
    OpBuilder inner = OpBuilder::atBlockTerminator(into);
    for (Operation &op : kernel.getBody().front().without_terminator())
      inner.clone(op, mapping);
  };
  clone(first, ofFirst, branch.thenBlock());
  clone(second, ofSecond, branch.elseBlock());
  // The others count their blocks from 0.
  auto inner = OpBuilder::atBlockBegin(branch.elseBlock());
  Value rest = inner.create<arith::SubIOp>(loc, block, count);
  branch.getElseRegion().walk([&](gpu::BlockIdOp id) {
    id.replaceAllUsesWith(rest);
    id.erase();
  });
  builder.create<gpu::ReturnOp>(loc);
  return symbol =
             SymbolRefAttr::get(device.getSymNameAttr(),
                                {FlatSymbolRefAttr::get(merged.getNameAttr())});
}

/// Both where `b` stands.
LaunchDeviceOp MergeLaunches::merge(LaunchDeviceOp a, LaunchDeviceOp b) {
  OpBuilder builder(b);
  SmallVector<Value> operands(a.getInputs());
  llvm::append_range(operands, b.getInputs());
  SmallVector<Type> types(a->getResultTypes());
  llvm::append_range(types, b->getResultTypes());
  auto merged = builder.create<LaunchDeviceOp>(
      builder.getFusedLoc({a.getLoc(), b.getLoc()}), types, kernelOf(a, b),
      operands, a.getBlocks() + b.getBlocks(), a.getThreads(),
      std::max(a.getShared(), b.getShared()));
  if (double flops = countFlops(a) + countFlops(b))
    merged->setAttr(kFlopsAttr, builder.getF64FloatAttr(flops));
  a->replaceAllUsesWith(merged.getResults().take_front(a->getNumResults()));
  b->replaceAllUsesWith(merged.getResults().drop_front(a->getNumResults()));
  a.erase();
  b.erase();
  return merged;
}

void MergeLaunches::mergeIn(Block &block) {
  moveToUses(block);
  /// Those since the last operation that none may pass, with the launches
  /// since.
  SmallVector<std::pair<LaunchDeviceOp, unsigned>> waiting;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!mayPass(op)) {
      waiting.clear();
      continue;
    }
    bool isLaunch = isa<LaunchDeviceOp, AttentionOp, AttentionBackwardOp>(op);
    auto launch = dyn_cast<LaunchDeviceOp>(op);
    if (launch && !isPlain(lookup(launch)))
      launch = {};
    unsigned passed = 0;
    if (launch)
      for (auto *it = waiting.begin(); it != waiting.end();) {
        if (!canMove(it->first, launch, it->second)) {
          ++it;
          continue;
        }
        launch = merge(it->first, launch);
        passed = std::max(passed, it->second);
        it = waiting.erase(it);
      }
    for (auto &entry : waiting)
      entry.second += isLaunch;
    if (launch)
      waiting.push_back({launch, passed});
  }
}

void MergeLaunches::runOnOperation() {
  kernels.clear();
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal())
      mergeIn(function.front());
  llvm::DenseSet<Attribute> used;
  getOperation().walk([&](LaunchDeviceOp launch) {
    used.insert(launch.getKernel().getLeafReference());
  });
  for (auto device : getOperation().getOps<gpu::GPUModuleOp>())
    for (auto kernel :
         llvm::make_early_inc_range(device.getOps<gpu::GPUFuncOp>()))
      if (!used.contains(kernel.getNameAttr()))
        kernel.erase();
}
