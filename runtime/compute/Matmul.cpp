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
