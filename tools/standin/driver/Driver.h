// The insides of the stand-in's driver: contexts, streams as queues, events,
// captured graphs, modules.
#ifndef FF_STANDIN_DRIVER_DRIVER_H
#define FF_STANDIN_DRIVER_DRIVER_H

#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Machine.h"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#define FF_CUDA extern "C" __attribute__((visibility("default"))) CUresult

namespace standin::driver {

// Prints to stderr with the stand-in's name before it: "ff-standin (not a GPU):
// ...".
void say(const std::string &text);
// Says what is wrong and returns the code.
CUresult refuse(int code, const std::string &text);

using Action = std::function<void()>; // throws exec::Fault

struct GraphNode {
  std::string name;
  Action run;
  std::vector<int> deps;
};
struct Capture {
  std::vector<GraphNode> nodes;
  struct Stream *origin = nullptr;
  bool invalid = false;
};

struct Stream;
using StreamRef = std::shared_ptr<Stream>;

struct Work {
  std::string name;
  Action run;
  StreamRef waitFor; // of another stream, until
  uint64_t until = 0;
};

struct Event {
  bool timed = true, recorded = false;
  StreamRef stream;
  uint64_t seq = 0;
  std::shared_ptr<double> time; // set when the record is executed
  std::shared_ptr<Capture> capture;
  std::vector<int> captureDeps;
};
} // namespace standin::driver

// The handles that the API gives out.
struct CUctx_st {
  int device = 0;
  bool live = true;
  std::atomic<int> error{0};
  standin::driver::StreamRef legacy;
  std::set<standin::driver::StreamRef> streams;
};
struct CUstream_st {
  standin::driver::StreamRef ref;
};
struct CUevent_st : standin::driver::Event {};
struct CUgraph_st {
  std::vector<standin::driver::GraphNode> nodes;
};
struct CUgraphExec_st {
  std::shared_ptr<std::vector<standin::driver::GraphNode>> nodes;
};
struct CUfunc_st {
  std::shared_ptr<standin::exec::Kernel> kernel;
  CUmodule module = nullptr;
  unsigned dynamicShared = 48 * 1024;
  int carveout = -1;
};
struct CUmod_st {
  CUcontext context = nullptr;
  std::shared_ptr<standin::ptx::Module> ptx; // kernels refer to it
  std::map<const standin::ptx::Var *, CUdeviceptr> addresses;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

namespace standin::driver {

struct Stream {
  CUcontext context = nullptr;
  bool blocking = true; // with the legacy stream
  bool stop = false;
  std::deque<Work> queue;
  uint64_t submitted = 0, done = 0, allowed = 0;
  std::shared_ptr<Capture> capture;
  std::vector<int> last; // nodes of the capture that the next depends on
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool initialized = false;
  int devices = 8;
  bool delay = false;
  std::map<int, CUcontext> primary;
  std::map<int, int> primaryCount;
  std::set<CUcontext> contexts;
  std::atomic<uint64_t> instructions{0};
};
State &state();
CUcontext currentContext();

// Every entry point begins so: the driver is initialised, a context is current,
// and it has not failed.
CUresult ready(CUcontext &context);
StreamRef streamOf(CUstream s,
                   CUcontext context); // null where the handle is wrong
// The prologue of every call that takes a stream: ready(), and the stream
// behind the handle.
CUresult begin(CUstream s, CUcontext &c, StreamRef &ref);
// In the order of the stream; captured where it is captured.
CUresult enqueue(const StreamRef &stream, const std::string &name, Action run);
CUresult synchronize(const StreamRef &stream);
CUresult synchronizeAll(CUcontext context);
StreamRef newStream(CUcontext context, bool blocking);
// An error where any stream of the context is being captured and the call would
// break it.
CUresult notWhileCapturing(CUcontext context, const char *call);
void runNodes(const std::vector<GraphNode> &nodes);

} // namespace standin::driver

#endif
