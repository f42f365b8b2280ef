//===- CpuMain.cpp - The trainer on the cores of the host -----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Matmul.h"
#include "runtime/core/Backend.h"
#include "runtime/cpu/CpuDevice.h"
#include "runtime/cpu/GlooCommunicator.h"

namespace {

using namespace ff::rt;

class CpuBackend final : public Backend {
public:
  size_t matmulScratchBytes(const Metadata &metadata) override {
    return ff::rt::matmulScratchBytes(metadata.matmuls);
  }

  std::unique_ptr<Communicator> connect(const LaunchInfo &info, MeshShape mesh,
                                        RankStore *store) override {
    if (!store)
      return makeSoloCommunicator();
    return makeGlooCommunicator(info, mesh, *store);
  }

  std::unique_ptr<Device> open(const Metadata &metadata, const Program &program,
                               const Layout &layout,
                               Communicator &comm) override {
    return std::make_unique<CpuDevice>(metadata, program, layout,
                                       static_cast<HostCommunicator &>(comm));
  }
};

} // namespace

int ff_rt_main(int argc, char **argv, const char *metadata,
               const ff_entry *entries, int32_t numEntries) {
  CpuBackend backend;
  return runMain(argc, argv, metadata, entries, numEntries, backend);
}
