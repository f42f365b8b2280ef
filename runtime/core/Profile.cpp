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

namespace ff::rt {

void Profile::add(CallKind kind, double seconds) {
  Entry &entry = kinds[static_cast<size_t>(kind)];
  entry.seconds += seconds;
  ++entry.calls;
}

void Profile::addNumbered(CallKind kind, size_t number, double seconds) {
  add(kind, seconds);
  std::vector<Entry> &entries = kind == CallKind::Kernel ? kernels : matmuls;
  if (entries.size() <= number)
    entries.resize(number + 1);
  Entry &entry = entries[number];
  if (!entry.calls++)
    entry.first = seconds;
  entry.seconds += seconds;
}

std::string Profile::numberedTable(const ProfileTexts &texts) const {
  struct Row {
    const char *kind;
    size_t number;
    const Entry *entry;
    const ProfiledCall *call;
  };
  std::vector<Row> rows;
  auto collect = [&](const char *kind, const std::vector<Entry> &entries,
                     const std::vector<ProfiledCall> &calls) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].calls)
        rows.push_back({kind, i, &entries[i], &calls.at(i)});
  };
  collect("kernel", kernels, texts.kernels);
  collect("matmul", matmuls, texts.matmuls);
  if (rows.empty())
    return "";
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) {
    return a.entry->seconds > b.entry->seconds;
  });
  std::string text = fmt::format(
      "  {:<12}{:>8}{:>11}{:>11}{:>10}{:>8}{:>10}  {}\n", "number", "calls",
      "us/call", "total ms", "GB/s", "% copy", "TFLOP/s", "what");
  // Columns never join or vanish: scripts read them.
  auto cell = [](double value, const char *format) {
    return value > 0 ? fmt::format(fmt::runtime(format), value)
                     : std::string("-");
  };
  for (const Row &row : rows) {
    double mean = std::max(row.entry->mean(), 1e-12);
    double rate = row.call->bytes / mean;
    double share = texts.copyRate > 0 ? 100 * rate / texts.copyRate : 0;
    text += fmt::format(
        "  {} {:<5}{:>8}{:>11.2f}{:>11.3f}{:>10}{:>8}{:>10}  {}\n", row.kind,
        row.number, row.entry->calls, 1e6 * mean, 1e3 * row.entry->seconds,
        cell(1e-9 * rate, "{:.1f}"), cell(share, "{:.1f}"),
        cell(1e-12 * row.call->flops / mean, "{:.3f}"), row.call->text);
  }
  if (texts.copyRate > 0)
    text += fmt::format("  a copy moves {:.1f} GB/s\n", 1e-9 * texts.copyRate);
  return text;
}

std::string Profile::table(double totalSeconds,
                           const ProfileTexts &texts) const {
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
  return text + numberedTable(texts);
}

} // namespace ff::rt
