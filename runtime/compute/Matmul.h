//===- Matmul.h - Matmuls through oneDNN ----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_MATMUL_H
#define FF_RUNTIME_COMPUTE_MATMUL_H

#include "runtime/compute/MatmulType.h"

#include <memory>
#include <vector>

namespace ff::rt {

/// The primitives of all matmuls of a spec, created once.
class Matmuls {
public:
  /// bf16 and f16 are computed in f32 where oneDNN has no implementation for
  /// them, or, for tests, everywhere.
  explicit Matmuls(const std::vector<MatmulType> &types,
                   bool alwaysWiden = false);
  ~Matmuls();

  /// Scratchpad that every run needs; the same for all of them.
  size_t scratchBytes() const;
  void setScratch(void *scratch);

  /// c = op(a · b [+ bias]) with sums in f32, rounded once. Allocates nothing.
  void run(size_t matmul, const void *a, const void *b, const void *bias,
           void *c);

  /// The implementation that oneDNN chose, such as "brg:avx512_core".
  std::string implementation(size_t matmul) const;

private:
  struct Primitive;
  struct State;
  std::unique_ptr<State> state;
};

/// The scratchpad for LayoutRequest: what Matmuls::scratchBytes() will be on
/// this machine.
size_t matmulScratchBytes(const std::vector<MatmulType> &types);

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_MATMUL_H
