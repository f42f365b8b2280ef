// Streams are queues, each with a worker that executes it in order. With
// FF_STANDIN_DELAY=1 a worker starts nothing before somebody waits for it: what
// runs without having been waited for, runs as late as the program permits.
#include "tools/standin/driver/Driver.h"

#include <chrono>
#include <cstdlib>

using namespace standin;
using namespace standin::driver;

namespace standin::driver {

namespace {

void allow(Stream &s, uint64_t seq) { // mutex held
  if (s.allowed < seq) {
    s.allowed = seq;
    state().changed.notify_all();
  }
}

void work(StreamRef self) {
  State &st = state();
  Stream &s = *self;
  std::unique_lock lock(st.mutex);
  for (;;) {
    st.changed.wait(lock, [&] {
      return (s.stop && s.queue.empty()) ||
             (!s.queue.empty() && (!st.delay || s.done < s.allowed));
    });
    if (s.queue.empty())
      return;
    Work w = std::move(s.queue.front());
    s.queue.pop_front();
    if (w.waitFor) {
      allow(*w.waitFor, w.until);
      st.changed.wait(lock, [&] { return w.waitFor->done >= w.until; });
    } else if (!s.context->error) {
      lock.unlock();
      try {
        w.run();
      } catch (exec::Fault &f) {
        say("error: " + f.text);
        int none = 0;
        s.context->error.compare_exchange_strong(none, f.code);
      }
      w.run = nullptr;
      lock.lock();
    }
    ++s.done;
    st.changed.notify_all();
  }
}

void push(Stream &s, Work w) { // mutex held
  s.queue.push_back(std::move(w));
  ++s.submitted;
  if (s.stop)
    s.allowed = s.submitted;
  state().changed.notify_all();
}

void waitFor(Stream &s, const StreamRef &other, uint64_t seq) { // mutex held
  if (other.get() != &s && other->done < seq)
    push(s, {"wait", nullptr, other, seq});
}
} // namespace

StreamRef newStream(CUcontext context, bool blocking) {
  auto s = std::make_shared<Stream>();
  s->context = context, s->blocking = blocking;
  std::thread(work, s).detach(); // it holds a reference to its stream
  return s;
}

StreamRef streamOf(CUstream s, CUcontext context) {
  if (!s || s == cuda::legacyStream)
    return context->legacy;
  if (s == cuda::perThreadStream) {
    thread_local std::map<CUcontext, StreamRef> own;
    StreamRef &ref = own[context];
    if (!ref) {
      ref = newStream(context, true);
      std::lock_guard lock(state().mutex);
      context->streams.insert(ref);
    }
    return ref;
  }
  return s->ref;
}

CUresult enqueue(const StreamRef &s, const std::string &name, Action run) {
  State &st = state();
  std::unique_lock lock(st.mutex);
  if (s->capture) {
    if (s->capture->invalid)
      return cuda::STREAM_CAPTURE_INVALIDATED;
    s->capture->nodes.push_back({name, std::move(run), s->last});
    s->last = {(int)s->capture->nodes.size() - 1};
    return cuda::SUCCESS;
  }
  if (int e = s->context->error)
    return e;
  // The legacy stream and the blocking ones wait for each other.
  CUcontext c = s->context;
  if (s == c->legacy) {
    for (auto &other : c->streams)
      if (other->blocking) {
        if (other->capture) {
          other->capture->invalid = true;
          lock.unlock();
          return refuse(cuda::STREAM_CAPTURE_IMPLICIT,
                        name + " on the null stream waits for a stream that is "
                               "being captured");
        }
        waitFor(*s, other, other->submitted);
      }
  } else if (s->blocking) {
    waitFor(*s, c->legacy, c->legacy->submitted);
  }
  push(*s, {name, std::move(run), nullptr, 0});
  return cuda::SUCCESS;
}

CUresult synchronize(const StreamRef &s) {
  State &st = state();
  std::unique_lock lock(st.mutex);
  if (s->capture) {
    s->capture->invalid = true;
    lock.unlock();
    return refuse(cuda::STREAM_CAPTURE_UNSUPPORTED,
                  "synchronisation with a stream that is being captured");
  }
  uint64_t until = s->submitted;
  allow(*s, until);
  st.changed.wait(lock, [&] { return s->done >= until; });
  return s->context->error;
}

CUresult synchronizeAll(CUcontext context) {
  std::vector<StreamRef> all;
  {
    std::lock_guard lock(state().mutex);
    all.assign(context->streams.begin(), context->streams.end());
    all.push_back(context->legacy);
  }
  for (auto &s : all)
    if (!s->capture)
      synchronize(s);
  return context->error;
}

CUresult notWhileCapturing(CUcontext context, const char *call) {
  std::unique_lock lock(state().mutex);
  for (auto &s : context->streams)
    if (s->capture) {
      s->capture->invalid = true;
      lock.unlock();
      return refuse(cuda::STREAM_CAPTURE_UNSUPPORTED,
                    std::string(call) + " while a stream is being captured");
    }
  return cuda::SUCCESS;
}

// In an order that the dependencies permit: as captured, or the latest first
// where work is delayed, so that a missing one shows.
void runNodes(const std::vector<GraphNode> &nodes) {
  if (!state().delay) {
    for (auto &n : nodes)
      n.run();
    return;
  }
  std::vector<bool> done(nodes.size());
  for (size_t count = 0; count < nodes.size(); ++count)
    for (size_t i = nodes.size(); i-- > 0;) {
      bool free = !done[i];
      for (int d : nodes[i].deps)
        free = free && done[d];
      if (!free)
        continue;
      nodes[i].run();
      done[i] = true;
      break;
    }
}
// The prologue of every call that takes a stream.
CUresult begin(CUstream s, CUcontext &c, StreamRef &ref) {
  if (CUresult r = ready(c))
    return r;
  ref = streamOf(s, c);
  return ref ? cuda::SUCCESS : cuda::INVALID_HANDLE;
}
} // namespace standin::driver

