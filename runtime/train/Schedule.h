//===- Schedule.h - The learning rate -------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_TRAIN_SCHEDULE_H
#define FF_RUNTIME_TRAIN_SCHEDULE_H

#include "runtime/core/Metadata.h"

namespace ff::rt {

/// The learning rate of optimizer step `step`, which counts from 1 and never
/// depends on ranks or accumulation.
///
/// Warmup is linear from 0 before the first step: step s of W warmup steps has
/// lr * s / W, so step W is the first at the full rate. After it, "constant"
/// stays at lr; "cosine" falls to final_lr, which it reaches at total_steps:
/// final_lr + (lr - final_lr) * (1 + cos(pi * (s - W) / (total - W))) / 2.
double learningRate(const OptimizerPolicy &optimizer,
                    const SchedulePolicy &schedule, int64_t step);

} // namespace ff::rt

#endif // FF_RUNTIME_TRAIN_SCHEDULE_H
