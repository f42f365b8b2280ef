//===- HostUnitExchange.h - Units in memory of the host -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CPU_HOSTUNITEXCHANGE_H
#define FF_RUNTIME_CPU_HOSTUNITEXCHANGE_H

#include "runtime/comm/UnitExchange.h"
#include "runtime/cpu/CommThread.h"
#include "runtime/cpu/HostCommunicator.h"

namespace ff::rt {

/// Collectives run on a thread of their own, where there are several ranks.
class HostUnitExchange final : public UnitExchange {
public:
  HostUnitExchange(const Metadata &metadata, const Program &program,
                   const Layout &layout, const Arena &arena,
                   HostCommunicator &comm);

private:
  void startGather(int unit, int slot) override;
  void awaitGather(int unit) override;
  void startReduce(int unit, int slot) override;
  void awaitReduce(int unit) override;
  void sumOverReplicas() override;

  void runTask(const CommThread::Task &task);
  void gather(int unit, int slot);
  void reduce(int unit, int slot);

  HostCommunicator &comm;
  std::vector<uint64_t> gatherTickets, reduceTickets; ///< of each unit
  CommThread thread; // last: it uses all of the above
};

} // namespace ff::rt

#endif // FF_RUNTIME_CPU_HOSTUNITEXCHANGE_H
