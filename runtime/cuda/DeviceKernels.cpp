//===- DeviceKernels.cpp - The runtime's own kernels ----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DeviceKernels.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>

namespace ff::rt::cuda {

static_assert(statsChunk == rt::statsChunk, "the plan has room for them");

// Made from kernels/*.cpp when the runtime is built.
extern const char *const ptxOfElements;
extern const char *const ptxOfEmbedding;
extern const char *const ptxOfOptimizer;
extern const char *const ptxOfRandom;

namespace {

constexpr int64_t blocksFor(int64_t n, int64_t each) {
  return (n + each - 1) / each;
}

auto dtypesOf(const TrainedPiece &piece) {
  return std::make_tuple(piece.masterDtype, piece.gradDtype, piece.stateDtype);
}

bool isAligned(const TrainedPiece &p) {
  return (p.master | p.grad | p.expAvg | p.expAvgSq | p.ema | p.copy) % 16 == 0;
}

/// The kernel of a piece; there are seven that AdamW can meet.
std::string adamwName(const TrainedPiece &piece) {
  if (piece.stateDtype != wideDtype(piece.masterDtype))
    failInternal("AdamW of {} with moments in {}", dtypeName(piece.masterDtype),
                 dtypeName(piece.stateDtype));
  return fmt::format("ff_adamw_{}_{}", dtypeName(piece.masterDtype),
                     dtypeName(piece.gradDtype));
}

template <typename T>
AdamWConstants<T> constantsOf(const AdamWScalars &scalars) {
  AdamWConstants<T> c;
  c.beta1 = static_cast<T>(scalars.beta1);
  c.beta2 = static_cast<T>(scalars.beta2);
  c.oneMinusBeta1 = static_cast<T>(1 - scalars.beta1);
  c.oneMinusBeta2 = static_cast<T>(1 - scalars.beta2);
  c.eps = static_cast<T>(scalars.eps);
  c.stepSize = static_cast<T>(scalars.stepSize);
  c.correction = static_cast<T>(scalars.correction);
  c.keep = 1;
  c.keepWithDecay = static_cast<T>(1 - scalars.lr * scalars.weightDecay);
  c.scale = static_cast<T>(scalars.gradScale);
  c.emaDecay = static_cast<T>(scalars.emaDecay);
  c.oneMinusEma = static_cast<T>(1 - scalars.emaDecay);
  return c;
}

/// The pieces that one launch updates.
struct Combination {
  std::string kernel;
  bool wide; ///< math in f64
  CUdeviceptr pieces;
  int64_t count, blocks;
};

struct ZeroTable {
  CUdeviceptr entries = 0;
  int64_t count = 0, blocks = 0;
};

} // namespace

struct DeviceKernels::State {
  Module elements{ptxOfElements, nullptr};
  Module embedding{ptxOfEmbedding, nullptr};
  Module optimizer{ptxOfOptimizer, nullptr};
  Module random{ptxOfRandom, nullptr};
  std::unordered_map<std::string, CUfunction> functions;

  CUdeviceptr cursor = 0, end = 0; ///< what is left of the tables
  CUdeviceptr pieces = 0, partials = 0;
  int64_t count = 0, updateBlocks = 0, statsBlocks = 0;
  std::vector<Combination> combinations;
  std::vector<ZeroTable> zeroTables;

  State() {
    // All at once: a driver that loads lazily must not begin to while a stream
    // is captured.
    const char *floats[] = {"f32", "f64", "bf16", "f16"};
    for (const char *from : floats)
      for (const char *to : floats) {
        if (std::string_view(from) != to)
          add(elements, fmt::format("ff_convert_{}_{}", from, to));
        if (dtypeIsWide(to))
          add(elements, fmt::format("ff_add_{}_{}", from, to));
      }
    for (const char *name :
         {"ff_convert_integers", "ff_zero", "ff_record_loss"})
      add(elements, name);
    for (int bytes : {1, 2, 4, 8, 16})
      add(embedding, fmt::format("ff_embedding_{}", bytes));
    add(embedding, "ff_note_id");
    for (const char *name : {"f32", "f64"}) {
      add(embedding, fmt::format("ff_embedding_clear_{}", name));
      add(embedding, fmt::format("ff_embedding_mark_{}", name));
      add(random, fmt::format("ff_random_{}", name));
    }
    for (const char *name : floats)
      add(embedding, fmt::format("ff_embedding_sum_{}", name));
    for (const char *name :
         {"ff_adamw_f32_f32", "ff_adamw_bf16_f32", "ff_adamw_f16_f32",
          "ff_adamw_f32_f64", "ff_adamw_bf16_f64", "ff_adamw_f16_f64",
          "ff_adamw_f64_f64", "ff_start_ema", "ff_gradient_stats",
          "ff_finish_stats"})
      add(optimizer, name);
  }

  static bool dtypeIsWide(std::string_view name) {
    return name == "f32" || name == "f64";
  }

  void add(const Module &module, const std::string &name) {
    functions[name] = module.function(name.c_str());
  }

