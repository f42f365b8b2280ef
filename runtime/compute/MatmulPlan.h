//===- MatmulPlan.h - How oneDNN does a matmul ----------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN may have no primitive for bf16 or f16 on a machine. Then operands are
// converted to f32 in the scratchpad, multiplied there, and the result is
// converted back.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_COMPUTE_MATMULPLAN_H
#define FF_RUNTIME_COMPUTE_MATMULPLAN_H

#include "runtime/compute/Convert.h"
#include "runtime/compute/Matmul.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace ff::rt {

/// An f32 copy of an operand or the result in the scratchpad.
struct WideCopy {
  bool wanted = false;
  DenseCopy copy;
  size_t offset = 0; ///< in the scratchpad

  float *in(char *scratch) const {
    return reinterpret_cast<float *>(scratch + offset);
  }
};

class MatmulPlan {
public:
  /// `index` is the number of the matmul, for messages.
  MatmulPlan(const MatmulType &type, size_t index, const dnnl::engine &engine,
             bool alwaysWiden);

  FoldedMatmul folded;
  dnnl::matmul::primitive_desc desc;
  WideCopy a, b, c, bias;     ///< of the folded matmul
  size_t primitiveOffset = 0; ///< of the primitive's own scratchpad
  size_t scratchBytes = 0;    ///< of all of this

private:
  WideCopy addCopy(DType dtype, std::vector<int64_t> sizes,
                   std::vector<int64_t> &strides);
  MatmulType widen(MatmulType type);
};

} // namespace ff::rt

#endif // FF_RUNTIME_COMPUTE_MATMULPLAN_H
