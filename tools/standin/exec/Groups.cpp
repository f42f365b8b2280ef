// Groups of lanes of a warp: how they part at branches, meet again, call and
// return.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Machine.h"

#include <cstring>

namespace standin::exec {

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

} // namespace standin::exec
