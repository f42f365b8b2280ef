//===- Matmul.cpp - Matmuls through oneDNN --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/Matmul.h"
#include "runtime/core/Error.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>

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

dnnl::memory::data_type dnnlType(DType dtype, size_t index) {
  switch (dtype) {
  case FF_F32:
    return dnnl::memory::data_type::f32;
  case FF_BF16:
    return dnnl::memory::data_type::bf16;
  case FF_F16:
    return dnnl::memory::data_type::f16;
  default:
    failInternal("matmul {} has dtype {}, which oneDNN does not compute", index,
                 dtypeName(dtype));
  }
}

dnnl::algorithm dnnlAlgorithm(Activation activation) {
  switch (activation) {
  case Activation::GeluTanh:
    return dnnl::algorithm::eltwise_gelu_tanh;
  case Activation::Gelu:
    return dnnl::algorithm::eltwise_gelu_erf;
  case Activation::Silu:
    return dnnl::algorithm::eltwise_swish;
  case Activation::Relu:
    return dnnl::algorithm::eltwise_relu;
  case Activation::Tanh:
    return dnnl::algorithm::eltwise_tanh;
  case Activation::Sigmoid:
    return dnnl::algorithm::eltwise_logistic;
  case Activation::None:
    break;
  }
  return dnnl::algorithm::undef;
}

/// A memory descriptor [batch..., rows, columns]; a batch dim with stride 0 has
/// size 1, which oneDNN broadcasts.
dnnl::memory::desc describe(const MatmulType &type, int64_t rows,
                            int64_t columns,
                            const std::vector<int64_t> &strides,
                            dnnl::memory::data_type dtype) {
  dnnl::memory::dims dims, steps = strides;
  size_t batchDims = type.batch.size();
  for (size_t i = 0; i < batchDims; ++i)
    dims.push_back(strides[i] == 0 ? 1 : type.batch[i]);
  dims.push_back(rows);
  dims.push_back(columns);
  // The stride of a dim of size 1 is free: take the one of a dense tensor, so
  // that the fast implementations recognise the layout.
  for (size_t i = dims.size(); i-- > 0;)
    if (dims[i] == 1)
      steps[i] = i + 1 < dims.size() ? steps[i + 1] * dims[i + 1] : 1;
  if (columns == 1 && rows > 1)
    steps[batchDims + 1] = 1;
  return dnnl::memory::desc(dims, dtype, steps);
}

dnnl::matmul::primitive_desc describeMatmul(const MatmulType &type,
                                            size_t index,
                                            const dnnl::engine &engine) {
  dnnl::memory::data_type dtype = dnnlType(type.dtype, index);
  auto a = describe(type, type.m, type.k, type.aStrides, dtype);
  auto b = describe(type, type.k, type.n, type.bStrides, dtype);
  auto c = describe(type, type.m, type.n, type.cStrides, dtype);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (type.activation != Activation::None) {
    dnnl::post_ops ops;
    // Alpha is the factor of x in a swish, but the slope below 0 of a relu.
    float alpha = type.activation == Activation::Silu ? 1.0f : 0.0f;
    ops.append_eltwise(1.0f, dnnlAlgorithm(type.activation), alpha, 0.0f);
    attr.set_post_ops(ops);
  }
  try {
    if (!type.bias)
      return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attr,
                                          engine);
    dnnl::memory::dims dims(type.batch.size() + 1, 1), steps;
    dims.push_back(type.n);
    steps.assign(dims.size(), type.n);
    steps.back() = 1;
    dnnl::memory::desc bias(dims, dtype, steps);
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, bias, c), attr,
                                        engine);
  } catch (const dnnl::error &e) {
    fail("oneDNN on this machine has no matmul {} of dtype {}, m={} n={} k={}: "
         "{}; fix: compute_dtype = \"fp32\"",
         index, dtypeName(type.dtype), type.m, type.n, type.k, e.what());
  }
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
  dnnl::matmul::primitive_desc desc;
  dnnl::matmul primitive;
  dnnl::memory a, b, bias, c, scratch;
  bool swapped = false;
  std::vector<dnnl_exec_arg_t> args;
};

struct Matmuls::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::vector<Primitive> primitives;
  size_t scratchBytes = 0;
};

Matmuls::Matmuls(const std::vector<MatmulType> &types)
    : state(std::make_unique<State>()) {
  const dnnl::engine &engine = state->engine;
  for (size_t i = 0; i < types.size(); ++i) {
    FoldedMatmul folded = foldMatmul(types[i]);
    Primitive p;
    p.desc = describeMatmul(folded.type, i, engine);
    p.swapped = folded.swapped;
    p.primitive = dnnl::matmul(p.desc);
    p.a = dnnl::memory(p.desc.src_desc(), engine, DNNL_MEMORY_NONE);
    p.b = dnnl::memory(p.desc.weights_desc(), engine, DNNL_MEMORY_NONE);
    p.c = dnnl::memory(p.desc.dst_desc(), engine, DNNL_MEMORY_NONE);
    p.scratch =
        dnnl::memory(p.desc.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
    p.args = {{DNNL_ARG_SRC, p.a.get()},
              {DNNL_ARG_WEIGHTS, p.b.get()},
              {DNNL_ARG_DST, p.c.get()},
              {DNNL_ARG_SCRATCHPAD, p.scratch.get()}};
    if (folded.type.bias) {
      p.bias = dnnl::memory(p.desc.query_md(dnnl::query::weights_md, 1), engine,
                            DNNL_MEMORY_NONE);
      p.args.push_back({DNNL_ARG_BIAS, p.bias.get()});
    }
    state->scratchBytes =
        std::max(state->scratchBytes, p.desc.scratchpad_desc().get_size());
    state->primitives.push_back(std::move(p));
  }
}

Matmuls::~Matmuls() = default;

size_t Matmuls::scratchBytes() const { return state->scratchBytes; }

void Matmuls::setScratch(void *scratch) {
  for (Primitive &p : state->primitives)
    p.scratch.set_data_handle(scratch);
}

void Matmuls::run(size_t matmul, const void *a, const void *b, const void *bias,
                  void *c) {
  Primitive &p = state->primitives[matmul];
  if (p.swapped)
    std::swap(a, b);
  // The C functions: those of C++ build a map for every call.
  auto set = [](const dnnl::memory &memory, const void *data) {
    dnnl_memory_set_data_handle(memory.get(), const_cast<void *>(data));
  };
  set(p.a, a);
  set(p.b, b);
  set(p.c, c);
  if (p.bias)
    set(p.bias, bias);
  dnnl_status_t status =
      dnnl_primitive_execute(p.primitive.get(), state->stream.get(),
                             static_cast<int>(p.args.size()), p.args.data());
  if (status != dnnl_success)
    fail("oneDNN failed in matmul {} with status {}", matmul,
         static_cast<int>(status));
}

std::string Matmuls::implementation(size_t matmul) const {
  return state->primitives[matmul].desc.impl_info_str();
}

size_t matmulScratchBytes(const std::vector<MatmulType> &types) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  size_t bytes = 0;
  for (size_t i = 0; i < types.size(); ++i)
    bytes = std::max(bytes, describeMatmul(foldMatmul(types[i]).type, i, engine)
                                .scratchpad_desc()
                                .get_size());
  return bytes;
}

} // namespace ff::rt