  /// The types of `arguments` are those of the kernel's parameters.
  template <typename... Args>
  void run(const std::string &kernel, int64_t blocks, const Stream &stream,
           Args... arguments) {
    void *pointers[] = {&arguments...};
    launchOn(kernel, blocks, blockThreads, stream, pointers);
  }

  void launchOn(const std::string &kernel, int64_t blocks, int threads,
                const Stream &stream, void **arguments) {
    auto found = functions.find(kernel);
    if (found == functions.end())
      failInternal("the runtime has no kernel '{}'", kernel);
    launch(found->second, blocks, threads, 0, stream, arguments);
  }

  /// A place for `bytes` in the tables.
  CUdeviceptr take(size_t bytes) {
    CUdeviceptr place = cursor;
    cursor += (bytes + 15) / 16 * 16;
    if (cursor > end)
      failInternal("the tables of the device kernels are {} bytes too small",
                   cursor - end);
    return place;
  }

  /// A copy of `values` in the tables.
  template <typename T> CUdeviceptr put(const std::vector<T> &values) {
    size_t bytes = values.size() * sizeof(T);
    CUdeviceptr place = take(bytes);
    if (!bytes)
      return place;
    check(libraries().cuda->memcpyHtoD(place, values.data(), bytes),
          "cuMemcpyHtoD");
    // From pageable memory the call may return before the bytes are there, and
    // our streams do not wait for its stream.
    check(libraries().cuda->streamSynchronize(nullptr), "cuStreamSynchronize");
    return place;
  }

  void setPieces(std::vector<TrainedPiece> sorted);
};

void DeviceKernels::State::setPieces(std::vector<TrainedPiece> sorted) {
  std::sort(sorted.begin(), sorted.end(),
            [](const TrainedPiece &a, const TrainedPiece &b) {
              return std::make_pair(dtypesOf(a), a.index) <
                     std::make_pair(dtypesOf(b), b.index);
            });
  std::vector<DevicePiece> table;
  for (const TrainedPiece &piece : sorted) {
    table.push_back({piece.master, piece.grad, piece.expAvg, piece.expAvgSq,
                     piece.ema, piece.copy, piece.count, piece.index,
                     updateBlocks, statsBlocks, piece.masterDtype,
                     piece.gradDtype, piece.stateDtype, piece.copyDtype,
                     piece.decay, piece.inNorm, isAligned(piece), 0});
    updateBlocks += blocksFor(piece.count, updateChunk);
    if (piece.inNorm)
      statsBlocks += blocksFor(piece.count, statsChunk);
  }
  count = static_cast<int64_t>(table.size());
  pieces = put(table);
  partials = take(static_cast<size_t>(statsBlocks) * sizeof(PartialStats));
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    while (end < sorted.size() &&
           dtypesOf(sorted[end]) == dtypesOf(sorted[begin]))
      ++end;
    int64_t last = end < sorted.size() ? table[end].firstUpdate : updateBlocks;
    combinations.push_back(
        {adamwName(sorted[begin]), sorted[begin].stateDtype == FF_F64,
         pieces + begin * sizeof(DevicePiece),
         static_cast<int64_t>(end - begin), last - table[begin].firstUpdate});
  }
}

DeviceKernels::DeviceKernels(const std::vector<TrainedPiece> &pieces,
                             CUdeviceptr tables, size_t tableBytes)
    : state(std::make_unique<State>()) {
  state->cursor = tables;
  state->end = tables + tableBytes;
  state->setPieces(pieces);
}

DeviceKernels::~DeviceKernels() = default;

void DeviceKernels::random(uint64_t seed, int32_t site,
                           ff_distribution distribution, DType dtype,
                           CUdeviceptr scalars, int64_t batch,
                           int64_t perSample, CUdeviceptr out,
                           const Stream &stream) {
  if (distribution != FF_UNIFORM && distribution != FF_NORMAL)
    failInternal("distribution number {}", static_cast<int>(distribution));
  if (dtype != FF_F32 && dtype != FF_F64)
    failInternal("random values of dtype {}", dtypeName(dtype));
  int64_t blocks = batch * blocksFor(perSample, 4);
  state->run(fmt::format("ff_random_{}", dtypeName(dtype)),
             blocksFor(blocks, blockThreads), stream, seed,
             static_cast<uint32_t>(site),
             static_cast<int32_t>(distribution == FF_NORMAL), scalars, batch,
             perSample, out);
}

void DeviceKernels::embedding(DType dtype, CUdeviceptr table, CUdeviceptr ids,
                              CUdeviceptr out, int64_t n, int64_t rows,
                              int64_t width, CUdeviceptr record,
                              const Stream &stream) {
  if (n == 0)
    return;
  // The largest unit that all rows are made of.
  uint64_t rowBytes = static_cast<uint64_t>(width) * dtypeSize(dtype);
  uint64_t unit = 16;
  while ((table | out | rowBytes) % unit)
    unit /= 2;
  int64_t units = static_cast<int64_t>(rowBytes / unit);
  int32_t logGroup = 0;
  while (logGroup < 5 && (int64_t{1} << logGroup) < units)
    ++logGroup;
  state->run(fmt::format("ff_embedding_{}", unit),
             blocksFor(n << logGroup, blockThreads), stream, table, ids, out, n,
             rows, units, logGroup, record);
  state->run("ff_note_id", 1, stream, ids, rows, record);
}

