//===- Profile.cpp - Where the time goes, for --profile -------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Profile.h"

#include <algorithm>
#include <fmt/core.h>
#include <numeric>

namespace ff::rt {

void Profile::add(CallKind kind, double seconds) {
  Entry &entry = kinds[static_cast<size_t>(kind)];
  entry.seconds += seconds;
  ++entry.calls;
}

void Profile::addMatmul(size_t matmul, double seconds) {
  add(CallKind::Matmul, seconds);
  if (matmuls.size() <= matmul)
    matmuls.resize(matmul + 1);
  matmuls[matmul].seconds += seconds;
  ++matmuls[matmul].calls;
}

std::string Profile::table(double totalSeconds,
                           const std::vector<double> &matmulFlops) const {
  static const char *const names[numCallKinds] = {
      "kernels",     "matmuls",   "random",      "embeddings", "gather wait",
      "reduce wait", "data wait", "collectives", "optimizer",  "checkpoints"};
  auto row = [&](const char *name, double seconds, int64_t calls) {
    return fmt::format("  {:<16}{:>10.3f} s{:>7.1f} %{:>10} calls\n", name,
                       seconds, 100 * seconds / std::max(totalSeconds, 1e-9),
                       calls);
  };
  std::string text = "profile of rank 0\n";
  double named = 0;
  for (size_t i = 0; i < numCallKinds; ++i) {
    text += row(names[i], kinds[i].seconds, kinds[i].calls);
    named += kinds[i].seconds;
  }
  text += row("other", totalSeconds - named, 1);
  std::vector<size_t> order(matmuls.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return matmuls[a].seconds > matmuls[b].seconds;
  });
  order.resize(std::min<size_t>(order.size(), 20));
  for (size_t index : order) {
    const Entry &entry = matmuls[index];
    if (entry.calls)
      text += fmt::format(
          "  matmul {:<9}{:>10.3f} s{:>10.1f} GFLOP/s{:>10} calls\n", index,
          entry.seconds,
          matmulFlops[index] * static_cast<double>(entry.calls) /
              std::max(entry.seconds, 1e-9) * 1e-9,
          entry.calls);
  }
  return text;
}

} // namespace ff::rt
