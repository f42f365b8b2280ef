// Reductions in the order of the ranks; halves are summed in f32 and rounded
// once.
#include "runtime/cuda/api/Nccl.h"
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Lanes.h"
#include "tools/standin/nccl/Segment.h"

namespace standin::nccl {

using exec::FF_STANDIN_ISA::fromBf16;
using exec::FF_STANDIN_ISA::fromF16;
using exec::FF_STANDIN_ISA::toBf16;
using exec::FF_STANDIN_ISA::toF16;

unsigned bytesOf(int type) {
  static const unsigned sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type >= 0 && type < 10 ? sizes[type] : 0;
}
const char *typeName(int type) {
  static const char *names[] = {"i8",  "u8",  "i32", "u32", "i64",
                                "u64", "f16", "f32", "f64", "bf16"};
  return type >= 0 && type < 10 ? names[type] : "unknown type";
}

namespace {
// T as stored, A as accumulated. Integers wrap: the sum is that of unsigned
// numbers.
template <class T, class A, class Get, class Put>
void run(void *out, const void *const *parts, int ranks, uint64_t count, int op,
         Get get, Put put) {
  T *d = (T *)out;
  for (uint64_t i = 0; i < count; ++i) {
    A acc = get(((const T *)parts[0])[i]);
    for (int r = 1; r < ranks; ++r) {
      A x = get(((const T *)parts[r])[i]);
      switch (op) {
      case ncclProd:
        acc = (A)(acc * x);
        break;
      case ncclMax:
        acc = acc < x ? x : acc;
        break;
      case ncclMin:
        acc = x < acc ? x : acc;
        break;
      default:
        acc = (A)(acc + x);
        break;
      }
    }
    d[i] = put(op == ncclAvg ? (A)(acc / (A)ranks) : acc);
  }
}
template <class T>
void plain(void *out, const void *const *parts, int ranks, uint64_t count,
           int op) {
  auto same = [](T v) { return v; };
  run<T, T>(out, parts, ranks, count, op, same, same);
}
} // namespace

void reduce(void *out, const void *const *parts, int ranks, uint64_t count,
            int type, int op) {
  switch (type) {
  case ncclInt8:
    plain<int8_t>(out, parts, ranks, count, op);
    break;
  case ncclUint8:
    plain<uint8_t>(out, parts, ranks, count, op);
    break;
  case ncclInt32:
    plain<int32_t>(out, parts, ranks, count, op);
    break;
  case ncclUint32:
    plain<uint32_t>(out, parts, ranks, count, op);
    break;
  case ncclInt64:
    plain<int64_t>(out, parts, ranks, count, op);
    break;
  case ncclUint64:
    plain<uint64_t>(out, parts, ranks, count, op);
    break;
  case ncclFloat32:
    plain<float>(out, parts, ranks, count, op);
    break;
  case ncclFloat64:
    plain<double>(out, parts, ranks, count, op);
    break;
  case ncclFloat16:
    run<uint16_t, float>(out, parts, ranks, count, op, fromF16, toF16);
    break;
  default:
    run<uint16_t, float>(out, parts, ranks, count, op, fromBf16, toBf16);
    break;
  }
}

} // namespace standin::nccl
