//===- Matmul.cpp - Matmuls through oneDNN --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/MatmulPlan.h"
#include "runtime/core/Error.h"

#include <algorithm>

namespace ff::rt {

namespace {

void eraseBatchDim(MatmulType &type, size_t dim) {
  type.batch.erase(type.batch.begin() + dim);
  for (auto *strides : {&type.aStrides, &type.bStrides, &type.cStrides})
    strides->erase(strides->begin() + dim);
}

/// Merges batch dim `dim` into the one after it.
bool mergeBatchDim(MatmulType &type, size_t dim) {
  int64_t inner = type.batch[dim + 1];
  for (auto *strides : {&type.aStrides, &type.bStrides, &type.cStrides})
    if ((*strides)[dim] != (*strides)[dim + 1] * inner)
      return false;
  type.batch[dim + 1] *= type.batch[dim];
  eraseBatchDim(type, dim);
  return true;
}

/// Turns the innermost batch dim into rows of a and c where b has none of it.
bool foldIntoRows(MatmulType &type) {
  size_t last = type.batch.size() - 1;
  int64_t aRow = type.aStrides[last + 1], cRow = type.cStrides[last + 1];
  if (type.m == 1) { // the stride of one row means nothing
    aRow = type.aStrides[last];
    cRow = type.cStrides[last];
  }
  if (type.bStrides[last] != 0 || type.aStrides[last] != type.m * aRow ||
      type.cStrides[last] != type.m * cRow)
    return false;
  type.m *= type.batch[last];
  type.aStrides[last + 1] = aRow;
  type.cStrides[last + 1] = cRow;
  eraseBatchDim(type, last);
  return true;
}

} // namespace

FoldedMatmul foldMatmul(MatmulType type) {
  for (size_t i = type.batch.size(); i-- > 0;)
    if (type.batch[i] == 1)
      eraseBatchDim(type, i);
  for (size_t i = type.batch.size(); i-- > 1;)
    mergeBatchDim(type, i - 1);
  while (!type.batch.empty() && foldIntoRows(type))
    ;
  FoldedMatmul folded{std::move(type), false};
  MatmulType &t = folded.type;
  size_t row = t.batch.size(), column = row + 1;
  // c = a·b in column-major order is c' = b'·a' in row-major order.
  if (t.cStrides[column] != 1 && t.n != 1 && t.cStrides[row] == 1 && !t.bias) {
    folded.swapped = true;
    std::swap(t.m, t.n);
    std::swap(t.aStrides, t.bStrides);
    for (auto *strides : {&t.aStrides, &t.bStrides, &t.cStrides})
      std::swap((*strides)[row], (*strides)[column]);
  }
  return folded;
}

double matmulFlops(const MatmulType &type) {
  double flops = 2.0 * static_cast<double>(type.m) *
                 static_cast<double>(type.n) * static_cast<double>(type.k);
  for (int64_t dim : type.batch)
    flops *= static_cast<double>(dim);
  return flops;
}

struct Matmuls::Primitive {
  MatmulPlan plan;
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratch;
  std::vector<dnnl_exec_arg_t> args;

  Primitive(MatmulPlan plan, const dnnl::engine &engine);
};

Matmuls::Primitive::Primitive(MatmulPlan given, const dnnl::engine &engine)
    : plan(std::move(given)), primitive(plan.desc) {
  const dnnl::matmul::primitive_desc &desc = plan.desc;
  a = dnnl::memory(desc.src_desc(), engine, DNNL_MEMORY_NONE);
  b = dnnl::memory(desc.weights_desc(), engine, DNNL_MEMORY_NONE);
  c = dnnl::memory(desc.dst_desc(), engine, DNNL_MEMORY_NONE);
  scratch = dnnl::memory(desc.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
  args = {{DNNL_ARG_SRC, a.get()},
          {DNNL_ARG_WEIGHTS, b.get()},
          {DNNL_ARG_DST, c.get()},
          {DNNL_ARG_SCRATCHPAD, scratch.get()}};
  if (plan.folded.type.bias) {
    bias = dnnl::memory(desc.query_md(dnnl::query::weights_md, 1), engine,
                        DNNL_MEMORY_NONE);
    args.push_back({DNNL_ARG_BIAS, bias.get()});
  }
}

struct Matmuls::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<Primitive> primitives;
  size_t scratchBytes = 0;
  char *scratch = nullptr;
};

Matmuls::Matmuls(const std::vector<MatmulType> &types, bool alwaysWiden)
    : state(std::make_unique<State>()) {
  for (size_t i = 0; i < types.size(); ++i) {
    MatmulPlan plan(types[i], i, state->engine, alwaysWiden);
    state->scratchBytes = std::max(state->scratchBytes, plan.scratchBytes);
    state->primitives.emplace_back(std::move(plan), state->engine);
  }
}

Matmuls::~Matmuls() = default;

size_t Matmuls::scratchBytes() const { return state->scratchBytes; }

void Matmuls::setScratch(void *scratch) {
  state->scratch = static_cast<char *>(scratch);
  for (Primitive &p : state->primitives)
    p.scratch.set_data_handle(state->scratch + p.plan.primitiveOffset);
}

void Matmuls::run(size_t matmul, const void *a, const void *b, const void *bias,
                  void *c) {
  Primitive &p = state->primitives[matmul];
  const MatmulPlan &plan = p.plan;
  char *scratch = state->scratch;
  if (plan.folded.swapped)
    std::swap(a, b);
  // The C functions: those of C++ build a map for every call.
  auto set = [&](const dnnl::memory &memory, const WideCopy &copy,
                 const void *data) {
    if (copy.wanted)
      data = copy.in(scratch);
    dnnl_memory_set_data_handle(memory.get(), const_cast<void *>(data));
  };
  auto setInput = [&](const dnnl::memory &memory, const WideCopy &copy,
                      const void *data) {
    if (copy.wanted)
      copy.copy.widen(data, copy.in(scratch));
    set(memory, copy, data);
  };
  setInput(p.a, plan.a, a);
  setInput(p.b, plan.b, b);
  if (p.bias)
    setInput(p.bias, plan.bias, bias);
  set(p.c, plan.c, c);
  dnnl_status_t status =
      dnnl_primitive_execute(p.primitive.get(), state->stream.get(),
                             static_cast<int>(p.args.size()), p.args.data());
  if (status != dnnl_success)
    fail("oneDNN failed in matmul {} with status {}", matmul,
         static_cast<int>(status));
  if (plan.c.wanted)
    plan.c.copy.narrow(plan.c.in(scratch), c);
}

std::string Matmuls::implementation(size_t matmul) const {
  const MatmulPlan &plan = state->primitives[matmul].plan;
  std::string name = plan.desc.impl_info_str();
  return plan.a.wanted || plan.c.wanted ? "f32 copies, " + name : name;
}

size_t matmulScratchBytes(const std::vector<MatmulType> &types) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  size_t bytes = 0;
  for (size_t i = 0; i < types.size(); ++i)
    bytes = std::max(bytes, MatmulPlan(types[i], i, engine,
                                       /*alwaysWiden=*/false)
                                .scratchBytes);
  return bytes;
}

} // namespace ff::rt
