//===- Launch.cpp - Starts or joins the ranks -----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/launch/Launch.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace ff::rt {

namespace {

std::atomic<bool> stopFlag{false};
void onStopSignal(int) { stopFlag = true; }

/// Ranks that outlive a failed one by this time are ended.
constexpr double graceSeconds = 8.0;

int parseVariable(EnvironmentReader read, const char *name) {
  const char *text = read(name);
  char *end = nullptr;
  long value = text ? std::strtol(text, &end, 10) : 0;
  if (!text)
    fail("the environment variable {} is not set; fix: start the trainer with "
         "--ranks, torchrun, srun or mpirun",
         name);
  if (!*text || *end || value < 0 || value > 1'000'000)
    fail("the environment variable {} is '{}', not a number of ranks or a port",
         name, text);
  return static_cast<int>(value);
}

int parseVariable(EnvironmentReader read, const char *name, int fallback) {
  return read(name) ? parseVariable(read, name) : fallback;
}

/// The first host of a SLURM list such as `node[3-5,9],other`.
std::string firstHost(const std::string &list) {
  size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket)
    return list.substr(0, comma);
  size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

void checkRanks(const LaunchInfo &info, const char *rank, const char *world) {
  if (info.world < 1 || info.rank >= info.world)
    fail("the environment says {} = {} and {} = {}", rank, info.rank, world,
         info.world);
}

/// A socket that listens on a free port of this machine alone.
int listenLocally(int &port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (fd < 0 ||
      bind(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0 ||
      listen(fd, SOMAXCONN) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    fail("cannot listen on 127.0.0.1: {}", std::strerror(errno));
  port = ntohs(address.sin_port);
  return fd;
}

/// The processes of --ranks, watched by their parent.
class Supervisor {
public:
  explicit Supervisor(std::vector<pid_t> children)
      : children(std::move(children)) {}

  /// Waits for all of them; returns the exit status of the whole.
  int run() {
    while (alive() > 0) {
      if (stopFlag.exchange(false))
        signalAll(SIGTERM);
      int state;
      pid_t pid = waitpid(-1, &state, WNOHANG);
      if (pid > 0)
        ended(pid, state);
      else if (pid < 0 && errno != EINTR)
        break;
      else
        pause();
      if (status && now() > deadline) {
        killing = true;
        signalAll(SIGKILL);
      }
    }
    return status;
  }

private:
  static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_nsec) * 1e-9;
  }
  static void pause() {
    timespec time{0, 5'000'000};
    nanosleep(&time, nullptr);
  }

  long alive() const {
    return std::count_if(children.begin(), children.end(),
                         [](pid_t pid) { return pid > 0; });
  }

  void signalAll(int signal) const {
    for (pid_t pid : children)
      if (pid > 0)
        kill(pid, signal);
  }

  void ended(pid_t pid, int state) {
    auto child = std::find(children.begin(), children.end(), pid);
    if (child == children.end())
      return;
    *child = 0;
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
      return;
    if (!status)
      deadline = now() + graceSeconds;
    // A rank that exits has said why, or ends for another one. One that was
    // killed has not: it is the cause, in whatever order they are found.
    if (WIFEXITED(state)) {
      status = status ? status : WEXITSTATUS(state);
    } else if (status < 128 && !killing) {
      status = 128 + WTERMSIG(state);
      std::fprintf(stderr, "error: [rank %d] ended by signal %d (%s)\n",
                   static_cast<int>(child - children.begin()), WTERMSIG(state),
                   strsignal(WTERMSIG(state)));
    }
  }

  std::vector<pid_t> children; ///< 0: ended
  int status = 0;
  bool killing = false; ///< signals are now of our own sending
  double deadline = 0;
};

} // namespace

LaunchInfo launchFromEnvironment(EnvironmentReader read) {
  LaunchInfo info;
  // torchrun first: under srun it is the one that counts.
  if (read("RANK") && read("WORLD_SIZE")) {
    info.rank = parseVariable(read, "RANK");
    info.world = parseVariable(read, "WORLD_SIZE");
    info.localRank = parseVariable(read, "LOCAL_RANK", 0);
    info.localWorld = parseVariable(read, "LOCAL_WORLD_SIZE", 1);
    checkRanks(info, "RANK", "WORLD_SIZE");
  } else if (read("OMPI_COMM_WORLD_RANK")) {
    info.rank = parseVariable(read, "OMPI_COMM_WORLD_RANK");
    info.world = parseVariable(read, "OMPI_COMM_WORLD_SIZE");
    info.localRank = parseVariable(read, "OMPI_COMM_WORLD_LOCAL_RANK");
    info.localWorld = parseVariable(read, "OMPI_COMM_WORLD_LOCAL_SIZE", 1);
    checkRanks(info, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  } else if (read("SLURM_PROCID") &&
             parseVariable(read, "SLURM_NTASKS", 1) > 1) {
    info.rank = parseVariable(read, "SLURM_PROCID");
    info.world = parseVariable(read, "SLURM_NTASKS");
    info.localRank = parseVariable(read, "SLURM_LOCALID", 0);
    int nodes = std::max(parseVariable(read, "SLURM_NNODES", 1), 1);
    info.localWorld = (info.world + nodes - 1) / nodes;
    checkRanks(info, "SLURM_PROCID", "SLURM_NTASKS");
  }
  if (info.world == 1)
    return info;
  if (const char *address = read("MASTER_ADDR"))
    info.masterAddress = address;
  else if (const char *nodes = read("SLURM_JOB_NODELIST"))
    info.masterAddress = firstHost(nodes);
  else if (info.localWorld != info.world)
    fail("the environment variable MASTER_ADDR is not set; fix: the address of "
         "the machine of rank 0");
  // Without a port, ranks of one job agree on one by the number of the job.
  int job = parseVariable(read, "SLURM_JOB_ID", 0);
  info.masterPort = parseVariable(read, "MASTER_PORT", 29500 + job % 1000);
  if (info.masterPort < 1 || info.masterPort > 65535)
    fail("MASTER_PORT={} is no port; fix: a number from 1 to 65535",
         info.masterPort);
  return info;
}

std::optional<LaunchInfo> launch(int ranks, int &status) {
  LaunchInfo info = launchFromEnvironment(
      [](const char *name) -> const char * { return std::getenv(name); });
  if (ranks == 0)
    return info;
  if (info.world > 1) {
    if (ranks != info.world)
      fail("--ranks {}, but the launcher started {} ranks; fix: leave --ranks "
           "out",
           ranks, info.world);
    return info;
  }
  if (ranks == 1)
    return info;
  info.world = info.localWorld = ranks;
  info.supervised = true;
  int socket = listenLocally(info.masterPort);
  std::fflush(nullptr); // or each rank prints what is buffered
  pid_t parent = getpid();
  catchStopSignals();
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child < 0) {
      int error = errno;
      for (pid_t pid : children)
        kill(pid, SIGKILL);
      fail("cannot start rank {}: {}", rank, std::strerror(error));
    }
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    // Ranks end with their parent, however it ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(1);
    stopFlag = false;
    info.rank = info.localRank = rank;
    info.storeSocket = rank == 0 ? socket : -1;
    if (rank != 0)
      close(socket);
    return info;
  }
  close(socket);
  status = Supervisor(std::move(children)).run();
  return std::nullopt;
}

void catchStopSignals() {
  struct sigaction action{};
  action.sa_handler = onStopSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

bool stopRequested() { return stopFlag; }

int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

} // namespace ff::rt
