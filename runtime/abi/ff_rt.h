//===- ff_rt.h - The C ABI between generated code and the runtime ---------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every call that generated code may make is declared here and listed once in
// FF_RT_CALLS. No call returns an error: a failing call reports the first
// message with its rank, ends all ranks, and does not return.
//
// Threading: generated step functions run on one thread, the step thread, and
// make these calls from it alone. Kernels run on the threads of
// ff_rt_parallel_for and make no calls.
//
// What the integer arguments mean (sites, matmul, group and unit numbers) is
// in the program's metadata; see metadata.md beside this file.
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_ABI_FF_RT_H
#define FF_RUNTIME_ABI_FF_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The state of one rank. Opaque to generated code.
typedef struct ff_ctx ff_ctx;

/// A fused loop. `buffers` holds the operands and then the results, in the
/// order in which the code generator numbered them; the kernel computes the
/// parallel iterations [begin, end).
typedef void (*ff_kernel_fn)(void *const *buffers, int64_t begin, int64_t end);

/// One program (train, sample, ...) of a compiled spec.
typedef struct ff_entry {
  const char *name;      ///< the name in [program.NAME]
  void (*run)(ff_ctx *); ///< computes one micro-batch
} ff_entry;

/// The kernels of a program for a GPU. The driver compiles the PTX where the
/// cubin does not fit the chip.
typedef struct ff_device_image {
  const char *ptx;   ///< text, with its end
  int64_t ptx_bytes; ///< without the end
  const void *cubin; ///< null where no ptxas was at hand
  int64_t cubin_bytes;
} ff_device_image;

/// Element types, as in metadata: the values are part of the ABI.
enum ff_dtype {
  FF_F32 = 0,
  FF_F64 = 1,
  FF_BF16 = 2,
  FF_F16 = 3,
  FF_I64 = 4,
  FF_I32 = 5,
  FF_I8 = 6,
  FF_BOOL = 7 ///< one byte, 0 or 1
};

/// Distributions of ff_rt_random.
enum ff_distribution {
  FF_UNIFORM = 0, ///< [0, 1)
  FF_NORMAL = 1   ///< mean 0, standard deviation 1
};

//===----------------------------------------------------------------------===//
// Compute
//===----------------------------------------------------------------------===//

/// Runs `kernel` over [0, n), split in contiguous pieces of at least `grain`
/// iterations over the worker threads, and waits. The split never changes the
/// result: kernels carry no state from one iteration to the next.
void ff_rt_parallel_for(ff_ctx *ctx, ff_kernel_fn kernel, void *const *buffers,
                        int64_t n, int64_t grain);

/// Launches kernel number `kernel` of the metadata on the device. `buffers`
/// holds the device addresses of the operands and then of the results. Only for
/// programs with a device image, which call it instead of ff_rt_parallel_for.
void ff_rt_launch(ff_ctx *ctx, int32_t kernel, void *const *buffers);

/// Runs matmul number `matmul` of the metadata: c = op(a · b [+ bias]).
/// Shapes, strides, element types and the epilogue are fixed there. `bias` is
/// null where the metadata says so.
void ff_rt_matmul(ff_ctx *ctx, int32_t matmul, const void *a, const void *b,
                  const void *bias, void *c);

/// Fills out[batch, perSample] with values that are a function of (seed,
/// global sample index of the row, site, element) alone. See metadata.md for
/// the generator.
void ff_rt_random(ff_ctx *ctx, int32_t site, int32_t distribution,
                  int32_t dtype, void *out, int64_t batch, int64_t perSample);

/// out[i, :] = table[ids[i], :] for i in [0, n); rows of `width` elements.
/// An id outside [0, rows) is an error that names the input row.
void ff_rt_embedding(ff_ctx *ctx, int32_t dtype, const void *table,
                     const int64_t *ids, void *out, int64_t n, int64_t rows,
                     int64_t width);

/// grad[r, :] = sum of dout[i, :] over the i with ids[i] == r, in the order of
/// i (so it is deterministic); rows that no id names become zero. `dtype` is
/// that of dout; grad is f64 where it is f64, else f32.
void ff_rt_embedding_grad(ff_ctx *ctx, int32_t dtype, const void *dout,
                          const int64_t *ids, void *grad, int64_t n,
                          int64_t rows, int64_t width);

