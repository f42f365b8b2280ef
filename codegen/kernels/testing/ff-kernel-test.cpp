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
// Attributes on a function: test.tolerance (absolute and relative) of all
// results, by default a few steps of their type; test.range = [lo, hi] of the
// arguments; integers are in [0, hi] and wrap around.
//
//===----------------------------------------------------------------------===//

#include "codegen/Passes.h"
#include "codegen/host/Host.h"
#include "codegen/reference/Interpreter.h"
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
#include <cmath>
#include <cstring>
#include <random>
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
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A tensor in its own element type, with a guard behind it.
struct Buffer {
  RankedTensorType type;
  std::vector<char> bytes;

  explicit Buffer(RankedTensorType type) : type(type) {
    bytes.assign(type.getNumElements() * width() + kGuard, kFill);
  }
  size_t width() const {
    return std::max(1u, type.getElementTypeBitWidth() / 8);
  }
  bool guardIsIntact() const {
    return std::all_of(bytes.end() - kGuard, bytes.end(),
                       [](char c) { return c == kFill; });
  }

  static constexpr size_t kGuard = 64;
  static constexpr char kFill = 0x7b;
};
} // namespace

static Buffer toBuffer(const HostTensor &tensor) {
  Buffer buffer(tensor.type);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = toBits(tensor.type.getElementType(), tensor.data[i]);
    // Little endian, as all machines that kernels are made for.
    std::memcpy(buffer.bytes.data() + i * buffer.width(), &bits,
                buffer.width());
  }
  return buffer;
}

static HostTensor toTensor(Buffer &buffer) {
  HostTensor tensor = filledTensor(buffer.type, 0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, buffer.bytes.data() + i * buffer.width(),
                buffer.width());
    tensor.data[i] = fromBits(buffer.type.getElementType(), bits);
  }
  return tensor;
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

static HostTensor randomTensor(func::FuncOp function, RankedTensorType type,
                               std::mt19937 &rng) {
  double lo = -2, hi = 2;
  if (auto range = function->getAttrOfType<ArrayAttr>("test.range")) {
    lo = cast<FloatAttr>(range[0]).getValueAsDouble();
    hi = cast<FloatAttr>(range[1]).getValueAsDouble();
  }
  HostTensor tensor = filledTensor(type, 0);
  bool isFloat = isa<FloatType>(type.getElementType());
  for (double &value : tensor.data) {
    if (type.getElementType().isInteger(1))
      value = rng() % 2;
    else if (!isFloat)
      value = rng() % (static_cast<int64_t>(hi) + 1);
    else
      value = std::uniform_real_distribution<double>(lo, hi)(rng);
    value =
        fromBits(type.getElementType(), toBits(type.getElementType(), value));
  }
  return tensor;
}

/// The largest difference, as a multiple of what is allowed.
static double compareTensors(const HostTensor &want, const HostTensor &got,
                             double tolerance) {
  double worst = 0;
  for (int64_t i = 0; i < want.size(); ++i) {
    double a = want.data[i], b = got.data[i];
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::fabs(a - b) / (tolerance * (1 + std::fabs(a)));
    worst = std::max(worst, std::isnan(error) ? 1e30 : error);
  }
  return worst;
}

/// What a result of type `element` may differ by; integers are exact.
static double toleranceOf(Type element) {
  if (element.isF64())
    return 1e-12;
  if (element.isF32())
    return 1e-5;
  if (element.isBF16())
    return 0x1p-7;
  return element.isF16() ? 0x1p-10 : 0;
}

static bool testFunction(func::FuncOp function, ModuleOp lowered,
                         llvm::orc::LLJIT &jit) {
  std::mt19937 rng(7);
  std::vector<HostTensor> args;
  for (Type type : function.getArgumentTypes())
    args.push_back(randomTensor(function, cast<RankedTensorType>(type), rng));
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
  auto given = function->getAttrOfType<FloatAttr>("test.tolerance");
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(*want, *got)) {
    double tolerance =
        given ? given.getValueAsDouble() : toleranceOf(a.type.getElementType());
    worst = std::max(worst, compareTensors(a, b, tolerance));
  }
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
