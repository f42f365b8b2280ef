//===- CudaMatmuls.cpp - Matmuls through cuBLASLt -------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaMatmuls.h"
#include "runtime/core/Error.h"
#include "runtime/core/Layout.h"
#include "runtime/cuda/MatmulCalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace ff::rt::cuda {

namespace {

const CublasLtApi &api() { return *libraries().cublas; }

void checkBlas(cublasStatus_t status, const char *call) {
  if (status != blas::Success)
    fail("{} failed with {}", call, api().getStatusName(status));
}

/// A descriptor of cuBLASLt.
template <typename T, cublasStatus_t (*CublasLtApi::*destroy)(T)> class Handle {
public:
  Handle() = default;
  Handle(Handle &&other) noexcept : value(other.value) {
    other.value = nullptr;
  }
  Handle &operator=(Handle &&other) noexcept {
    std::swap(value, other.value);
    return *this;
  }
  ~Handle() {
    if (value)
      (api().*destroy)(value);
  }

  T value = nullptr;
};

using Desc = Handle<cublasLtMatmulDesc_t, &CublasLtApi::matmulDescDestroy>;
using Layout =
    Handle<cublasLtMatrixLayout_t, &CublasLtApi::matrixLayoutDestroy>;
using Preference =
    Handle<cublasLtMatmulPreference_t, &CublasLtApi::matmulPreferenceDestroy>;
using Library = Handle<cublasLtHandle_t, &CublasLtApi::destroy>;

int blasType(DType dtype) {
  switch (dtype) {
  case FF_F32:
    return blas::R32F;
  case FF_F64:
    return blas::R64F;
  case FF_F16:
    return blas::R16F;
  case FF_BF16:
    return blas::R16BF;
  default:
    failInternal("matmul of {}", dtypeName(dtype));
  }
}

Layout makeLayout(const ColumnMajor &matrix, DType dtype, int64_t batch) {
  Layout layout;
  checkBlas(api().matrixLayoutCreate(&layout.value, blasType(dtype),
                                     static_cast<uint64_t>(matrix.rows),
                                     static_cast<uint64_t>(matrix.columns),
                                     matrix.ld),
            "cublasLtMatrixLayoutCreate");
  int32_t count = static_cast<int32_t>(batch);
  checkBlas(api().matrixLayoutSetAttribute(layout.value, blas::BatchCount,
                                           &count, sizeof count),
            "cublasLtMatrixLayoutSetAttribute");
  checkBlas(api().matrixLayoutSetAttribute(layout.value, blas::BatchStride,
                                           &matrix.batchStride,
                                           sizeof matrix.batchStride),
            "cublasLtMatrixLayoutSetAttribute");
  return layout;
}

/// What cuBLASLt's heuristic puts first.
struct Algorithm {
  cublasLtMatmulAlgo_t algo;
  size_t workspace;
};

/// Alignment in bytes that fast algorithms want of all operands.
constexpr uint64_t wantedAlignment = 16;

} // namespace

struct CudaMatmuls::State {
  struct Plan {
    MatmulCalls calls;
    std::string text; ///< for messages
    Desc desc;
    Layout a, b, c;
    std::optional<Algorithm> aligned, unaligned;
    uint64_t strides = 0; ///< bytes between matrices, or-ed: their alignment
    uint64_t size = 0, resultSize = 0; ///< bytes of an element
    bool wide = false;                 ///< f64
  };

  State(const std::vector<MatmulType> &types, bool tf32, CUdeviceptr workspace);
  Plan makePlan(const MatmulType &type, size_t index, bool tf32) const;
  Algorithm choose(const Plan &plan, bool aligned) const;
  const Algorithm &algorithm(Plan &plan, bool aligned) const;

  Library library;
  CUdeviceptr workspace;
  std::vector<Plan> plans;
};

