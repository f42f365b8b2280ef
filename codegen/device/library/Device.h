//===- Device.h - What a thread of a GPU can do -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of shared memory are numbers of 32 bits: pointers have 64 and would
// take two registers each.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_LIBRARY_DEVICE_H
#define FF_CODEGEN_DEVICE_LIBRARY_DEVICE_H

#include <stdint.h>

#define FF_INLINE inline __attribute__((always_inline))

/// Dynamic shared memory, of which there is one symbol in a program.
extern __attribute__((address_space(3))) char ff_shared[];

namespace ff {

using Float2 = float __attribute__((ext_vector_type(2)));
using Float4 = float __attribute__((ext_vector_type(4)));
using Word2 = uint32_t __attribute__((ext_vector_type(2)));
using Word4 = uint32_t __attribute__((ext_vector_type(4)));

FF_INLINE int threadId() { return __nvvm_read_ptx_sreg_tid_x(); }
FF_INLINE int blockId() { return __nvvm_read_ptx_sreg_ctaid_x(); }
FF_INLINE int laneId() { return threadId() % 32; }

FF_INLINE void blockBarrier() { __syncthreads(); }
FF_INLINE void warpBarrier() { __nvvm_bar_warp_sync(~0u); }

FF_INLINE float shuffle(float x, int lane) {
  return __nvvm_shfl_sync_idx_f32(~0u, x, lane, 31);
}
FF_INLINE float shuffleAcross(float x, int distance) {
  return __nvvm_shfl_sync_bfly_f32(~0u, x, distance, 31);
}

/// 2^x. Hardware is within 2^-22 of it.
FF_INLINE float exp2(float x) { return __nvvm_ex2_approx_ftz_f(x); }
FF_INLINE float log2(float x) { return __nvvm_lg2_approx_ftz_f(x); }
FF_INLINE float reciprocal(float x) { return __nvvm_rcp_approx_ftz_f(x); }
FF_INLINE float larger(float x, float y) { return __builtin_fmaxf(x, y); }
template <class T> FF_INLINE T least(T x, T y) { return x < y ? x : y; }
template <class T> FF_INLINE T most(T x, T y) { return x < y ? y : x; }

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

FF_INLINE uint32_t sharedStart() {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&ff_shared[0]));
}

template <class T> using SharedPointer = __attribute__((address_space(3))) T *;

template <class T> FF_INLINE T loadShared(uint32_t address) {
  return *reinterpret_cast<SharedPointer<const T>>(
      static_cast<uintptr_t>(address));
}
template <class T> FF_INLINE void storeShared(uint32_t address, T value) {
  *reinterpret_cast<SharedPointer<T>>(static_cast<uintptr_t>(address)) = value;
}

/// What moves in one access of `bytes`.
template <int bytes> struct Words;
template <> struct Words<2> {
  using Type = uint16_t;
};
template <> struct Words<4> {
  using Type = uint32_t;
};
template <> struct Words<8> {
  using Type = Word2;
};
template <> struct Words<16> {
  using Type = Word4;
};

/// `bytes` bytes from global memory, or zeros, for which nothing is read.
template <int bytes>
FF_INLINE void copyAsync(uint32_t to, const char *from, bool some) {
  using Global = const __attribute__((address_space(1))) char *;
  auto source = (Global)from;
  int count = some ? bytes : 0;
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(source), "r"(count)
                 : "memory");
  else if constexpr (bytes >= 4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to),
                 "l"(source), "r"(count), "n"(bytes)
                 : "memory");
  else
    storeShared<uint16_t>(to, some ? *reinterpret_cast<const uint16_t *>(from)
                                   : uint16_t(0));
}
FF_INLINE void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
FF_INLINE void waitForCopies() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Four matrices of 8 x 8 elements of 16 bits, whose rows lie at the addresses
/// of eight lanes each.
FF_INLINE void loadMatrices(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, "
               "[%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}
FF_INLINE void loadMatricesTransposed(uint32_t (&m)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, "
               "%3}, [%4];"
               : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
               : "r"(address)
               : "memory");
}

#define FF_MMA(TYPE)                                                           \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 "           \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                         \
      "{%0, %1, %2, %3};"                                                      \
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                         \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

/// Storage of elements; `multiply` is c += a · b of 16 x 16 and 16 x 8.
struct BF16 {
  static constexpr int kBytes = 2;
  static FF_INLINE uint32_t pack(float low, float high) {
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
  static FF_INLINE float widen(uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
  }
  static FF_INLINE void multiply(float (&c)[4], const uint32_t (&a)[4],
                                 uint32_t b0, uint32_t b1) {
    FF_MMA("bf16");
  }
};
struct F16 {
  static constexpr int kBytes = 2;
  static FF_INLINE uint32_t pack(float low, float high) {
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
  static FF_INLINE float widen(uint16_t bits) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
  }
  static FF_INLINE void multiply(float (&c)[4], const uint32_t (&a)[4],
                                 uint32_t b0, uint32_t b1) {
    FF_MMA("f16");
  }
};
struct F32 {
  static constexpr int kBytes = 4;
};

#undef FF_MMA

} // namespace ff

#endif // FF_CODEGEN_DEVICE_LIBRARY_DEVICE_H
