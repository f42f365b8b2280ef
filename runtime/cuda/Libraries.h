//===- Libraries.h - CUDA's libraries, opened at start --------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trainer for GPUs starts on any machine with glibc: the driver, cuBLASLt and
// NCCL are opened here, and what is missing is said in one line.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_LIBRARIES_H
#define FF_RUNTIME_CUDA_LIBRARIES_H

#include "runtime/cuda/api/EntryPoints.h"

#include <string>

namespace ff::rt::cuda {

struct Libraries {
  const CudaApi *cuda = nullptr;
  const CublasLtApi *cublas = nullptr;
  const NcclApi *nccl = nullptr; ///< null where not asked for
  std::string versions; ///< "CUDA driver 13.0, cuBLASLt 13.1.0, NCCL 2.27.3"
};

/// Opens libcuda.so.1, libcublasLt.so.13 (where the driver is of CUDA 13, too)
/// or .12, and with `collectives`
/// libnccl.so.2. An Error names every library that is missing or too old, and
/// what was found; nothing of CUDA is initialised by it.
void openLibraries(bool collectives);

/// After openLibraries().
const Libraries &libraries();

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_LIBRARIES_H
