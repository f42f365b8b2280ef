//===- Device.cpp - What computes the programs of a rank ------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Device.h"
#include "runtime/core/Error.h"
#include "runtime/core/Profile.h"

namespace ff::rt {

void Device::parallelFor(ff_kernel_fn, void *const *, int64_t, int64_t) {
  failInternal("a program for a GPU has a loop for the host");
}

void Device::launch(int32_t kernel, void *const *) {
  failInternal("a program for the host launches kernel {} of a GPU", kernel);
}

void Device::failId(int64_t row, int64_t id, int64_t rows) const {
  fail("embedding: input row {} has the id {}, but the table has the rows 0 to "
       "{}{}; fix: a table with more rows, or other data",
       row, id, rows - 1, findId ? findId(id) : "");
}

double Device::timed(const std::function<void()> &calls) {
  Clock::time_point start = Clock::now();
  calls();
  settle();
  return secondsSince(start);
}

} // namespace ff::rt
