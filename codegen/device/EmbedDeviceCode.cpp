//===- EmbedDeviceCode.cpp - Code of a GPU as constants -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/Target.h"
#include "codegen/device/DeviceImage.h"
#include "codegen/device/PTX.h"
#include "codegen/device/Ptxas.h"
#include "dialect/FF.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace ff {
#define GEN_PASS_DEF_EMBEDDEVICECODEPASS
#include "codegen/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

LLVM::LLVMStructType ff::deviceImageType(MLIRContext *context) {
  Type ptr = LLVM::LLVMPointerType::get(context);
  Type i64 = IntegerType::get(context, 64);
  return LLVM::LLVMStructType::getLiteral(context, {ptr, i64, ptr, i64});
}

std::optional<StringRef> ff::getDeviceCode(ModuleOp module, StringRef symbol) {
  auto global = module.lookupSymbol<LLVM::GlobalOp>(symbol);
  auto text = global ? dyn_cast_or_null<StringAttr>(global.getValueOrNull())
                     : StringAttr();
  if (!text)
    return std::nullopt;
  // The end of the text is no part of it.
  return symbol == kDevicePtx ? text.getValue().drop_back() : text.getValue();
}

namespace {
struct EmbedDeviceCode : ff::impl::EmbedDeviceCodePassBase<EmbedDeviceCode> {
  using EmbedDeviceCodePassBase::EmbedDeviceCodePassBase;

  void runOnOperation() override;

private:
  /// The machine code of `ptx`, "" where there is no ptxas.
  FailureOr<std::string> assembleFor(gpu::GPUModuleOp kernels, StringRef ptx);
  LLVM::GlobalOp createBytes(StringRef name, StringRef bytes);
  void define(LLVM::GlobalOp image, StringRef ptx, StringRef cubin);
};
} // namespace

FailureOr<std::string> EmbedDeviceCode::assembleFor(gpu::GPUModuleOp kernels,
                                                    StringRef ptx) {
  auto fail = [&](llvm::Error error) {
    emitError(kernels.getLoc()) << llvm::toString(std::move(error));
    return failure();
  };
  auto path = findPtxas(ptxas);
  if (!path)
    return fail(path.takeError());
  if (path->empty())
    return std::string();
  std::string chip = getTarget(getOperation()).chip;
  if (chip.empty()) // a gpu.module alone
    chip = cast<NVVM::NVVMTargetAttr>(kernels.getTargetsAttr()[0]).getChip();
  auto cubin = assemble(*path, ptx, chip);
  if (!cubin)
    return fail(cubin.takeError());
  for (const Spill &spill : cubin->spills) {
    Operation *kernel = kernels.lookupSymbol(spill.kernel);
    emitWarning(kernel ? kernel->getLoc() : kernels.getLoc())
        << "kernel '" << spill.kernel
        << "' spills registers: " << spill.storeBytes << " bytes of stores, "
        << spill.loadBytes << " bytes of loads";
  }
  return std::move(cubin->bytes);
}

LLVM::GlobalOp EmbedDeviceCode::createBytes(StringRef name, StringRef bytes) {
  auto b = OpBuilder::atBlockEnd(getOperation().getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  return b.create<LLVM::GlobalOp>(getOperation().getLoc(), type,
                                  /*isConstant=*/true, LLVM::Linkage::Private,
                                  name, b.getStringAttr(bytes),
                                  /*alignment=*/16);
}

void EmbedDeviceCode::define(LLVM::GlobalOp image, StringRef ptx,
                             StringRef cubin) {
  LLVM::GlobalOp text = createBytes(kDevicePtx, (ptx + Twine('\0')).str());
  LLVM::GlobalOp code;
  if (!cubin.empty())
    code = createBytes(kDeviceCubin, cubin);
  Location loc = image.getLoc();
  OpBuilder b(image.getContext());
  b.createBlock(&image.getInitializerRegion());
  Type ptr = LLVM::LLVMPointerType::get(&getContext());
  auto length = [&](StringRef bytes) -> Value {
    return b.create<LLVM::ConstantOp>(loc, b.getI64IntegerAttr(bytes.size()));
  };
  Value codePointer = code ? b.create<LLVM::AddressOfOp>(loc, code).getResult()
                           : b.create<LLVM::ZeroOp>(loc, ptr).getResult();
  Value fields[] = {b.create<LLVM::AddressOfOp>(loc, text), length(ptx),
                    codePointer, length(cubin)};
  Value result = b.create<LLVM::UndefOp>(loc, image.getType());
  for (auto [i, field] : llvm::enumerate(fields))
    result = b.create<LLVM::InsertValueOp>(loc, result, field, i);
  b.create<LLVM::ReturnOp>(loc, result);
}

void EmbedDeviceCode::runOnOperation() {
  ModuleOp module = getOperation();
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.empty())
    return;
  gpu::GPUModuleOp kernels = modules.front();
  if (modules.size() > 1) {
    emitError(modules[1].getLoc()) << "a program has one gpu.module, and '"
                                   << modules[1].getName() << "' is another";
    return signalPassFailure();
  }
  auto ptx = compileToPTX(kernels);
  if (!ptx) {
    emitError(kernels.getLoc()) << llvm::toString(ptx.takeError());
    return signalPassFailure();
  }
  FailureOr<std::string> cubin = assembleFor(kernels, *ptx);
  if (failed(cubin))
    return signalPassFailure();
  auto image = module.lookupSymbol<LLVM::GlobalOp>(kDeviceImage);
  if (!image)
    image = OpBuilder::atBlockEnd(module.getBody())
                .create<LLVM::GlobalOp>(
                    module.getLoc(), deviceImageType(&getContext()),
                    /*isConstant=*/true, LLVM::Linkage::External, kDeviceImage,
                    Attribute());
  define(image, *ptx, *cubin);
  // Launches that are no calls yet (ff-opt, in tests) refer to their kernels.
  bool isLaunched =
      module.walk([](LaunchDeviceOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!isLaunched)
    kernels.erase();
}
