//===- Random.h - Random tensors of programs and initial values -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_RANDOM_H
#define FF_RUNTIME_COMPUTE_RANDOM_H

#include "runtime/core/Metadata.h"

#include <string>

namespace ff::rt {

/// What ff_rt_random computes: row i of out[batch, perSample] belongs to the
/// global sample firstSample + i. Counters are those of metadata.md.
void fillRandom(uint64_t seed, int32_t site, ff_distribution distribution,
                DType dtype, int64_t firstSample, int64_t batch,
                int64_t perSample, void *out);

/// Writes the initial values of the elements [begin, end) of a parameter, in
/// row-major order, to `out` of type `dtype`. `fullName` is
/// `component.parameter`.
void initialize(uint64_t seed, const std::string &fullName,
                const Initializer &init, DType dtype, int64_t begin,
                int64_t end, void *out);

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_RANDOM_H
