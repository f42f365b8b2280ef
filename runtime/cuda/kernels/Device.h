//===- Device.h - What kernels share --------------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the kernels share: indices, element types, 16-byte accesses. There is no
// C++ library on the device, so this is all there is.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CUDA_KERNELS_DEVICE_H
#define FF_RUNTIME_CUDA_KERNELS_DEVICE_H

#include "runtime/abi/ff_rt.h"
#include "runtime/cuda/kernels/Tables.h"

#define FF_KERNEL extern "C" __attribute__((nvptx_kernel)) void
/// A variable of the block: without a value, as shared memory has none.
#define FF_SHARED                                                              \
  [[clang::loader_uninitialized]] static __attribute__((address_space(3)))

namespace ff::rt::cuda {

inline int threadIndex() {
  return static_cast<int>(__nvvm_read_ptx_sreg_tid_x());
}
inline int64_t blockIndex() { return __nvvm_read_ptx_sreg_ctaid_x(); }
inline int64_t globalThread() {
  return blockIndex() * blockThreads + threadIndex();
}

struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

// Bit by bit those of runtime/core/Dtype.h.
inline float load(float value) { return value; }
inline double load(double value) { return value; }
inline float load(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(value.bits) << 16);
}
inline float load(F16 value) {
  return static_cast<float>(__builtin_bit_cast(__fp16, value.bits));
}

template <typename V> inline void store(float &dst, V value) {
  dst = static_cast<float>(value);
}
template <typename V> inline void store(double &dst, V value) {
  dst = static_cast<double>(value);
}
template <typename V> inline void store(Bf16 &dst, V value) {
  uint32_t bits = __builtin_bit_cast(uint32_t, static_cast<float>(value));
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    dst.bits = static_cast<uint16_t>((bits >> 16) | 0x40);
  else
    dst.bits =
        static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
template <typename V> inline void store(F16 &dst, V value) {
  float narrow = static_cast<float>(value);
  // The instruction makes all NaN the same.
  if (narrow != narrow) {
    uint32_t sign = __builtin_bit_cast(uint32_t, narrow) >> 16 & 0x8000u;
    dst.bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else {
    dst.bits = __builtin_bit_cast(uint16_t, static_cast<__fp16>(narrow));
  }
}

/// Elements of an access of a thread, all together aligned.
constexpr int pack = 4;

typedef uint32_t Words2 __attribute__((ext_vector_type(2)));
typedef uint32_t Words4 __attribute__((ext_vector_type(4)));

/// The alignment of a pack, in bytes.
template <typename T>
constexpr int packAlignment = sizeof(T) * pack < 16 ? sizeof(T) * pack : 16;

/// Of `pack` elements, or of one.
template <typename T, int n>
inline void loadPack(const T *from, T (&values)[n]) {
  if constexpr (n == 1) {
    values[0] = *from;
  } else if constexpr (sizeof values == 8) {
    Words2 words = *reinterpret_cast<const Words2 *>(from);
    __builtin_memcpy(values, &words, sizeof values);
  } else {
    Words4 words[sizeof values / 16];
    for (unsigned i = 0; i < sizeof values / 16; ++i)
      words[i] = reinterpret_cast<const Words4 *>(from)[i];
    __builtin_memcpy(values, words, sizeof values);
  }
}

template <typename T, int n>
inline void storePack(T *to, const T (&values)[n]) {
  if constexpr (n == 1) {
    *to = values[0];
  } else if constexpr (sizeof values == 8) {
    Words2 words;
    __builtin_memcpy(&words, values, sizeof values);
    *reinterpret_cast<Words2 *>(to) = words;
  } else {
    Words4 words[sizeof values / 16];
    __builtin_memcpy(words, values, sizeof values);
    for (unsigned i = 0; i < sizeof values / 16; ++i)
      reinterpret_cast<Words4 *>(to)[i] = words[i];
  }
}

/// An address of device memory: ld.global and st.global, not the generic ones,
/// which ask for the space on each access.
template <typename T> inline T *global(uint64_t address) {
  typedef __attribute__((address_space(1))) T Global;
  return (T *)reinterpret_cast<Global *>(address);
}

/// The same with the type of a pointer that dispatchFloat gives.
template <typename T> inline T *global(uint64_t address, T *) {
  return global<T>(address);
}

/// Calls `body` with a pointer of the float type.
template <typename Body> inline void dispatchFloat(int dtype, Body body) {
  switch (dtype) {
  case FF_F32:
    return body(static_cast<float *>(nullptr));
  case FF_F64:
    return body(static_cast<double *>(nullptr));
  case FF_BF16:
    return body(static_cast<Bf16 *>(nullptr));
  default:
    return body(static_cast<F16 *>(nullptr));
  }
}

/// The last of `count` entries whose `first` is not above `chunk`.
template <typename T>
inline int64_t findEntry(const T *table, int64_t T::*first, int64_t count,
                         int64_t chunk) {
  int64_t low = 0, high = count;
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    if (table[middle].*first <= chunk)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/// A number as a type, for what is unrolled.
template <int n> struct Tag {
  static constexpr int value = n;
};

constexpr uint32_t allLanes = 0xffffffffu;

template <typename T> inline T shuffleDown(T value, int lanes) {
  int32_t words[sizeof(T) / 4];
  __builtin_memcpy(words, &value, sizeof value);
  for (int32_t &word : words)
    word = __nvvm_shfl_sync_down_i32(allLanes, word, lanes, 31);
  __builtin_memcpy(&value, words, sizeof value);
  return value;
}

} // namespace ff::rt::cuda

#endif // FF_RUNTIME_CUDA_KERNELS_DEVICE_H
