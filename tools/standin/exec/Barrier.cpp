// Barriers of a block: who has arrived, when they open, who never comes.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Machine.h"

namespace standin::exec {

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

} // namespace standin::exec
