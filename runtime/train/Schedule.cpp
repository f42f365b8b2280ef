//===- Schedule.cpp - The learning rate -----------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Schedule.h"

#include <algorithm>
#include <cmath>

namespace ff::rt {

double learningRate(const OptimizerPolicy &optimizer,
                    const SchedulePolicy &schedule, int64_t step) {
  int64_t warmup = schedule.warmupSteps;
  if (step < warmup)
    return optimizer.lr * static_cast<double>(step) /
           static_cast<double>(warmup);
  if (!schedule.cosine)
    return optimizer.lr;
  double length =
      static_cast<double>(std::max<int64_t>(schedule.totalSteps - warmup, 1));
  double progress = std::min(static_cast<double>(step - warmup) / length, 1.0);
  return schedule.finalLr + (optimizer.lr - schedule.finalLr) *
                                (1 + std::cos(M_PI * progress)) / 2;
}

} // namespace ff::rt
