//===- Driver.h - The CUDA driver, as far as tests need it ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loaded at run time, so that the compiler builds and prints PTX on machines
// without a driver. The declarations are ours, from the public documentation.
//
//===----------------------------------------------------------------------===//

#ifndef FF_CODEGEN_DEVICE_TESTING_DRIVER_H
#define FF_CODEGEN_DEVICE_TESTING_DRIVER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace ff {

class Driver {
public:
  /// Opens libcuda.so.1 and a context on the first device.
  static llvm::Expected<Driver> open();

  llvm::StringRef deviceName() const { return name; }
  llvm::Error load(const std::string &ptx);
  /// Bytes of local memory for each thread: what registers have spilled to.
  llvm::Expected<int> localBytes(const std::string &kernel);

  /// Runs a kernel on copies of `buffers`, in which its results are afterwards.
  llvm::Error run(const std::string &kernel, int64_t blocks, int64_t threads,
                  int64_t shared,
                  llvm::ArrayRef<llvm::MutableArrayRef<char>> buffers);

private:
  using Result = int;
  using Address = uint64_t;
  llvm::Error check(Result result, const char *call);
  llvm::Expected<void *> function(const std::string &kernel);

  struct {
    Result (*init)(unsigned);
    Result (*getErrorName)(Result, const char **);
    Result (*deviceGet)(int *, int);
    Result (*deviceGetName)(char *, int, int);
    Result (*primaryCtxRetain)(void **, int);
    Result (*ctxSetCurrent)(void *);
    Result (*ctxSynchronize)();
    Result (*moduleLoadDataEx)(void **, const void *, unsigned, int *, void **);
    Result (*moduleGetFunction)(void **, void *, const char *);
    Result (*funcGetAttribute)(int *, int, void *);
    Result (*funcSetAttribute)(void *, int, int);
    Result (*memAlloc)(Address *, size_t);
    Result (*memFree)(Address);
    Result (*copyToDevice)(Address, const void *, size_t);
    Result (*copyToHost)(void *, Address, size_t);
    Result (*launchKernel)(void *, unsigned, unsigned, unsigned, unsigned,
                           unsigned, unsigned, unsigned, void *, void **,
                           void **);
  } api = {};
  void *module = nullptr;
  std::string name;
};

} // namespace ff

#endif // FF_CODEGEN_DEVICE_TESTING_DRIVER_H
