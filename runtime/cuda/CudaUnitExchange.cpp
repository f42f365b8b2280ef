//===- CudaUnitExchange.cpp - Units in the memory of a GPU ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaUnitExchange.h"
#include "runtime/core/Error.h"

namespace ff::rt::cuda {

CudaUnitExchange::CudaUnitExchange(const Metadata &metadata,
                                   const Program &program, const Layout &layout,
                                   const Arena &arena, NcclCommunicator &comm,
                                   Stream &compute, DeviceKernels &kernels)
    : UnitExchange(metadata, program, layout, arena), comm(comm),
      compute(compute), kernels(kernels), gathering(metadata.units.size()),
      gapTables(metadata.units.size()) {
  for (size_t unit = 0; unit < metadata.units.size(); ++unit) {
    gatherDone.push_back(std::make_unique<Event>());
    reduceDone.push_back(std::make_unique<Event>());
    gapTables[unit].assign(layout.gradSlots.size(), -1);
  }
  for (size_t slot = 0; slot < layout.gradSlots.size(); ++slot)
    for (int unit : program.gradSlots[slot]) {
      std::vector<ZeroRange> ranges;
      for (int index : metadata.units[unit].groups) {
        const Group &group = metadata.groups[index];
        if (!group.trainable)
          continue;
        CUdeviceptr base = addressOf(gradient(index, static_cast<int>(slot)));
        auto size = static_cast<int64_t>(dtypeSize(group.reduceDtype));
        for (const Gap &gap : gaps[index])
          ranges.push_back({base + static_cast<size_t>(gap.begin * size),
                            (gap.end - gap.begin) * size});
      }
      if (!ranges.empty())
        gapTables[unit][slot] = kernels.addZeroTable(ranges);
    }
}

void CudaUnitExchange::follow() {
  compute.record(ready);
  comm.stream.after(ready);
}

void CudaUnitExchange::startGather(int unit, int slot) {
  const NcclApi *nccl = libraries().nccl;
  struct Send {
    const void *from;
    char *to;
    size_t bytes;
  };
  std::vector<Send> sends;
  gathering[unit] = 0;
  auto begin = [&] {
    if (!gathering[unit])
      follow();
    gathering[unit] = 1;
  };
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (place.resident || place.owned == 0)
      continue;
    begin();
    char *buffer = gathered(index, slot);
    size_t bytes = static_cast<size_t>(place.owned) * dtypeSize(group.dtype);
    const void *from = arena.at(place.copy.bytes ? place.copy : place.master);
    if (!place.copy.bytes && group.dtype != group.masterDtype) {
      char *own = buffer;
      if (place.shards > 1)
        own += bytes * static_cast<size_t>(comm.shardIndex());
      kernels.convert(group.masterDtype, addressOf(from), group.dtype,
                      addressOf(own), place.owned, comm.stream);
      from = own;
    }
    if (place.shards > 1)
      sends.push_back({from, buffer, bytes});
  }
  if (!sends.empty()) {
    comm.progress.begin("the all-gather of unit '" + nameOf(unit) + "'",
                        comm.stream);
    check(nccl->groupStart(), "ncclGroupStart");
    for (const Send &send : sends)
      check(nccl->allGather(send.from, send.to, send.bytes, ncclUint8,
                            comm.of(Axis::Shard), comm.stream.handle),
            "ncclAllGather");
    check(nccl->groupEnd(), "ncclGroupEnd");
    comm.progress.end(comm.stream);
  }
  if (gathering[unit])
    comm.stream.record(*gatherDone[unit]);
}

void CudaUnitExchange::awaitGather(int unit) {
  if (gathering[unit])
    compute.after(*gatherDone[unit]);
}

