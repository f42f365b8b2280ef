//===- Stub.cpp - Stands in for the runtime of GPUs -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Until runtime/cuda has them. To be deleted.
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ff_rt.h"

#include <cstdio>

extern "C" void ff_rt_launch(ff_ctx *, int32_t, void *const *) {}

extern "C" int ff_rt_cuda_main(int, char **, const char *, const ff_entry *,
                               int32_t, const ff_device_image *) {
  std::fputs("error: there is no runtime for GPUs yet\n", stderr);
  return 1;
}