namespace {

template <typename T>
void set(const Desc &desc, blas::DescAttribute attribute, T value) {
  checkBlas(
      api().matmulDescSetAttribute(desc.value, attribute, &value, sizeof value),
      "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void set(const Preference &preference, blas::PrefAttribute attribute, T value) {
  checkBlas(api().matmulPreferenceSetAttribute(preference.value, attribute,
                                               &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
}

int32_t epilogueOf(const MatmulType &type, const std::string &text) {
  int32_t epilogue = 0;
  switch (type.activation) {
  case Activation::None:
    break;
  case Activation::Relu:
    epilogue = blas::Relu;
    break;
  case Activation::GeluTanh:
    epilogue = blas::Gelu; // cuBLASLt's is the one with tanh
    break;
  default:
    failInternal("cuBLASLt has no such activation: {}", text);
  }
  if (type.bias)
    epilogue |= blas::Bias;
  if (epilogue && type.dtype == FF_F64)
    fail("cuBLASLt has neither bias nor activation in f64: {}", text);
  return epilogue ? epilogue : int32_t{blas::Default};
}

} // namespace

CudaMatmuls::State::Plan CudaMatmuls::State::makePlan(const MatmulType &type,
                                                      size_t index,
                                                      bool tf32) const {
  Plan plan;
  plan.text = matmulText(type, index);
  DType result = type.resultDtype();
  bool narrow = type.dtype == FF_BF16 || type.dtype == FF_F16;
  if (result != type.dtype && !(narrow && result == FF_F32))
    failInternal("cuBLASLt has no such types: {}", plan.text);
  plan.calls = matmulCalls(type, index);
  plan.wide = type.dtype == FF_F64;
  plan.size = dtypeSize(type.dtype);
  plan.resultSize = dtypeSize(result);
  int compute = plan.wide                      ? blas::C64F
                : type.dtype == FF_F32 && tf32 ? blas::C32FFastTF32
                                               : blas::C32F;
  checkBlas(api().matmulDescCreate(&plan.desc.value, compute,
                                   plan.wide ? blas::R64F : blas::R32F),
            "cublasLtMatmulDescCreate");
  const MatmulCalls &calls = plan.calls;
  set(plan.desc, blas::TransA, int32_t{calls.b.transposed});
  set(plan.desc, blas::TransB, int32_t{calls.a.transposed});
  set(plan.desc, blas::EpilogueKind, epilogueOf(type, plan.text));
  if (type.bias) // replaced in each call; the heuristic wants one
    set(plan.desc, blas::BiasPointer, workspace);
  plan.a = makeLayout(calls.a, type.dtype, calls.batch);
  plan.b = makeLayout(calls.b, type.dtype, calls.batch);
  plan.c = makeLayout(calls.c, result, calls.batch);
  if (calls.batch > 1)
    plan.strides =
        static_cast<uint64_t>(calls.a.batchStride | calls.b.batchStride) *
            plan.size |
        static_cast<uint64_t>(calls.c.batchStride) * plan.resultSize;
  return plan;
}

Algorithm CudaMatmuls::State::choose(const Plan &plan, bool aligned) const {
  Preference preference;
  checkBlas(api().matmulPreferenceCreate(&preference.value),
            "cublasLtMatmulPreferenceCreate");
  set(preference, blas::MaxWorkspaceBytes, uint64_t{deviceMatmulScratch});
  // By default it may add the parts of a long sum in bf16 or f16.
  if (plan.resultSize < sizeof(float))
    set(preference, blas::ReductionSchemeMask, uint32_t{blas::InComputeType});
  auto alignment = [&](uint64_t size) {
    return static_cast<uint32_t>(aligned ? wantedAlignment : size);
  };
  set(preference, blas::MinAlignmentA, alignment(plan.size));
  set(preference, blas::MinAlignmentB, alignment(plan.size));
  set(preference, blas::MinAlignmentC, alignment(plan.resultSize));
  set(preference, blas::MinAlignmentD, alignment(plan.resultSize));
  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  cublasStatus_t status = api().matmulAlgoGetHeuristic(
      library.value, plan.desc.value, plan.b.value, plan.a.value, plan.c.value,
      plan.c.value, preference.value, 1, &result, &found);
  if (status != blas::Success || found == 0 || result.state != blas::Success)
    fail("cuBLASLt has no algorithm for {}: {}", plan.text,
         api().getStatusName(status != blas::Success ? status : result.state));
  return {result.algo, result.workspaceSize};
}

const Algorithm &CudaMatmuls::State::algorithm(Plan &plan, bool aligned) const {
  std::optional<Algorithm> &place = aligned ? plan.aligned : plan.unaligned;
  if (!place)
    place = choose(plan, aligned);
  return *place;
}

CudaMatmuls::State::State(const std::vector<MatmulType> &types, bool tf32,
                          CUdeviceptr workspace)
    : workspace(workspace) {
  checkBlas(api().create(&library.value), "cublasLtCreate");
  for (size_t i = 0; i < types.size(); ++i) {
    plans.push_back(makePlan(types[i], i, tf32));
    algorithm(plans.back(), plans.back().strides % wantedAlignment == 0);
  }
}

CudaMatmuls::CudaMatmuls(const std::vector<MatmulType> &types, bool tf32,
                         CUdeviceptr workspace)
    : state(std::make_unique<State>(types, tf32, workspace)) {}

CudaMatmuls::~CudaMatmuls() = default;

void CudaMatmuls::run(size_t matmul, const void *a, const void *b,
                      const void *bias, void *c, const Stream &stream) {
  State::Plan &plan = state->plans[matmul];
  if (plan.calls.swapped)
    std::swap(a, b);
  if (bias)
    set(plan.desc, blas::BiasPointer, bias);
  auto address = [](const void *data) {
    return reinterpret_cast<uint64_t>(data);
  };
  const double ones[2] = {1, 0};
  const float onesNarrow[2] = {1, 0};
  const void *alpha = plan.wide ? static_cast<const void *>(ones) : onesNarrow;
  const void *beta =
      plan.wide ? static_cast<const void *>(ones + 1) : onesNarrow + 1;
  for (const auto &offset : plan.calls.offsets) {
    auto at = [&](const void *data, int64_t elements, uint64_t size) {
      return static_cast<const char *>(data) +
             elements * static_cast<int64_t>(size);
    };
    const char *aHere = at(a, offset[0], plan.size);
    const char *bHere = at(b, offset[1], plan.size);
    char *cHere = const_cast<char *>(at(c, offset[2], plan.resultSize));
    bool aligned = (address(aHere) | address(bHere) | address(cHere) |
                    address(bias) | plan.strides) %
                       wantedAlignment ==
                   0;
    const Algorithm &algorithm = state->algorithm(plan, aligned);
    cublasStatus_t status = api().matmul(
        state->library.value, plan.desc.value, alpha, bHere, plan.b.value,
        aHere, plan.a.value, beta, cHere, plan.c.value, cHere, plan.c.value,
        &algorithm.algo, reinterpret_cast<void *>(state->workspace),
        algorithm.workspace, stream.handle);
    if (status != blas::Success)
      fail("cuBLASLt failed with {} in {}", api().getStatusName(status),
           plan.text);
  }
}

std::string CudaMatmuls::implementation(size_t matmul) const {
  const MatmulCalls &calls = state->plans[matmul].calls;
  std::string text =
      fmt::format("cublasLt {}{}", calls.b.transposed ? 'T' : 'N',
                  calls.a.transposed ? 'T' : 'N');
  if (calls.batch > 1)
    text += fmt::format(", batch {}", calls.batch);
  if (calls.offsets.size() > 1)
    text += fmt::format(", {} calls", calls.offsets.size());
  return text;
}

} // namespace ff::rt::cuda
