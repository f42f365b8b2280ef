//===- ff-compile.cpp - The compiler driver ------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Flags only: the stages are in Pipeline.cpp, what happens to the object file
// in Jit.cpp and Link.cpp.
//
//===----------------------------------------------------------------------===//

#include "codegen/host/Host.h"
#include "frontend/Frontend.h"
#include "tools/Driver.h"
#include "tools/Pipeline.h"
#include "tools/Register.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

static cl::OptionCategory category("ff-compile options");

static cl::opt<std::string> input(cl::Positional, cl::desc("<spec.toml>"),
                                  cl::cat(category));
static cl::opt<std::string> output("o", cl::desc("Output file"),
                                   cl::value_desc("file"), cl::cat(category));

namespace {
enum class Emit { Exe, Obj, LLVM, MLIR };
}
static cl::opt<Emit> emitKind(
    "emit", cl::desc("What to write:"), cl::init(Emit::Exe), cl::cat(category),
    cl::values(clEnumValN(Emit::Exe, "exe", "an executable trainer (default)"),
               clEnumValN(Emit::Obj, "obj", "an object file"),
               clEnumValN(Emit::LLVM, "llvm", "LLVM IR, optimised"),
               clEnumValN(Emit::MLIR, "mlir",
                          "the module after the stage --stop-after")));
static cl::opt<std::string>
    stopAfter("stop-after",
              cl::desc("Print the module after a stage: import, form-units, "
                       "differentiate, kernels, shard, schedule, plan-memory, "
                       "runtime-calls, llvm"),
              cl::value_desc("stage"), cl::cat(category));
static cl::opt<bool> locations("locations",
                               cl::desc("Print locations with the module"),
                               cl::cat(category));
static cl::opt<std::string>
    dumpDir("dump-dir", cl::desc("Write the module after each stage here"),
            cl::value_desc("folder"), cl::cat(category));
static cl::opt<bool> run("run",
                         cl::desc("Train in this process instead of writing an "
                                  "executable; arguments of the trainer "
                                  "follow --"),
                         cl::cat(category));
static cl::list<std::string> trainerArgs(cl::ConsumeAfter,
                                         cl::desc("[-- trainer arguments]"),
                                         cl::cat(category));
static cl::opt<bool> check("check", cl::desc("Only check the spec"),
                           cl::cat(category));
static cl::opt<bool>
    plan("plan", cl::desc("Print what a trainer with --ranks reserves"),
         cl::cat(category));
static cl::opt<unsigned> ranks("ranks", cl::desc("Ranks of --plan (default 1)"),
                               cl::init(1), cl::cat(category));
static cl::list<std::string>
    overrides("set", cl::desc("Replace a value of the spec (train.steps=10)"),
              cl::value_desc("key=value"), cl::cat(category));
static cl::list<std::string> library("library",
                                     cl::desc("Folder with modules to import"),
                                     cl::value_desc("folder"),
                                     cl::cat(category));
static cl::opt<bool> schema("print-schema",
                            cl::desc("Print a JSON Schema of specs"),
                            cl::cat(category));
static cl::opt<bool> reference("print-reference",
                               cl::desc("Print the language reference"),
                               cl::cat(category));
static cl::opt<bool>
    resolved("print-resolved",
             cl::desc("Print each value in force and where it came from"),
             cl::cat(category));
static cl::opt<std::string>
    cpu("cpu", cl::desc("CPU to compile for (default: native)"),
        cl::init("native"), cl::cat(category));
static cl::opt<std::string>
    target("target", cl::desc("cpu (the only target of this version)"),
           cl::init("cpu"), cl::cat(category));
static cl::opt<unsigned> optLevel("O", cl::Prefix,
                                  cl::desc("Optimisation level, 0 to 2"),
                                  cl::init(2), cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print the time of each pass"),
                            cl::cat(category));

static int fail(const Twine &message) {
  errs() << "error: " << message << "\n";
  return 1;
}

/// Vectors as wide as the CPU has them.
static int64_t getVectorBytes() {
  if (cpu == "native") {
    auto features = sys::getHostCPUFeatures();
    return features.lookup("avx512f") ? 64 : features.lookup("avx") ? 32 : 16;
  }
  return StringRef(cpu).contains("v4") || StringRef(cpu).contains("512") ? 64
                                                                         : 32;
}

