// NCCL's entry points: calls become work in streams; each is compared between
// all ranks before data moves.
#include "tools/standin/nccl/Transfer.h"

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

namespace {
thread_local std::string lastError;
ncclResult_t refuse(ncclResult_t r, const std::string &text) {
  lastError = text;
  ffStandinSay(text.c_str());
  return r;
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
