//===- LowerKernelsToGPU.cpp - ff.fused and attention for a GPU -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/device/DeviceAttention.h"
#include "codegen/device/DeviceKernel.h"
#include "codegen/kernels/FormKernels.h"
#include "codegen/kernels/FusedKernel.h"
#include "dialect/Flops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ff {
#define GEN_PASS_DEF_LOWERKERNELSTOGPUPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {
struct LowerKernelsToGPU
    : ff::impl::LowerKernelsToGPUPassBase<LowerKernelsToGPU> {
  using LowerKernelsToGPUPassBase::LowerKernelsToGPUPassBase;

  void runOnOperation() override;

private:
  using Emit = llvm::function_ref<LogicalResult(gpu::GPUFuncOp)>;
  LogicalResult lower(FusedOp op);
  LogicalResult lower(AttentionOp op);
  LogicalResult lower(AttentionBackwardOp op);
  /// Null where no kernel can be made.
  LaunchDeviceOp launch(OpBuilder &b, Location loc, const std::string &key,
                        ValueRange inputs, TypeRange results,
                        DeviceLaunch launch, Emit emit);
  /// The kernel of `key`, made by `emit` where it is new.
  SymbolRefAttr kernelFor(Location loc, const std::string &key, TypeRange in,
                          TypeRange out, DeviceLaunch launch, Emit emit);

  gpu::GPUModuleOp device;
  llvm::StringMap<SymbolRefAttr> kernels;
};
} // namespace

SymbolRefAttr LowerKernelsToGPU::kernelFor(Location loc, const std::string &key,
                                           TypeRange in, TypeRange out,
                                           DeviceLaunch launch, Emit emit) {
  SymbolRefAttr &symbol = kernels[key];
  if (symbol)
    return symbol;
  auto b = OpBuilder::atBlockTerminator(device.getBody());
  SmallVector<Type> pointers(in.size() + out.size(),
                             LLVM::LLVMPointerType::get(&getContext()));
  std::string name = "kernel_" + std::to_string(kernels.size() - 1);
  auto function =
      b.create<gpu::GPUFuncOp>(loc, name, b.getFunctionType(pointers, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads), 1, 1}));
  // Left to itself, ptxas gives up registers for more blocks, and spills. Rows
  // of a large block get up to 128 registers as well.
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(launch.threads <= 256 ? 2 : 1));
  // No results among the operands: they may be read through the cache for
  // constant data, in any order.
  for (size_t i = 0; i < pointers.size(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
    if (i < in.size())
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          b.getUnitAttr());
  }
  if (failed(emit(function)))
    return {};
  return symbol = SymbolRefAttr::get(
             device.getSymNameAttr(),
             {FlatSymbolRefAttr::get(b.getStringAttr(name))});
}

LaunchDeviceOp LowerKernelsToGPU::launch(OpBuilder &b, Location loc,
                                         const std::string &key,
                                         ValueRange inputs, TypeRange results,
                                         DeviceLaunch launch, Emit emit) {
  SymbolRefAttr symbol =
      kernelFor(loc, key, inputs.getTypes(), results, launch, emit);
  if (!symbol)
    return {};
  return b.create<LaunchDeviceOp>(loc, results, symbol, inputs, launch.blocks,
                                  launch.threads, launch.sharedBytes);
}

static SmallVector<Value> startsOf(OpBuilder &b, Location loc,
                                   ArrayRef<StridedView> views) {
  SmallVector<Value> starts;
  for (const StridedView &view : views)
    starts.push_back(startOf(b, loc, view));
  return starts;
}

LogicalResult LowerKernelsToGPU::lower(FusedOp op) {
  // The host's plan of the loops knows what an ff.fused depends on.
  FusedKernel host(op, /*vectorBytes=*/16);
  DeviceKernel kernel(op, host.views());
  std::string key = host.key();
  for (const StridedView &view : host.views()) {
    unsigned bits = tensorType(view.root).getElementTypeBitWidth();
    int64_t bytes = view.offset * std::max(1u, bits / 8);
    key += ":" + std::to_string(bytes % 16);
  }
  OpBuilder b(op);
  Location loc = op.getLoc();
  SmallVector<Value> inputs = startsOf(b, loc, host.views());
  SmallVector<Type> results(op.getResultTypes());
  bool isSplit = kernel.parts() > 1;
  if (isSplit)
    results = kernel.partTypes();
  LaunchDeviceOp last =
      launch(b, loc, key, inputs, results, kernel.launch(),
             [&](gpu::GPUFuncOp function) { return kernel.emit(function); });
  if (!last)
    return failure();
  if (double flops = countFlops(op))
    last->setAttr(kFlopsAttr, b.getF64FloatAttr(flops));
  if (isSplit)
    last =
        launch(b, loc, key + ":second", last.getResults(), op.getResultTypes(),
               kernel.secondLaunch(), [&](gpu::GPUFuncOp function) {
                 return kernel.emitSecond(function);
               });
  op->replaceAllUsesWith(last.getResults());
  op->erase();
  return success();
}

