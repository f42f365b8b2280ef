// mma.sync, ldmatrix, stmatrix, movmatrix: fragments as the PTX manual lays
// them over lanes. Products are summed in f64 and rounded once: the order of a
// tensor core is not documented, its error is larger.
#include "tools/standin/api/Cuda.h"
#include "tools/standin/exec/Lanes.h"

namespace standin::exec::FF_STANDIN_ISA {

using ptx::Instr;
using ptx::Space;

namespace {

inline float fromTf32(uint32_t u) { return bitsToFloat(u & 0xffffe000u); }

// Elements: 0 f16, 1 bf16, 2 tf32. K: depth. Accumulators: f32, or f16 in
// pairs.
template <int element, int K, bool halfAcc>
void mma(Warp &w, const Op &o, uint32_t) {
  const uint32_t *r = w.cur.frame->fn->extra.data() + o.x;
  constexpr int aRegs = element == 2 ? K / 2 : K / 4, bRegs = aRegs / 2,
                accRegs = halfAcc ? 2 : 4;
  const uint32_t *dr = r, *ar = dr + accRegs, *br = ar + aRegs,
                 *cr = br + bRegs;
  alignas(64) double A[16][K], B[K][8], C[16][8];
  auto value = [](uint16_t h) {
    return element == 0 ? fromF16(h) : fromBf16(h);
  };
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < aRegs; ++i) {
      uint32_t v = w.reg<uint32_t>(ar[i])[lane];
      int row = g + (i & 1) * 8;
      if (element == 2) {
        A[row][t + (i >> 1) * 4] = fromTf32(v);
      } else {
        A[row][2 * t + (i >> 1) * 8] = value((uint16_t)v);
        A[row][2 * t + (i >> 1) * 8 + 1] = value((uint16_t)(v >> 16));
      }
    }
    for (int i = 0; i < bRegs; ++i) {
      uint32_t v = w.reg<uint32_t>(br[i])[lane];
      if (element == 2) {
        B[t + i * 4][g] = fromTf32(v);
      } else {
        B[2 * t + i * 8][g] = value((uint16_t)v);
        B[2 * t + i * 8 + 1][g] = value((uint16_t)(v >> 16));
      }
    }
    for (int i = 0; i < accRegs; ++i) {
      uint32_t v = w.reg<uint32_t>(cr[i])[lane];
      if (halfAcc) {
        C[g + i * 8][2 * t] = fromF16((uint16_t)v);
        C[g + i * 8][2 * t + 1] = fromF16((uint16_t)(v >> 16));
      } else {
        C[g + (i >> 1) * 8][2 * t + (i & 1)] = bitsToFloat(v);
      }
    }
  }
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < K; ++k) {
      double a = A[row][k];
      for (int n = 0; n < 8; ++n)
        C[row][n] += a * B[k][n];
    }
  for (int lane = 0; lane < 32; ++lane) {
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < accRegs; ++i) {
      uint32_t v;
      if (halfAcc) {
        v = (uint32_t)roundTo(C[g + i * 8][2 * t], f16Format, Round::Nearest) |
            (uint32_t)roundTo(C[g + i * 8][2 * t + 1], f16Format,
                              Round::Nearest)
                << 16;
      } else {
        v = floatToBits(canonical((float)C[g + (i >> 1) * 8][2 * t + (i & 1)]));
      }
      w.reg<uint32_t>(dr[i])[lane] = v;
    }
  }
}

