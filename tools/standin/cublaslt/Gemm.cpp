// D = epilogue(alpha op(A) op(B) + beta C) on the CPU: operands are widened to
// f32 (or f64), summed in the order of k, rounded once.
#include "tools/standin/cublaslt/Gemm.h"
#include "tools/standin/exec/Lanes.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace standin::blas {

using namespace exec::FF_STANDIN_ISA;

unsigned bytesOf(int type) {
  return type == R32F                    ? 4
         : type == R64F                  ? 8
         : type == R16F || type == R16BF ? 2
                                         : 0;
}

namespace {
struct Failed {};

template <class T> T fetch(const uint8_t *p, int type, uint64_t i) {
  uint16_t h;
  float f;
  double d;
  switch (type) {
  case R32F:
    memcpy(&f, p + 4 * i, 4);
    return (T)f;
  case R64F:
    memcpy(&d, p + 8 * i, 8);
    return (T)d;
  case R16F:
    memcpy(&h, p + 2 * i, 2);
    return (T)fromF16(h);
  default:
    memcpy(&h, p + 2 * i, 2);
    return (T)fromBf16(h);
  }
}
template <class T> void put(uint8_t *p, int type, uint64_t i, T v) {
  float f = (float)v;
  double d = (double)v;
  uint16_t h;
  switch (type) {
  case R32F:
    memcpy(p + 4 * i, &f, 4);
    break;
  case R64F:
    memcpy(p + 8 * i, &d, 8);
    break;
  case R16F:
    h = toF16(f), memcpy(p + 2 * i, &h, 2);
    break;
  default:
    h = toBf16(f), memcpy(p + 2 * i, &h, 2);
    break;
  }
}

// A matrix of one batch on the host, checked column by column where its columns
// do not touch.
struct View {
  uint8_t *p = nullptr;
  int type;
  uint64_t rowStep, colStep;
  uint64_t at(uint64_t r, uint64_t c) const {
    return r * rowStep + c * colStep;
  }
};
uint8_t *need(const char *what, uint64_t addr, uint64_t bytes, bool reads,
              bool writes) {
  void *p = ffStandinMemory(what, addr, bytes, reads, writes);
  if (!p)
    throw Failed();
  return (uint8_t *)p;
}
View view(const char *what, uint64_t addr, const Layout &l, int batch,
          bool reads, bool writes) {
  unsigned e = bytesOf(l.type);
  addr += (uint64_t)(l.stride * batch) * e;
  uint64_t inner = l.order ? l.cols : l.rows, outer = l.order ? l.rows : l.cols;
  View v;
  v.type = l.type, v.rowStep = l.order ? (uint64_t)l.ld : 1,
  v.colStep = l.order ? 1 : (uint64_t)l.ld;
  bool dense = (uint64_t)l.ld == inner;
  v.p = need(what, addr, ((outer - 1) * (uint64_t)l.ld + inner) * e,
             reads && dense, writes && dense);
  for (uint64_t o = 0; o < outer && !dense; ++o)
    need(what, addr + o * (uint64_t)l.ld * e, inner * e, reads, writes);
  return v;
}

// acc[j][i] += sum over k of a[k][i] b[k][j], for m rows that lie together.
template <class T>
inline __attribute__((always_inline)) void
multiplyAs(const T *a, const T *b, T *d, uint64_t m, uint64_t n, uint64_t k) {
  constexpr uint64_t rows = 64;
  for (uint64_t i0 = 0; i0 < m; i0 += rows)
    for (uint64_t j0 = 0; j0 < n; j0 += 4) {
      T acc[4][rows] = {};
      uint64_t nj = std::min<uint64_t>(4, n - j0);
      for (uint64_t p = 0; p < k; ++p) {
        const T *x = a + p * m + i0;
        T y[4] = {};
        for (uint64_t j = 0; j < nj; ++j)
          y[j] = b[p * n + j0 + j];
        for (uint64_t i = 0; i < rows; ++i) {
          acc[0][i] += x[i] * y[0];
          acc[1][i] += x[i] * y[1];
          acc[2][i] += x[i] * y[2];
          acc[3][i] += x[i] * y[3];
        }
      }
      for (uint64_t j = 0; j < nj; ++j)
        for (uint64_t i = 0; i < std::min(rows, m - i0); ++i)
          d[(j0 + j) * m + i0 + i] = acc[j][i];
    }
}
#if defined(__x86_64__)
#define FF_CLONES __attribute__((target_clones("default", "avx2")))
#else
#define FF_CLONES
#endif
FF_CLONES void multiply(const float *a, const float *b, float *d, uint64_t m,
                        uint64_t n, uint64_t k) {
  multiplyAs(a, b, d, m, n, k);
}
FF_CLONES void multiply(const double *a, const double *b, double *d, uint64_t m,
                        uint64_t n, uint64_t k) {
  multiplyAs(a, b, d, m, n, k);
}

template <class T> T geluOf(T x) {
  const double c = 0.7978845608028654; // sqrt(2 / pi)
  return (T)(0.5 * x * (1 + std::tanh(c * (x + 0.044715 * x * x * x))));
}
template <class T> T geluGradient(T x) {
  const double c = 0.7978845608028654;
  double t = std::tanh(c * (x + 0.044715 * x * x * x));
  return (T)(0.5 * (1 + t) +
             0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x));
}
float cut(float v, int compute) {
  switch (compute) {
  case C32FFastTF32:
    return bitsToFloat((uint32_t)roundTo(v, {11, 8}, Round::Away) << 13);
  case C32FFast16BF:
    return fromBf16(toBf16(v));
  case C32FFast16F:
    return fromF16(toF16(v));
  default:
    return v;
  }
}

