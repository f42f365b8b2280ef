// The main loop: groups of lanes at one place of the program, lowest place
// first so that they meet again; warps in turn until each waits; blocks one
// after another or over FF_STANDIN_THREADS threads.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Machine.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace standin::exec {

using ptx::Space;

namespace {
constexpr uint64_t quantum =
    1 << 16; // instructions of a warp before another has its turn
}

Block::Block(const Launch &l) : launch(&l) {
  threads = l.block[0] * l.block[1] * l.block[2];
  sharedBytes = sharedReserved + (l.kernel->staticShared + 15) / 16 * 16 +
                l.dynamicShared;
  if (!l.dynamicShared)
    sharedBytes = sharedReserved + l.kernel->staticShared;
  shared.resize(sharedBytes), sharedWritten.resize(sharedBytes);
  if (sharedBytes > sharedReserved)
    writer.resize(sharedBytes), reader.resize(sharedBytes);
  for (auto &f : l.kernel->functions)
    localBytes += (f->localBytes + 15) / 16 * 16;
  if (localBytes && l.kernel->functions.size() > 1)
    localBytes += 16384; // for recursion
  local.resize((uint64_t)threads * localBytes),
      localWritten.resize((uint64_t)(threads + 31) * localBytes);
  for (unsigned i = 0; i < (threads + 31) / 32; ++i) {
    warps.push_back(std::make_unique<Warp>());
    warps.back()->block = this, warps.back()->id = i;
  }
}
Block::~Block() {
  for (uint8_t *r : regFiles)
    ::free(r);
}

Frame *Block::newFrame(const DFunc *fn, Frame *parent) {
  auto &free = pool[fn];
  Frame *f;
  if (!free.empty()) {
    f = free.back();
    free.pop_back();
  } else {
    frames.push_back(std::make_unique<Frame>());
    f = frames.back().get();
    f->fn = fn;
    f->regs = (uint8_t *)aligned_alloc(64, (fn->regBytes + 63) / 64 * 64 + 64);
    memset(f->regs, 0, fn->regBytes);
    regFiles.push_back(f->regs);
    f->params.resize(32ull * fn->paramBytes);
    // Constants stand in registers that no instruction writes.
    for (const DFunc::Constant &c : fn->constants)
      for (unsigned i = 0; i < 32; ++i)
        memcpy(f->regs + c.at + i * c.bytes, &c.value, c.bytes);
  }
  f->parent = parent, f->refs = 1, f->depth = parent ? parent->depth + 1 : 0;
  f->localBase =
      parent ? parent->localBase + (parent->fn->localBytes + 15) / 16 * 16 : 0;
  if (parent)
    ++parent->refs;
  return f;
}
void Block::drop(Frame *f) {
  while (f && --f->refs == 0) {
    Frame *up = f->parent;
    pool[f->fn].push_back(f);
    f = up;
  }
}

void Block::start(const unsigned at[3]) {
  memcpy(index, at, sizeof index);
  memset(sharedWritten.data(), 0, sharedWritten.size());
  memset(localWritten.data(), 0, localWritten.size());
  if (clock > 1u << 31) {
    std::fill(writer.begin(), writer.end(), 0),
        std::fill(reader.begin(), reader.end(), 0);
    clock = 0;
    for (auto &w : warps)
      w->syncClock = 0;
  }
  barrierClock = ++clock; // what an earlier block did is past
  const DFunc *entry = launch->kernel->functions[0].get();
  for (auto &owned : warps) {
    Warp &w = *owned;
    unsigned first = w.id * 32, n = std::min(32u, threads - first);
    w.live = n == 32 ? ~0u : (1u << n) - 1;
    w.others.clear();
    for (auto &c : w.copies)
      c.clear();
    Frame *f = newFrame(entry, nullptr);
    for (unsigned i = 0; i < 32 && entry->paramBytes; ++i)
      memcpy(f->params.data() + (uint64_t)i * entry->paramBytes,
             launch->params.data(), launch->params.size());
    w.cur = {w.live, 0, f, State::Ready, 0, 0};
    w.sinceSwitch = w.grace = 0;
  }
}

