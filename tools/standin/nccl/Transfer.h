// Jobs of a communicator: collectives, and messages between pairs of ranks.
#ifndef FF_STANDIN_NCCL_TRANSFER_H
#define FF_STANDIN_NCCL_TRANSFER_H

#include "runtime/cuda/api/Nccl.h"
#include "tools/standin/api/Cuda.h"
#include "tools/standin/nccl/Segment.h"

#include <memory>
#include <vector>

struct ncclComm {
  std::unique_ptr<standin::nccl::Segment> segment;
  std::string name, lastError;
  int device = -1, splits = 0;
  uint64_t sequence = 0, p2pSequence = 0;
  std::atomic<int> error{0};
};

namespace standin::nccl {

enum Kind {
  AllReduce = 1,
  Reduce,
  Broadcast,
  AllGather,
  ReduceScatter,
  Split,
  Send,
  Recv
};
extern const char *const kindNames[];

struct Message { // one send or receive
  Kind kind;
  uint64_t buffer, bytes;
  Call call;
  int peer;
  uint8_t *host = nullptr;
  uint64_t done = 0;
  bool headed = false;
};
struct Job {
  std::shared_ptr<ncclComm> comm;
  Call call;
  uint64_t send, recv;
  std::vector<Message> messages;
};

// Both throw Error.
void collective(Job &j);
void pointToPoint(Job &j);

} // namespace standin::nccl

#endif
