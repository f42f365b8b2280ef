// NCCL's entry points: calls become work in streams; each is compared between
// all ranks before data moves.
#include "tools/standin/api/Nccl.h"
#include "tools/standin/nccl/Segment.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#define FF_NCCL extern "C" __attribute__((visibility("default")))

using namespace standin::nccl;
namespace cuda = standin::cuda;

struct ncclComm {
  std::unique_ptr<Segment> segment;
  std::string name, lastError;
  int device = -1, splits = 0;
  uint64_t sequence = 0, p2pSequence = 0;
  std::atomic<int> error{0};
};

namespace {
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
const char *kindNames[] = {"",
                           "ncclAllReduce",
                           "ncclReduce",
                           "ncclBroadcast",
                           "ncclAllGather",
                           "ncclReduceScatter",
                           "ncclCommSplit",
                           "ncclSend",
                           "ncclRecv"};

thread_local std::string lastError;
ncclResult_t refuse(ncclResult_t r, const std::string &text) {
  lastError = text;
  ffStandinSay(text.c_str());
  return r;
}

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

uint8_t *memory(const Call &c, uint64_t p, uint64_t bytes, bool reads) {
  if (!bytes)
    return nullptr;
  auto *m =
      (uint8_t *)ffStandinMemory(kindNames[c.kind], p, bytes, reads, !reads);
  if (!m)
    throw Error{ncclInvalidArgument, c.text() + ": wrong memory, see above"};
  return m;
}

void collective(Job &j) {
  Segment &s = *j.comm->segment;
  const Call &c = j.call;
  int n = s.ranks, me = s.rank;
  s.slot(me).call[0] = c;
  s.barrier(0, c.text());
  for (int r = 0; r < n; ++r)
    if (!c.matches(s.slot(r).call[0])) {
      throw Error{ncclInvalidUsage, "the ranks make different calls: rank " +
                                        std::to_string(me) + " " + c.text() +
                                        ", rank " + std::to_string(r) + " " +
                                        s.slot(r).call[0].text()};
    }
  uint64_t e = bytesOf(c.type),
           all =
               c.kind == AllGather || c.kind == ReduceScatter ? (uint64_t)n : 1;
  bool isRoot = c.root == me;
  uint8_t *in = nullptr, *out = nullptr;
  if (c.kind != Broadcast || isRoot)
    in = memory(c, j.send, c.count * e * (c.kind == ReduceScatter ? all : 1),
                true);
  if (c.kind != Reduce || isRoot)
    out =
        memory(c, j.recv, c.count * e * (c.kind == AllGather ? all : 1), false);
  uint64_t step =
      (c.kind == ReduceScatter ? chunkBytes / n : chunkBytes) / 16 * 16 / e;
  std::vector<const void *> parts((size_t)n);
  for (uint64_t at = 0; at < c.count; at += step) {
    uint64_t k = std::min(step, c.count - at);
    if (c.kind == ReduceScatter)
      for (int r = 0; r < n; ++r)
        memcpy(s.chunk(me) + r * step * e, in + (r * c.count + at) * e, k * e);
    else if (in)
      memcpy(s.chunk(me), in + at * e, k * e);
    s.barrier(0, c.text());
    for (int r = 0; r < n; ++r)
      parts[r] = s.chunk(r) + (c.kind == ReduceScatter ? me * step * e : 0);
    switch (c.kind) {
    case AllGather:
      for (int r = 0; r < n; ++r)
        memcpy(out + (r * c.count + at) * e, parts[r], k * e);
      break;
    case Broadcast:
      memcpy(out + at * e, parts[c.root], k * e);
      break;
    default:
      if (out)
        reduce(out + at * e, parts.data(), n, k, c.type, c.op);
    }
    s.barrier(0, c.text());
  }
  if (!c.count)
    s.barrier(0, c.text()); // the calls have been read
}

// Moves what it can of one message; true when anything moved.
bool progress(Segment &s, Message &m) {
  bool sends = m.kind == Send;
  Mail &box = sends ? s.mail(s.rank, m.peer) : s.mail(m.peer, s.rank);
  uint64_t head = box.head, tail = box.tail;
  auto bytes = [&](uint8_t *p, uint64_t n, uint64_t at, bool in) {
    for (uint64_t i = 0; i < n;) {
      uint64_t k = std::min(n - i, mailBytes - (at + i) % mailBytes);
      in ? memcpy(box.data + (at + i) % mailBytes, p + i, k)
         : memcpy(p + i, box.data + (at + i) % mailBytes, k);
      i += k;
    }
  };
  if (sends) {
    if (!m.headed) {
      if (mailBytes - (head - tail) < sizeof(Call))
        return false;
      bytes((uint8_t *)&m.call, sizeof(Call), head, true);
      box.head = head += sizeof(Call);
      m.headed = true;
    }
    uint64_t k = std::min(m.bytes - m.done, mailBytes - (head - tail));
    if (!k)
      return false;
    bytes(m.host + m.done, k, head, true);
    box.head = head + k, m.done += k;
    return true;
  }
  if (!m.headed) {
    if (head - tail < sizeof(Call))
      return false;
    Call theirs;
    bytes((uint8_t *)&theirs, sizeof(Call), tail, false);
    box.tail = tail += sizeof(Call);
    m.headed = true;
    if (theirs.count != m.call.count || theirs.type != m.call.type) {
      s.abort(); // the sender learns of it
      throw Error{ncclInvalidUsage, "rank " + std::to_string(s.rank) + " " +
                                        m.call.text() + ", but rank " +
                                        std::to_string(m.peer) + " " +
                                        theirs.text()};
    }
  }
  uint64_t k = std::min(m.bytes - m.done, head - tail);
  if (!k)
    return false;
  bytes(m.host + m.done, k, tail, false);
  box.tail = tail + k, m.done += k;
  return true;
}
void pointToPoint(Job &j) {
  Segment &s = *j.comm->segment;
  for (Message &m : j.messages)
    m.host = memory(m.call, m.buffer, m.bytes, m.kind == Send);
  auto pending = [&](const Message &m) {
    return m.done < m.bytes || !m.headed;
  };
  for (;;) {
    bool any = false;
    s.wait(
        [&] {
          bool moved = false;
          any = false;
          for (size_t i = 0; i < j.messages.size(); ++i) {
            Message &m = j.messages[i];
            bool blocked = false; // messages of one pair go in order
            for (size_t k = 0; k < i; ++k)
              blocked |= pending(j.messages[k]) &&
                         j.messages[k].peer == m.peer &&
                         j.messages[k].kind == m.kind;
            if (!blocked && pending(m)) {
              bool headed = m.headed;
              moved |= progress(s, m) || headed != m.headed;
            }
            any |= pending(m);
          }
          return moved || !any;
        },
        [&] {
          std::string t = "rank " + std::to_string(s.rank) + " waits in";
          for (const Message &m : j.messages)
            if (pending(m))
              t += " " + m.call.text() +
                   (m.kind == Send ? " to rank " : " from rank ") +
                   std::to_string(m.peer) + ",";
          t.pop_back();
          return t;
        },
        [&](int r) {
          for (const Message &m : j.messages)
            if (pending(m) && m.peer == r)
              return true;
          return false;
        });
    if (!any)
      return;
  }
}

CUresult execute(void *arg) {
  Job &j = **(std::shared_ptr<Job> *)arg;
  ncclComm &c = *j.comm;
  if (c.error)
    return cuda::LAUNCH_FAILED;
  try {
    if (j.messages.empty()) {
      collective(j);
    } else {
      for (Message &m : j.messages) // a captured job runs more than once
        m.done = 0, m.headed = false;
      pointToPoint(j);
    }
    return cuda::SUCCESS;
  } catch (Error &e) {
    c.error = e.code, c.lastError = e.text;
    ffStandinSay(("error: NCCL: " + e.text).c_str());
    return cuda::LAUNCH_FAILED;
  }
}
ncclResult_t submit(CUstream stream, std::shared_ptr<Job> job) {
  std::string name =
      job->messages.empty() ? kindNames[job->call.kind] : "ncclSend/ncclRecv";
  auto *arg = new std::shared_ptr<Job>(std::move(job));
  CUresult r =
      ffStandinEnqueue(stream, name.c_str(), execute, arg,
                       [](void *p) { delete (std::shared_ptr<Job> *)p; });
  return r ? refuse(ncclUnhandledCudaError,
                    name + ": the stream refuses work with CUresult " +
                        std::to_string(r))
           : ncclSuccess;
}

// Handles stay valid for work that is queued: the communicator lives as long as
// its jobs.
std::mutex handlesMutex;
std::vector<std::shared_ptr<ncclComm>> handles;
std::shared_ptr<ncclComm> find(ncclComm_t c) {
  std::lock_guard lock(handlesMutex);
  for (auto &h : handles)
    if (h.get() == c)
      return h;
  return nullptr;
}

struct Group {
  int depth = 0;
  std::vector<std::pair<CUstream, std::shared_ptr<Job>>> jobs;
  std::vector<std::function<ncclResult_t()>> inits;
};
thread_local Group group;

ncclResult_t call(Kind kind, const void *send, void *recv, size_t count,
                  int type, int op, int root, ncclComm_t handle,
                  CUstream stream) {
  auto comm = find(handle);
  std::string name = kindNames[kind];
  if (!comm)
    return refuse(ncclInvalidArgument, name + ": not a communicator");
  Segment &s = *comm->segment;
  if (comm->error)
    return (ncclResult_t)comm->error.load();
  if (!bytesOf(type))
    return refuse(ncclInvalidArgument, name + ": data type " +
                                           std::to_string(type) +
                                           " is not modelled");
  bool reduces = kind == AllReduce || kind == Reduce || kind == ReduceScatter;
  if (reduces && (op < 0 || op > ncclAvg))
    return refuse(ncclInvalidArgument, name + ": reduction " +
                                           std::to_string(op) +
                                           " is not modelled");
  bool rooted = kind == Reduce || kind == Broadcast,
       pair = kind == Send || kind == Recv;
  if ((rooted || pair) && (root < 0 || root >= s.ranks))
    return refuse(ncclInvalidArgument,
                  name + ": there is no rank " + std::to_string(root));
  auto job = std::make_shared<Job>();
  job->comm = comm;
  Call c;
  c.kind = kind, c.type = type, c.op = reduces ? op : -1,
  c.root = rooted ? root : -1, c.count = count;
  if (pair) {
    job->messages.push_back({kind, (uint64_t)(kind == Send ? send : recv),
                             count * bytesOf(type), c, root});
  } else {
    c.sequence = ++comm->sequence;
    job->call = c, job->send = (uint64_t)send, job->recv = (uint64_t)recv;
  }
  if (group.depth) {
    group.jobs.push_back({stream, job});
    return ncclSuccess;
  }
  return submit(stream, job);
}
} // namespace

