//===- Ops.td - All operations -*- tablegen -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_DIALECT_OPS_TD
#define FF_DIALECT_OPS_TD

include "dialect/PipelineOps.td"
include "dialect/TensorOps.td"
include "dialect/ShardOps.td"

#endif // FF_DIALECT_OPS_TD