//===----------------------------------------------------------------------===//
// Memory of the running program
//===----------------------------------------------------------------------===//

/// The activation arena: `arena_bytes` of the program, 64-byte aligned.
void *ff_rt_arena(ff_ctx *ctx);

/// Input number `index` of the running program, for this micro-batch.
const void *ff_rt_input(ff_ctx *ctx, int32_t index);

/// Where the program writes its result number `index`.
void *ff_rt_output(ff_ctx *ctx, int32_t index);

/// One scalar (f32, or f64 where the loss is f64) that multiplies the gradient
/// of the loss: 1 / number of micro-batches in the global batch, or 0 on a rank
/// that has no micro-batch in this round and only takes part in collectives.
const void *ff_rt_loss_seed(ff_ctx *ctx);

//===----------------------------------------------------------------------===//
// Sharded parameters. Collectives run in the order of these calls, which is
// the same on every rank.
//===----------------------------------------------------------------------===//

/// Starts the all-gather of all groups of `unit` into gather slot `slot`.
void ff_rt_gather_start(ff_ctx *ctx, int32_t unit, int32_t slot);

/// Waits for it. ff_rt_group_data is valid from here to ff_rt_release.
void ff_rt_gather_wait(ff_ctx *ctx, int32_t unit);

/// Ends the use of the gathered parameters of `unit`; the slot may be reused.
void ff_rt_release(ff_ctx *ctx, int32_t unit);

/// The whole (gathered) buffer of `group`; its unit is gathered.
const void *ff_rt_group_data(ff_ctx *ctx, int32_t group);

/// The whole gradient buffer of `group` in gradient slot `slot`. The step
/// writes every element of every parameter of it before ff_rt_reduce_start.
void *ff_rt_group_grad(ff_ctx *ctx, int32_t group, int32_t slot);

/// Starts the reduction of the gradients of the trainable groups of `unit`
/// (reduce-scatter over `shard`, then all-reduce over `replicate`), whose sum
/// is added to the rank's gradient slices. Of groups that are not sharded the
/// sum over ranks is made once, at the end of the optimizer step.
void ff_rt_reduce_start(ff_ctx *ctx, int32_t unit, int32_t slot);

/// Waits for it; the gradient slot may be reused.
void ff_rt_reduce_wait(ff_ctx *ctx, int32_t unit);

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

/// The trainer: parses the command line, launches or joins the ranks, trains.
/// Returns the exit status. `metadata` is the JSON text of metadata.md.
int ff_rt_main(int argc, char **argv, const char *metadata,
               const ff_entry *entries, int32_t numEntries);

/// The same for programs whose kernels run on NVIDIA GPUs. All pointers that
/// the calls above give and take are device addresses then, and calls return
/// when their work is in order on the device's streams.
int ff_rt_cuda_main(int argc, char **argv, const char *metadata,
                    const ff_entry *entries, int32_t numEntries,
                    const ff_device_image *image);

#ifdef __cplusplus
}
#endif

/// The functions above that generated code calls, for the symbol table of the
/// JIT and for the tests that hold the code generator to this list.
#define FF_RT_CALLS(X)                                                         \
  X(ff_rt_parallel_for)                                                        \
  X(ff_rt_launch)                                                              \
  X(ff_rt_matmul)                                                              \
  X(ff_rt_random)                                                              \
  X(ff_rt_embedding)                                                           \
  X(ff_rt_embedding_grad)                                                      \
  X(ff_rt_arena)                                                               \
  X(ff_rt_input)                                                               \
  X(ff_rt_output)                                                              \
  X(ff_rt_loss_seed)                                                           \
  X(ff_rt_gather_start)                                                        \
  X(ff_rt_gather_wait)                                                         \
  X(ff_rt_release)                                                             \
  X(ff_rt_group_data)                                                          \
  X(ff_rt_group_grad)                                                          \
  X(ff_rt_reduce_start)                                                        \
  X(ff_rt_reduce_wait)                                                         \
  X(ff_rt_main)                                                                \
  X(ff_rt_cuda_main)

#endif // FF_RUNTIME_ABI_FF_RT_H
