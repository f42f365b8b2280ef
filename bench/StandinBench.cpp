// Thread instructions a second of the stand-in device, for kernels of
// test/standin/kernels/cuda.ptx. Run by bench/standin.sh.
#include "test/standin/Device.h"

#include <chrono>
#include <cstdio>

using namespace standin::test;

int main() {
  Device dev;
  dev.load(readFile("cuda.ptx"));
  auto measure = [&](const char *what, auto launch) {
    launch();
    cuCtxSynchronize();
    uint64_t before = ffStandinInstructions();
    auto begin = std::chrono::steady_clock::now();
    double seconds;
    do {
      if (launch() || cuCtxSynchronize())
        exit(1);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                              begin)
                    .count();
    } while (seconds < 1);
    printf("%-12s %8.1f M thread instructions/s\n", what,
           (double)(ffStandinInstructions() - before) / seconds / 1e6);
  };
  auto y = dev.empty<float>(1 << 20);
  int n = 1 << 20;
  std::vector<float> x((size_t)n, 1.5f);
  auto a = dev.put(x), b = dev.put(x);
  measure("arithmetic",
          [&] { return dev.launch("busy", 16, 256, 0, nullptr, y, 2000); });
  measure("vector add", [&] {
    return dev.launch("add", n / 256, 256, 0, nullptr, a, b, y, n);
  });
  measure("softmax", [&] {
    return dev.launch("softmax", 256, 128, 512, nullptr, a, y, 4096);
  });
  measure("transpose", [&] {
    return dev.launch3("transpose", {32, 32, 1}, {32, 8, 1}, 0, nullptr, a, y,
                       1024, 1024);
  });
  std::vector<uint16_t> h(512 * 512, 0x3f80);
  auto ma = dev.put(h), mb = dev.put(h);
  int k = 512;
  measure("mma matmul", [&] {
    return dev.launch3("matmul", {16, 16, 1}, {128, 1, 1}, 0, nullptr, ma, mb,
                       y, k, k, k);
  });
  auto begin = std::chrono::steady_clock::now();
  dev.launch3("matmul", {16, 16, 1}, {128, 1, 1}, 0, nullptr, ma, mb, y, k, k,
              k);
  cuCtxSynchronize();
  double s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  printf("%-12s %8.3f s for 512^3, %.2f GFLOP/s\n", "", s,
         2.0 * k * k * k / s / 1e9);
}
