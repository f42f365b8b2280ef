//===- Embedding.cpp - Kernels of tables of rows --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a table by number, and the gradient of the table.
//
// The gradient sums the rows of each id in their order, without atomics on
// floats and without memory of its own: before the sums the table's gradient
// itself holds, at the first elements of each piece of a row, where its id
// comes first and how often. So a row that no id names reads no ids, one that
// is named once reads no more than that, and only rows that are named often
// scan, from their first place to their last.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/kernels/Device.h"

namespace ff::rt::cuda {

namespace {

/// Lowers record->badIdRow, where 0 is none. badIdRows is 0 from then until
/// ff_note_id has written what belongs to the row.
inline void noteRow(StepRecord *record, int64_t row) {
  int64_t *place = &record->badIdRow;
  int64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (seen == 0 || row + 1 < seen) {
    if (__atomic_compare_exchange_n(place, &seen, row + 1, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      __atomic_store_n(&record->badIdRows, 0, __ATOMIC_RELAXED);
      return;
    }
  }
}

/// 2^logGroup threads copy a row of `units`.
template <typename Unit>
inline void lookup(const Unit *table, const int64_t *ids, Unit *out, int64_t n,
                   int64_t rows, int64_t units, int32_t logGroup,
                   StepRecord *record) {
  int64_t i = globalThread() >> logGroup;
  int64_t lane = globalThread() & ((1 << logGroup) - 1);
  if (i >= n)
    return;
  int64_t id = ids[i];
  if (id < 0 || id >= rows) {
    if (lane == 0)
      noteRow(record, i);
    id = 0;
  }
  const Unit *from = table + id * units;
  Unit *to = out + i * units;
  int64_t step = int64_t{1} << logGroup, u = lane;
  for (; u + 3 * step < units; u += 4 * step) {
    Unit a = from[u], b = from[u + step], c = from[u + 2 * step],
         d = from[u + 3 * step];
    to[u] = a;
    to[u + step] = b;
    to[u + 2 * step] = c;
    to[u + 3 * step] = d;
  }
  for (; u < units; u += step)
    to[u] = from[u];
}

/// Where a warp's piece of a row keeps its marks; a piece of one f32 has no
/// place for the second.
template <typename Wide> constexpr bool hasCount(int64_t columns) {
  return columns * static_cast<int64_t>(sizeof(Wide)) >= 8;
}

template <typename Wide>
inline void clearMarks(Wide *grad, int64_t rows, int64_t width) {
  int64_t pieces = (width + gradColumns - 1) / gradColumns;
  int64_t i = globalThread();
  if (i >= rows * pieces)
    return;
  int64_t column = i % pieces * gradColumns;
  auto *marks =
      reinterpret_cast<uint32_t *>(grad + i / pieces * width + column);
  marks[0] = 0;
  if (hasCount<Wide>(width - column))
    marks[1] = 0;
}

template <typename Wide>
inline void mark(const int64_t *ids, Wide *grad, int64_t n, int64_t rows,
                 int64_t width) {
  int64_t i = globalThread();
  if (i >= n || ids[i] < 0 || ids[i] >= rows)
    return;
  Wide *row = grad + ids[i] * width;
  for (int64_t column = 0; column < width; column += gradColumns) {
    auto *marks = reinterpret_cast<uint32_t *>(row + column);
    // The largest n - i is that of the first i.
    __atomic_fetch_max(marks, static_cast<uint32_t>(n - i), __ATOMIC_RELAXED);
    if (hasCount<Wide>(width - column))
      __atomic_fetch_add(marks + 1, 1u, __ATOMIC_RELAXED);
  }
}

/// A warp sums gradColumns columns of a row of the table.
template <typename T, typename Wide>
inline void sumRows(const T *dout, const int64_t *ids, Wide *grad, int64_t n,
                    int64_t rows, int64_t width) {
  constexpr int each = gradColumns / 32, ahead = 4;
  int64_t pieces = (width + gradColumns - 1) / gradColumns;
  int64_t warp = globalThread() / 32;
  int lane = threadIndex() % 32;
  if (warp >= rows * pieces)
    return;
  int64_t row = warp / pieces, column = warp % pieces * gradColumns;
  Wide *to = grad + row * width + column;
  int64_t columns = width - column < gradColumns ? width - column : gradColumns;
  const auto *marks = reinterpret_cast<const uint32_t *>(to);
  int64_t first = n - marks[0];
  int64_t left = hasCount<Wide>(columns) ? marks[1] : marks[0];
  // All lanes have read the marks before one writes a sum over them.
  __nvvm_bar_warp_sync(allLanes);
  Wide sums[each] = {};
  // Several rows are in flight at once, and are added in their order.
  auto add = [&](const int64_t(&from)[ahead], auto count) {
    constexpr int n = decltype(count)::value;
    T values[n][each];
#pragma unroll
    for (int i = 0; i < n; ++i)
#pragma unroll
      for (int j = 0; j < each; ++j)
        values[i][j] = lane + 32 * j < columns
                           ? dout[from[i] * width + column + lane + 32 * j]
                           : T{};
#pragma unroll
    for (int i = 0; i < n; ++i)
#pragma unroll
      for (int j = 0; j < each; ++j)
        sums[j] += static_cast<Wide>(load(values[i][j]));
  };
  if (left > 0) {
    add({first}, Tag<1>());
    --left;
  }
  for (int64_t begin = first + 1; begin < n && left > 0; begin += 32 * ahead) {
    bool same[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      int64_t at = begin + 32 * i + lane;
      same[i] = at < n && ids[at] == row;
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      uint32_t found = __nvvm_vote_ballot_sync(allLanes, same[i]);
      left -= __builtin_popcount(found);
      auto next = [&] {
        int64_t at = begin + 32 * i + __builtin_ctz(found);
        found &= found - 1;
        return at;
      };
      while (__builtin_popcount(found) >= ahead)
        add({next(), next(), next(), next()}, Tag<ahead>());
      while (found)
        add({next()}, Tag<1>());
    }
  }
  for (int j = 0; j < each; ++j)
    if (lane + 32 * j < columns)
      to[lane + 32 * j] = sums[j];
}

} // namespace

#define FF_LOOKUP(bytes, Unit)                                                 \
  FF_KERNEL ff_embedding_##bytes(                                              \
      const Unit *table, const int64_t *ids, Unit *out, int64_t n,             \
      int64_t rows, int64_t units, int32_t logGroup, StepRecord *record) {     \
    lookup(table, ids, out, n, rows, units, logGroup, record);                 \
  }
FF_LOOKUP(1, uint8_t)
FF_LOOKUP(2, uint16_t)
FF_LOOKUP(4, uint32_t)
FF_LOOKUP(8, Words2)
FF_LOOKUP(16, Words4)

/// One thread, after a lookup: the id of a row that it noted.
FF_KERNEL ff_note_id(const int64_t *ids, int64_t rows, StepRecord *record) {
  if (threadIndex() != 0 || !record->badIdRow || record->badIdRows)
    return;
  record->badId = ids[record->badIdRow - 1];
  record->badIdRows = rows;
}

#define FF_EMBEDDING_MARKS(name, Wide)                                         \
  FF_KERNEL ff_embedding_clear_##name(Wide *grad, int64_t rows,                \
                                      int64_t width) {                         \
    clearMarks(grad, rows, width);                                             \
  }                                                                            \
  FF_KERNEL ff_embedding_mark_##name(const int64_t *ids, Wide *grad,           \
                                     int64_t n, int64_t rows, int64_t width) { \
    mark(ids, grad, n, rows, width);                                           \
  }
FF_EMBEDDING_MARKS(f32, float)
FF_EMBEDDING_MARKS(f64, double)

#define FF_EMBEDDING_SUM(name, T, Wide)                                        \
  FF_KERNEL ff_embedding_sum_##name(const T *dout, const int64_t *ids,         \
                                    Wide *grad, int64_t n, int64_t rows,       \
                                    int64_t width) {                           \
    sumRows(dout, ids, grad, n, rows, width);                                  \
  }
FF_EMBEDDING_SUM(f32, float, float)
FF_EMBEDDING_SUM(bf16, Bf16, float)
FF_EMBEDDING_SUM(f16, F16, float)
FF_EMBEDDING_SUM(f64, double, double)

} // namespace ff::rt::cuda
