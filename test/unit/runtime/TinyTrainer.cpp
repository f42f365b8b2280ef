//===- TinyTrainer.cpp - A trainer with a program written by hand ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program calls the runtime exactly as generated code does: two units, the
// second with a trainable and a frozen group, gathered, used, released, their
// gradients reduced. TINY_METADATA names the file of the metadata.
//
// It fits p = b · (scale * (a.weight · x + a.bias + 0.01 * noise)) to y. In
// another type than f32 (gathered bf16, or f64 throughout) it computes with
// loops in place of matmuls.
//
// More groups of unit 1 have gradients of zero. TINY_DUMP=FOLDER writes what is
// gathered of unit 1 in the first micro-batch to FOLDER/RANK-GROUP.
//
// TINY_FAULT=KIND@RANK@CALL makes micro-batch number CALL of a rank go wrong:
// "error" (an id outside a table), "kill" (SIGKILL), "nan" (the loss).
//
//===----------------------------------------------------------------------===//

#include "runtime/abi/ff_rt.h"
#include "runtime/train/Context.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <unistd.h>

namespace {

constexpr int64_t batch = 4, in = 5, hidden = 7;
int calls = 0;

using ff::rt::convertElements;

/// Elements of a parameter of a gathered group, as T.
template <typename T>
void load(ff_ctx *ctx, int group, int64_t offset, int64_t n, T *to) {
  ff_dtype dtype = ctx->metadata.groups[group].dtype;
  const char *from = static_cast<const char *>(ff_rt_group_data(ctx, group)) +
                     static_cast<size_t>(offset) * ff::rt::dtypeSize(dtype);
  convertElements(dtype, from, sizeof(T) == 8 ? FF_F64 : FF_F32, to, n);
}

/// What the environment asks for; returns whether the loss becomes NaN.
bool applyFault(ff_ctx *ctx) {
  const char *text = std::getenv("TINY_FAULT");
  char kind[16];
  int rank, call;
  ++calls;
  if (!text || std::sscanf(text, "%15[a-z]@%d@%d", kind, &rank, &call) != 3 ||
      rank != ctx->comm.rank || call != calls)
    return false;
  if (kind[0] == 'k')
    kill(getpid(), SIGKILL);
  if (kind[0] == 'e') {
    float table[1] = {0}, out[1];
    int64_t id = 42;
    ff_rt_embedding(ctx, FF_F32, table, &id, out, 1, 1, 1);
  }
  return kind[0] == 'n';
}

void dumpGroups(ff_ctx *ctx) {
  const char *folder = std::getenv("TINY_DUMP");
  if (!folder || calls != 1)
    return;
  for (int group : ctx->metadata.units[1].groups) {
    std::ostringstream name;
    name << folder << '/' << ctx->comm.rank << '-' << group;
    size_t bytes = static_cast<size_t>(ctx->layout.groups[group].whole()) *
                   ff::rt::dtypeSize(ctx->metadata.groups[group].dtype);
    std::ofstream(name.str(), std::ios::binary)
        .write(static_cast<const char *>(ff_rt_group_data(ctx, group)),
               static_cast<std::streamsize>(bytes));
  }
}

void zeroOtherGradients(ff_ctx *ctx) {
  for (int index : ctx->metadata.units[1].groups) {
    const ff::rt::Group &group = ctx->metadata.groups[index];
    if (index > 2 && group.trainable)
      std::memset(ff_rt_group_grad(ctx, index, 0), 0,
                  static_cast<size_t>(group.numel) *
                      ff::rt::dtypeSize(group.reduceDtype));
  }
}

template <typename T> struct Arena {
  T aWeight[hidden * in], aBias[hidden], bWeight[hidden], scale[hidden];
  T noise[batch * hidden], pre[batch * hidden], h[batch * hidden];
  T dPre[batch * hidden];
};

/// Kernel: pre = pre + 0.01 * noise; h = scale * pre, for rows [begin, end).
template <typename T>
void activate(void *const *buffers, int64_t begin, int64_t end) {
  auto *arena = static_cast<Arena<T> *>(buffers[0]);
  for (int64_t i = begin * hidden; i < end * hidden; ++i) {
    arena->pre[i] += T(0.01) * arena->noise[i];
    arena->h[i] = arena->scale[i % hidden] * arena->pre[i];
  }
}

template <typename T> void forwardFirst(ff_ctx *ctx, Arena<T> &m, const T *x) {
  ff_rt_gather_wait(ctx, 0);
  load(ctx, 0, 0, hidden * in, m.aWeight);
  load(ctx, 0, 48, hidden, m.aBias);
  if constexpr (sizeof(T) == 4) {
    ff_rt_matmul(ctx, 0, x, m.aWeight, m.aBias, m.pre);
  } else {
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t j = 0; j < hidden; ++j) {
        T sum = m.aBias[j];
        for (int64_t k = 0; k < in; ++k)
          sum += x[i * in + k] * m.aWeight[j * in + k];
        m.pre[i * hidden + j] = sum;
      }
  }
  ff_rt_release(ctx, 0);
}

