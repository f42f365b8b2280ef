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

// Lets the group that is deepest in calls, then lowest in the program, run
// next. False when none can.
bool Block::pickGroup(Warp &w) {
  if (w.cur.mask) {
    w.others.push_back(w.cur);
    w.cur.mask = 0;
  }
  int best = -1;
  for (size_t i = 0; i < w.others.size(); ++i) {
    const Group &g = w.others[i];
    if (g.state != State::Ready)
      continue;
    if (best < 0 || g.frame->depth > w.others[best].frame->depth ||
        (g.frame->depth == w.others[best].frame->depth &&
         g.pc < w.others[best].pc))
      best = (int)i;
  }
  if (best < 0)
    return false;
  w.cur = w.others[best];
  w.others.erase(w.others.begin() + best);
  w.R = w.cur.frame->regs;
  mergeSame(w);
  return true;
}
void Block::mergeSame(Warp &w) {
  for (size_t i = 0; i < w.others.size();) {
    Group &g = w.others[i];
    if (g.state == State::Ready && g.pc == w.cur.pc && g.frame == w.cur.frame) {
      w.cur.mask |= g.mask;
      drop(g.frame);
      w.others.erase(w.others.begin() + i);
    } else {
      ++i;
    }
  }
}

// At the begin of a block of code: meets groups that wait here, and gives way
// to those that come first. True when another runs now.
bool Block::reschedule(Warp &w) {
  mergeSame(w);
  if (w.grace) {
    --w.grace;
    return false;
  }
  // A group that spins must not starve the one that it waits for: now and then
  // another runs for a while.
  bool turn = ++w.sinceSwitch > 1024;
  for (size_t i = 0; i < w.others.size(); ++i) {
    const Group &g = w.others[i];
    if (g.state != State::Ready)
      continue;
    if (turn) {
      w.sinceSwitch = 0, w.grace = 64;
      Group next = g;
      w.others.erase(w.others.begin() + i);
      w.others.push_back(w.cur);
      w.cur = next;
      w.R = w.cur.frame->regs;
      return true;
    }
    if (g.frame->depth > w.cur.frame->depth ||
        (g.frame->depth == w.cur.frame->depth && g.pc < w.cur.pc)) {
      pickGroup(w);
      return true;
    }
  }
  return false;
}

void Block::branch(Warp &w, uint32_t taken, uint32_t target) {
  uint32_t stay = w.cur.mask & ~taken;
  if (!taken) {
    ++w.cur.pc;
  } else if (!stay) {
    w.cur.pc = target;
  } else {
    ++w.cur.frame->refs;
    w.others.push_back({stay, w.cur.pc + 1, w.cur.frame, State::Ready, 0, 0});
    w.cur.mask = taken, w.cur.pc = target;
  }
}

// extra[o.x]: the callee, the number of copies; then of each: register or
// parameter, from, to, bytes; results likewise.
void Block::call(Warp &w, const Op &o, uint32_t mask) {
  const DFunc *caller = w.cur.frame->fn;
  const uint32_t *e = caller->extra.data() + o.x;
  const DFunc *callee = launch->kernel->functions[e[0]].get();
  Frame *from = w.cur.frame, *f = newFrame(callee, from);
  if (f->depth > 500)
    w.fault(cuda::LAUNCH_FAILED, -1,
            "calls are nested deeper than 500: the stack overflows");
  if (callee->localBytes) {
    if (f->localBase + callee->localBytes > localBytes)
      w.fault(cuda::LAUNCH_FAILED, -1, "the stack in local memory overflows");
    for (unsigned i = 0; i < 32; ++i)
      if (mask >> i & 1)
        memset(localWritten.data() + (uint64_t)(w.id * 32 + i) * localBytes +
                   f->localBase,
               0, callee->localBytes);
  }
  for (uint32_t k = 0; k < e[1]; ++k) {
    const uint32_t *c = e + 2 + 4 * k;
    for (unsigned i = 0; i < 32; ++i)
      if (mask >> i & 1)
        memcpy(f->params.data() + (uint64_t)i * callee->paramBytes + c[2],
               c[0] ? from->regs + c[1] + i * c[3]
                    : from->params.data() + (uint64_t)i * caller->paramBytes +
                          c[1],
               c[3]);
  }
  f->call = &o, f->retPc = w.cur.pc + 1;
  if (uint32_t rest = w.cur.mask & ~mask) {
    ++from->refs;
    w.others.push_back({rest, w.cur.pc + 1, from, State::Ready, 0, 0});
  }
  // The group's reference to its frame goes on in the callee's parent.
  --from->refs;
  w.cur = {mask, 0, f, State::Ready, 0, 0};
  w.R = f->regs;
}

