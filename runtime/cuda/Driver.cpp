//===- Driver.cpp - The CUDA driver, with errors as Errors ----------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Driver.h"
#include "runtime/core/Error.h"

#include <cstring>

namespace ff::rt::cuda {

namespace {

const CudaApi &api() { return *libraries().cuda; }

std::string describe(CUresult result) {
  const char *name = nullptr, *text = nullptr;
  if (api().getErrorName(result, &name) || !name)
    return fmt::format("error {}", result);
  if (api().getErrorString(result, &text) || !text)
    return name;
  return fmt::format("{}: {}", name, text);
}

int attribute(int device, DeviceAttribute which) {
  int value = 0;
  check(api().deviceGetAttribute(&value, which, device),
        "cuDeviceGetAttribute");
  return value;
}

/// Of a driver log: lines become one line, as all messages are.
std::string oneLine(const char *log) {
  std::string text(log);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  for (char &c : text)
    if (c == '\n')
      c = ' ';
  return text;
}

} // namespace

void check(CUresult result, const char *call) {
  if (result != SUCCESS)
    fail("{} failed with {}", call, describe(result));
}

Context::Context(int ordinal) : device(ordinal) {
  CUresult started = api().init(0);
  int count = 0;
  if (started == SUCCESS)
    check(api().deviceGetCount(&count), "cuDeviceGetCount");
  if (started == NO_DEVICE || (started == SUCCESS && count == 0))
    fail("CUDA: the driver sees no GPU; fix: check nvidia-smi and "
         "CUDA_VISIBLE_DEVICES, or run it under ff-standin");
  check(started, "cuInit");
  if (ordinal >= count)
    fail("CUDA: this rank needs GPU {}, but the driver sees {} (GPUs 0 to {}); "
         "fix: fewer ranks on this machine, or another CUDA_VISIBLE_DEVICES",
         ordinal, count, count - 1);
  CUdevice handleOfDevice = 0;
  check(api().deviceGet(&handleOfDevice, ordinal), "cuDeviceGet");
  device = handleOfDevice;
  char text[256] = "";
  check(api().deviceGetName(text, sizeof text, device), "cuDeviceGetName");
  name = text;
  capability = 10 * attribute(device, ComputeCapabilityMajor) +
               attribute(device, ComputeCapabilityMinor);
  maxSharedBytes = attribute(device, SharedBytesPerBlockOptin);
  check(api().devicePrimaryCtxRetain(&handle, device),
        "cuDevicePrimaryCtxRetain");
  use();
}

// Destructors ignore results: after an error that stays with the context each
// call returns it again, and it was reported where it came up.
Context::~Context() { api().devicePrimaryCtxRelease(device); }

void Context::use() const {
  check(api().ctxSetCurrent(handle), "cuCtxSetCurrent");
}

Event::Event(bool timing) {
  check(api().eventCreate(&handle, timing ? 0u : unsigned{DisableTiming}),
        "cuEventCreate");
}

Event::~Event() { api().eventDestroy(handle); }

bool Event::done() const {
  CUresult result = api().eventQuery(handle);
  if (result == NOT_READY)
    return false;
  check(result, "cuEventQuery");
  return true;
}

void Event::wait() const {
  check(api().eventSynchronize(handle), "cuEventSynchronize");
}

float Event::since(const Event &start) const {
  float milliseconds = 0;
  check(api().eventElapsedTime(&milliseconds, start.handle, handle),
        "cuEventElapsedTime");
  return milliseconds;
}

Stream::Stream(bool first) {
  int least = 0, greatest = 0; // the greatest has the lowest number
  check(api().ctxGetStreamPriorityRange(&least, &greatest),
        "cuCtxGetStreamPriorityRange");
  check(api().streamCreate(&handle, NonBlocking, first ? greatest : least),
        "cuStreamCreateWithPriority");
}

Stream::~Stream() { api().streamDestroy(handle); }

void Stream::record(const Event &event) {
  check(api().eventRecord(event.handle, handle), "cuEventRecord");
}

void Stream::after(const Event &event) {
  check(api().streamWaitEvent(handle, event.handle, 0), "cuStreamWaitEvent");
}

void Stream::synchronize() {
  check(api().streamSynchronize(handle), "cuStreamSynchronize");
}

DeviceMemory::DeviceMemory(size_t bytes) : bytes(bytes) {
  if (bytes == 0)
    return;
  CUresult result = api().memAlloc(&address, bytes);
  if (result == OUT_OF_MEMORY) {
    size_t free = 0, total = 0;
    check(api().memGetInfo(&free, &total), "cuMemGetInfo");
    fail("the GPU has no {} bytes left: {} of {} are free; fix: a smaller "
         "micro_batch, more shards, or end what else runs on this GPU",
         bytes, free, total);
  }
  check(result, "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  if (address)
    api().memFree(address);
}

PinnedMemory::PinnedMemory(size_t bytes) : bytes(bytes) {
  if (bytes == 0)
    return;
  void *memory = nullptr;
  check(api().memHostAlloc(&memory, bytes, 0), "cuMemHostAlloc");
  data = static_cast<char *>(memory);
  std::memset(data, 0, bytes);
}

PinnedMemory::~PinnedMemory() {
  if (data)
    api().memFreeHost(data);
}

Module::Module(const char *ptx, const void *cubin) {
  char log[4096] = "";
  int options[] = {ErrorLogBuffer, ErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  // A cubin is for one architecture: elsewhere the driver compiles the PTX.
  if (cubin &&
      api().moduleLoadDataEx(&handle, cubin, 2, options, values) == SUCCESS)
    return;
  log[0] = 0;
  values[1] = reinterpret_cast<void *>(sizeof log); // it returns the length
  CUresult result = api().moduleLoadDataEx(&handle, ptx, 2, options, values);
  if (result == SUCCESS)
    return;
  log[sizeof log - 1] = 0;
  std::string said = oneLine(log);
  fail("the driver does not load the kernels: {}{}{}", describe(result),
       said.empty() ? "" : ": ", said);
}

Module::~Module() { api().moduleUnload(handle); }

CUfunction Module::function(const char *name, int sharedBytes) const {
  CUfunction function = nullptr;
  CUresult result = api().moduleGetFunction(&function, handle, name);
  if (result == NOT_FOUND)
    failInternal("the device image has no kernel '{}'", name);
  check(result, "cuModuleGetFunction");
  constexpr int withoutOptIn = 48 * 1024;
  if (sharedBytes > withoutOptIn)
    check(api().funcSetAttribute(function, MaxDynamicSharedBytes, sharedBytes),
          "cuFuncSetAttribute");
  return function;
}

void launch(CUfunction function, int64_t blocks, int threads, int sharedBytes,
            const Stream &stream, void **arguments) {
  if (blocks == 0) // which CUDA refuses
    return;
  if (blocks < 0 || blocks > 0x7fffffff)
    failInternal("a launch of {} blocks", blocks);
  check(api().launchKernel(function, static_cast<unsigned>(blocks), 1, 1,
                           static_cast<unsigned>(threads), 1, 1,
                           static_cast<unsigned>(sharedBytes), stream.handle,
                           arguments, nullptr),
        "cuLaunchKernel");
}

} // namespace ff::rt::cuda
