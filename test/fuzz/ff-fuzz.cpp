//===- ff-fuzz.cpp - Runs the frontend on broken inputs ---------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   ff-fuzz headers|specs COUNT [--seed N] [--only INDEX] [--keep FOLDER]
//
// Every input is a function of the seed and its index. It must not crash or
// hang the frontend or use much memory; a refusal has an error with a place,
// and what is accepted is right. A batch of inputs runs in a process of its
// own, so that a crash is reported with the input.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Fuzz.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cl = llvm::cl;
namespace fs = llvm::sys::fs;
using namespace ff::fuzz;
using llvm::StringRef;

static cl::opt<std::string> mode(cl::Positional, cl::Required,
                                 cl::desc("headers|specs"));
static cl::opt<uint64_t> count(cl::Positional, cl::Required, cl::desc("COUNT"));
static cl::opt<uint64_t> seed("seed", cl::desc("Of all inputs"), cl::init(1));
static cl::opt<int64_t> only("only", cl::desc("Run this input alone"),
                             cl::init(-1));
static cl::opt<std::string> keep("keep", cl::desc("Where bad inputs are put"),
                                 cl::init("fuzz-faults"));
static cl::opt<std::string> seedFolder("seeds", cl::desc("Folder of seeds"),
                                       cl::init(FF_FUZZ_SEEDS));

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FF_FUZZ_ASAN 1
#endif
#endif

#ifdef FF_FUZZ_ASAN
/// LLVM's libraries are not instrumented and do not unpoison the memory of
/// arenas that code in its headers, compiled here, has poisoned.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_leaks=0";
}
#endif

static constexpr uint64_t batch = 256;
#ifdef FF_FUZZ_ASAN
static constexpr unsigned secondsForOne = 30;
// Its shadow takes terabytes of addresses.
static constexpr rlim_t memory = RLIM_INFINITY;
#else
static constexpr unsigned secondsForOne = 5;
static constexpr rlim_t memory = rlim_t(2) << 30;
#endif

namespace {
/// What a process tells its parent while it runs, even if it crashes.
struct Progress {
  uint64_t index, refused, valid;
  bool bad;
  char fault[4096];
};
} // namespace

Files ff::fuzz::readFolder(StringRef folder, StringRef suffix) {
  Files files;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code))
    if (StringRef(it->path()).ends_with(suffix))
      if (auto buffer = llvm::MemoryBuffer::getFile(it->path()))
        files.push_back({llvm::sys::path::filename(it->path()).str(),
                         (*buffer)->getBuffer().str()});
  llvm::sort(files);
  return files;
}

bool ff::fuzz::hasPlacedError(StringRef diagnostics) {
  static const llvm::Regex placed(":[0-9]+:[0-9]+: error: ");
  return placed.match(diagnostics);
}

static void writeFiles(StringRef folder, const Files &files) {
  fs::create_directories(folder);
  for (auto &[name, text] : files) {
    std::error_code code;
    llvm::raw_fd_ostream os((folder + "/" + name).str(), code);
    os << text;
  }
}

/// Runs inputs `begin` to `end` in this process.
static void runBatch(Target &target, StringRef folder, uint64_t begin,
                     uint64_t end, Progress &progress) {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  rlimit limit{memory, memory};
  setrlimit(RLIMIT_AS, &limit);
  for (uint64_t i = begin; i < end; ++i) {
    progress.index = i;
    Files files = target.make(seed, i);
    fs::remove_directories(folder);
    writeFiles(folder, files);
    alarm(secondsForOne);
    std::string fault;
    Verdict verdict = target.run(folder, files, fault);
    alarm(0);
    if (fault.empty() && i < target.seeds() && verdict != Verdict::Valid)
      fault = "a seed was refused";
    ++(verdict == Verdict::Valid ? progress.valid : progress.refused);
    if (fault.empty())
      continue;
    std::strncpy(progress.fault, fault.c_str(), sizeof(progress.fault) - 1);
    progress.bad = true;
    return;
  }
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "ff-fuzz\n");
  std::string seeds = seedFolder + "/" + mode;
  std::unique_ptr<Target> target;
  if (mode == "headers")
    target = makeHeaderTarget(seeds);
  else if (mode == "specs")
    target = makeSpecTarget(seeds);
  if (!target || target->seeds() < 2) {
    llvm::errs() << "error: no seeds in '" << seeds << "'\n";
    return 2;
  }
  llvm::SmallString<128> root;
  if (std::error_code code = fs::createUniqueDirectory("ff-fuzz", root)) {
    llvm::errs() << "error: no temporary folder: " << code.message() << "\n";
    return 2;
  }
  std::string folder = (root + "/input").str();
  auto *progress = static_cast<Progress *>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  uint64_t next = only < 0 ? 0 : static_cast<uint64_t>(only.getValue());
  uint64_t end = only < 0 ? count.getValue() : next + 1, faults = 0;
  while (next < end) {
    uint64_t stop = std::min(end, next + batch);
    progress->bad = false;
    std::memset(progress->fault, 0, sizeof(progress->fault));
    pid_t child = fork();
    if (child == 0) {
      runBatch(*target, folder, next, stop, *progress);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    next = stop;
    std::string what;
    if (WIFSIGNALED(status))
      what = WTERMSIG(status) == SIGALRM
                 ? "it takes more than " + std::to_string(secondsForOne) + " s"
                 : "signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status))
      what = "the process ended with " + std::to_string(WEXITSTATUS(status));
    else if (progress->bad)
      what = progress->fault;
    if (what.empty())
      continue;
    ++faults;
    next = progress->index + 1;
    std::string where = keep + "/" + mode + "-" + std::to_string(seed) + "-" +
                        std::to_string(progress->index);
    writeFiles(where, target->make(seed, progress->index));
    llvm::outs() << mode << " input " << progress->index << " of seed " << seed
                 << ": " << what << "\n  it is in '" << where << "'\n";
  }
  fs::remove_directories(root);
  llvm::outs() << mode << ": " << progress->refused + progress->valid
               << " inputs, " << progress->refused << " refused, "
               << progress->valid << " valid, " << faults << " faults\n";
  return faults != 0;
}