LogicalResult LowerKernelsToGPU::lower(AttentionOp op) {
  DeviceAttention attention(op, op.getScale().convertToDouble(),
                            op.getCausal());
  if (failed(attention.verify()))
    return failure();
  OpBuilder b(op);
  constexpr auto kForward = AttentionKernel::Forward;
  LaunchDeviceOp launched = launch(
      b, op.getLoc(), attention.key(kForward),
      startsOf(b, op.getLoc(), attention.operands()), op.getResultTypes(),
      attention.launch(kForward), [&](gpu::GPUFuncOp function) {
        attention.emit(kForward, function);
        return success();
      });
  launched->setAttr(kFlopsAttr, b.getF64FloatAttr(countFlops(op)));
  op->replaceAllUsesWith(launched.getResults());
  op->erase();
  return success();
}

/// The kernel of the gradient of queries goes first: it has the sums of
/// products of gradients and results, which the other one needs too.
LogicalResult LowerKernelsToGPU::lower(AttentionBackwardOp op) {
  DeviceAttention attention(op, op.getScale().convertToDouble(),
                            op.getCausal());
  if (failed(attention.verify()))
    return failure();
  OpBuilder b(op);
  SmallVector<Value> starts = startsOf(b, op.getLoc(), attention.operands());
  auto launchOne = [&](AttentionKernel kernel, ValueRange inputs,
                       TypeRange results) {
    return launch(b, op.getLoc(), attention.key(kernel), inputs, results,
                  attention.launch(kernel), [&](gpu::GPUFuncOp function) {
                    attention.emit(kernel, function);
                    return success();
                  });
  };
  LaunchDeviceOp queries =
      launchOne(AttentionKernel::QueryGrad, starts,
                {op.getQueryGrad().getType(), attention.statisticsType()});
  SmallVector<Value> inputs{starts[0], starts[1], starts[2],
                            starts[4], starts[5], queries.getResult(1)};
  if (op.getMask())
    inputs.push_back(starts.back());
  LaunchDeviceOp keys =
      launchOne(AttentionKernel::KeyGrad, inputs,
                {op.getKeyGrad().getType(), op.getValueGrad().getType()});
  // Of the five products, what is computed twice counts for the first.
  double flops = countFlops(op);
  queries->setAttr(kFlopsAttr, b.getF64FloatAttr(flops * 3 / 5));
  keys->setAttr(kFlopsAttr, b.getF64FloatAttr(flops * 2 / 5));
  op.getQueryGrad().replaceAllUsesWith(queries.getResult(0));
  op.getKeyGrad().replaceAllUsesWith(keys.getResult(0));
  op.getValueGrad().replaceAllUsesWith(keys.getResult(1));
  op->erase();
  return success();
}

void LowerKernelsToGPU::runOnOperation() {
  kernels.clear();
  if (!isKnownChip(chip)) {
    getOperation().emitError() << "chip must be one of " << knownChips()
                               << ", got " << chip.getValue();
    return signalPassFailure();
  }
  auto b = OpBuilder::atBlockEnd(getOperation().getBody());
  Location loc = getOperation().getLoc();
  // The oldest PTX that has the chip, so that older drivers compile it as well.
  // That of sm_90a runs on no other chip, and nothing here needs it: it differs
  // in the cubin alone.
  auto target = NVVM::NVVMTargetAttr::get(
      &getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda",
      chip == "sm_90a" ? StringRef("sm_90") : StringRef(chip), "+ptx78");
  device = b.create<gpu::GPUModuleOp>(loc, "kernels",
                                      b.getArrayAttr(Attribute(target)));
  // A function of the program may have the name.
  device->remove();
  SymbolTable(getOperation()).insert(device);
  // Its size is an argument of the launch.
  OpBuilder inner = OpBuilder::atBlockBegin(device.getBody());
  inner.create<LLVM::GlobalOp>(loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                               /*isConstant=*/false, LLVM::Linkage::External,
                               kSharedSymbol, Attribute(), /*alignment=*/16,
                               /*addrSpace=*/3);
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &block = function.front();
    for (Operation &op : llvm::make_early_inc_range(block)) {
      LogicalResult lowered =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<FusedOp, AttentionOp, AttentionBackwardOp>(
                  [&](auto kernel) { return lower(kernel); })
              .Default(success());
      if (failed(lowered))
        return signalPassFailure();
    }
    // Views are in the kernels now.
    eraseUnused(block);
  }
}
