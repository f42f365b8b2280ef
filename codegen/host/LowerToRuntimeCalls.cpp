//===- LowerToRuntimeCalls.cpp - Programs become runtime calls -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/Target.h"
#include "codegen/device/DeviceImage.h"
#include "codegen/host/Program.h"

#include "llvm/Support/FormatVariadic.h"

namespace ff {
#define GEN_PASS_DEF_LOWERTORUNTIMECALLS
#include "codegen/host/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

/// A constant string, with its end, under a private symbol.
static LLVM::GlobalOp createString(OpBuilder &builder, Location loc,
                                   const Twine &name, StringRef text) {
  std::string bytes = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  return builder.create<LLVM::GlobalOp>(loc, type, /*isConstant=*/true,
                                        LLVM::Linkage::Private, name.str(),
                                        builder.getStringAttr(bytes));
}

/// main hands the metadata, the table of programs and the code of a GPU to the
/// runtime.
static void createMain(HostModule &host, ArrayRef<std::string> programs,
                       StringRef metadata) {
  OpBuilder b(host.module.getContext());
  Location loc = host.module.getLoc();
  bool isCuda = getTarget(host.module).isCuda();
  SmallVector<Type> types{host.i32, host.ptr, host.ptr, host.ptr, host.i32};
  if (isCuda)
    types.push_back(host.ptr);
  auto runtimeMain =
      host.declare(isCuda ? "ff_rt_cuda_main" : "ff_rt_main", host.i32, types);
  b.setInsertionPointToEnd(host.module.getBody());
  LLVM::GlobalOp image;
  if (isCuda)
    image = b.create<LLVM::GlobalOp>(
        loc, deviceImageType(b.getContext()), /*isConstant=*/true,
        LLVM::Linkage::External, kDeviceImage, Attribute());
  auto text = createString(b, loc, "ff_metadata", metadata);
  SmallVector<LLVM::GlobalOp> names;
  for (const std::string &program : programs)
    names.push_back(createString(b, loc, "ff_name_" + program, program));

  auto main = b.create<LLVM::LLVMFuncOp>(
      loc, "main", LLVM::LLVMFunctionType::get(host.i32, {host.i32, host.ptr}));
  Block *entry = main.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  auto constant = [&](Type type, int64_t value) -> Value {
    return b.create<LLVM::ConstantOp>(loc, type, b.getIntegerAttr(type, value));
  };
  // ff_entry is two pointers: the name and the function.
  Value table = b.create<LLVM::AllocaOp>(
      loc, host.ptr, host.ptr, constant(host.i64, 2 * programs.size()));
  auto store = [&](Value pointer, int32_t index) {
    Value slot = b.create<LLVM::GEPOp>(loc, host.ptr, host.ptr, table,
                                       ArrayRef<LLVM::GEPArg>{index});
    b.create<LLVM::StoreOp>(loc, pointer, slot);
  };
  for (auto [i, program] : llvm::enumerate(programs)) {
    store(b.create<LLVM::AddressOfOp>(loc, names[i]), 2 * i);
    store(b.create<LLVM::AddressOfOp>(loc, host.ptr, "ff_program_" + program),
          2 * i + 1);
  }
  SmallVector<Value> args{entry->getArgument(0), entry->getArgument(1),
                          b.create<LLVM::AddressOfOp>(loc, text), table,
                          constant(host.i32, programs.size())};
  if (isCuda)
    args.push_back(b.create<LLVM::AddressOfOp>(loc, image));
  auto result = b.create<LLVM::CallOp>(loc, runtimeMain, args);
  b.create<LLVM::ReturnOp>(loc, result.getResult());
}

namespace {
struct LowerToRuntimeCallsPass
    : ff::impl::LowerToRuntimeCallsBase<LowerToRuntimeCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    HostModule host(module);
    SmallVector<func::FuncOp> funcs;
    std::vector<std::string> programs;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func->hasAttr(kProgramAttr))
        programs.push_back(func.getName().str());
      if (isTensorFunction(func))
        funcs.push_back(func);
    }
    // The signatures of programs are read by the metadata, which needs the
    // matmuls, which the lowering collects: so sign first.
    llvm::json::Value metadata = buildMetadata(module);
    for (func::FuncOp func : funcs)
      if (failed(lowerFunction(func, host)))
        return signalPassFailure();
    addTables(metadata, host);
    createMain(host, programs, llvm::formatv("{0}", metadata).str());
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<UnitOp, ComponentOp>(op))
        op.erase();
    module->removeAttr(kSpecAttr);
    module->removeAttr(kTargetAttr);
  }
};
} // namespace
