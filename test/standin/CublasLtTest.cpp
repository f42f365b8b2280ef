// Products against a naive loop on the host: transpositions, orders, batches,
// types, epilogues; what is refused.
#include "runtime/cuda/api/CublasLt.h"
#include "test/standin/Device.h"

#include <cmath>
#include <random>

using namespace standin;
using namespace standin::test;
using namespace ff::rt::cuda::blas;

namespace {
float bf16(float f) {
  uint32_t u = bits(f);
  return number((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000);
}
template <class T> T stored(float f) {
  if constexpr (sizeof(T) == 2)
    return (T)(bits(bf16(f)) >> 16);
  else
    return (T)f;
}
template <class T> double value(T t) {
  if constexpr (sizeof(T) == 2)
    return number((uint32_t)t << 16);
  else
    return t;
}
template <class T> int typeOf() {
  return sizeof(T) == 2 ? R16BF : sizeof(T) == 4 ? R32F : R64F;
}

struct Problem {
  int m = 37, n = 21, k = 45, transA = 0, transB = 0, order = 0, batches = 1,
      epilogue = Default, compute = C32F;
  double alpha = 1, beta = 0;
  size_t workspace = 0;
};
class Blas : public testing::Test {
protected:
  Device dev;
  cublasLtHandle_t handle = nullptr;
  void SetUp() override { ASSERT_EQ(cublasLtCreate(&handle), 0); }
  // Runs the problem and compares. T: A and B; D: C and D.
  template <class T, class D> void run(const Problem &p) {
    int ld[3] = {p.transA ? p.k : p.m, p.transB ? p.n : p.k, p.m},
        other[3] = {p.transA ? p.m : p.k, p.transB ? p.k : p.n, p.n};
    int pad = 3;
    std::mt19937 gen(7);
    std::uniform_real_distribution<float> dist(-1, 1);
    auto fill = [&](auto &v) {
      for (auto &x : v)
        x = stored<std::decay_t<decltype(x)>>(dist(gen));
    };
    auto extent = [&](int i) {
      return (size_t)(p.order ? ld[i] * (other[i] + pad)
                              : (ld[i] + pad) * other[i]);
    };
    auto lead = [&](int i) { return (p.order ? other[i] : ld[i]) + pad; };
    std::vector<T> a(extent(0) * p.batches), b(extent(1) * p.batches);
    std::vector<D> c(extent(2) * p.batches);
    fill(a), fill(b), fill(c);
    int auxLd = (p.m + 127) / 128 * 128;
    std::vector<D> bias(std::max(p.m, p.n)), aux(auxLd * p.n);
    fill(bias), fill(aux);
    bool mask = p.epilogue & (Relu | DRelu);
    std::vector<uint8_t> bitsAux(auxLd * p.n / 8, 0x5a);
    CUdeviceptr pa = dev.put(a), pb = dev.put(b), pc = dev.put(c),
                pd = dev.put(c), pbias = dev.put(bias);
    CUdeviceptr paux = mask ? dev.put(bitsAux) : dev.put(aux),
                pw = dev.empty<char>(1 << 20);
    cublasLtMatmulDesc_t desc;
    int scale = sizeof(T) == 8 ? R64F : R32F;
    ASSERT_EQ(cublasLtMatmulDescCreate(&desc, p.compute, scale), 0);
    int64_t auxLead = auxLd;
    auto set = [&](int attribute, auto v) {
      ASSERT_EQ(cublasLtMatmulDescSetAttribute(desc, attribute, &v, sizeof v),
                0);
    };
    set(TransA, p.transA), set(TransB, p.transB), set(EpilogueKind, p.epilogue),
        set(BiasPointer, pbias), set(AuxPointer, paux), set(AuxLd, auxLead);
    cublasLtMatrixLayout_t l[3];
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(cublasLtMatrixLayoutCreate(
                    &l[i], i == 2 ? typeOf<D>() : typeOf<T>(), (uint64_t)ld[i],
                    (uint64_t)other[i], lead(i)),
                0);
      int64_t stride = (int64_t)extent(i);
      cublasLtMatrixLayoutSetAttribute(l[i], Order, &p.order, 4);
      cublasLtMatrixLayoutSetAttribute(l[i], BatchCount, &p.batches, 4);
      cublasLtMatrixLayoutSetAttribute(l[i], BatchStride, &stride, 8);
    }
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulPreferenceCreate(&pref);
    uint64_t workspace = p.workspace;
    cublasLtMatmulPreferenceSetAttribute(pref, MaxWorkspaceBytes, &workspace,
                                         8);
    cublasLtMatmulHeuristicResult_t h;
    int found = 0;
    ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(handle, desc, l[0], l[1], l[2],
                                             l[2], pref, 1, &h, &found),
              0);
    ASSERT_EQ(found, 1);
    ASSERT_LE(h.workspaceSize, workspace);
    float alphaF = (float)p.alpha, betaF = (float)p.beta;
    const void *alpha = scale == R64F ? (const void *)&p.alpha : &alphaF,
               *beta = scale == R64F ? (const void *)&p.beta : &betaF;
    ASSERT_EQ(cublasLtMatmul(handle, desc, alpha, (void *)pa, l[0], (void *)pb,
                             l[1], beta, (void *)pc, l[2], (void *)pd, l[2],
                             &h.algo, (void *)pw, h.workspaceSize, nullptr),
              0);
    ASSERT_EQ(cuCtxSynchronize(), 0);
    auto d = dev.get<D>(pd, c.size());
    auto biasOut = dev.get<D>(pbias, bias.size());
    auto auxOut = mask ? std::vector<D>() : dev.get<D>(paux, aux.size());
    auto bitsOut = mask ? dev.get<uint8_t>(paux, bitsAux.size()) : bitsAux;
    double tolerance = sizeof(D) == 2              ? 0.04
                       : sizeof(T) == 8            ? 1e-12
                       : p.compute == C32FFastTF32 ? 0.02
                                                   : 2e-4;
    auto index = [&](int i, int r, int col) {
      return p.order ? (size_t)r * lead(i) + col : (size_t)col * lead(i) + r;
    };
    std::vector<double> grad(std::max(p.m, p.n));
    for (int batch = 0; batch < p.batches; ++batch)
      for (int j = 0; j < p.n; ++j)
        for (int i = 0; i < p.m; ++i) {
          double s = 0;
          for (int x = 0; x < p.k; ++x)
            s += value(a[batch * extent(0) +
                         (p.transA ? index(0, x, i) : index(0, i, x))]) *
                 value(b[batch * extent(1) +
                         (p.transB ? index(1, j, x) : index(1, x, j))]);
          s = p.alpha * s +
              p.beta * value(c[batch * extent(2) + index(2, i, j)]);
          int e = p.epilogue, at = j * auxLd + i;
          auto gelu = [](double x) {
            return 0.5 * x *
                   (1 +
                    std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
          };
          if (e & Bias)
            s += value(bias[i]);
          if ((e & Gelu) && (e & Aux))
            ASSERT_NEAR(value(auxOut[at]), s, tolerance);
          if ((e & Relu) && (e & Aux))
            ASSERT_EQ(bitsOut[at / 8] >> at % 8 & 1, s > 0);
          if (e & Relu)
            s = std::max(s, 0.0);
          if (e & Gelu)
            s = gelu(s);
          if (e & DRelu)
            s = bitsAux[at / 8] >> at % 8 & 1 ? s : 0;
          if (e & DGelu) {
            double x = value(aux[at]);
            s *= (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5;
          }
          grad[i] += e & BGrad ? s : 0;
          ASSERT_NEAR(value(d[batch * extent(2) + index(2, i, j)]), s,
                      tolerance)
              << i << "," << j << " of batch " << batch;
        }
    if (p.epilogue & BGradA)
      for (int i = 0; i < p.m; ++i)
        for (int x = 0; x < p.k; ++x)
          grad[i] += value(a[p.transA ? index(0, x, i) : index(0, i, x)]);
    if (p.epilogue & BGradB)
      for (int j = 0; j < p.n; ++j)
        for (int x = 0; x < p.k; ++x)
          grad[j] += value(b[p.transB ? index(1, j, x) : index(1, x, j)]);
    if (p.epilogue & (BGrad | BGradA | BGradB))
      for (int i = 0; i < (p.epilogue & BGradB ? p.n : p.m); ++i)
        ASSERT_NEAR(value(biasOut[i]), grad[i], tolerance * 5)
            << "bias gradient " << i;
  }
};

TEST_F(Blas, TransposesOrdersBatches) {
  for (int transA : {0, 1})
    for (int transB : {0, 1})
      for (int order : {0, 1}) {
        Problem p;
        p.transA = transA, p.transB = transB, p.order = order, p.batches = 2,
        p.alpha = 0.5, p.beta = order ? 2 : 0;
        SCOPED_TRACE(std::to_string(transA) + std::to_string(transB) +
                     std::to_string(order));
        run<float, float>(p);
      }
}
TEST_F(Blas, Types) {
  Problem p;
  p.beta = 1, p.workspace = 4 << 20;
  run<uint16_t, uint16_t>(p);
  run<uint16_t, float>(p);
  p.compute = C32FFastTF32;
  run<float, float>(p);
  p.compute = C64F;
  run<double, double>(p);
  p.compute = C32F, p.m = 130, p.n = 66, p.k = 200;
  run<float, float>(p);
}
TEST_F(Blas, Epilogues) {
  for (int e : {Bias + 0, Relu + 0, Relu | Bias, Gelu + 0, Gelu | Bias,
                Relu | Aux, Relu | Aux | Bias, Gelu | Aux, Gelu | Aux | Bias,
                DRelu | Aux, DRelu | Aux | BGrad, DGelu | Aux,
                DGelu | Aux | BGrad, BGradA + 0, BGradB + 0}) {
    Problem p;
    p.epilogue = e;
    SCOPED_TRACE("epilogue " + std::to_string(e));
    run<float, float>(p);
  }
}
TEST_F(Blas, Refusals) {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t f, h, wide;
  cublasLtMatmulDescCreate(&desc, C32F, R32F);
  cublasLtMatrixLayoutCreate(&f, R32F, 8, 8, 8);
  cublasLtMatrixLayoutCreate(&h, R16F, 8, 8, 8);
  cublasLtMatrixLayoutCreate(&wide, R32F, 8, 9, 8);
  CUdeviceptr x = dev.put(std::vector<float>(64));
  float one = 1, zero = 0;
  auto matmul = [&](cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                    const cublasLtMatmulAlgo_t *algo, CUdeviceptr d) {
    return cublasLtMatmul(handle, desc, &one, (void *)x, a, (void *)x, b, &zero,
                          (void *)d, f, (void *)d, f, algo, nullptr, 0,
                          nullptr);
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(matmul(h, f, nullptr, x), NotSupported); // mixed types
  EXPECT_EQ(matmul(wide, f, nullptr, x), InvalidValue);
  int epilogue = 7777;
  cublasLtMatmulDescSetAttribute(desc, EpilogueKind, &epilogue, 4);
  EXPECT_EQ(matmul(f, f, nullptr, x), NotSupported);
  epilogue = Default;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(desc, EpilogueKind, &epilogue, 8),
            InvalidValue);
  cublasLtMatmulDescSetAttribute(desc, EpilogueKind, &epilogue, 4);
  cublasLtMatmulAlgo_t algo = {{0x66665374616e64ull, 4096}};
  EXPECT_EQ(matmul(f, f, &algo, x), InvalidValue);
  CUdeviceptr space = dev.empty<char>(8192);
  EXPECT_EQ(cublasLtMatmul(handle, desc, &one, (void *)x, f, (void *)x, f,
                           &zero, (void *)x, f, (void *)x, f, &algo,
                           (void *)(space + 64), 4096, nullptr),
            InvalidValue);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      text.find("the algorithm wants a workspace of 4096 bytes, it gets 0"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("not aligned to 256 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("op(A) is 8x9, op(B) 8x8, C 8x8, D 8x8"),
            std::string::npos)
      << text;
  // Memory is checked when the product is executed.
  testing::internal::CaptureStderr();
  EXPECT_EQ(matmul(f, f, nullptr, dev.empty<float>(63)), Success);
  EXPECT_EQ(cuCtxSynchronize(), cuda::ILLEGAL_ADDRESS);
  text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("cublasLtMatmul: D: the 256 bytes at 0x"),
            std::string::npos)
      << text;
}
} // namespace
