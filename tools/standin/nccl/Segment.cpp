#include "tools/standin/nccl/Segment.h"
#include "runtime/cuda/api/Nccl.h"
#include "tools/standin/api/Cuda.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace standin::nccl {

namespace {
uint64_t pageUp(uint64_t n) { return (n + 4095) / 4096 * 4096; }
} // namespace

double Segment::timeout() {
  const char *s = getenv("FF_STANDIN_TIMEOUT");
  return s ? atof(s) : 60.0;
}

Segment::Segment(const std::string &name, int ranks, int rank)
    : ranks(ranks), rank(rank), name(name) {
  uint64_t head = pageUp(sizeof(Header)),
           slotBytes = pageUp(sizeof(Slot) * ranks),
           chunkTotal = chunkBytes * ranks;
  size = head + slotBytes + chunkTotal + sizeof(Mail) * ranks * ranks;
  int fd = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (fd < 0)
    throw Error{ncclSystemError,
                "cannot open shared memory '" + name + "': " + strerror(errno)};
  // The size grows to the largest that a rank asks for: ranks that disagree
  // still meet in the header.
  struct stat st;
  if (fstat(fd, &st) ||
      ((uint64_t)st.st_size < size && ftruncate(fd, (off_t)size))) {
    close(fd);
    throw Error{ncclSystemError,
                "cannot size shared memory '" + name + "': " + strerror(errno)};
  }
  base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (base == MAP_FAILED)
    throw Error{ncclSystemError,
                "cannot map shared memory '" + name + "': " + strerror(errno)};
  header = (Header *)base;
  slots = (Slot *)((uint8_t *)base + head);
  chunks = (uint8_t *)base + head + slotBytes;
  mails = (Mail *)(chunks + chunkTotal);
  int32_t expected = 0;
  if (!header->ranks.compare_exchange_strong(expected, ranks) &&
      expected != ranks)
    throw Error{ncclInvalidArgument,
                "rank " + std::to_string(rank) + " joins a communicator of " +
                    std::to_string(ranks) + " ranks, another rank one of " +
                    std::to_string(expected)};
  expected = 0;
  if (!slots[rank].pid.compare_exchange_strong(expected, getpid()))
    throw Error{ncclInvalidArgument,
                "rank " + std::to_string(rank) + " joins twice: process " +
                    std::to_string(expected) + " is that rank"};
  auto missing = [&] {
    std::string s;
    for (int r = 0; r < ranks; ++r)
      if (!slots[r].pid)
        s += " " + std::to_string(r);
    return s;
  };
  try {
    wait([&] { return missing().empty(); },
         [&] {
           return "the communicator of " + std::to_string(ranks) +
                  " ranks lacks ranks" + missing();
         },
         [](int) { return true; });
    barrier(0, "the communicator's begin");
  } catch (Error &) {
    shm_unlink(name.c_str());
    throw;
  }
  if (rank == 0)
    shm_unlink(name.c_str());
}
Segment::~Segment() {
  if (base && base != MAP_FAILED)
    munmap(base, size);
}
void Segment::abort() { header->aborted = 1; }

void Segment::wait(const std::function<bool()> &done,
                   const std::function<std::string()> &missing,
                   const std::function<bool(int)> &awaited) {
  auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0;; ++i) {
    if (done())
      return;
    if (header->aborted)
      throw Error{ncclRemoteError,
                  "a rank aborted the communicator while " + missing()};
    if (i < 200) {
      sched_yield();
      continue;
    }
    std::this_thread::sleep_for(
        std::chrono::microseconds(i < 2000 ? 50 : 1000));
    if (i % 64)
      continue;
    for (int r = 0; r < ranks; ++r) {
      int32_t pid = slots[r].pid;
      if (pid && awaited(r) && kill(pid, 0) && errno == ESRCH && !done())
        throw Error{ncclRemoteError, "rank " + std::to_string(r) +
                                         " (process " + std::to_string(pid) +
                                         ") has ended while " + missing()};
    }
    double s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    if (s > timeout())
      throw Error{ncclSystemError, "no progress for " +
                                       std::to_string((int)timeout()) +
                                       " s (FF_STANDIN_TIMEOUT): " + missing()};
  }
}

void Segment::barrier(int lane, const std::string &what) {
  uint64_t mine = ++slots[rank].phase[lane];
  auto complete = [&] {
    for (int r = 0; r < ranks; ++r)
      if (slots[r].phase[lane] < mine)
        return false;
    return true;
  };
  wait(
      complete,
      [&] {
        std::string s =
            "rank " + std::to_string(rank) + " waits in " + what + " for ranks";
        for (int r = 0; r < ranks; ++r)
          if (slots[r].phase[lane] < mine)
            s += " " + std::to_string(r) +
                 (slots[r].call[lane].kind
                      ? " (its last call: " + slots[r].call[lane].text() + ")"
                      : " (no call yet)");
        return s;
      },
      [&](int r) { return slots[r].phase[lane] < mine; });
}

} // namespace standin::nccl