void Block::run(const unsigned at[3]) {
  start(at);
  static const double limit = [] {
    const char *s = getenv("FF_STANDIN_KERNEL_TIMEOUT");
    return s ? atof(s) : 600.0;
  }();
  auto begin = std::chrono::steady_clock::now();
  for (;;) {
    bool progress = false, alive = false;
    for (auto &w : warps)
      if (w->live) {
        progress |= advance(*w);
        alive |= w->live != 0;
      }
    if (!alive)
      break;
    if (!releaseBarriers() && !progress)
      stuck();
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count() > limit)
      warps[0]->fault(cuda::LAUNCH_TIMEOUT, -1,
                      "block ran longer than FF_STANDIN_KERNEL_TIMEOUT, " +
                          std::to_string((int)limit) + " s");
  }
  if (launch->counter)
    for (auto &w : warps) {
      *launch->counter += w->executed;
      w->executed = 0;
    }
}

// Executes until every group waits or has exited, or the quantum is spent. True
// when anything was executed.
bool Block::advance(Warp &w) {
  uint64_t spent = 0;
  if (!w.cur.mask && !pickGroup(w))
    return false;
  w.R = w.cur.frame->regs;
  for (;;) {
    const Op &o = w.cur.frame->fn->code[w.cur.pc];
    if (o.leader && !w.others.empty() && reschedule(w))
      continue;
    uint32_t mask = w.cur.mask;
    if (o.guard != none) {
      uint32_t p = *w.reg<uint32_t>(o.guard);
      mask &= o.guardNegated ? ~p : p;
    }
    w.op = &o;
    if (o.ctl == Ctl::Plain) {
      if (mask)
        o.run(w, o, mask);
      w.executed += (unsigned)__builtin_popcount(mask);
      ++w.cur.pc, ++spent;
      continue;
    }
    w.executed += (unsigned)__builtin_popcount(mask);
    ++spent;
    switch (o.ctl) {
    case Ctl::Bra:
      branch(w, mask, o.x);
      if (spent > quantum)
        return true;
      continue;
    case Ctl::Brx: { // one target a turn; the rest evaluates again
      if (!mask) {
        ++w.cur.pc;
        continue;
      }
      unsigned lane = (unsigned)__builtin_ctz(mask);
      const uint32_t *index = w.reg<uint32_t>(o.a);
      if (index[lane] >= (uint32_t)o.imm)
        w.fault(cuda::LAUNCH_FAILED, (int)lane,
                "branch index " + std::to_string(index[lane]) +
                    " is outside of its table");
      uint32_t same = 0;
      for (unsigned i = 0; i < 32; ++i)
        same |= (uint32_t)((mask >> i & 1) && index[i] == index[lane]) << i;
      uint32_t rest = w.cur.mask & ~same;
      if (rest) {
        ++w.cur.frame->refs;
        w.others.push_back({rest, w.cur.pc, w.cur.frame, State::Ready, 0, 0});
      }
      w.cur.mask = same, w.cur.pc = w.cur.frame->fn->extra[o.x + index[lane]];
      continue;
    }
    case Ctl::Call:
      if (mask)
        call(w, o, mask);
      else
        ++w.cur.pc;
      continue;
    case Ctl::Ret:
    case Ctl::Exit:
      if (!mask)
        ++w.cur.pc;
      else if (o.ctl == Ctl::Ret)
        ret(w, mask);
      else
        exitThreads(w, mask);
      if (!w.cur.mask && !pickGroup(w))
        return true;
      continue;
    case Ctl::Trap:
      if (mask)
        w.fault(cuda::LAUNCH_FAILED, __builtin_ctz(mask),
                "trap: the program stopped itself");
      ++w.cur.pc;
      continue;
    default:
      break;
    }
    // Barriers and exchanges within the warp. Lanes that the guard excludes go
    // on.
    if (!mask) {
      ++w.cur.pc;
      continue;
    }
    if (mask != w.cur.mask) {
      ++w.cur.frame->refs;
      w.others.push_back(
          {w.cur.mask & ~mask, w.cur.pc + 1, w.cur.frame, State::Ready, 0, 0});
      w.cur.mask = mask;
    }
    if (o.ctl == Ctl::Sync) {
      unsigned first = (unsigned)__builtin_ctz(mask);
      uint32_t memberAt = (uint32_t)((uint64_t)o.imm >> 32),
               member =
                   memberAt == none ? ~0u : w.reg<uint32_t>(memberAt)[first];
      for (size_t i = 0; i < w.others.size();) { // those that wait here already
        Group &g = w.others[i];
        if (g.state == State::WarpSync && g.pc == w.cur.pc &&
            g.frame == w.cur.frame) {
          w.cur.mask |= g.mask;
          drop(g.frame);
          w.others.erase(w.others.begin() + i);
        } else {
          ++i;
        }
      }
      uint32_t have = w.cur.mask;
      for (unsigned i = 0; i < 32; ++i)
        if (have >> i & 1) {
          uint32_t m = memberAt == none ? ~0u : w.reg<uint32_t>(memberAt)[i];
          if (!(m >> i & 1))
            w.fault(cuda::LAUNCH_FAILED, (int)i,
                    "the member mask " + hex(m) +
                        " does not hold the thread that executes it");
        }
      if (memberAt == none && (w.live != ~0u))
        w.fault(cuda::LAUNCH_FAILED, (int)first,
                "all 32 threads of a warp must execute this; threads " +
                    hex(w.live) + " exist");
      if (member & w.live & ~have) {
        w.cur.state = State::WarpSync;
        if (!pickGroup(w))
          return true;
        continue;
      }
      // Several independent sets of lanes may meet at one instruction.
      for (uint32_t todo = have; todo;) {
        unsigned lane = (unsigned)__builtin_ctz(todo);
        uint32_t m =
            (memberAt == none ? ~0u : w.reg<uint32_t>(memberAt)[lane]) & have;
        if (o.run)
          o.run(w, o, m);
        else
          w.syncClock = ++clock; // bar.warp.sync orders memory
        todo &= ~m;
      }
      ++w.cur.pc;
      continue;
    }
    controlBar(w, o, mask);
    if (!w.cur.mask || w.cur.state != State::Ready)
      if (!pickGroup(w))
        return true;
  }
}

void runLaunch(const Launch &launch) {
  uint64_t total = (uint64_t)launch.grid[0] * launch.grid[1] * launch.grid[2];
  static const unsigned threads = [] {
    const char *s = getenv("FF_STANDIN_THREADS");
    return s ? (unsigned)std::max(1, atoi(s)) : 1u;
  }();
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Fault first{0, ""};
  auto work = [&] {
    try {
      Block block(launch);
      for (uint64_t i; !failed && (i = next++) < total;) {
        unsigned at[3] = {(unsigned)(i % launch.grid[0]),
                          (unsigned)(i / launch.grid[0] % launch.grid[1]),
                          (unsigned)(i / launch.grid[0] / launch.grid[1])};
        block.run(at);
      }
    } catch (Fault &f) {
      std::lock_guard lock(mutex);
      if (!failed.exchange(true))
        first = f;
    }
  };
  if (threads == 1 || total == 1) {
    work();
  } else {
    std::vector<std::thread> pool;
    for (unsigned i = 0; i < std::min<uint64_t>(threads, total); ++i)
      pool.emplace_back(work);
    for (auto &t : pool)
      t.join();
  }
  if (failed)
    throw first;
}

} // namespace standin::exec