void Block::ret(Warp &w, uint32_t mask) {
  Frame *f = w.cur.frame, *to = f->parent;
  if (!to) {
    exitThreads(w, mask);
    return;
  }
  const uint32_t *e = to->fn->extra.data() + f->call->x;
  e += 2 + 4 * e[1];
  for (uint32_t k = 0; k < e[0]; ++k) {
    const uint32_t *c = e + 1 + 4 * k;
    for (unsigned i = 0; i < 32; ++i)
      if (mask >> i & 1)
        memcpy(c[0] ? to->regs + c[2] + i * c[3]
                    : to->params.data() + (uint64_t)i * to->fn->paramBytes +
                          c[2],
               f->params.data() + (uint64_t)i * f->fn->paramBytes + c[1], c[3]);
  }
  uint32_t rest = w.cur.mask & ~mask, pc = w.cur.pc + 1;
  ++to->refs;
  Group back{mask, f->retPc, to, State::Ready, 0, 0};
  if (rest) {
    w.others.push_back(back);
    w.cur = {rest, pc, f, State::Ready, 0, 0};
  } else {
    w.cur = back;
    drop(f);
  }
  w.R = w.cur.frame->regs;
}

void Block::exitThreads(Warp &w, uint32_t mask) {
  for (unsigned i = 0; i < 32; ++i)
    if ((mask >> i & 1) && !w.copies[i].empty())
      w.completeCopies((int)i, 0);
  w.live &= ~mask, w.cur.mask &= ~mask, ++w.cur.pc;
  if (!w.cur.mask)
    drop(w.cur.frame);
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

void Block::controlBar(Warp &w, const Op &o, uint32_t mask) {
  int lane = __builtin_ctz(mask);
  uint32_t id = w.reg<uint32_t>(o.a)[lane],
           count = o.b == none ? 0 : w.reg<uint32_t>(o.b)[lane];
  if (id > 15)
    w.fault(cuda::LAUNCH_FAILED, lane,
            "there are barriers 0 to 15, not " + std::to_string(id));
  if (count % 32 || count > (threads + 31) / 32 * 32)
    w.fault(cuda::LAUNCH_FAILED, lane,
            "a barrier of " + std::to_string(count) +
                " threads: the number must be a multiple of 32 and at most the "
                "block's " +
                std::to_string(threads));
  if (o.ctl == Ctl::BarArrive) {
    ++w.cur.frame->refs;
    w.others.push_back(
        {mask, w.cur.pc, w.cur.frame, State::Barrier, id | 0x100, count});
    ++w.cur.pc; // arrives and goes on: the entry only counts
    return;
  }
  w.cur.state = State::Barrier, w.cur.barrier = id, w.cur.expected = count;
}

bool Block::releaseBarriers() {
  uint32_t arrived[16] = {}, expected[16] = {}, votes[16] = {}, popc[16] = {};
  bool any = false;
  auto each = [&](auto f) {
    for (auto &w : warps)
      for (size_t i = 0; i < w->others.size(); ++i)
        if (w->others[i].state == State::Barrier)
          f(*w, w->others[i]);
  };
  each([&](Warp &w, Group &g) {
    uint32_t id = g.barrier & 15;
    any = true;
    arrived[id] += (uint32_t)__builtin_popcount(g.mask);
    expected[id] = g.expected ? g.expected : threads;
    const Op &o = g.frame->fn->code[g.pc];
    if (o.x >= 2) {
      uint32_t p = *reinterpret_cast<uint32_t *>(g.frame->regs + o.c);
      p = (o.size & 2 ? ~p : p) & g.mask;
      popc[id] += (uint32_t)__builtin_popcount(p),
          votes[id] += (uint32_t)__builtin_popcount(g.mask);
    }
  });
  if (!any)
    return false;
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    // A warp with fewer than 32 threads counts in full at a barrier with a
    // number.
    uint32_t need = std::min(expected[id], threads);
    if (!arrived[id] || arrived[id] < need)
      continue;
    for (auto &w : warps) {
      uint32_t pc = none;
      for (size_t i = 0; i < w->others.size();) {
        Group &g = w->others[i];
        if (g.state != State::Barrier || (g.barrier & 15) != id) {
          ++i;
          continue;
        }
        const Op &o = g.frame->fn->code[g.pc];
        if (g.barrier & 0x100) {
          drop(g.frame);
          w->others.erase(w->others.begin() + i);
          continue;
        }
        if (pc != none && pc != g.pc && (o.size & 1)) {
          w->op = &o;
          w->fault(cuda::LAUNCH_FAILED, __builtin_ctz(g.mask),
                   "the threads of one warp wait at different barriers (the "
                   "other is at PTX line " +
                       std::to_string(g.frame->fn->code[pc].src->line) +
                       "): bar.sync and .aligned forbid that");
        }
        pc = g.pc;
        if (o.x >= 2) {
          bool v = o.x == 3 ? popc[id] == votes[id] : popc[id] != 0;
          uint32_t *d = reinterpret_cast<uint32_t *>(g.frame->regs + o.d);
          if (o.x == 2) {
            for (unsigned k = 0; k < 32; ++k)
              if (g.mask >> k & 1)
                d[k] = popc[id];
          } else {
            *d = (*d & ~g.mask) | (v ? g.mask : 0);
          }
        }
        g.state = State::Ready, ++g.pc;
        ++i;
      }
    }
    barrierClock = ++clock;
    released = true;
  }
  return released;
}