FF_CUDA cuStreamCreate(CUstream *out, unsigned flags) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!out || flags > 1)
    return refuse(cuda::INVALID_VALUE,
                  "cuStreamCreate: null pointer or unknown flags");
  *out = new CUstream_st{newStream(c, !(flags & cuda::NonBlocking))};
  std::lock_guard lock(state().mutex);
  c->streams.insert((*out)->ref);
  return cuda::SUCCESS;
}
FF_CUDA cuStreamCreateWithPriority(CUstream *out, unsigned flags, int) {
  return cuStreamCreate(out, flags);
}
FF_CUDA cuStreamDestroy_v2(CUstream s) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (ref == c->legacy || s == cuda::perThreadStream)
    return refuse(cuda::INVALID_HANDLE, "cuStreamDestroy: the null stream");
  {
    std::lock_guard lock(state().mutex);
    ref->stop = true,
    ref->allowed = ref->submitted; // what is queued is executed
    c->streams.erase(ref);
    state().changed.notify_all();
  }
  delete s;
  return cuda::SUCCESS;
}
FF_CUDA cuStreamDestroy(CUstream s) { return cuStreamDestroy_v2(s); }
FF_CUDA cuStreamSynchronize(CUstream s) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (ref == c->legacy) // waits for the blocking streams as well
    if (CUresult r = enqueue(ref, "synchronise", [] {}))
      return r;
  return synchronize(ref);
}
FF_CUDA cuStreamQuery(CUstream s) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  std::lock_guard lock(state().mutex);
  if (ref->capture)
    return cuda::STREAM_CAPTURE_UNSUPPORTED;
  if (ref->done >= ref->submitted)
    return cuda::SUCCESS;
  allow(*ref, ref->submitted); // who polls waits
  return cuda::NOT_READY;
}
FF_CUDA cuStreamGetCtx(CUstream s, CUcontext *out) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  *out = ref->context;
  return cuda::SUCCESS;
}
FF_CUDA cuStreamGetPriority(CUstream, int *priority) {
  *priority = 0;
  return cuda::SUCCESS;
}
FF_CUDA cuStreamGetFlags(CUstream s, unsigned *flags) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  *flags = ref->blocking ? 0 : 1;
  return cuda::SUCCESS;
}
FF_CUDA cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (!e)
    return refuse(cuda::INVALID_HANDLE, "cuStreamWaitEvent: null event");
  std::lock_guard lock(state().mutex);
  if (e->capture) {
    if (!ref->capture)
      ref->capture = e->capture, ref->last.clear();
    else if (ref->capture != e->capture)
      return cuda::STREAM_CAPTURE_MERGE;
    for (int d : e->captureDeps)
      ref->last.push_back(d);
    return cuda::SUCCESS;
  }
  if (ref->capture)
    return e->recorded ? 905 : cuda::SUCCESS; // isolation: the event lies
                                              // outside of the capture
  if (e->recorded)
    waitFor(*ref, e->stream, e->seq);
  return cuda::SUCCESS;
}

