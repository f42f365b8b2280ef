//===- Manifest.cpp - The manifest of a checkpoint ------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/train/Manifest.h"
#include "runtime/core/Error.h"

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <xxhash.h>

namespace ff::rt {

using nlohmann::json;

std::string manifestText(const Manifest &manifest) {
  nlohmann::ordered_json document;
  document["format"] = "ff-checkpoint";
  document["version"] = 2;
  document["name"] = manifest.name;
  document["step"] = manifest.step;
  document["samples"] = manifest.samples;
  document["seed"] = manifest.seed;
  auto trained = nlohmann::ordered_json::array();
  for (const Manifest::Trained &entry : *manifest.trained)
    trained.push_back(
        {{"name", entry.name}, {"dtype", entry.dtype}, {"shape", entry.shape}});
  document["spec"] = {{"lr", manifest.settings.lr},
                      {"global_batch", manifest.settings.globalBatch},
                      {"data", manifest.settings.data},
                      {"data_order", manifest.settings.order},
                      {"precision", manifest.settings.precision},
                      {"frozen", manifest.settings.frozen},
                      {"adapters", manifest.settings.adapters},
                      {"weights", manifest.settings.weights}};
  document["trained"] = std::move(trained);
  auto files = nlohmann::ordered_json::array();
  for (const Manifest::File &file : manifest.files)
    files.push_back(
        {{"path", file.path}, {"bytes", file.bytes}, {"xxh64", file.xxh64}});
  document["files"] = std::move(files);
  return document.dump(2) + "\n";
}

Manifest readManifest(const std::string &path) {
  std::ifstream stream(path);
  if (!stream)
    fail("{} is missing", path);
  try {
    json document = json::parse(stream);
    int64_t version = document.at("version");
    if (document.at("format") != "ff-checkpoint" || version < 1 || version > 2)
      fail("{} is not the manifest of a checkpoint of version 1 or 2", path);
    Manifest manifest;
    manifest.name = document.at("name");
    manifest.step = document.at("step");
    manifest.samples = document.at("samples");
    manifest.seed = document.at("seed");
    for (const json &file : document.at("files"))
      manifest.files.push_back(
          {file.at("path"), file.at("bytes"), file.at("xxh64")});
    if (version == 1)
      return manifest;
    const json &spec = document.at("spec");
    manifest.settings = {spec.at("lr"),
                         spec.at("global_batch"),
                         spec.at("data"),
                         spec.at("precision"),
                         spec.value("frozen", ""),
                         spec.value("adapters", ""),
                         spec.value("data_order", ""),
                         spec.value("weights", "")};
    manifest.trained.emplace();
    for (const json &entry : document.at("trained"))
      manifest.trained->push_back(
          {entry.at("name"), entry.at("dtype"), entry.at("shape")});
    return manifest;
  } catch (const json::exception &e) {
    fail("{} is damaged: {}", path, e.what());
  }
}

std::string hashFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    fail("cannot open {}", path);
  std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t *)> state(
      XXH64_createState(), XXH64_freeState);
  XXH64_reset(state.get(), 0);
  std::vector<char> buffer(1 << 20);
  while (stream.read(buffer.data(), static_cast<std::streamsize>(buffer.size()))
             .gcount() > 0)
    XXH64_update(state.get(), buffer.data(),
                 static_cast<size_t>(stream.gcount()));
  if (stream.bad())
    fail("cannot read {}", path);
  return fmt::format("{:016x}", XXH64_digest(state.get()));
}

} // namespace ff::rt
