//===- UnitExchange.h - Gathering and reducing of units -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMM_UNITEXCHANGE_H
#define FF_RUNTIME_COMM_UNITEXCHANGE_H

#include "runtime/comm/Communicator.h"
#include "runtime/core/Arena.h"

namespace ff::rt {

/// The sharded parameters of a rank while a program runs. What generated code
/// calls is checked against the slots of the program: a call out of turn is an
/// internal Error. How bytes move is the target's.
class UnitExchange {
public:
  UnitExchange(const Metadata &metadata, const Program &program,
               const Layout &layout, const Arena &arena);
  virtual ~UnitExchange() = default;

  void gatherStart(int unit, int slot);
  void gatherWait(int unit);
  void release(int unit);
  const void *groupData(int group) const;
  void *groupGrad(int group, int slot) const;
  void reduceStart(int unit, int slot);
  void reduceWait(int unit);

  /// The gradient slices start at zero: call it before the first micro-batch of
  /// an optimizer step.
  void beginStep();

  /// Sums the gradient slices over the replicate axis, once for all
  /// micro-batches; the gradients of the step are complete after it.
  void finishStep();

protected:
  struct Gap {
    int64_t begin, end; ///< elements
  };

  virtual void startGather(int unit, int slot) = 0;
  virtual void awaitGather(int unit) = 0;
  virtual void startReduce(int unit, int slot) = 0;
  virtual void awaitReduce(int unit) = 0;
  virtual void sumOverReplicas() = 0;

  char *gathered(int group, int slot) const;
  char *gradient(int group, int slot) const;

  const Metadata &metadata;
  const Program &program;
  const Layout &layout;
  const Arena &arena;
  /// Of each group, what no parameter has: slots are shared, so they hold what
  /// another unit left there.
  std::vector<std::vector<Gap>> gaps;
  std::vector<char> fresh; ///< groups whose gradient slice is still stale

private:
  enum class State { Idle, Started, Ready };
  struct UnitState {
    State gather = State::Idle;
    int slot = -1;
    bool reducing = false;
  };

  void checkSlot(const std::vector<std::vector<int>> &slots, int unit, int slot,
                 const char *what) const;

  std::vector<UnitState> units;
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMM_UNITEXCHANGE_H
