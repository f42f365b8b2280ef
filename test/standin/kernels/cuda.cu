// Kernels as nvcc compiles them; cuda.ptx is committed, so that tests need no toolkit. To make it anew:
//   nvcc -ptx -arch=sm_90 -std=c++17 -o test/standin/kernels/cuda.ptx test/standin/kernels/cuda.cu
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cstdint>

extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

__device__ float warpSum(float v) {
  for (int d = 16; d; d /= 2)
    v += __shfl_down_sync(0xffffffffu, v, d);
  return v;
}
extern "C" __global__ void blockSum(const float *x, float *out, int n) {
  __shared__ float parts[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    v += x[i];
  v = warpSum(v);
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    v = warpSum(v);
    if (threadIdx.x == 0)
      atomicAdd(out, v);
  }
}

// One row a block.
extern "C" __global__ void softmax(const float *x, float *y, int cols) {
  extern __shared__ float buffer[];
  const float *row = x + (size_t)blockIdx.x * cols;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    m = fmaxf(m, row[i]);
  buffer[threadIdx.x] = m;
  __syncthreads();
  for (int d = blockDim.x / 2; d; d /= 2) {
    if (threadIdx.x < d)
      buffer[threadIdx.x] = fmaxf(buffer[threadIdx.x], buffer[threadIdx.x + d]);
    __syncthreads();
  }
  m = buffer[0];
  __syncthreads();
  float s = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    s += expf(row[i] - m);
  buffer[threadIdx.x] = s;
  __syncthreads();
  for (int d = blockDim.x / 2; d; d /= 2) {
    if (threadIdx.x < d)
      buffer[threadIdx.x] += buffer[threadIdx.x + d];
    __syncthreads();
  }
  s = buffer[0];
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    y[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) / s;
}

extern "C" __global__ void transpose(const float *x, float *y, int rows, int cols) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (r + i < rows && c < cols)
      tile[threadIdx.y + i][threadIdx.x] = x[(size_t)(r + i) * cols + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8)
    if (r + i < cols && c < rows)
      y[(size_t)(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void histogram(const uint8_t *x, unsigned *bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&local[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&bins[i], local[i]);
}

// C[M,N] = A[M,K] B[K,N], bf16 to f32; blocks of 32x32, four warps of 16x16, depth 32, two stages of asynchronous copies.
extern "C" __global__ void matmul(const __nv_bfloat16 *A, const __nv_bfloat16 *B, float *C, int M, int N, int K) {
  __shared__ alignas(16) __nv_bfloat16 a[2][32][40], b[2][32][40];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, wm = warp / 2 * 16, wn = warp % 2 * 16;
  int m0 = blockIdx.y * 32, n0 = blockIdx.x * 32;
  float acc[2][4] = {};
  auto fetch = [&](int stage, int k0) {
    int row = threadIdx.x / 4, col = threadIdx.x % 4 * 8;
    __pipeline_memcpy_async(&a[stage][row][col], &A[(size_t)(m0 + row) * K + k0 + col], 16);
    __pipeline_memcpy_async(&b[stage][row][col], &B[(size_t)(k0 + row) * N + n0 + col], 16);
    __pipeline_commit();
  };
  fetch(0, 0);
  for (int k0 = 0, stage = 0; k0 < K; k0 += 32, stage ^= 1) {
    if (k0 + 32 < K)
      fetch(stage ^ 1, k0 + 32);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int k = 0; k < 32; k += 16) {
      unsigned fa[4], fb[4];
      unsigned pa = (unsigned)__cvta_generic_to_shared(&a[stage][wm + lane % 16][k + lane / 16 * 8]);
      unsigned pb = (unsigned)__cvta_generic_to_shared(&b[stage][k + lane % 16][wn + lane / 16 * 8]);
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa));
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3]) : "r"(pb));
      for (int j = 0; j < 2; ++j)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[2 * j]), "r"(fb[2 * j + 1]));
    }
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 4; ++i)
      C[(size_t)(m0 + wm + lane / 4 + i / 2 * 8) * N + n0 + wn + j * 8 + lane % 4 * 2 + i % 2] = acc[j][i];
}

// Mathematical functions as nvcc inlines them from libdevice.
extern "C" __global__ void math(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float v = x[i];
  y[i] = expf(v);
  y[n + i] = tanhf(v);
  y[2 * n + i] = erff(v);
  y[3 * n + i] = logf(fabsf(v));
  y[4 * n + i] = sinf(v);
  y[5 * n + i] = powf(fabsf(v), 1.5f);
  y[6 * n + i] = (float)exp((double)v);
  y[7 * n + i] = __half2float(__float2half(v)) + __bfloat162float(__float2bfloat16(v));
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recurse(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

// Divergence: each lane leaves its loop at another time.
extern "C" __global__ void collatz(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  long long v = i + 1;
  int steps = 0;
  while (v != 1) {
    switch (v % 4) {
    case 0: v /= 4, steps += 2; break;
    case 2: v /= 2, steps += 1; break;
    default: v = 3 * v + 1, steps += 1; break;
    }
  }
  out[i] = steps;
}

// For the benchmark: arithmetic, with few accesses.
extern "C" __global__ void busy(float *y, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = i * 0.001f, b = 1.0f;
  for (int k = 0; k < rounds; ++k)
    a = fmaf(a, 0.999f, 0.25f), b = b * 1.0001f + a, a = fminf(a, b);
  y[i] = a + b;
}
