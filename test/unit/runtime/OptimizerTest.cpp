//===- OptimizerTest.cpp - Optimizer and schedule -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Optimizer.h"
#include "TestSupport.h"
#include "runtime/compute/Threads.h"
#include "runtime/train/ParameterFile.h"
#include "runtime/train/Schedule.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ff::rt;
using namespace ff::rt::test;

TEST(Schedule, TableCountsOptimizerSteps) {
  OptimizerPolicy optimizer;
  optimizer.lr = 1.0;
  SchedulePolicy schedule{true, 4, 12, 0.1};
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 1), 0.25);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 4), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 8), 0.55);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 12), 0.1);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 99), 0.1);
  schedule.cosine = false;
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 2), 0.5);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, schedule, 1000), 1.0);
  EXPECT_DOUBLE_EQ(learningRate(optimizer, SchedulePolicy{}, 1), 1.0);
}

namespace {
/// The tiny model of one rank with made-up weights and gradients.
struct Model {
  explicit Model(const std::string &master)
      : json(change(master)), metadata(parseMetadata(json.dump())),
        layout(computeLayout(metadata, {RunMode::Train, {1, 1}, 0})),
        arena(layout.totalBytes), optimizer(metadata, layout, arena, 0) {
    for (size_t g = 0; g < 2; ++g)
      for (StateKind kind : {StateKind::Master, StateKind::Gradient})
        for (int64_t i = 0; i < 7; ++i)
          set(g, kind, i, std::sin(1.0 + 3.0 * i + g + 10.0 * int(kind)));
  }

  static nlohmann::json change(const std::string &master) {
    nlohmann::json json = tinyMetadata();
    for (auto &group : json["groups"]) {
      group["master_dtype"] = group["dtype"] = master;
      group["reduce_dtype"] = master == "f64" ? "f64" : "f32";
    }
    return json;
  }

  void set(size_t group, StateKind kind, int64_t i, double value) {
    auto [region, dtype] = stateRegion(metadata, layout, group, kind);
    convertElements(FF_F64, &value, dtype,
                    arena.at<char>(region) + i * int64_t(dtypeSize(dtype)), 1);
  }
  double get(size_t group, StateKind kind, int64_t i) {
    auto [region, dtype] = stateRegion(metadata, layout, group, kind);
    double value;
    convertElements(dtype,
                    arena.at<char>(region) + i * int64_t(dtypeSize(dtype)),
                    FF_F64, &value, 1);
    return value;
  }

  nlohmann::json json;
  Metadata metadata;
  Layout layout;
  HostArena arena;
  Optimizer optimizer;
};

/// AdamW as the paper and PyTorch have it, against three steps of ours.
void checkAgainstReference(const std::string &master, double tolerance) {
  Model model(master);
  model.optimizer.startEma();
  const int64_t i = 3;
  double p = model.get(0, StateKind::Master, i), ema = p, m = 0, v = 0;
  double g = model.get(0, StateKind::Gradient, i) * 0.5;
  for (int step = 1; step <= 3; ++step) {
    double lr = 0.01 * step;
    p *= 1 - lr * 0.1;
    m = 0.9 * m + 0.1 * g;
    v = 0.99 * v + 0.01 * g * g;
    double denominator =
        std::sqrt(v) / std::sqrt(1 - std::pow(0.99, step)) + 1e-8;
    p -= lr / (1 - std::pow(0.9, step)) * m / denominator;
    ema = 0.9 * ema + 0.1 * p;
    model.optimizer.update(step, lr, 0.5);
  }
  EXPECT_NEAR(model.get(0, StateKind::Master, i), p, tolerance);
  EXPECT_NEAR(model.get(0, StateKind::ExpAvg, i), m, tolerance);
  EXPECT_NEAR(model.get(0, StateKind::ExpAvgSq, i), v, tolerance);
  EXPECT_NEAR(model.get(0, StateKind::Ema, i), ema, tolerance);
}
} // namespace

TEST(AdamW, AgreesWithTheReference) {
  checkAgainstReference("f64", 1e-14);
  checkAgainstReference("f32", 1e-6);
  checkAgainstReference("bf16", 2e-2);
}

TEST(AdamW, DecayIsPerParameterAndFrozenStays) {
  Model model("f64");
  for (int64_t i = 0; i < 64; ++i)
    model.set(0, StateKind::Gradient, i, 0.0);
  for (int64_t i = 48; i < 55; ++i)
    model.set(0, StateKind::Master, i, 2.0);
  model.set(2, StateKind::Master, 0, 3.0);
  double before = model.get(0, StateKind::Master, 1);
  model.optimizer.update(1, 0.5, 1.0);
  EXPECT_DOUBLE_EQ(model.get(0, StateKind::Master, 1), before * 0.95);
  EXPECT_DOUBLE_EQ(model.get(0, StateKind::Master, 48), 2.0);
  EXPECT_DOUBLE_EQ(model.get(2, StateKind::Master, 0), 3.0);
}

TEST(GradientStats, SumsOverPiecesAndFindsNonfinite) {
  Model model("f32");
  double expected = 0;
  for (size_t g = 0; g < 2; ++g)
    for (int64_t i = 0; i < 7; ++i)
      expected += std::pow(model.get(g, StateKind::Gradient, i), 2);
  GradientStats stats = model.optimizer.gradientStats();
  EXPECT_NEAR(stats.sumOfSquares, expected, 1e-6);
  EXPECT_EQ(stats.nonfinite, 0);
  model.set(1, StateKind::Gradient, 2, INFINITY);
  stats = model.optimizer.gradientStats();
  EXPECT_EQ(stats.nonfinite, 1);
  const OwnedPiece &piece =
      model.optimizer.pieces()[static_cast<size_t>(stats.firstNonfinite)];
  EXPECT_EQ(piece.group, 1u);
}