template <class T> void run(const Matmul &m) {
  const Desc &s = m.desc;
  uint64_t rows = m.d.rows, cols = m.d.cols, k = s.transA ? m.a.rows : m.a.cols;
  T alpha, beta;
  if (s.pointerMode) {
    memcpy(&alpha,
           need("cublasLtMatmul: alpha", m.alpha, sizeof(T), true, false),
           sizeof(T));
    memcpy(&beta, need("cublasLtMatmul: beta", m.beta, sizeof(T), true, false),
           sizeof(T));
  } else {
    memcpy(&alpha, &m.alpha, sizeof(T)), memcpy(&beta, &m.beta, sizeof(T));
  }
  // The workspace is scratch: whoever keeps something in it finds it gone.
  if (m.workspaceBytes)
    memset(need("cublasLtMatmul: workspace", m.workspace, m.workspaceBytes,
                false, true),
           0xa5, m.workspaceBytes);
  std::vector<T> a(k * rows + 64), b(k * cols), acc(rows * cols);
  int auxType = s.auxType < 0 ? m.d.type : s.auxType,
      biasType = s.biasType < 0 ? m.d.type : s.biasType;
  for (int batch = 0; batch < m.d.batches; ++batch) {
    View A = view("cublasLtMatmul: A", m.A, m.a, batch, true, false),
         B = view("cublasLtMatmul: B", m.B, m.b, batch, true, false);
    for (uint64_t p = 0; p < k; ++p) {
      for (uint64_t i = 0; i < rows; ++i)
        a[p * rows + i] =
            fetch<T>(A.p, A.type, s.transA ? A.at(p, i) : A.at(i, p));
      for (uint64_t j = 0; j < cols; ++j)
        b[p * cols + j] =
            fetch<T>(B.p, B.type, s.transB ? B.at(j, p) : B.at(p, j));
    }
    if constexpr (sizeof(T) == 4)
      if (s.compute != C32F && s.compute != C32FPedantic) {
        for (T &v : a)
          v = cut(v, s.compute);
        for (T &v : b)
          v = cut(v, s.compute);
      }
    multiply(a.data(), b.data(), acc.data(), rows, cols, k);
    View C{}, D;
    if (beta != 0)
      C = view("cublasLtMatmul: C", m.C, m.c, batch, true, false);
    D = view("cublasLtMatmul: D", m.D, m.d, batch, false, true);
    int e = s.epilogue;
    uint8_t *bias = nullptr, *aux = nullptr;
    bool gradient = e & (BGrad | BGradA | BGradB),
         backward = e & (DRelu | DGelu);
    uint64_t biasCount = e & BGradB ? cols : rows;
    if (e & (Bias | BGrad | BGradA | BGradB))
      bias = need("cublasLtMatmul: bias",
                  s.bias + (uint64_t)(s.biasStride * batch) * bytesOf(biasType),
                  biasCount * bytesOf(biasType), !gradient, gradient);
    uint64_t auxLd = (uint64_t)s.auxLd;
    bool mask = e & (Relu | DRelu);
    if (e & Aux)
      aux = need("cublasLtMatmul: aux",
                 s.aux +
                     (mask ? (uint64_t)s.auxStride * batch / 8
                           : (uint64_t)s.auxStride * batch * bytesOf(auxType)),
                 mask ? ((cols - 1) * auxLd + rows + 7) / 8
                      : ((cols - 1) * auxLd + rows) * bytesOf(auxType),
                 backward && auxLd == rows, !backward);
    std::vector<T> sums(biasCount);
    for (uint64_t j = 0; j < cols; ++j)
      for (uint64_t i = 0; i < rows; ++i) {
        T v = alpha * acc[j * rows + i];
        if (beta != 0)
          v += beta * fetch<T>(C.p, C.type, C.at(i, j));
        if (e & Bias)
          v += fetch<T>(bias, biasType, i);
        uint64_t x = j * auxLd + i;
        if (e & Relu) {
          if (e & Aux)
            aux[x / 8] =
                (uint8_t)((aux[x / 8] & ~(1u << x % 8)) | (v > 0) << x % 8);
          v = v > 0 ? v : 0;
        } else if (e & Gelu) {
          if (e & Aux)
            put<T>(aux, auxType, x, v);
          v = geluOf(v);
        } else if (e & DRelu) {
          v = aux[x / 8] >> x % 8 & 1 ? v : 0;
        } else if (e & DGelu) {
          v *= geluGradient(fetch<T>(aux, auxType, x));
        }
        if (e & BGrad)
          sums[i] += v;
        put<T>(D.p, D.type, D.at(i, j), v);
      }
    if (e & BGradA)
      for (uint64_t p = 0; p < k; ++p)
        for (uint64_t i = 0; i < rows; ++i)
          sums[i] += a[p * rows + i];
    if (e & BGradB)
      for (uint64_t p = 0; p < k; ++p)
        for (uint64_t j = 0; j < cols; ++j)
          sums[j] += b[p * cols + j];
    for (uint64_t i = 0; gradient && i < biasCount; ++i)
      put<T>(bias, biasType, i, sums[i]);
  }
}
} // namespace

