// cuBLASLt's entry points.
#include "tools/standin/cublaslt/Gemm.h"

#include <cstdlib>
#include <cstring>

#define FF_BLAS extern "C" __attribute__((visibility("default")))

using namespace standin::blas;

struct cublasLtContext {
  int device;
};

namespace {
static_assert(sizeof(Layout) <= 64 && sizeof(Desc) <= 256,
              "they lie in the opaque structures of the API");
// The need of every algorithm here that gets so much: a trainer that lends it
// sees it overwritten.
constexpr uint64_t workspaceWanted = 1 << 20;

int refuse(int status, const char *call, const std::string &why) {
  ffStandinSay((std::string(call) +
                (status == NotSupported ? " does not support " : ": ") + why)
                   .c_str());
  return status;
}
template <class T> bool take(T &to, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return false;
  memcpy(&to, value, bytes);
  return true;
}
Layout &layout(cublasLtMatrixLayout_t l) { return *(Layout *)l; }
Desc &desc(cublasLtMatmulDesc_t d) { return *(Desc *)d; }
} // namespace

FF_BLAS cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) {
  if (!h)
    return InvalidValue;
  int device = ffStandinDevice(nullptr);
  if (device < 0)
    return refuse(NotInitialized, "cublasLtCreate", "no context is current");
  *h = new cublasLtContext{device};
  return Success;
}
FF_BLAS cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) {
  delete h;
  return Success;
}
FF_BLAS size_t cublasLtGetVersion() { return 130000; }
FF_BLAS const char *cublasLtGetStatusName(cublasStatus_t s) {
  switch (s) {
  case Success:
    return "CUBLAS_STATUS_SUCCESS";
  case NotInitialized:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case InvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case ExecutionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case NotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  default:
    return "CUBLAS_STATUS unknown";
  }
}
FF_BLAS const char *cublasLtGetStatusString(cublasStatus_t s) {
  return cublasLtGetStatusName(s);
}

FF_BLAS cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t d,
                                                       size_t bytes,
                                                       int compute, int scale) {
  if (!d || bytes < sizeof(Desc))
    return InvalidValue;
  Desc s{};
  s.compute = compute, s.scale = scale, s.epilogue = Default,
  s.auxType = s.biasType = -1;
  memset((void *)d, 0, bytes);
  desc(d) = s;
  return Success;
}
FF_BLAS cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                                int compute, int scale) {
  *out = (cublasLtMatmulDesc_t)malloc(256);
  return cublasLtMatmulDescInit_internal(*out, 256, compute, scale);
}
FF_BLAS cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  free((void *)d);
  return Success;
}
FF_BLAS cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                                      int attribute,
                                                      const void *v, size_t n) {
  Desc &s = desc(d);
  bool ok = true;
  int32_t ignored;
  switch (attribute) {
  case ComputeType:
    ok = take(s.compute, v, n);
    break;
  case ScaleType:
    ok = take(s.scale, v, n);
    break;
  case PointerMode:
    ok = take(s.pointerMode, v, n);
    break;
  case TransA:
    ok = take(s.transA, v, n);
    break;
  case TransB:
    ok = take(s.transB, v, n);
    break;
  case TransC:
    ok = take(s.transC, v, n);
    if (ok && s.transC)
      return refuse(NotSupported, "cublasLtMatmulDescSetAttribute",
                    "a transposed C");
    break;
  case EpilogueKind:
    ok = take(s.epilogue, v, n);
    break;
  case BiasPointer:
    ok = take(s.bias, v, n);
    break;
  case BiasBatchStride:
    ok = take(s.biasStride, v, n);
    break;
  case AuxPointer:
    ok = take(s.aux, v, n);
    break;
  case AuxLd:
    ok = take(s.auxLd, v, n);
    break;
  case AuxBatchStride:
    ok = take(s.auxStride, v, n);
    break;
  case AuxDataType:
    ok = take(s.auxType, v, n);
    break;
  case BiasDataType:
    ok = take(s.biasType, v, n);
    break;
  case SmCountTarget:
    ok = take(ignored, v, n);
    break;
  default:
    return refuse(NotSupported, "cublasLtMatmulDescSetAttribute",
                  "attribute " + std::to_string(attribute));
  }
  return ok ? (int)Success
            : refuse(InvalidValue, "cublasLtMatmulDescSetAttribute",
                     std::to_string(n) +
                         " bytes are not the size of attribute " +
                         std::to_string(attribute));
}

