//===- Driver.cpp - The CUDA driver, as far as tests need it --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/testing/Driver.h"

#include <dlfcn.h>

using namespace ff;

static llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Error Driver::check(Result result, const char *call) {
  if (result == 0)
    return llvm::Error::success();
  const char *text = nullptr;
  api.getErrorName(result, &text);
  return fail(llvm::Twine(call) + ": " + (text ? text : "unknown error"));
}

llvm::Expected<Driver> Driver::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    return fail("no CUDA driver: " + llvm::Twine(dlerror()));
  Driver driver;
  std::string missing;
  auto load = [&](auto &entry, const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address)
      missing = symbol;
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(address);
  };
  auto &api = driver.api;
  load(api.init, "cuInit");
  load(api.getErrorName, "cuGetErrorName");
  load(api.deviceGet, "cuDeviceGet");
  load(api.deviceGetName, "cuDeviceGetName");
  load(api.primaryCtxRetain, "cuDevicePrimaryCtxRetain");
  load(api.ctxSetCurrent, "cuCtxSetCurrent");
  load(api.ctxSynchronize, "cuCtxSynchronize");
  load(api.moduleLoadDataEx, "cuModuleLoadDataEx");
  load(api.moduleGetFunction, "cuModuleGetFunction");
  load(api.funcGetAttribute, "cuFuncGetAttribute");
  load(api.funcSetAttribute, "cuFuncSetAttribute");
  load(api.memAlloc, "cuMemAlloc_v2");
  load(api.memFree, "cuMemFree_v2");
  load(api.copyToDevice, "cuMemcpyHtoD_v2");
  load(api.copyToHost, "cuMemcpyDtoH_v2");
  load(api.launchKernel, "cuLaunchKernel");
  if (!missing.empty())
    return fail("libcuda.so.1 has no " + missing);
  int device = 0;
  char name[256] = {};
  void *context = nullptr;
  if (auto error = driver.check(api.init(0), "cuInit"))
    return error;
  if (auto error = driver.check(api.deviceGet(&device, 0), "cuDeviceGet"))
    return error;
  if (auto error =
          driver.check(api.deviceGetName(name, 255, device), "cuDeviceGetName"))
    return error;
  if (auto error = driver.check(api.primaryCtxRetain(&context, device),
                                "cuDevicePrimaryCtxRetain"))
    return error;
  if (auto error = driver.check(api.ctxSetCurrent(context), "cuCtxSetCurrent"))
    return error;
  driver.name = name;
  return driver;
}

llvm::Error Driver::load(const std::string &ptx) {
  // CU_JIT_ERROR_LOG_BUFFER and its size.
  char log[8192] = {};
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  Result result =
      api.moduleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (result == 0)
    return llvm::Error::success();
  return llvm::joinErrors(check(result, "cuModuleLoadDataEx"), fail(log));
}

llvm::Expected<void *> Driver::function(const std::string &kernel) {
  void *function = nullptr;
  if (auto error =
          check(api.moduleGetFunction(&function, module, kernel.c_str()),
                "cuModuleGetFunction"))
    return error;
  return function;
}

llvm::Expected<int> Driver::localBytes(const std::string &kernel) {
  auto entry = function(kernel);
  if (!entry)
    return entry.takeError();
  int bytes = 0;
  // CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
  if (auto error =
          check(api.funcGetAttribute(&bytes, 3, *entry), "cuFuncGetAttribute"))
    return error;
  return bytes;
}

llvm::Error Driver::run(const std::string &kernel, int64_t blocks,
                        int64_t threads, int64_t shared,
                        llvm::ArrayRef<llvm::MutableArrayRef<char>> buffers) {
  auto entry = function(kernel);
  if (!entry)
    return entry.takeError();
  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  if (shared > 48 * 1024)
    if (auto error = check(api.funcSetAttribute(*entry, 8, shared),
                           "cuFuncSetAttribute"))
      return error;
  std::vector<Address> addresses(buffers.size());
  std::vector<void *> parameters;
  for (auto [buffer, address] : llvm::zip_equal(buffers, addresses)) {
    if (auto error = check(api.memAlloc(&address, buffer.size()), "cuMemAlloc"))
      return error;
    if (auto error =
            check(api.copyToDevice(address, buffer.data(), buffer.size()),
                  "cuMemcpyHtoD"))
      return error;
    parameters.push_back(&address);
  }
  if (auto error =
          check(api.launchKernel(*entry, blocks, 1, 1, threads, 1, 1, shared,
                                 nullptr, parameters.data(), nullptr),
                "cuLaunchKernel"))
    return error;
  if (auto error = check(api.ctxSynchronize(), "cuCtxSynchronize"))
    return error;
  for (auto [buffer, address] : llvm::zip_equal(buffers, addresses)) {
    if (auto error =
            check(api.copyToHost(buffer.data(), address, buffer.size()),
                  "cuMemcpyDtoH"))
      return error;
    if (auto error = check(api.memFree(address), "cuMemFree"))
      return error;
  }
  return llvm::Error::success();
}
