//===- TestSupport.h - What several tests of the runtime use --------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_TEST_UNIT_RUNTIME_TESTSUPPORT_H
#define FF_TEST_UNIT_RUNTIME_TESTSUPPORT_H

#include "runtime/core/Dtype.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// The address sanitizer takes memory of its own, which tests of it leave out.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FF_TEST_SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define FF_TEST_SANITIZED
#endif

namespace ff::rt::test {

/// A folder of its own, removed at the end.
class TempFolder {
public:
  TempFolder();
  ~TempFolder();
  std::string path(const std::string &name = "") const;

private:
  std::string folder;
};

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// The bytes of a safetensors file with this header and data.
std::string safetensors(const std::string &header, const std::string &data);

/// The tensor of a file, as doubles.
std::vector<double> readTensor(const std::string &path,
                               const std::string &name);

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

/// The message of the Error that `body` throws, or "no error".
template <typename Body> std::string errorOf(Body &&body) {
  try {
    body();
  } catch (const std::exception &e) {
    return e.what();
  }
  return "no error";
}

/// Metadata of a model with two units and a frozen group, as valid JSON.
nlohmann::json tinyMetadata();

} // namespace ff::rt::test

#endif // FF_TEST_UNIT_RUNTIME_TESTSUPPORT_H