inline uint64_t rowAddress(Warp &w, const Op &o, unsigned lane) {
  uint64_t base = (uint32_t)o.imm; // the upper half names the lanes
  if (o.a != none)
    base += o.b == 8 ? w.reg<uint64_t>(o.a)[lane] : w.reg<uint32_t>(o.a)[lane];
  return base;
}
// n matrices of 8 rows of 16 bytes; lane 8k+i points to row i of matrix k.
// size: 1 when transposed.
void ldmatrix(Warp &w, const Op &o, uint32_t) {
  const uint32_t *regs = w.cur.frame->fn->extra.data() + o.x;
  uint16_t m[4][8][8];
  for (unsigned lane = 0; lane < o.n * 8u; ++lane)
    memcpy(m[lane / 8][lane % 8],
           access(w, (int)lane, rowAddress(w, o, lane), 16, o.space,
                  Access::Read, false, nullptr),
           16);
  for (unsigned k = 0; k < o.n; ++k)
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned row = lane >> 2, col = 2 * (lane & 3);
      uint32_t low = o.size ? m[k][col][row] : m[k][row][col],
               high = o.size ? m[k][col + 1][row] : m[k][row][col + 1];
      w.reg<uint32_t>(regs[k])[lane] = high << 16 | low;
    }
}
void stmatrix(Warp &w, const Op &o, uint32_t) {
  const uint32_t *regs = w.cur.frame->fn->extra.data() + o.x;
  uint16_t m[4][8][8];
  for (unsigned k = 0; k < o.n; ++k)
    for (unsigned lane = 0; lane < 32; ++lane) {
      unsigned row = lane >> 2, col = 2 * (lane & 3);
      uint32_t v = w.reg<uint32_t>(regs[k])[lane];
      (o.size ? m[k][col][row] : m[k][row][col]) = (uint16_t)v;
      (o.size ? m[k][col + 1][row] : m[k][row][col + 1]) = (uint16_t)(v >> 16);
    }
  for (unsigned lane = 0; lane < o.n * 8u; ++lane) {
    const uint16_t *row = m[lane / 8][lane % 8];
    memcpy(access(w, (int)lane, rowAddress(w, o, lane), 16, o.space,
                  Access::Write, false, row),
           row, 16);
  }
}
void movmatrix(Warp &w, const Op &o, uint32_t) {
  uint16_t m[8][8];
  for (unsigned lane = 0; lane < 32; ++lane) {
    uint32_t v = w.reg<uint32_t>(o.a)[lane];
    m[lane >> 2][2 * (lane & 3)] = (uint16_t)v,
                             m[lane >> 2][2 * (lane & 3) + 1] =
                                 (uint16_t)(v >> 16);
  }
  for (unsigned lane = 0; lane < 32; ++lane)
    w.reg<uint32_t>(o.d)[lane] = (uint32_t)m[2 * (lane & 3) + 1][lane >> 2]
                                     << 16 |
                                 m[2 * (lane & 3)][lane >> 2];
}
} // namespace

Handler matrix(const Instr &in) {
  const std::string &op = in.op[0];
  if (op == "ldmatrix" || op == "stmatrix")
    return in.has("m8n8") && in.has("b16")
               ? (op[0] == 'l' ? ldmatrix : stmatrix)
               : (Handler) nullptr;
  if (op == "movmatrix")
    return in.has("trans") ? movmatrix : (Handler) nullptr;
  // mma.sync.aligned.shape.row.col.d.a.b.c
  if (op != "mma" || in.op.size() < 10 || !in.has("row") || !in.has("col"))
    return nullptr;
  const std::string &shape = in.op[3], &d = in.op[6], &a = in.op[7],
                    &b = in.op[8], &c = in.op[9];
  if (a != b || d != c)
    return nullptr;
  if (a == "bf16" && d == "f32")
    return shape == "m16n8k16"  ? mma<1, 16, false>
           : shape == "m16n8k8" ? mma<1, 8, false>
                                : (Handler) nullptr;
  if (a == "f16" && d == "f32")
    return shape == "m16n8k16"  ? mma<0, 16, false>
           : shape == "m16n8k8" ? mma<0, 8, false>
                                : (Handler) nullptr;
  if (a == "f16" && d == "f16")
    return shape == "m16n8k16"  ? mma<0, 16, true>
           : shape == "m16n8k8" ? mma<0, 8, true>
                                : (Handler) nullptr;
  if (a == "tf32" && d == "f32")
    return shape == "m16n8k8"   ? mma<2, 8, false>
           : shape == "m16n8k4" ? mma<2, 4, false>
                                : (Handler) nullptr;
  return nullptr;
}

} // namespace standin::exec::FF_STANDIN_ISA
