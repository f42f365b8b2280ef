//===- Memory.cpp - What the system says about memory ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Memory.h"

#include <cstdio>
#include <cstring>

namespace ff::rt {

/// The value of a line `key:  N kB` of a file in /proc, in bytes; `unit` is
/// that of N.
static size_t procValue(const char *path, const char *key, size_t unit = 1024) {
  std::FILE *file = std::fopen(path, "r");
  if (!file)
    return 0;
  char line[256];
  size_t length = std::strlen(key), value = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::strncmp(line, key, length) == 0 && line[length] == ':') {
      std::sscanf(line + length + 1, "%zu", &value);
      break;
    }
  std::fclose(file);
  return value * unit;
}

size_t residentBytes() { return procValue("/proc/self/status", "VmRSS"); }
size_t peakResidentBytes() { return procValue("/proc/self/status", "VmHWM"); }
size_t systemReadBytes() { return procValue("/proc/self/io", "rchar", 1); }
size_t availableBytes() { return procValue("/proc/meminfo", "MemAvailable"); }

} // namespace ff::rt