std::string Call::text() const {
  static const char *ops[] = {"sum", "prod", "max", "min", "avg"};
  std::string s = std::string(kindNames[kind]) + "(count " +
                  std::to_string(count) + ", " + typeName(type);
  if (op >= 0)
    s += std::string(", ") + ops[op];
  if (root >= 0)
    s += ", root " + std::to_string(root);
  return s + ")" + (sequence ? " as call " + std::to_string(sequence) : "");
}

FF_NCCL ncclResult_t ncclGetVersion(int *v) {
  *v = 22703;
  return ncclSuccess;
}
FF_NCCL ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::random_device random;
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "/ff-standin-nccl-%d-%08x%08x",
           getpid(), random(), random());
  return ncclSuccess;
}
static ncclResult_t join(ncclComm_t *out, const std::string &name, int ranks,
                         int rank, int device) {
  try {
    auto c = std::make_shared<ncclComm>();
    c->segment = std::make_unique<Segment>(name, ranks, rank);
    c->name = name, c->device = device;
    std::lock_guard lock(handlesMutex);
    handles.push_back(c);
    *out = c.get();
    return ncclSuccess;
  } catch (Error &e) {
    return refuse((ncclResult_t)e.code, "error: NCCL: " + e.text);
  }
}
FF_NCCL ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks,
                                      ncclUniqueId id, int rank) {
  if (!out || ranks < 1 || rank < 0 || rank >= ranks ||
      strncmp(id.internal, "/ff-standin-nccl-", 17) != 0)
    return refuse(ncclInvalidArgument,
                  "ncclCommInitRank: rank " + std::to_string(rank) + " of " +
                      std::to_string(ranks) +
                      ", or an identifier that ncclGetUniqueId of the stand-in "
                      "did not make");
  int device = ffStandinDevice(nullptr);
  std::string name = id.internal;
  if (group.depth) { // several ranks in one process: all at once, at the end of
                     // the group
    group.inits.push_back([=] { return join(out, name, ranks, rank, device); });
    return ncclSuccess;
  }
  return join(out, name, ranks, rank, device);
}
FF_NCCL ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks,
                                            ncclUniqueId id, int rank,
                                            ncclConfig_t *) {
  return ncclCommInitRank(out, ranks, id, rank);
}
FF_NCCL ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key,
                                   ncclComm_t *out, ncclConfig_t *) {
  auto c = find(handle);
  if (!c || !out)
    return refuse(ncclInvalidArgument, "ncclCommSplit: not a communicator");
  Segment &s = *c->segment;
  int rank = 0, ranks = 0;
  try {
    Call call;
    call.kind = Split, call.sequence = (uint64_t)++c->splits;
    s.slot(s.rank).call[1] = call, s.slot(s.rank).color = color,
    s.slot(s.rank).key = key;
    s.barrier(1, "ncclCommSplit");
    for (int r = 0; r < s.ranks; ++r)
      if (s.slot(r).color == color) {
        ++ranks;
        int k = s.slot(r).key;
        rank += k < key || (k == key && r < s.rank);
      }
    s.barrier(1, "ncclCommSplit");
  } catch (Error &e) {
    c->error = e.code;
    return refuse((ncclResult_t)e.code, "error: NCCL: " + e.text);
  }
  *out = nullptr;
  return color < 0 ? ncclSuccess
                   : join(out,
                          c->name + "-s" + std::to_string(c->splits) + "-" +
                              std::to_string(color),
                          ranks, rank, c->device);
}
FF_NCCL ncclResult_t ncclCommFinalize(ncclComm_t c) {
  return find(c) ? ncclSuccess : ncclInvalidArgument;
}
FF_NCCL ncclResult_t ncclCommDestroy(ncclComm_t c) {
  std::lock_guard lock(handlesMutex);
  for (size_t i = 0; i < handles.size(); ++i)
    if (handles[i].get() == c) {
      handles.erase(handles.begin() + i);
      return ncclSuccess;
    }
  return refuse(ncclInvalidArgument, "ncclCommDestroy: not a communicator");
}
FF_NCCL ncclResult_t ncclCommAbort(ncclComm_t c) {
  if (auto comm = find(c)) {
    comm->error = ncclInternalError;
    comm->segment->abort();
  }
  return ncclCommDestroy(c);
}
FF_NCCL ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *e) {
  auto comm = find(c);
  if (!comm)
    return ncclInvalidArgument;
  *e = (ncclResult_t)comm->error.load();
  return ncclSuccess;
}
FF_NCCL ncclResult_t ncclCommCount(ncclComm_t c, int *n) {
  auto comm = find(c);
  return comm ? (*n = comm->segment->ranks, ncclSuccess) : ncclInvalidArgument;
}
FF_NCCL ncclResult_t ncclCommUserRank(ncclComm_t c, int *n) {
  auto comm = find(c);
  return comm ? (*n = comm->segment->rank, ncclSuccess) : ncclInvalidArgument;
}
FF_NCCL ncclResult_t ncclCommCuDevice(ncclComm_t c, int *n) {
  auto comm = find(c);
  return comm ? (*n = comm->device, ncclSuccess) : ncclInvalidArgument;
}
FF_NCCL const char *ncclGetErrorString(ncclResult_t r) {
  static const char *texts[] = {
      "no error",
      "unhandled cuda error",
      "unhandled system error",
      "internal error",
      "invalid argument",
      "invalid usage",
      "remote process exited or there was a network error",
      "NCCL operation in progress"};
  return (int)r >= 0 && (size_t)r < sizeof texts / sizeof *texts
             ? texts[r]
             : "unknown result code";
}
FF_NCCL const char *ncclGetLastError(ncclComm_t c) {
  auto comm = c ? find(c) : nullptr;
  return comm ? comm->lastError.c_str() : lastError.c_str();
}
FF_NCCL ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
FF_NCCL ncclResult_t ncclGroupEnd() {
  if (group.depth == 0)
    return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth)
    return ncclSuccess;
  Group g;
  std::swap(g, group);
  std::atomic<int> result{ncclSuccess};
  std::vector<std::thread> threads;
  for (auto &init : g.inits)
    threads.emplace_back([&] {
      if (ncclResult_t r = init())
        result = r;
    });
  for (auto &t : threads)
    t.join();
  // Sends and receives of one communicator progress together.
  std::vector<std::pair<CUstream, std::shared_ptr<Job>>> pairs;
  for (auto &[stream, job] : g.jobs) {
    if (job->messages.empty()) {
      if (ncclResult_t r = submit(stream, job))
        result = r;
      continue;
    }
    bool merged = false;
    for (auto &p : pairs)
      if (p.second->comm == job->comm) {
        if (p.first != stream)
          return refuse(ncclInvalidUsage,
                        "the sends and receives of one group and communicator "
                        "must use one stream");
        p.second->messages.push_back(job->messages[0]);
        merged = true;
      }
    if (!merged)
      pairs.push_back({stream, job});
  }
  for (auto &[stream, job] : pairs)
    if (ncclResult_t r = submit(stream, job))
      result = r;
  return (ncclResult_t)result.load();
}
FF_NCCL ncclResult_t ncclAllReduce(const void *s, void *r, size_t n,
                                   ncclDataType_t t, ncclRedOp_t op,
                                   ncclComm_t c, CUstream st) {
  return call(AllReduce, s, r, n, t, op, -1, c, st);
}
FF_NCCL ncclResult_t ncclReduce(const void *s, void *r, size_t n,
                                ncclDataType_t t, ncclRedOp_t op, int root,
                                ncclComm_t c, CUstream st) {
  return call(Reduce, s, r, n, t, op, root, c, st);
}
FF_NCCL ncclResult_t ncclBroadcast(const void *s, void *r, size_t n,
                                   ncclDataType_t t, int root, ncclComm_t c,
                                   CUstream st) {
  return call(Broadcast, s, r, n, t, -1, root, c, st);
}
FF_NCCL ncclResult_t ncclBcast(void *b, size_t n, ncclDataType_t t, int root,
                               ncclComm_t c, CUstream st) {
  return call(Broadcast, b, b, n, t, -1, root, c, st);
}
FF_NCCL ncclResult_t ncclAllGather(const void *s, void *r, size_t n,
                                   ncclDataType_t t, ncclComm_t c,
                                   CUstream st) {
  return call(AllGather, s, r, n, t, -1, -1, c, st);
}
FF_NCCL ncclResult_t ncclReduceScatter(const void *s, void *r, size_t n,
                                       ncclDataType_t t, ncclRedOp_t op,
                                       ncclComm_t c, CUstream st) {
  return call(ReduceScatter, s, r, n, t, op, -1, c, st);
}
FF_NCCL ncclResult_t ncclSend(const void *s, size_t n, ncclDataType_t t,
                              int peer, ncclComm_t c, CUstream st) {
  return call(Send, s, nullptr, n, t, -1, peer, c, st);
}
FF_NCCL ncclResult_t ncclRecv(void *r, size_t n, ncclDataType_t t, int peer,
                              ncclComm_t c, CUstream st) {
  return call(Recv, nullptr, r, n, t, -1, peer, c, st);
}