FF_CUDA cuEventCreate(CUevent *out, unsigned flags) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  *out = new CUevent_st;
  (*out)->timed = !(flags & cuda::DisableTiming);
  return cuda::SUCCESS;
}
FF_CUDA cuEventDestroy_v2(CUevent e) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!e)
    return cuda::INVALID_HANDLE;
  delete e;
  return cuda::SUCCESS;
}
FF_CUDA cuEventDestroy(CUevent e) { return cuEventDestroy_v2(e); }
FF_CUDA cuEventRecord(CUevent e, CUstream s) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (!e)
    return refuse(cuda::INVALID_HANDLE, "cuEventRecord: null event");
  {
    std::lock_guard lock(state().mutex);
    if (ref->capture) {
      e->capture = ref->capture, e->captureDeps = ref->last,
      e->recorded = false;
      return cuda::SUCCESS;
    }
  }
  auto time = std::make_shared<double>(-1);
  CUresult r = enqueue(ref, "event", [time] {
    *time = std::chrono::duration<double, std::milli>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count();
  });
  if (r)
    return r;
  std::lock_guard lock(state().mutex);
  e->recorded = true, e->stream = ref, e->seq = ref->submitted, e->time = time,
  e->capture = nullptr;
  return cuda::SUCCESS;
}
FF_CUDA cuEventSynchronize(CUevent e) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!e)
    return cuda::INVALID_HANDLE;
  std::unique_lock lock(state().mutex);
  if (e->capture)
    return cuda::CAPTURED_EVENT;
  if (!e->recorded)
    return cuda::SUCCESS;
  StreamRef s = e->stream;
  uint64_t until = e->seq;
  allow(*s, until);
  state().changed.wait(lock, [&] { return s->done >= until; });
  return s->context->error;
}
FF_CUDA cuEventQuery(CUevent e) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!e)
    return cuda::INVALID_HANDLE;
  std::lock_guard lock(state().mutex);
  if (e->capture)
    return cuda::CAPTURED_EVENT;
  if (!e->recorded || e->stream->done >= e->seq)
    return cuda::SUCCESS;
  allow(*e->stream, e->seq);
  return cuda::NOT_READY;
}
FF_CUDA cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
  CUcontext c;
  if (CUresult r = ready(c))
    return r;
  if (!a || !b || !ms || !a->timed || !b->timed || !a->recorded || !b->recorded)
    return refuse(cuda::INVALID_HANDLE, "cuEventElapsedTime: an event was not "
                                        "recorded, or created without timing");
  std::lock_guard lock(state().mutex);
  if (a->stream->done < a->seq || b->stream->done < b->seq)
    return cuda::NOT_READY;
  *ms = (float)(*b->time - *a->time);
  return cuda::SUCCESS;
}
FF_CUDA cuEventElapsedTime_v2(float *ms, CUevent a, CUevent b) {
  return cuEventElapsedTime(ms, a, b);
}

FF_CUDA cuLaunchHostFunc(CUstream s, CUhostFn fn, void *data) {
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  if (!fn)
    return refuse(cuda::INVALID_VALUE, "cuLaunchHostFunc: null function");
  return enqueue(ref, "host function", [fn, data] { fn(data); });
}

FF_CUDA ffStandinEnqueue(CUstream s, const char *name, CUresult (*fn)(void *),
                         void *arg, void (*release)(void *)) {
  std::shared_ptr<void> owned(arg, release ? release : [](void *) {});
  CUcontext c;
  StreamRef ref;
  if (CUresult r = begin(s, c, ref))
    return r;
  std::string text = name;
  return enqueue(ref, text, [=] {
    if (CUresult r = fn(owned.get()))
      throw exec::Fault{r, text + " failed"};
  });
}
