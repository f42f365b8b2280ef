//===- CudaMain.cpp - The trainer on NVIDIA GPUs --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/cuda/CudaDevice.h"

#include <cstdlib>

namespace {

using namespace ff::rt;

class CudaBackend final : public Backend {
public:
  explicit CudaBackend(const ff_device_image &image) : image(image) {}

  size_t matmulScratchBytes(const Metadata &) override {
    return deviceMatmulScratch;
  }

  std::unique_ptr<Communicator> connect(const LaunchInfo &info, MeshShape mesh,
                                        RankStore *store) override {
    cuda::openLibraries(/*collectives=*/store != nullptr);
    context = std::make_unique<cuda::Context>(info.localRank);
    return std::make_unique<cuda::NcclCommunicator>(info, mesh, store,
                                                    timeoutSeconds);
  }

  std::unique_ptr<Device> open(const Metadata &metadata, const Program &program,
                               const Layout &layout,
                               Communicator &comm) override {
    // The driver would say no more than that there is no binary for it.
    int needed = std::atoi(metadata.target->chip.c_str() + 3);
    if (context->capability < needed)
      fail("this trainer is for {} and later, the GPU ({}) is sm_{}; fix: "
           "ff-compile --target=cuda:sm_{}",
           metadata.target->chip, context->name, context->capability,
           context->capability >= 90 ? 90 : 80);
    return std::make_unique<cuda::CudaDevice>(
        metadata, program, layout, *context,
        static_cast<cuda::NcclCommunicator &>(comm), image, *this);
  }

private:
  const ff_device_image &image;
  std::unique_ptr<cuda::Context> context;
};

} // namespace

int ff_rt_cuda_main(int argc, char **argv, const char *metadata,
                    const ff_entry *entries, int32_t numEntries,
                    const ff_device_image *image) {
  CudaBackend backend(*image);
  return runMain(argc, argv, metadata, entries, numEntries, backend);
}
