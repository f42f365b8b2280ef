//===- MatmulPlan.cpp - How oneDNN does a matmul --------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/compute/MatmulPlan.h"
#include "runtime/core/Error.h"

#include <string_view>

namespace ff::rt {

namespace {

dnnl::memory::data_type dnnlType(DType dtype) {
  switch (dtype) {
  case FF_F32:
    return dnnl::memory::data_type::f32;
  case FF_BF16:
    return dnnl::memory::data_type::bf16;
  case FF_F16:
    return dnnl::memory::data_type::f16;
  default:
    failInternal("matmul of {}", dtypeName(dtype));
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

/// Throws a dnnl::error where oneDNN has no primitive.
dnnl::matmul::primitive_desc createPrimitive(const MatmulType &type,
                                             const dnnl::engine &engine) {
  dnnl::memory::data_type dtype = dnnlType(type.dtype);
  dnnl::memory::data_type result = dnnlType(type.resultDtype());
  auto a = describe(type, type.m, type.k, type.aStrides, dtype);
  auto b = describe(type, type.k, type.n, type.bStrides, dtype);
  auto c = describe(type, type.m, type.n, type.cStrides, result);
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (type.activation != Activation::None) {
    dnnl::post_ops ops;
    // Alpha is the factor of x in a swish, but the slope below 0 of a relu.
    float alpha = type.activation == Activation::Silu ? 1.0f : 0.0f;
    ops.append_eltwise(1.0f, dnnlAlgorithm(type.activation), alpha, 0.0f);
    attr.set_post_ops(ops);
  }
  if (!type.bias)
    return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attr,
                                        engine);
  dnnl::memory::dims dims(type.batch.size() + 1, 1), steps;
  dims.push_back(type.n);
  steps.assign(dims.size(), type.n);
  steps.back() = 1;
  dnnl::memory::desc bias(dims, result, steps);
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, bias, c), attr,
                                      engine);
}

/// The primitive for 16-bit types as they are, or an empty one where oneDNN on
/// this machine has none, or none that is worth having.
dnnl::matmul::primitive_desc tryNarrow(const MatmulType &type,
                                       const dnnl::engine &engine) {
  try {
    auto desc = createPrimitive(type, engine);
    // The reference implementation takes one element at a time.
    return std::string_view(desc.impl_info_str()).substr(0, 3) == "ref"
               ? dnnl::matmul::primitive_desc()
               : desc;
  } catch (const dnnl::error &) {
    return {};
  }
}

size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace

WideCopy MatmulPlan::addCopy(DType dtype, std::vector<int64_t> sizes,
                             std::vector<int64_t> &strides) {
  WideCopy copy;
  if (dtype != FF_BF16 && dtype != FF_F16)
    return copy;
  copy.wanted = true;
  copy.copy = DenseCopy(dtype, std::move(sizes), strides);
  strides = copy.copy.strides();
  copy.offset = scratchBytes;
  scratchBytes += align(static_cast<size_t>(copy.copy.numel()) * sizeof(float));
  return copy;
}

/// The f32 matmul of copies of what is not f32, which get offsets from 0 on.
MatmulType MatmulPlan::widen(MatmulType type) {
  auto sizes = [&](int64_t rows, int64_t columns) {
    std::vector<int64_t> dims = type.batch;
    dims.insert(dims.end(), {rows, columns});
    return dims;
  };
  DType result = type.resultDtype();
  a = addCopy(type.dtype, sizes(type.m, type.k), type.aStrides);
  b = addCopy(type.dtype, sizes(type.k, type.n), type.bStrides);
  c = addCopy(result, sizes(type.m, type.n), type.cStrides);
  if (type.bias) {
    std::vector<int64_t> stride = {1};
    bias = addCopy(result, {type.n}, stride);
  }
  type.dtype = FF_F32;
  type.cDtype.reset();
  return type;
}

MatmulPlan::MatmulPlan(const MatmulType &type, size_t index,
                       const dnnl::engine &engine, bool alwaysWiden)
    : folded(foldMatmul(type)) {
  for (DType dtype : {type.dtype, type.resultDtype()})
    if (!isFloat(dtype) || dtype == FF_F64)
      failInternal("matmul {} has dtype {}, which oneDNN does not compute",
                   index, dtypeName(dtype));
  MatmulType primitive = folded.type;
  bool isNarrow = type.dtype != FF_F32 || type.resultDtype() != FF_F32;
  if (isNarrow && !alwaysWiden)
    desc = tryNarrow(primitive, engine);
  if (!desc) {
    if (isNarrow)
      primitive = widen(std::move(primitive));
    try {
      desc = createPrimitive(primitive, engine);
    } catch (const dnnl::error &e) {
      failInternal("oneDNN on this machine has no matmul {}, m={} n={} k={}: "
                   "{}",
                   index, type.m, type.n, type.k, e.what());
    }
  }
  primitiveOffset = scratchBytes;
  scratchBytes += align(desc.scratchpad_desc().get_size());
}

} // namespace ff::rt
