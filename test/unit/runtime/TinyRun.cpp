//===- TinyRun.cpp - Runs the tiny trainer --------------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TinyRun.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <sys/wait.h>

namespace ff::rt::test {

namespace {
/// 26 samples: it takes more than two epochs to fill three global batches.
template <typename T>
void writeData(const std::string &path, const char *dtype) {
  std::vector<T> x, y;
  for (int i = 0; i < 26; ++i) {
    double target = 0;
    for (int j = 0; j < 5; ++j) {
      double value = std::sin(i * 1.7 + j * 0.9) + 0.1 * j;
      x.push_back(static_cast<T>(value));
      target += value * (j - 2);
    }
    y.push_back(static_cast<T>(target));
  }
  size_t xBytes = x.size() * sizeof(T), yBytes = y.size() * sizeof(T);
  nlohmann::json header;
  header["x"] = {
      {"dtype", dtype}, {"shape", {26, 5}}, {"data_offsets", {0, xBytes}}};
  header["target"] = {{"dtype", dtype},
                      {"shape", {26, 1}},
                      {"data_offsets", {xBytes, xBytes + yBytes}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  writeFile(path, safetensors(text, bytesOf(x) + bytesOf(y)));
}
} // namespace

TinyRun::TinyRun() {
  writeData<float>(temp.path("data.safetensors"), "F32");
  writeData<double>(temp.path("data64.safetensors"), "F64");
  metadata["data"]["sources"][0]["paths"] = {temp.path("data.safetensors")};
  metadata["checkpoint"]["dir"] = out();
}

std::string TinyRun::out(const std::string &name) const {
  return temp.path(name.empty() ? "out" : "out/" + name);
}

std::string TinyRun::command(const std::string &arguments,
                             const std::string &environment) const {
  writeFile(temp.path("metadata.json"), metadata.dump());
  return "env TINY_METADATA=" + temp.path("metadata.json") + " " + environment +
         " " TINY_TRAINER " --threads 1 " + arguments;
}

RunResult runShell(const std::string &folder, const std::string &command) {
  std::string out = folder + "/stdout", err = folder + "/stderr";
  auto start = std::chrono::steady_clock::now();
  int state =
      std::system(("( " + command + " ) >" + out + " 2>" + err).c_str());
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  int status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return {status, readFile(out), readFile(err), seconds};
}

RunResult TinyRun::run(const std::string &arguments,
                       const std::string &environment) const {
  return runShell(temp.path(), command(arguments, environment));
}

std::vector<double> TinyRun::metrics(const std::string &field) const {
  std::istringstream lines(readFile(out("metrics.jsonl")));
  std::vector<double> values;
  std::string line;
  while (std::getline(lines, line)) {
    auto parsed = nlohmann::json::parse(line);
    values.push_back(parsed.at(field).is_null()
                         ? std::numeric_limits<double>::quiet_NaN()
                         : parsed.at(field).get<double>());
  }
  return values;
}

double relativeError(const std::vector<double> &a,
                     const std::vector<double> &b) {
  if (a.size() != b.size() || a.empty())
    return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]) / (std::abs(b[i]) + 1e-6));
  return worst;
}

} // namespace ff::rt::test
