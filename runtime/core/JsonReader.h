//===- JsonReader.h - Strict reading of a JSON object ---------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_RUNTIME_CORE_JSONREADER_H
#define FF_RUNTIME_CORE_JSONREADER_H

#include "runtime/core/Dtype.h"
#include "runtime/core/Error.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <set>

namespace ff::rt {

using nlohmann::json;

/// One JSON object, which must hold the keys that are asked for and no others.
class Reader {
public:
  Reader(const json &value, std::string path)
      : value(value), path(std::move(path)) {
    if (!value.is_object())
      failInternal("metadata: {} is not an object", this->path);
  }

  /// Null where the key is absent or null.
  const json *find(const char *key) {
    seen.insert(key);
    auto it = value.find(key);
    return it == value.end() || it->is_null() ? nullptr : &*it;
  }

  const json &at(const char *key) {
    if (const json *found = find(key))
      return *found;
    failInternal("metadata: {} lacks '{}'", path, key);
  }

  std::string pathOf(const char *key) const { return path + "." + key; }

  template <typename T> T get(const char *key) {
    return convert<T>(at(key), key);
  }

  template <typename T> T get(const char *key, T fallback) {
    const json *found = find(key);
    return found ? convert<T>(*found, key) : fallback;
  }

  template <typename T> std::optional<T> maybe(const char *key) {
    const json *found = find(key);
    if (!found)
      return std::nullopt;
    return convert<T>(*found, key);
  }

  DType dtype(const char *key) {
    std::string name = get<std::string>(key);
    DType result;
    if (!parseDtype(name, result))
      failInternal("metadata: {} is '{}', not a dtype", pathOf(key), name);
    return result;
  }

  /// The name in a safetensors file of a dtype.
  std::string fileDtype(const char *key) {
    std::string name = get<std::string>(key);
    if (const char *result = fileDtypeOf(name))
      return result;
    failInternal("metadata: {} is '{}', not a dtype", pathOf(key), name);
  }

  /// Calls `body(reader)` for each object of an array.
  template <typename Body> void each(const char *key, Body &&body) {
    const json &array = at(key);
    if (!array.is_array())
      failInternal("metadata: {} is not an array", pathOf(key));
    for (size_t i = 0; i < array.size(); ++i) {
      Reader element(array[i], fmt::format("{}[{}]", pathOf(key), i));
      body(element);
      element.finish();
    }
  }

  Reader object(const char *key) { return Reader(at(key), pathOf(key)); }

  /// Every key must have been asked for.
  void finish() {
    for (const auto &item : value.items())
      if (!seen.count(item.key()))
        failInternal("metadata: {} has the unknown key '{}'", path, item.key());
  }

private:
  template <typename T> T convert(const json &found, const char *key) {
    try {
      return found.get<T>();
    } catch (const json::exception &e) {
      failInternal("metadata: {}: {}", pathOf(key), e.what());
    }
  }

  const json &value;
  std::string path;
  std::set<std::string> seen;
};

} // namespace ff::rt

#endif // FF_RUNTIME_CORE_JSONREADER_H