// No thread can go on: says who waits where, and who is missing.
void Block::stuck() {
  uint32_t waiting = 0, exited = threads;
  Warp *at = nullptr;
  const Group *where = nullptr;
  for (auto &w : warps) {
    exited -= (uint32_t)__builtin_popcount(w->live);
    for (const Group &g : w->others) {
      if (g.state == State::Barrier && !(g.barrier & 0x100))
        waiting += (uint32_t)__builtin_popcount(g.mask);
      if (!where || g.state == State::WarpSync)
        at = w.get(), where = &g;
    }
  }
  at->op = &where->frame->fn->code[where->pc];
  int lane = __builtin_ctz(where->mask);
  if (where->state == State::WarpSync)
    at->fault(cuda::LAUNCH_FAILED, lane,
              "threads " + hex(where->mask) +
                  " of the warp wait for others of their member mask that "
                  "never come here (live: " +
                  hex(at->live) + ")");
  std::string missing;
  for (auto &w : warps) {
    uint32_t here = 0, n = std::min(32u, threads - w->id * 32);
    for (const Group &g : w->others)
      here |=
          g.state == State::Barrier && g.barrier == where->barrier ? g.mask : 0;
    uint32_t absent = (n == 32 ? ~0u : (1u << n) - 1) & ~here;
    if (absent && missing.empty()) {
      unsigned t = w->id * 32 + (unsigned)__builtin_ctz(absent);
      missing = "; the first that misses it is thread " + std::to_string(t) +
                (w->live >> (t & 31) & 1 ? "" : ", which has exited");
    }
  }
  at->fault(cuda::LAUNCH_FAILED, lane,
            "barrier " + std::to_string(where->barrier & 15) + ": " +
                std::to_string(waiting) + " of " +
                std::to_string(where->expected ? where->expected : threads) +
                " threads wait at it, " + std::to_string(exited) +
                " have exited: it is never complete" + missing);
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
