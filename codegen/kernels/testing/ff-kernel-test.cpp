//===- ff-kernel-test.cpp - Holds kernels against the interpreter -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each function of an .mlir file: random arguments, the reference
// interpreter on the function as it is, and the kernels of the function after
// the passes of code generation, compiled. Between the kernels (matmuls, calls)
// the interpreter stands in for the host program. Kernels run in uneven pieces,
// which must not matter.
//
// TestTensors.h says which attributes a function may have.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/host/Host.h"
#include "codegen/kernels/testing/TestTensors.h"
#include "dialect/FF.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <chrono>
#include <thread>

using namespace mlir;
using namespace ff;
namespace cl = llvm::cl;

static cl::opt<std::string> inputFile(cl::Positional, cl::Required);
static cl::opt<bool> bench("bench", cl::desc("Time each launch"));
static cl::opt<bool> timing("time-compilation", cl::desc("Time compilation"));
static cl::opt<unsigned> threads("bench-threads", cl::init(1),
                                 cl::desc("Threads of --bench"));
static cl::opt<bool> calls("calls",
                           cl::desc("List the functions that kernels call"));
static cl::opt<std::string> cpu("cpu", cl::init("native"),
                                cl::desc("The CPU to compile for"));
static cl::opt<int64_t> vectorBytes("vector-bytes", cl::init(64));

using Kernel = void (*)(void *const *, int64_t, int64_t);

static double seconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static void listCalls(llvm::MemoryBufferRef buffer) {
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return llvm::logAllUnhandledErrors(file.takeError(), llvm::errs());
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      continue;
    if (*flags & llvm::object::SymbolRef::SF_Undefined && !name->empty())
      llvm::outs() << "calls " << *name << "\n";
  }
}

/// Machine code of the kernels in `module`.
static std::unique_ptr<llvm::orc::LLJIT> compileKernels(ModuleOp module) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(kKernelAttr)) {
      auto clone = function.clone();
      clone.setPublic();
      kernels->push_back(clone);
    }
  double start = seconds();
  PassManager pm(module.getContext());
  buildKernelToLLVMPipeline(pm);
  if (failed(pm.run(*kernels)))
    return nullptr;
  double lowered = seconds();
  llvm::ExitOnError check("ff-kernel-test: ");
  ObjectOptions options;
  options.cpu = cpu;
  auto object = check(compileToObject(*kernels, options));
  if (timing)
    llvm::outs() << llvm::format("to LLVM dialect %.1f ms, to object %.1f ms\n",
                                 (lowered - start) * 1e3,
                                 (seconds() - lowered) * 1e3);
  llvm::StringRef bytes(object.data(), object.size());
  if (calls)
    listCalls(llvm::MemoryBufferRef(bytes, "kernels"));
  auto jit = check(llvm::orc::LLJITBuilder().create());
  jit->getMainJITDylib().addGenerator(
      check(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  check(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes)));
  return jit;
}

static void timeKernel(LaunchOp op, Kernel kernel, void *const *pointers) {
  double bytes = 0;
  auto count = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    bytes += static_cast<double>(tensor.getNumElements()) *
             std::max(1u, tensor.getElementTypeBitWidth() / 8);
  };
  llvm::for_each(op.getOperandTypes(), count);
  llvm::for_each(op.getResultTypes(), count);
  int64_t n = op.getIterations();
  double best = 1e30;
  for (int repeat = 0; repeat < 20; ++repeat) {
    double start = seconds();
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t)
      others.emplace_back(kernel, pointers, n * t / threads,
                          n * (t + 1) / threads);
    kernel(pointers, 0, n / threads);
    for (std::thread &thread : others)
      thread.join();
    best = std::min(best, seconds() - start);
  }
  llvm::outs() << llvm::format("  %s n=%lld grain=%lld: %.1f us, %.2f GB/s\n",
                               op.getKernel().str().c_str(), (long long)n,
                               (long long)op.getGrain(), best * 1e6,
                               bytes / best * 1e-9);
}

static FailureOr<std::vector<HostTensor>>
runLaunch(LaunchOp op, ArrayRef<HostTensor> in, llvm::orc::LLJIT &jit) {
  auto symbol = jit.lookup(op.getKernel());
  if (!symbol) {
    llvm::logAllUnhandledErrors(symbol.takeError(), llvm::errs());
    return failure();
  }
  auto kernel = symbol->toPtr<Kernel>();
  std::vector<Buffer> buffers;
  for (const HostTensor &tensor : in)
    buffers.push_back(toBuffer(tensor));
  for (Type type : op.getResultTypes())
    buffers.emplace_back(cast<RankedTensorType>(type));
  std::vector<void *> pointers;
  for (Buffer &buffer : buffers)
    pointers.push_back(buffer.bytes.data());
  int64_t n = op.getIterations(), piece = std::max<int64_t>(1, n / 3 + 1);
  for (int64_t begin = 0; begin < n; begin += piece)
    kernel(pointers.data(), begin, std::min(n, begin + piece));
  if (bench)
    timeKernel(op, kernel, pointers.data());
  std::vector<HostTensor> out;
  for (Buffer &buffer : buffers)
    if (!buffer.guardIsIntact())
      return op.emitError("writes behind its buffers");
  for (size_t i = in.size(); i < buffers.size(); ++i)
    out.push_back(toTensor(buffers[i]));
  return out;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static bool testFunction(func::FuncOp function, ModuleOp lowered,
                         llvm::orc::LLJIT &jit) {
  std::vector<HostTensor> args = randomArguments(function);
  auto want = interpret(function, args);
  if (bench)
    llvm::outs() << function.getName() << "\n";
  InterpreterOptions options;
  options.hook = [&](Operation *op, ArrayRef<HostTensor> in)
      -> std::optional<FailureOr<std::vector<HostTensor>>> {
    if (auto launch = dyn_cast<LaunchOp>(op))
      return runLaunch(launch, in, jit);
    return std::nullopt;
  };
  auto got = interpret(lowered.lookupSymbol<func::FuncOp>(function.getName()),
                       args, options);
  if (failed(want) || failed(got))
    return false;
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(*want, *got))
    worst = std::max(worst, compareTensors(function, a, b));
  bool passed = worst <= 1;
  llvm::outs() << function.getName() << ": " << (passed ? "ok" : "WRONG")
               << llvm::format(", %.2g of the tolerance\n", worst);
  return passed;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  cl::ParseCommandLineOptions(argc, argv, "ff-kernel-test\n");
  DialectRegistry registry;
  registry.insert<FFDialect, func::FuncDialect, arith::ArithDialect,
                  math::MathDialect, scf::SCFDialect, vector::VectorDialect,
                  cf::ControlFlowDialect, LLVM::LLVMDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  auto module = parseSourceFile<ModuleOp>(inputFile, &context);
  if (!module)
    return 1;
  OwningOpRef<ModuleOp> lowered = module->clone();
  double start = seconds();
  PassManager pm(&context);
  LowerKernelsPassOptions options;
  options.vectorBytes = vectorBytes;
  buildFormKernelsPipeline(pm);
  pm.addPass(createLowerKernelsPass(options));
  if (failed(pm.run(*lowered)))
    return 1;
  if (timing)
    llvm::outs() << llvm::format("kernel passes %.1f ms\n",
                                 (seconds() - start) * 1e3);
  auto jit = compileKernels(*lowered);
  if (!jit)
    return 1;
  bool passed = true;
  for (auto function : module->getOps<func::FuncOp>())
    if (!function.isPrivate())
      passed &= testFunction(function, *lowered, *jit);
  return passed ? 0 : 1;
}