static int printModule(mlir::ModuleOp module) {
  std::string error;
  auto file =
      mlir::openOutputFile(output.empty() ? "-" : output.getValue(), &error);
  if (!file)
    return fail(error);
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  module.print(file->os(), flags);
  file->keep();
  return 0;
}

/// The first command-line argument decides nothing here: all that the trainer
/// needs is in the object.
static int runTrainer(ArrayRef<char> object, ArrayRef<std::string> args) {
  std::vector<std::string> all{sys::path::stem(input).str()};
  all.insert(all.end(), args.begin(), args.end());
  Expected<int> status = ff::runObject(object, all);
  if (!status)
    return fail(toString(status.takeError()));
  return *status;
}

static int compile(mlir::ModuleOp module) {
  ff::ObjectOptions options;
  options.cpu = cpu;
  options.optLevel = optLevel;
  if (emitKind == Emit::LLVM) {
    auto text = ff::compileToLLVMIR(module, options);
    if (!text)
      return fail(toString(text.takeError()));
    if (Error error = ff::writeFile(output.empty() ? "-" : output.getValue(),
                                    ArrayRef<char>(text->data(), text->size())))
      return fail(toString(std::move(error)));
    return 0;
  }
  auto object = ff::compileToObject(module, options);
  if (!object)
    return fail(toString(object.takeError()));
  if (plan)
    return runTrainer(*object,
                      {"--print-layout", "--ranks", std::to_string(ranks)});
  if (run)
    return runTrainer(*object, {trainerArgs.begin(), trainerArgs.end()});
  std::string path = output;
  if (path.empty())
    path = sys::path::stem(input).str() + (emitKind == Emit::Obj ? ".o" : "");
  Error error = emitKind == Emit::Obj ? ff::writeFile(path, *object)
                                      : ff::linkExecutable(*object, path);
  return error ? fail(toString(std::move(error))) : 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "ff-compile: compiles a training pipeline, declared in TOML, into a "
      "native trainer\n\n"
      "  ff-compile spec.toml -o trainer && ./trainer --ranks 2\n"
      "  ff-compile --run spec.toml -- --steps 100\n");
  if (schema || reference) {
    if (schema)
      ff::printSchema(outs());
    else
      ff::printLanguageReference(outs());
    return 0;
  }
  if (input.empty())
    return fail("no spec given; usage: ff-compile spec.toml -o trainer");
  if (target != "cpu")
    return fail("--target=" + target +
                " is not supported yet; this version compiles for cpu");

  ff::ImportOptions importOptions;
  importOptions.libraryPaths = library;
  for (StringRef text : overrides) {
    auto [key, value] = text.split('=');
    if (value.empty())
      return fail("--set " + text + " is not of the form key=value");
    importOptions.overrides.emplace_back(key.str(), value.str());
  }
  if (resolved)
    return ff::printResolved(input, importOptions, outs(), errs()) ? 0 : 1;

  ff::PipelineOptions pipeline;
  pipeline.vectorBytes = getVectorBytes();
  pipeline.dumpDir = dumpDir;
  pipeline.timing = timing;
  if (check)
    pipeline.stopAfter = ff::Stage::Schedule;
  if (!stopAfter.empty()) {
    auto stage = ff::parseStage(stopAfter);
    if (!stage)
      return fail("--stop-after=" + stopAfter + " is not a stage; see --help");
    pipeline.stopAfter = *stage;
  }

  // Ranks are forked from this process by --run: it must have no other threads.
  mlir::DialectRegistry registry;
  ff::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  // Errors of passes in the frontend's format: place, line, caret.
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context, errs());
  auto module = ff::importSpec(context, input, importOptions, errs());
  if (!module)
    return 1;
  if (failed(ff::runPipeline(*module, pipeline)))
    return 1;
  if (check) {
    outs() << input << ": ok\n";
    return 0;
  }
  if (!stopAfter.empty() || emitKind == Emit::MLIR)
    return printModule(*module);
  return compile(*module);
}
