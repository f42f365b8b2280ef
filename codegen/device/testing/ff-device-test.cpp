//===- ff-device-test.cpp - Holds kernels of a GPU against the interpreter ===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As ff-kernel-test, with the kernels as PTX in the CUDA driver: that of a GPU,
// or of the stand-in (`ff-standin ff-device-test ...`). Between the kernels
// (matmuls, attention, calls) the interpreter stands in for the host program.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/device/PTX.h"
#include "codegen/device/Ptxas.h"
#include "codegen/device/testing/Driver.h"
#include "codegen/device/testing/Recording.h"
#include "codegen/kernels/testing/TestTensors.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace ff;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::Required);
static cl::opt<std::string> chip("chip", cl::init("sm_90"),
                                 cl::desc("The chip to compile for"));
static cl::opt<bool> printPTX("print-ptx",
                              cl::desc("Print the kernels and run nothing"));
static cl::opt<bool> verifyPTX(
    "verify-ptx",
    cl::desc("Fail where a kernel has local memory or, with ptxas in the "
             "PATH, where ptxas does not accept it or spills registers"));
static cl::opt<std::string>
    record("record", cl::value_desc("file"),
           cl::desc("Write the launches and what they must give to this file, "
                    "for ff-device-check; see Recording.h"));
static cl::opt<bool>
    recordShapes("record-shapes",
                 cl::desc("Run nothing, and record launches without data"));
static cl::opt<bool> noRun("no-run", cl::desc("Compile only"));
static cl::opt<std::string>
    skip("skip",
         cl::desc("Leave functions out whose names match this expression"));

/// Where the driver's `ptxas` is, it must accept `ptx` and spill nothing.
static bool assembles(const std::string &ptx) {
  llvm::ExitOnError check("ff-device-test: ");
  std::string ptxas = check(findPtxas(""));
  if (ptxas.empty()) {
    llvm::outs() << "ptxas: not found\n";
    return true;
  }
  auto cubin = assemble(ptxas, ptx, chip);
  if (!cubin) {
    llvm::errs() << llvm::toString(cubin.takeError()) << "\n";
    return false;
  }
  for (const Spill &spill : cubin->spills)
    llvm::errs() << spill.kernel << " spills " << spill.storeBytes
                 << " bytes of stores, " << spill.loadBytes << " of loads\n";
  if (cubin->spills.empty())
    llvm::outs() << "ptxas: ok\n";
  return cubin->spills.empty();
}

static bool verify(const std::string &ptx) {
  if (llvm::StringRef(ptx).contains(".local")) {
    llvm::errs() << "error: a kernel has local memory\n";
    return false;
  }
  return assembles(ptx);
}

static FailureOr<std::vector<HostTensor>>
runLaunch(LaunchDeviceOp op, ArrayRef<HostTensor> in, Driver &driver) {
  std::vector<Buffer> buffers;
  for (const HostTensor &tensor : in)
    buffers.push_back(toBuffer(tensor));
  for (Type type : op.getResultTypes())
    buffers.emplace_back(cast<RankedTensorType>(type));
  SmallVector<MutableArrayRef<char>> bytes;
  for (Buffer &buffer : buffers)
    bytes.push_back(buffer.bytes);
  std::string kernel = op.getKernel().getLeafReference().str();
  if (auto error = driver.run(kernel, op.getBlocks(), op.getThreads(),
                              op.getShared(), bytes))
    return op.emitError(llvm::toString(std::move(error)));
  std::vector<HostTensor> out;
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (!buffer.guardIsIntact())
      return op.emitError("writes behind its buffers");
    if (i >= in.size())
      out.push_back(toTensor(buffer));
  }
  return out;
}

/// The worst error, as a multiple of what is allowed, or none on failure.
static std::optional<double> testFunction(func::FuncOp function,
                                          ModuleOp lowered, Driver &driver,
                                          Recording &recording) {
  std::vector<HostTensor> args = randomArguments(function);
  auto want = interpret(function, args);
  InterpreterOptions options;
  options.hook = [&](Operation *op, ArrayRef<HostTensor> in)
      -> std::optional<FailureOr<std::vector<HostTensor>>> {
    auto launch = dyn_cast<LaunchDeviceOp>(op);
    if (!launch)
      return std::nullopt;
    auto out = runLaunch(launch, in, driver);
    if (!record.empty() && succeeded(out) && succeeded(want))
      recording.add(function, launch, in, *out, *want);
    return out;
  };
  auto got = interpret(lowered.lookupSymbol<func::FuncOp>(function.getName()),
                       args, options);
  if (failed(want) || failed(got))
    return std::nullopt;
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(*want, *got))
    worst = std::max(worst, compareTensors(function, a, b));
  llvm::outs() << function.getName() << ": " << (worst <= 1 ? "ok" : "WRONG")
               << llvm::format(", %.2g of the tolerance\n", worst);
  return worst;
}

static bool testAll(ModuleOp module, ModuleOp lowered, gpu::GPUModuleOp kernels,
                    const std::string &ptx, Recording &recording) {
  llvm::ExitOnError check("ff-device-test: ");
  Driver driver = check(Driver::open());
  llvm::outs() << "device: " << driver.deviceName() << "\n";
  check(driver.load(ptx));
  bool passed = true;
  if (verifyPTX)
    for (auto kernel : kernels.getOps<gpu::GPUFuncOp>())
      if (int bytes = check(driver.localBytes(kernel.getName().str()))) {
        llvm::errs() << "error: " << kernel.getName() << " has " << bytes
                     << " bytes of local memory\n";
        passed = false;
      }
  double worst = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate())
      continue;
    auto error = testFunction(function, lowered, driver, recording);
    passed &= error && *error <= 1;
    worst = std::max(worst, error.value_or(0));
  }
  llvm::outs() << llvm::format("worst: %.2g of the tolerance\n", worst);
  return passed;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "ff-device-test\n");
  DialectRegistry registry;
  registry.insert<FFDialect, func::FuncDialect, arith::ArithDialect,
                  math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect,
                  gpu::GPUDialect, NVVM::NVVMDialect, LLVM::LLVMDialect>();
  registerDeviceTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  auto module = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!module)
    return 1;
  llvm::Regex skipped(skip);
  for (auto function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>()))
    if (!skip.empty() && skipped.match(function.getName())) {
      llvm::outs() << function.getName() << ": skipped\n";
      function.erase();
    }
  OwningOpRef<ModuleOp> lowered = module->clone();
  PassManager pm(&context);
  LowerKernelsToGPUPassOptions options;
  options.chip = chip;
  buildFormKernelsPipeline(pm, Target{chip});
  pm.addPass(createLowerKernelsToGPUPass(options));
  pm.addPass(createMergeLaunchesPass());
  if (failed(pm.run(*lowered)))
    return 1;
  llvm::ExitOnError check("ff-device-test: ");
  auto kernels = *lowered->getOps<gpu::GPUModuleOp>().begin();
  std::string ptx = check(compileToPTX(kernels));
  if (printPTX)
    llvm::outs() << ptx;
  if (verifyPTX && !verify(ptx))
    return 1;
  if (printPTX || noRun)
    return 0;
  Recording recording;
  if (recordShapes)
    for (auto function : lowered->getOps<func::FuncOp>())
      recording.addShapes(function);
  else if (!testAll(*module, *lowered, kernels, ptx, recording))
    return 1;
  if (!record.empty())
    check(recording.write(record, ptx));
  return 0;
}