CUresult execute(void *p) {
  const Matmul &m = *(const Matmul *)p;
  try {
    m.desc.scale == R64F ? run<double>(m) : run<float>(m);
    return cuda::SUCCESS;
  } catch (Failed &) {
    return cuda::ILLEGAL_ADDRESS;
  }
}

int check(const Matmul &m, std::string &why) {
  const Desc &s = m.desc;
  auto say = [&](int status, const std::string &text) {
    why = text;
    return status;
  };
  if (s.transA < 0 || s.transA > 1 || s.transB < 0 || s.transB > 1)
    return say(NotSupported, "only transpositions N and T are modelled");
  uint64_t rows = s.transA ? m.a.cols : m.a.rows,
           k = s.transA ? m.a.rows : m.a.cols;
  uint64_t kb = s.transB ? m.b.cols : m.b.rows,
           cols = s.transB ? m.b.rows : m.b.cols;
  auto size = [](uint64_t r, uint64_t c) {
    return std::to_string(r) + "x" + std::to_string(c);
  };
  if (k != kb || m.d.rows != rows || m.d.cols != cols || m.c.rows != rows ||
      m.c.cols != cols || !rows || !cols || !k)
    return say(InvalidValue, "op(A) is " + size(rows, k) + ", op(B) " +
                                 size(kb, cols) + ", C " +
                                 size(m.c.rows, m.c.cols) + ", D " +
                                 size(m.d.rows, m.d.cols));
  for (const Layout *l : {&m.a, &m.b, &m.c, &m.d}) {
    if (l->order < 0 || l->order > 1)
      return say(NotSupported, "only row and column order are modelled");
    if (l->ld < (int64_t)(l->order ? l->cols : l->rows))
      return say(InvalidValue,
                 "a leading dimension of " + std::to_string(l->ld) +
                     " is below that of " + size(l->rows, l->cols));
    if (l->batches != m.d.batches)
      return say(InvalidValue,
                 "the matrices have different numbers of batches");
  }
  bool is64 = s.compute == C64F || s.compute == C64FPedantic;
  bool fast = s.compute == C32FFastTF32 || s.compute == C32FFast16BF ||
              s.compute == C32FFast16F;
  if (!is64 && !fast && s.compute != C32F && s.compute != C32FPedantic)
    return say(NotSupported, "compute type " + std::to_string(s.compute));
  int t = m.a.type, d = m.d.type;
  bool types = is64 ? t == R64F && d == R64F && s.scale == R64F
               : fast
                   ? t == R32F && d == R32F && s.scale == R32F
                   : s.scale == R32F &&
                         ((t == R32F && d == R32F) ||
                          ((t == R16F || t == R16BF) && (d == t || d == R32F)));
  if (!types || m.b.type != t || m.c.type != d)
    return say(NotSupported, "the types of A, B, C, D (" + std::to_string(t) +
                                 ", " + std::to_string(m.b.type) + ", " +
                                 std::to_string(m.c.type) + ", " +
                                 std::to_string(d) + ") with compute type " +
                                 std::to_string(s.compute) +
                                 " and scale type " + std::to_string(s.scale));
  int e = s.epilogue;
  static const int known[] = {Default,     Relu,
                              Relu | Aux,  Bias,
                              Relu | Bias, Relu | Aux | Bias,
                              DRelu | Aux, DRelu | Aux | BGrad,
                              Gelu,        Gelu | Aux,
                              Gelu | Bias, Gelu | Aux | Bias,
                              DGelu | Aux, DGelu | Aux | BGrad,
                              BGradA,      BGradB};
  bool found = false;
  for (int x : known)
    found |= x == e;
  if (!found)
    return say(NotSupported, "epilogue " + std::to_string(e));
  if (e != Default && (m.d.order || is64))
    return say(NotSupported, "epilogues with row order or f64");
  if (s.biasType >= 0 && s.biasType != d &&
      !(s.biasType == R32F || s.biasType == t))
    return say(NotSupported, "bias type " + std::to_string(s.biasType));
  if ((e & (Bias | BGrad | BGradA | BGradB)) && !s.bias)
    return say(InvalidValue, "the epilogue needs a bias pointer");
  if (e & Aux) {
    bool mask = e & (Relu | DRelu);
    if (!s.aux || s.auxLd < (int64_t)rows || s.auxLd % (mask ? 128 : 8) ||
        s.aux % 16)
      return say(InvalidValue,
                 "the epilogue needs an aux pointer (16 bytes aligned) and "
                 "leading dimension (a multiple of " +
                     std::to_string(mask ? 128 : 8) + ", at least the rows)");
  }
  if (s.pointerMode < 0 || s.pointerMode > 1)
    return say(NotSupported, "pointer mode " + std::to_string(s.pointerMode));
  return Success;
}

} // namespace standin::blas
