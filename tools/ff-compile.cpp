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

#include "codegen/device/DeviceImage.h"
#include "codegen/device/Ptxas.h"
#include "codegen/host/Host.h"
#include "frontend/Frontend.h"
#include "runtime/abi/ff_rt.h"
#include "tools/Driver.h"
#include "tools/Pipeline.h"
#include "tools/Plan.h"
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

namespace {

enum class Emit { Exe, Obj, LLVM, MLIR, PTX, Cubin };
enum class PlanFormat { None, Text, Json };

/// The command line. An object of main, made after the options that LLVM's
/// libraries registered for themselves are gone (some have the same names).
struct Flags {
  cl::OptionCategory category{"ff-compile options"};
  cl::opt<std::string> input{cl::Positional, cl::desc("<spec.toml>"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file"),
                              cl::value_desc("file"), cl::cat(category)};
  cl::opt<Emit> emit{
      "emit", cl::desc("What to write:"), cl::init(Emit::Exe),
      cl::values(
          clEnumValN(Emit::Exe, "exe", "an executable trainer (default)"),
          clEnumValN(Emit::Obj, "obj", "an object file"),
          clEnumValN(Emit::LLVM, "llvm", "LLVM IR, optimised"),
          clEnumValN(Emit::PTX, "ptx", "the kernels of --target=cuda as PTX"),
          clEnumValN(Emit::Cubin, "cubin",
                     "the same assembled for the chip, by ptxas"),
          clEnumValN(Emit::MLIR, "mlir",
                     "the module after the stage --stop-after")),
      cl::cat(category)};
  cl::opt<std::string> stopAfter{
      "stop-after",
      cl::desc("Print the module after a stage: import, form-units, "
               "differentiate, kernels, shard, schedule, plan-memory, "
               "runtime-calls, llvm"),
      cl::value_desc("stage"), cl::cat(category)};
  cl::opt<bool> locations{"locations",
                          cl::desc("Print locations with the module"),
                          cl::cat(category)};
  cl::opt<std::string> dumpDir{
      "dump-dir", cl::desc("Write the module after each stage here"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<bool> run{"run",
                    cl::desc("Train in this process instead of writing an "
                             "executable; arguments of the trainer follow --"),
                    cl::cat(category)};
  cl::opt<std::string> exportTo{
      "export",
      cl::desc("Write the weights of a checkpoint to this new folder, as a "
               "trainer's --export does, without one; arguments of the trainer "
               "follow --"),
      cl::value_desc("folder"), cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("Only check the spec"),
                      cl::cat(category)};
  cl::opt<PlanFormat> plan{
      "plan",
      cl::desc("Print what a run takes, and train nothing: memory, files, "
               "collectives, batches. Needs no weights (docs/plan.md)"),
      cl::ValueOptional,
      cl::init(PlanFormat::None),
      cl::values(clEnumValN(PlanFormat::Text, "text", "a table (default)"),
                 clEnumValN(PlanFormat::Json, "json", "one JSON object"),
                 clEnumValN(PlanFormat::Text, "", "")),
      cl::cat(category)};
  cl::opt<unsigned> ranks{
      "ranks",
      cl::desc("Ranks to plan for, also where [mesh] says how much memory they "
               "have (default: replicate x shard of [mesh], else 1)"),
      cl::value_desc("N"), cl::init(0), cl::cat(category)};
  cl::list<std::string> overrides{
      "set", cl::desc("Replace a value of the spec (train.steps=10)"),
      cl::value_desc("key=value"), cl::cat(category)};
  cl::list<std::string> library{"library",
                                cl::desc("Folder with modules to import"),
                                cl::value_desc("folder"), cl::cat(category)};
  cl::opt<bool> schema{"print-schema", cl::desc("Print a JSON Schema of specs"),
                       cl::cat(category)};
  cl::opt<bool> reference{"print-reference",
                          cl::desc("Print the language reference"),
                          cl::cat(category)};
  cl::opt<bool> resolved{
      "print-resolved",
      cl::desc("Print each value in force and where it came from"),
      cl::cat(category)};
  cl::opt<std::string> cpu{"cpu",
                           cl::desc("CPU to compile for (default: native)"),
                           cl::init("native"), cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("cpu (default), cuda or cuda:<chip>: sm_80, sm_90 (default) or "
               "sm_90a; newer chips run the code of sm_90"),
      cl::value_desc("cpu|cuda[:chip]"), cl::init("cpu"), cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas",
      cl::desc("Assembler of the CUDA toolkit, or none, which leaves that to "
               "the driver (default: the one in PATH, CUDA_HOME/bin or "
               "/usr/local/cuda/bin)"),
      cl::value_desc("path|none"), cl::cat(category)};
  cl::opt<unsigned> optLevel{"O", cl::Prefix,
                             cl::desc("Optimisation level, 0 to 2"),
                             cl::init(2), cl::cat(category)};
  cl::opt<bool> timing{"timing", cl::desc("Print the time of each pass"),
                       cl::cat(category)};
  /// What follows "--".
  std::vector<std::string> trainerArgs;
};

} // namespace

static int fail(const Twine &message) {
  errs() << "error: " << message << "\n";
  return 1;
}

static bool hasData(mlir::ModuleOp module) {
  auto spec = module->getAttrOfType<mlir::DictionaryAttr>(ff::kSpecAttr);
  return spec && spec.get("data");
}

/// Vectors as wide as the CPU has them.
static int64_t getVectorBytes(StringRef cpu) {
  if (cpu == "native") {
    auto features = sys::getHostCPUFeatures();
    return features.lookup("avx512f") ? 64 : features.lookup("avx") ? 32 : 16;
  }
  return cpu.contains("v4") ? 64 : 32;
}

static int printModule(const Flags &flags, mlir::ModuleOp module) {
  std::string error;
  auto file = mlir::openOutputFile(
      flags.output.empty() ? "-" : flags.output.getValue(), &error);
  if (!file)
    return fail(error);
  mlir::OpPrintingFlags printing;
  if (flags.locations)
    printing.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  module.print(file->os(), printing);
  file->keep();
  return 0;
}

static int runTrainer(const Flags &flags, ArrayRef<char> object,
                      std::vector<std::string> args) {
  args.insert(args.begin(), sys::path::stem(flags.input).str());
  Expected<int> status = ff::runObject(object, args);
  if (!status)
    return fail(toString(status.takeError()));
  return *status;
}

/// Writes `data` to --output, or to the standard output.
static int writeOutput(const Flags &flags, StringRef data) {
  if (Error error =
          ff::writeFile(flags.output.empty() ? "-" : flags.output.getValue(),
                        ArrayRef<char>(data.data(), data.size())))
    return fail(toString(std::move(error)));
  return 0;
}

static int writeDeviceCode(const Flags &flags, mlir::ModuleOp module) {
  if (flags.emit == Emit::PTX)
    return writeOutput(flags, *ff::getDeviceCode(module, ff::kDevicePtx));
  if (auto cubin = ff::getDeviceCode(module, ff::kDeviceCubin))
    return writeOutput(flags, *cubin);
  return fail("--emit=cubin needs ptxas of the CUDA toolkit, which is not in "
              "PATH, CUDA_HOME/bin or /usr/local/cuda/bin; give --ptxas=PATH, "
              "or use --emit=ptx");
}

static int compile(const Flags &flags, mlir::ModuleOp module, bool isCuda) {
  if (flags.emit == Emit::PTX || flags.emit == Emit::Cubin)
    return writeDeviceCode(flags, module);
  ff::ObjectOptions options;
  options.cpu = flags.cpu;
  options.optLevel = flags.optLevel;
  if (flags.emit == Emit::LLVM) {
    auto text = ff::compileToLLVMIR(module, options);
    if (!text)
      return fail(toString(text.takeError()));
    return writeOutput(flags, *text);
  }
  auto object = ff::compileToObject(module, options);
  if (!object)
    return fail(toString(object.takeError()));
  if (flags.run)
    return runTrainer(flags, *object, flags.trainerArgs);
  std::string path = flags.output;
  if (path.empty())
    path = sys::path::stem(flags.input).str() +
           (flags.emit == Emit::Obj ? ".o" : "");
  Error error = flags.emit == Emit::Obj
                    ? ff::writeFile(path, *object)
                    : ff::linkExecutable(*object, path, isCuda);
  return error ? fail(toString(std::move(error))) : 0;
}

/// What is written follows from the metadata alone: nothing is compiled.
static int exportWeights(const Flags &flags, mlir::ModuleOp module) {
  std::vector<std::string> args = flags.trainerArgs;
  args.insert(args.begin(), sys::path::stem(flags.input).str());
  args.push_back("--export=" + flags.exportTo);
  std::vector<char *> argv;
  for (std::string &arg : args)
    argv.push_back(arg.data());
  argv.push_back(nullptr);
  return ff_rt_main(static_cast<int>(args.size()), argv.data(),
                    ff::buildPlanMetadata(module).c_str(), nullptr, 0);
}

/// Prints the plan, and holds it to the memory that [mesh] says.
static mlir::LogicalResult planSpec(const Flags &flags, mlir::ModuleOp module,
                                    const ff::PlanSetup &setup) {
  bool print = flags.plan != PlanFormat::None;
  if (!print && !ff::hasMemoryLimit(module))
    return mlir::success();
  std::optional<ff::rt::Plan> plan = ff::planModule(module, setup.ranks);
  if (!plan)
    return mlir::failure();
  if (print) {
    std::string text = flags.plan == PlanFormat::Json
                           ? ff::rt::planToJson(*plan)
                           : ff::rt::planToText(*plan);
    if (Error error =
            ff::writeFile(flags.output.empty() ? "-" : flags.output.getValue(),
                          ArrayRef<char>(text.data(), text.size())))
      return mlir::failure(fail(toString(std::move(error))) != 0);
    if (std::string warning = ff::rt::diskWarning(*plan); !warning.empty())
      errs() << "warning: " << warning << "\n";
  }
  return ff::checkFit(module, *plan, setup);
}

/// What the flags say about importing the spec. False after an error.
static bool readImportOptions(const Flags &flags, ff::ImportOptions &options) {
  options.libraryPaths.assign(flags.library.begin(), flags.library.end());
  for (StringRef text : flags.overrides) {
    auto [key, value] = text.split('=');
    if (value.empty())
      return !fail("--set " + text + " is not of the form key=value");
    options.overrides.emplace_back(key.str(), value.str());
  }
  return true;
}

/// What the flags say about the stages. False after an error.
static bool readPipelineOptions(const Flags &flags,
                                ff::PipelineOptions &pipeline) {
  std::string error;
  auto target = ff::parseTarget(flags.target, error);
  if (!target)
    return !fail("--target=" + flags.target + ": " + error);
  pipeline.target = *target;
  pipeline.ptxas = flags.ptxas;
  if (auto path = ff::findPtxas(flags.ptxas); !path)
    return !fail("--ptxas=" + flags.ptxas + ": " + toString(path.takeError()));
  bool emitsDeviceCode = flags.emit == Emit::PTX || flags.emit == Emit::Cubin;
  if (emitsDeviceCode && !target->isCuda())
    return !fail("--emit=ptx and --emit=cubin are of --target=cuda; give it, "
                 "too");
  if (flags.emit == Emit::Cubin && flags.ptxas == "none")
    return !fail("--emit=cubin and --ptxas=none exclude each other; give one "
                 "of them");
  // No need to assemble what is not written.
  if (flags.emit == Emit::PTX)
    pipeline.ptxas = "none";
  pipeline.vectorBytes = getVectorBytes(flags.cpu);
  pipeline.dumpDir = flags.dumpDir;
  pipeline.timing = flags.timing;
  if (flags.plan != PlanFormat::None && !flags.stopAfter.empty())
    return !fail("--plan and --stop-after=" + flags.stopAfter +
                 " exclude each other; give one of them");
  if (flags.plan != PlanFormat::None)
    pipeline.stopAfter = ff::Stage::PlanMemory;
  if (flags.exportTo.getNumOccurrences() && flags.exportTo.empty())
    return !fail("--export is empty; name a new folder");
  if (!flags.exportTo.empty()) {
    if (flags.run || flags.check || flags.plan != PlanFormat::None ||
        !flags.stopAfter.empty() || flags.emit != Emit::Exe || target->isCuda())
      return !fail(
          "--export writes weights alone; give none of --run, --check, "
          "--plan, --stop-after, --emit and --target with it");
    pipeline.stopAfter = ff::Stage::FormUnits;
  }
  if (!flags.stopAfter.empty()) {
    auto stage = ff::parseStage(flags.stopAfter);
    if (!stage)
      return !fail("--stop-after=" + flags.stopAfter +
                   " is not a stage; see --help");
    pipeline.stopAfter = *stage;
  }
  return true;
}

/// Imports the spec, runs the stages, and does what the flags ask for.
static int compileSpec(const Flags &flags) {
  ff::ImportOptions importOptions;
  if (!readImportOptions(flags, importOptions))
    return 1;
  if (flags.resolved)
    return ff::printResolved(flags.input, importOptions, outs(), errs()) ? 0
                                                                         : 1;
  ff::PipelineOptions pipeline;
  if (!readPipelineOptions(flags, pipeline))
    return 1;

  // Ranks are forked from this process by --run: it must have no other threads.
  mlir::DialectRegistry registry;
  ff::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  // Errors of passes in the frontend's format: place, line, caret.
  context.printOpOnDiagnostic(false);
  SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context, errs());
  auto module = ff::importSpec(context, flags.input, importOptions, errs());
  if (!module)
    return 1;
  bool isTrainer = flags.plan == PlanFormat::None && !flags.check &&
                   flags.stopAfter.empty() && flags.emit == Emit::Exe;
  if (isTrainer && !hasData(*module)) {
    errs() << flags.input
           << ":1:1: error: a trainer needs [data], whose samples it counts\n"
           << flags.input
           << ":1:1: note: for example: [data] files = \"data.safetensors\"\n";
    return 1;
  }
  if (flags.check && flags.plan == PlanFormat::None)
    pipeline.stopAfter = ff::hasMemoryLimit(*module) ? ff::Stage::PlanMemory
                                                     : ff::Stage::Schedule;
  ff::PlanSetup setup{flags.input, importOptions, pipeline, flags.ranks};
  pipeline.afterPlan = [&](mlir::ModuleOp planned) {
    return planSpec(flags, planned, setup);
  };
  if (failed(ff::runPipeline(*module, pipeline)))
    return 1;
  if (flags.plan != PlanFormat::None)
    return 0;
  if (!flags.exportTo.empty())
    return exportWeights(flags, *module);
  if (flags.check) {
    outs() << flags.input << ": ok\n";
    return 0;
  }
  if (!flags.stopAfter.empty() || flags.emit == Emit::MLIR)
    return printModule(flags, *module);
  return compile(flags, *module, pipeline.target.isCuda());
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ResetCommandLineParser();
  Flags flags;
  int own = argc;
  for (int i = 1; i < argc && own == argc; ++i)
    if (StringRef(argv[i]) == "--")
      own = i;
  flags.trainerArgs.assign(argv + std::min(own + 1, argc), argv + argc);
  cl::ParseCommandLineOptions(
      own, argv,
      "ff-compile: compiles a training pipeline, declared in TOML, into a "
      "native trainer\n\n"
      "  ff-compile spec.toml -o trainer && ./trainer --ranks 2\n"
      "  ff-compile --target=cuda spec.toml -o trainer\n"
      "  ff-compile --run spec.toml -- --steps 100\n"
      "  ff-compile --plan --ranks 8 spec.toml\n"
      "  ff-compile --export weights spec.toml -- --out out\n");
  if (flags.schema || flags.reference) {
    if (flags.schema)
      ff::printSchema(outs());
    else
      ff::printLanguageReference(outs());
    return 0;
  }
  if (flags.input.empty())
    return fail("no spec given; usage: ff-compile spec.toml -o trainer");
  return compileSpec(flags);
}
