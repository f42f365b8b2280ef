//===- ApiToolkit.cpp - What CUDA's headers say ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApiConstants.h"

#include <cstddef>

#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda.h>
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

std::vector<std::pair<std::string, long long>> toolkitConstants() {
  return {
#define FF_RESULT(name) {#name, static_cast<long long>(CUDA_ERROR_##name)},
#define FF_PAIR(theirs, ours) {#theirs, static_cast<long long>(theirs)},
#define FF_SAME(name) {#name, static_cast<long long>(name)},
      FF_API_RESULTS(FF_RESULT) FF_API_CONSTANTS(FF_PAIR) FF_API_SIZES(FF_SAME)
#ifdef NCCL_MAJOR
          FF_API_NCCL(FF_SAME)
#endif
  };
}
#else
std::vector<std::pair<std::string, long long>> toolkitConstants() { return {}; }
#endif
