// Capturing streams, and replaying what was captured.
#include "tools/standin/driver/Driver.h"

using namespace standin;
using namespace standin::driver;

FF_CUDA cuStreamBeginCapture_v2(CUstream s, int mode) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (ref == c->legacy)
    return refuse(cuda::STREAM_CAPTURE_UNSUPPORTED,
                  "the null stream cannot be captured");
  if (mode < 0 || mode > 2)
    return cuda::INVALID_VALUE;
  std::lock_guard lock(state().mutex);
  if (ref->capture)
    return cuda::ILLEGAL_STATE;
  ref->capture = std::make_shared<Capture>();
  ref->capture->origin = ref.get();
  ref->last.clear();
  return cuda::SUCCESS;
}
FF_CUDA cuStreamBeginCapture(CUstream s, int mode) {
  return cuStreamBeginCapture_v2(s, mode);
}
FF_CUDA cuStreamIsCapturing(CUstream s, int *status) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  std::lock_guard lock(state().mutex);
  *status = !ref->capture ? 0 : ref->capture->invalid ? 2 : 1;
  return cuda::SUCCESS;
}
FF_CUDA cuStreamEndCapture(CUstream s, CUgraph *out) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  std::unique_lock lock(state().mutex);
  auto capture = ref->capture;
  if (!capture)
    return cuda::ILLEGAL_STATE;
  if (capture->origin != ref.get())
    return cuda::STREAM_CAPTURE_UNMATCHED;
  std::vector<int> reach = ref->last;
  std::vector<bool> seen(capture->nodes.size());
  while (!reach.empty()) {
    int n = reach.back();
    reach.pop_back();
    if (seen[n])
      continue;
    seen[n] = true;
    for (int d : capture->nodes[n].deps)
      reach.push_back(d);
  }
  for (auto &other : c->streams)
    if (other->capture == capture)
      other->capture = nullptr, other->last.clear();
  *out = nullptr;
  if (capture->invalid)
    return cuda::STREAM_CAPTURE_INVALIDATED;
  for (size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) {
      lock.unlock();
      return refuse(cuda::STREAM_CAPTURE_UNJOINED,
                    "the captured stream does not wait for node " +
                        std::to_string(i) + ", " + capture->nodes[i].name);
    }
  *out = new CUgraph_st{capture->nodes};
  return cuda::SUCCESS;
}

FF_CUDA cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph,
                                    unsigned long long) {
  if (!out || !graph)
    return refuse(cuda::INVALID_VALUE, "cuGraphInstantiate: null graph");
  *out = new CUgraphExec_st{
      std::make_shared<std::vector<GraphNode>>(graph->nodes)};
  return cuda::SUCCESS;
}
// The forms of CUDA 10 and 11, with a log.
FF_CUDA cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, void *,
                              char *log, size_t size) {
  if (log && size)
    *log = 0;
  return cuGraphInstantiateWithFlags(out, graph, 0);
}
FF_CUDA cuGraphInstantiate(CUgraphExec *out, CUgraph graph,
                           unsigned long long flags) {
  return cuGraphInstantiateWithFlags(out, graph, flags);
}
FF_CUDA cuGraphLaunch(CUgraphExec g, CUstream s) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (!g)
    return refuse(cuda::INVALID_HANDLE, "cuGraphLaunch: null graph");
  auto nodes = g->nodes;
  return enqueue(ref, "graph", [nodes] { runNodes(*nodes); });
}
FF_CUDA cuGraphDestroy(CUgraph g) {
  delete g;
  return cuda::SUCCESS;
}
FF_CUDA cuGraphExecDestroy(CUgraphExec g) {
  delete g;
  return cuda::SUCCESS;
}
FF_CUDA cuGraphGetNodes(CUgraph g, void **nodes, size_t *count) {
  if (nodes)
    return refuse(cuda::NOT_SUPPORTED,
                  "cuGraphGetNodes: only the number of nodes is known");
  *count = g->nodes.size();
  return cuda::SUCCESS;
}