void DeviceKernels::embeddingGrad(DType dtype, CUdeviceptr dout,
                                  CUdeviceptr ids, CUdeviceptr grad, int64_t n,
                                  int64_t rows, int64_t width,
                                  const Stream &stream) {
  if (n > 0x7fffffff)
    failInternal("the gradient of a table from {} rows", n);
  const char *wide = dtypeName(wideDtype(dtype));
  int64_t pieces = rows * blocksFor(width, gradColumns);
  state->run(fmt::format("ff_embedding_clear_{}", wide),
             blocksFor(pieces, blockThreads), stream, grad, rows, width);
  state->run(fmt::format("ff_embedding_mark_{}", wide),
             blocksFor(n, blockThreads), stream, ids, grad, n, rows, width);
  state->run(fmt::format("ff_embedding_sum_{}", dtypeName(dtype)),
             blocksFor(pieces, blockThreads / 32), stream, dout, ids, grad, n,
             rows, width);
}

void DeviceKernels::convert(DType from, CUdeviceptr src, DType to,
                            CUdeviceptr dst, int64_t n, const Stream &stream) {
  if (n == 0)
    return;
  if (from == to)
    return check(
        libraries().cuda->memcpyDtoDAsync(
            dst, src, static_cast<size_t>(n) * dtypeSize(from), stream.handle),
        "cuMemcpyDtoDAsync");
  if (!isFloat(from))
    return state->run("ff_convert_integers", blocksFor(n, blockThreads), stream,
                      static_cast<int32_t>(from), src, static_cast<int32_t>(to),
                      dst, n);
  if (!isFloat(to))
    failInternal("conversion of {} to {}", dtypeName(from), dtypeName(to));
  state->run(fmt::format("ff_convert_{}_{}", dtypeName(from), dtypeName(to)),
             blocksFor(n, mapChunk), stream, src, dst, n);
}

void DeviceKernels::add(DType from, CUdeviceptr src, DType to, CUdeviceptr dst,
                        int64_t n, const Stream &stream) {
  if (!isFloat(from) || (to != FF_F32 && to != FF_F64))
    failInternal("sum of {} in {}", dtypeName(from), dtypeName(to));
  state->run(fmt::format("ff_add_{}_{}", dtypeName(from), dtypeName(to)),
             blocksFor(n, mapChunk), stream, src, dst, n);
}

int DeviceKernels::addZeroTable(const std::vector<ZeroRange> &ranges) {
  ZeroTable table;
  std::vector<ZeroEntry> entries;
  for (const ZeroRange &range : ranges) {
    entries.push_back({range.begin, range.bytes, table.blocks});
    table.blocks += blocksFor(range.bytes, zeroChunk);
  }
  table.count = static_cast<int64_t>(entries.size());
  table.entries = state->put(entries);
  state->zeroTables.push_back(table);
  return static_cast<int>(state->zeroTables.size()) - 1;
}

void DeviceKernels::zero(int table, const Stream &stream) {
  const ZeroTable &zeros = state->zeroTables.at(static_cast<size_t>(table));
  state->run("ff_zero", zeros.blocks, stream, zeros.entries, zeros.count);
}

void DeviceKernels::recordLoss(DType dtype, CUdeviceptr loss,
                               CUdeviceptr weight, CUdeviceptr scalars,
                               CUdeviceptr record, const Stream &stream) {
  if (dtype != FF_F32 && dtype != FF_F64)
    failInternal("a loss in {}", dtypeName(dtype));
  state->run("ff_record_loss", 1, stream, static_cast<int32_t>(dtype), loss,
             weight, scalars, record);
}

void DeviceKernels::gradientStats(CUdeviceptr record, const Stream &stream) {
  state->run("ff_gradient_stats", state->statsBlocks, stream, state->pieces,
             state->count, state->partials);
  CUdeviceptr partials = state->partials;
  int64_t count = state->statsBlocks;
  void *arguments[] = {&partials, &count, &record};
  state->launchOn("ff_finish_stats", 1, finishThreads, stream, arguments);
}

void DeviceKernels::adamw(const AdamWScalars &scalars, const Stream &stream) {
  auto narrow = constantsOf<float>(scalars);
  auto wide = constantsOf<double>(scalars);
  for (const Combination &c : state->combinations) {
    if (c.wide)
      state->run(c.kernel, c.blocks, stream, c.pieces, c.count, wide);
    else
      state->run(c.kernel, c.blocks, stream, c.pieces, c.count, narrow);
  }
}

void DeviceKernels::startEma(const Stream &stream) {
  state->run("ff_start_ema", state->updateBlocks, stream, state->pieces,
             state->count);
}

} // namespace ff::rt::cuda
