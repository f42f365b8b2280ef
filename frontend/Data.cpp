//===- Data.cpp - The data of the train program -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

/// Reads the headers of all files. False after an error.
static bool readHeaders(const Spec &spec, const Node &files, Diagnostics &diags,
                        std::vector<std::string> &paths,
                        std::vector<SafetensorsHeader> &headers) {
  std::vector<const Node *> nodes;
  if (files.isString())
    nodes.push_back(&files);
  for (const auto &item : files.items)
    if (item->isString())
      nodes.push_back(item.get());
  bool ok = !nodes.empty();
  if (!ok)
    diags.error(files.loc, "'files' names no file");
  for (const Node *node : nodes) {
    paths.push_back(spec.resolvePath(node->string));
    headers.emplace_back();
    std::string wrong = readSafetensorsHeader(paths.back(), headers.back());
    if (wrong.empty())
      continue;
    ok = false;
    diags.error(node->loc, "cannot read '" + paths.back() + "': " + wrong);
  }
  return ok;
}

bool Importer::readField(const InputDecl &input, StringRef tensor, SMLoc loc,
                         llvm::ArrayRef<SafetensorsHeader> headers) {
  TensorInfo all;
  for (auto [file, header] : llvm::zip_equal(data.files, headers)) {
    const TensorInfo *info = header.find(tensor);
    std::vector<std::string> names;
    for (const TensorInfo &other : header.tensors)
      names.push_back(other.name);
    if (!info) {
      auto report =
          diags.error(loc, "input '" + input.name + "' is not in the data: '" +
                               file + "' has no tensor '" + tensor + "'");
      if (auto near = nearest(tensor, names))
        report.note("did you mean '" + *near +
                    "'? Name the tensor in 'fields' of [data]");
      else
        report.note("its tensors are " + quotedList(names));
      return false;
    }
    if (info->shape.empty()) {
      diags.error(loc, "tensor '" + tensor + "' of '" + file +
                           "' is a scalar; dim 0 must count the samples");
      return false;
    }
    if (all.name.empty()) {
      all = *info;
      continue;
    }
    if (all.dtype != info->dtype ||
        !llvm::equal(llvm::drop_begin(all.shape),
                     llvm::drop_begin(info->shape))) {
      diags.error(spec.locOf("data", "files"),
                  "tensor '" + tensor + "' differs between '" +
                      data.files.front() + "' and '" + file +
                      "' in more than the number of samples");
      return false;
    }
  }
  data.fields[input.name] = all;
  return true;
}

/// Reports a file whose tensors count different samples. False if there is one.
static bool checkCounts(llvm::ArrayRef<std::string> files,
                        llvm::ArrayRef<SafetensorsHeader> headers,
                        const DataSet &data, SMLoc loc, Diagnostics &diags) {
  for (auto [file, header] : llvm::zip_equal(files, headers)) {
    const TensorInfo *first = nullptr;
    for (auto &[input, field] : data.fields) {
      const TensorInfo *info = header.find(field.name);
      if (!first)
        first = info;
      if (info->shape[0] == first->shape[0])
        continue;
      diags.error(loc, "tensors '" + first->name + "' and '" + info->name +
                           "' of '" + file + "' have " +
                           Twine(first->shape[0]) + " and " +
                           Twine(info->shape[0]) + " samples");
      return false;
    }
  }
  return true;
}

void Importer::readData() {
  Program *train = findProgram(stringOf("train", "program"));
  if (!train)
    return;
  const Node *files = spec.get("data", "files");
  if (!files) {
    if (!train->inputs.empty())
      diags
          .error(train->inputs.front().loc,
                 "the program '" + train->name +
                     "' has inputs, but there is no [data]")
          .note("for example: [data] files = \"data.safetensors\"");
    return;
  }
  std::vector<SafetensorsHeader> headers;
  if (!readHeaders(spec, *files, diags, data.files, headers))
    return;
  const Node *fields = spec.get("data", "fields");
  bool ok = true;
  for (const InputDecl &input : train->inputs) {
    const Entry *field = fields->isTable() ? fields->find(input.name) : nullptr;
    ok &= field ? readField(input, field->value->string, field->value->loc,
                            headers)
                : readField(input, input.name, input.loc, headers);
  }
  for (const Entry &field : fields->entries) {
    if (llvm::any_of(train->inputs,
                     [&](auto &input) { return input.name == field.key; }))
      continue;
    diags
        .error(field.keyLoc, "the program '" + train->name +
                                 "' has no input '" + field.key + "'")
        .note(train->loc, "it is declared here");
  }
  if (!ok)
    return;
  if (!checkCounts(data.files, headers, data, files->loc, diags))
    return;
  int64_t samples = 0;
  for (const SafetensorsHeader &header : headers)
    if (!data.fields.empty())
      samples += header.find(data.fields.front().second.name)->shape[0];
  if (!data.fields.empty() && samples < 1)
    diags.error(files->loc, "the data holds no samples");
}
