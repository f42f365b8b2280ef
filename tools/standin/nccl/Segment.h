// A segment of shared memory through which the ranks of one communicator meet:
// their calls, their data, messages between pairs.
#ifndef FF_STANDIN_NCCL_SEGMENT_H
#define FF_STANDIN_NCCL_SEGMENT_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace standin::nccl {

// A call as every rank must make it.
struct Call {
  int32_t kind = 0, type = 0, op = -1, root = -1;
  uint64_t count = 0, sequence = 0;
  bool matches(const Call &c) const {
    return kind == c.kind && type == c.type && op == c.op && root == c.root &&
           count == c.count && sequence == c.sequence;
  }
  std::string text() const;
};

struct Error {
  int code; // an ncclResult_t
  std::string text;
};

constexpr uint64_t chunkBytes = 1 << 20, mailBytes = 1 << 16;
// 0: calls in streams; 1: of the host (splits), which may come meanwhile.
constexpr int lanes = 2;

struct Slot {
  std::atomic<int32_t> pid;
  std::atomic<uint64_t> phase[lanes];
  Call call[lanes];
  int32_t color, key;
};
struct Mail { // from one rank to another: a ring of bytes
  std::atomic<uint64_t> head, tail;
  uint8_t data[mailBytes];
};

class Segment {
public:
  // Creates or joins, and waits until all ranks are here. Throws Error.
  Segment(const std::string &name, int ranks, int rank);
  ~Segment();
  Slot &slot(int r) { return slots[r]; }
  uint8_t *chunk(int r) { return chunks + r * chunkBytes; }
  Mail &mail(int from, int to) { return mails[from * ranks + to]; }
  // Waits until every rank has come this far; `what` says in the error what was
  // waited for.
  void barrier(int lane, const std::string &what);
  // Polls until done() or the timeout; `missing` gives the error's text.
  // `awaited`: whether the end of a rank's process ends the wait.
  void wait(const std::function<bool()> &done,
            const std::function<std::string()> &missing,
            const std::function<bool(int)> &awaited);
  void abort();
  static double timeout();

  const int ranks, rank;

private:
  struct Header {
    std::atomic<int32_t> ranks, aborted;
  };
  std::string name;
  void *base = nullptr;
  uint64_t size = 0;
  Header *header = nullptr;
  Slot *slots = nullptr;
  uint8_t *chunks = nullptr;
  Mail *mails = nullptr;
};

// acc[i] = acc[i] (op) x[i] over ranks in order: `parts` holds one pointer a
// rank. Types and operations are NCCL's numbers.
void reduce(void *out, const void *const *parts, int ranks, uint64_t count,
            int type, int op);
unsigned bytesOf(int type); // 0: unknown
const char *typeName(int type);

} // namespace standin::nccl

#endif