void CudaUnitExchange::startReduce(int unit, int slot) {
  const NcclApi *nccl = libraries().nccl;
  follow();
  if (int table = gapTables[unit][slot]; table >= 0)
    kernels.zero(table, comm.stream);
  struct Add {
    DType from;
    const void *data;
    int group;
  };
  std::vector<Add> adds;
  bool inGroup = false;
  auto beginGroup = [&] {
    if (inGroup)
      return;
    inGroup = true;
    comm.progress.begin("the reduction of unit '" + nameOf(unit) + "'",
                        comm.stream);
    check(nccl->groupStart(), "ncclGroupStart");
  };
  for (int index : metadata.units[unit].groups) {
    const Group &group = metadata.groups[index];
    const GroupLayout &place = layout.groups[index];
    if (!group.trainable || place.owned == 0)
      continue;
    char *buffer = gradient(index, slot);
    // Not sharded: the sum over ranks is made once, at the end of the step.
    if (place.shards == 1) {
      adds.push_back({group.reduceDtype, buffer, index});
      continue;
    }
    char *own = buffer + static_cast<size_t>(place.owned * comm.shardIndex()) *
                             dtypeSize(group.reduceDtype);
    bool direct = fresh[index] && group.reduceDtype == place.gradDtype;
    beginGroup();
    check(nccl->reduceScatter(buffer, direct ? arena.at(place.grad) : own,
                              static_cast<size_t>(place.owned),
                              ncclType(group.reduceDtype), ncclSum,
                              comm.of(Axis::Shard), comm.stream.handle),
          "ncclReduceScatter");
    if (direct)
      fresh[index] = 0;
    else
      adds.push_back({group.reduceDtype, own, index});
  }
  if (inGroup) {
    check(nccl->groupEnd(), "ncclGroupEnd");
    comm.progress.end(comm.stream);
  }
  for (const Add &add : adds) {
    const GroupLayout &place = layout.groups[add.group];
    CUdeviceptr sum = addressOf(arena.at(place.grad));
    if (fresh[add.group])
      kernels.convert(add.from, addressOf(add.data), place.gradDtype, sum,
                      place.owned, comm.stream);
    else
      kernels.add(add.from, addressOf(add.data), place.gradDtype, sum,
                  place.owned, comm.stream);
    fresh[add.group] = 0;
  }
  comm.stream.record(*reduceDone[unit]);
}

void CudaUnitExchange::awaitReduce(int unit) {
  compute.after(*reduceDone[unit]);
}

void CudaUnitExchange::sumOverReplicas() {
  const NcclApi *nccl = libraries().nccl;
  follow();
  for (size_t i = 0; i < metadata.groups.size(); ++i)
    // No micro-batch reduced it: its gradient is zero.
    if (metadata.groups[i].trainable && fresh[i] && layout.groups[i].grad.bytes)
      check(libraries().cuda->memsetD8Async(
                addressOf(arena.at(layout.groups[i].grad)), 0,
                layout.groups[i].grad.bytes, comm.stream.handle),
            "cuMemsetD8Async");
  for (Axis axis : {Axis::Shard, Axis::Replicate}) {
    if (comm.size(axis) == 1)
      continue;
    comm.progress.begin(axis == Axis::Shard
                            ? "the all-reduce of gradients that are not sharded"
                            : "the all-reduce of gradients over the replicas",
                        comm.stream);
    check(nccl->groupStart(), "ncclGroupStart");
    for (size_t i = 0; i < metadata.groups.size(); ++i) {
      const GroupLayout &place = layout.groups[i];
      // The sum over the shard axis of what is sharded was made before.
      if (!metadata.groups[i].trainable || place.owned == 0 ||
          (axis == Axis::Shard && place.shards > 1))
        continue;
      void *grad = arena.at(place.grad);
      check(nccl->allReduce(grad, grad, static_cast<size_t>(place.owned),
                            ncclType(place.gradDtype), ncclSum, comm.of(axis),
                            comm.stream.handle),
            "ncclAllReduce");
    }
    check(nccl->groupEnd(), "ncclGroupEnd");
    comm.progress.end(comm.stream);
  }
  comm.stream.record(summed);
  compute.after(summed);
}

} // namespace ff::rt::cuda