template <typename T> void backwardFirst(ff_ctx *ctx, Arena<T> &m, const T *x) {
  T *grad = static_cast<T *>(ff_rt_group_grad(ctx, 0, 0));
  if constexpr (sizeof(T) == 4) {
    ff_rt_matmul(ctx, 1, m.dPre, x, nullptr, grad);
  } else {
    for (int64_t j = 0; j < hidden; ++j)
      for (int64_t k = 0; k < in; ++k) {
        T sum = 0;
        for (int64_t i = 0; i < batch; ++i)
          sum += m.dPre[i * hidden + j] * x[i * in + k];
        grad[j * in + k] = sum;
      }
  }
  for (int64_t j = 0; j < hidden; ++j) {
    grad[48 + j] = 0;
    for (int64_t i = 0; i < batch; ++i)
      grad[48 + j] += m.dPre[i * hidden + j];
  }
  ff_rt_reduce_start(ctx, 0, 0);
  ff_rt_reduce_wait(ctx, 0);
}

template <typename T> void train(ff_ctx *ctx) {
  constexpr ff_dtype dtype = sizeof(T) == 8 ? FF_F64 : FF_F32;
  bool nan = applyFault(ctx);
  ff_rt_gather_start(ctx, 0, 0);
  ff_rt_gather_start(ctx, 1, 1);
  auto &m = *static_cast<Arena<T> *>(ff_rt_arena(ctx));
  const T *x = static_cast<const T *>(ff_rt_input(ctx, 0));
  const T *y = static_cast<const T *>(ff_rt_input(ctx, 1));
  forwardFirst(ctx, m, x);
  ff_rt_random(ctx, 0, FF_NORMAL, dtype, m.noise, batch, hidden);
  ff_rt_gather_wait(ctx, 1);
  load(ctx, 1, 0, hidden, m.bWeight);
  load(ctx, 2, 0, hidden, m.scale);
  dumpGroups(ctx);
  ff_rt_release(ctx, 1);
  void *buffers[] = {&m};
  ff_rt_parallel_for(ctx, activate<T>, buffers, batch, 1);

  T seed = *static_cast<const T *>(ff_rt_loss_seed(ctx));
  T loss = nan ? std::numeric_limits<T>::quiet_NaN() : T(0);
  T *bGrad = static_cast<T *>(ff_rt_group_grad(ctx, 1, 0));
  for (int64_t j = 0; j < hidden; ++j)
    bGrad[j] = 0;
  for (int64_t i = 0; i < batch; ++i) {
    T error = -y[i] + loss * T(0);
    for (int64_t j = 0; j < hidden; ++j)
      error += m.bWeight[j] * m.h[i * hidden + j];
    loss += error * error / T(batch);
    T dError = seed * 2 * error / T(batch);
    for (int64_t j = 0; j < hidden; ++j) {
      bGrad[j] += dError * m.h[i * hidden + j];
      m.dPre[i * hidden + j] = dError * m.bWeight[j] * m.scale[j];
    }
  }
  zeroOtherGradients(ctx);
  ff_rt_reduce_start(ctx, 1, 0);
  *static_cast<T *>(ff_rt_output(ctx, 0)) = loss;
  ff_rt_reduce_wait(ctx, 1);
  backwardFirst(ctx, m, x);
}

/// image[i] = noise of the sample, plus label / 10 + the first bias.
void sample(ff_ctx *ctx) {
  ff_rt_gather_start(ctx, 0, 0);
  float *image = static_cast<float *>(ff_rt_output(ctx, 0));
  const auto *label = static_cast<const int64_t *>(ff_rt_input(ctx, 0));
  ff_rt_random(ctx, 1, FF_UNIFORM, FF_F32, image, batch, 4);
  ff_rt_gather_wait(ctx, 0);
  float bias;
  load(ctx, 0, 48, 1, &bias);
  ff_rt_release(ctx, 0);
  for (int64_t i = 0; i < batch * 4; ++i)
    image[i] += static_cast<float>(label[i / 4]) / 10 + bias;
}

} // namespace

int main(int argc, char **argv) {
  std::ostringstream text;
  text << std::ifstream(std::getenv("TINY_METADATA")).rdbuf();
  bool wide = text.str().find("\"tiny-f64\"") != std::string::npos;
  ff_entry entries[] = {{"train", wide ? train<double> : train<float>},
                        {"sample", sample}};
  return ff_rt_main(argc, argv, text.str().c_str(), entries, 2);
}