FF_BLAS cublasStatus_t cublasLtMatrixLayoutInit_internal(
    cublasLtMatrixLayout_t l, size_t bytes, int type, uint64_t rows,
    uint64_t cols, int64_t ld) {
  if (!l || bytes < sizeof(Layout))
    return InvalidValue;
  memset((void *)l, 0, bytes);
  layout(l) = {type, 0, rows, cols, ld, 0, 1};
  return Success;
}
FF_BLAS cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                  int type, uint64_t rows,
                                                  uint64_t cols, int64_t ld) {
  *out = (cublasLtMatrixLayout_t)malloc(64);
  return cublasLtMatrixLayoutInit_internal(*out, 64, type, rows, cols, ld);
}
FF_BLAS cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) {
  free((void *)l);
  return Success;
}
FF_BLAS cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t l, int attribute, const void *v, size_t n) {
  Layout &s = layout(l);
  bool ok = true;
  switch (attribute) {
  case LayoutType:
    ok = take(s.type, v, n);
    break;
  case Order:
    ok = take(s.order, v, n);
    break;
  case Rows:
    ok = take(s.rows, v, n);
    break;
  case Cols:
    ok = take(s.cols, v, n);
    break;
  case Ld:
    ok = take(s.ld, v, n);
    break;
  case BatchCount:
    ok = take(s.batches, v, n);
    break;
  case BatchStride:
    ok = take(s.stride, v, n);
    break;
  default:
    return refuse(NotSupported, "cublasLtMatrixLayoutSetAttribute",
                  "attribute " + std::to_string(attribute));
  }
  return ok ? (int)Success
            : refuse(InvalidValue, "cublasLtMatrixLayoutSetAttribute",
                     std::to_string(n) +
                         " bytes are not the size of attribute " +
                         std::to_string(attribute));
}

FF_BLAS cublasStatus_t cublasLtMatmulPreferenceInit_internal(
    cublasLtMatmulPreference_t p, size_t bytes) {
  memset((void *)p, 0, bytes);
  return Success;
}
FF_BLAS cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out) {
  *out = (cublasLtMatmulPreference_t)calloc(1, 64);
  return Success;
}
FF_BLAS cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  free((void *)p);
  return Success;
}
FF_BLAS cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p, int attribute, const void *v, size_t n) {
  if (attribute == MaxWorkspaceBytes && !take(*(uint64_t *)p, v, n))
    return refuse(InvalidValue, "cublasLtMatmulPreferenceSetAttribute",
                  "the workspace's size has 8 bytes");
  return Success; // the others guide a search that does not happen here
}

FF_BLAS cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t h, cublasLtMatmulDesc_t s, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t p, int requested,
    cublasLtMatmulHeuristicResult_t *results, int *returned) {
  if (!h || !s || !a || !b || !c || !d || !p || requested < 1 || !results ||
      !returned)
    return refuse(InvalidValue, "cublasLtMatmulAlgoGetHeuristic",
                  "a null pointer, or no result requested");
  *returned = 0;
  Matmul m{};
  m.desc = desc(s), m.a = layout(a), m.b = layout(b), m.c = layout(c),
  m.d = layout(d);
  // Pointers may be set later.
  if (!m.desc.bias)
    m.desc.bias = 16;
  if (!m.desc.aux)
    m.desc.aux = 16;
  std::string why;
  if (int r = check(m, why))
    return refuse(r, "cublasLtMatmulAlgoGetHeuristic", why);
  memset((void *)results, 0, sizeof *results);
  results->workspaceSize = std::min<uint64_t>(*(uint64_t *)p, workspaceWanted);
  results->algo.data[0] = 0x66665374616e64ull,
  results->algo.data[1] = results->workspaceSize;
  results->wavesCount = 1;
  *returned = 1;
  return Success;
}

FF_BLAS cublasStatus_t
cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t s, const void *alpha,
               const void *A, cublasLtMatrixLayout_t a, const void *B,
               cublasLtMatrixLayout_t b, const void *beta, const void *C,
               cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
               const cublasLtMatmulAlgo_t *algo, void *workspace,
               size_t workspaceBytes, CUstream stream) {
  if (!h || !s || !alpha || !beta || !A || !B || !D || !a || !b || !c || !d)
    return refuse(InvalidValue, "cublasLtMatmul", "a null pointer");
  auto *m = new Matmul{};
  m->desc = desc(s), m->a = layout(a), m->b = layout(b), m->c = layout(c),
  m->d = layout(d);
  m->A = (uint64_t)A, m->B = (uint64_t)B, m->C = (uint64_t)C,
  m->D = (uint64_t)D;
  std::string why;
  int status = check(*m, why);
  uint64_t wants = algo ? algo->data[1]
                        : std::min<uint64_t>(workspaceBytes, workspaceWanted);
  if (!status && algo && algo->data[0] != 0x66665374616e64ull)
    status = InvalidValue,
    why = "the algorithm is not one that cublasLtMatmulAlgoGetHeuristic gave";
  if (!status && wants > workspaceBytes)
    status = InvalidValue, why = "the algorithm wants a workspace of " +
                                 std::to_string(wants) + " bytes, it gets " +
                                 std::to_string(workspaceBytes);
  if (!status && wants && (!workspace || (uint64_t)workspace % 256))
    status = InvalidValue,
    why = "the workspace is a null pointer or not aligned to 256 bytes";
  if (status) {
    delete m;
    return refuse(status, "cublasLtMatmul", why);
  }
  m->workspace = (uint64_t)workspace, m->workspaceBytes = wants;
  if (m->desc.pointerMode) {
    m->alpha = (uint64_t)alpha, m->beta = (uint64_t)beta;
  } else {
    size_t n = bytesOf(m->desc.scale);
    memcpy(&m->alpha, alpha, n), memcpy(&m->beta, beta, n);
  }
  CUresult r = ffStandinEnqueue(stream, "cublasLtMatmul", execute, m,
                                [](void *p) { delete (Matmul *)p; });
  return r ? refuse(ExecutionFailed, "cublasLtMatmul",
                    "the stream refuses work with CUresult " +
                        std::to_string(r))
           : (int)Success;
}
