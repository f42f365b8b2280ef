//===- Policies.cpp - The policies of the spec, as attributes ---*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attribute `ff.spec` mirrors the policies of runtime/abi/metadata.md, so
// that the writer of the metadata converts it without knowing any key.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

Attribute Importer::attributeOf(const Node &node) const {
  Builder b(context);
  switch (node.kind) {
  case Node::Kind::String:
    return b.getStringAttr(node.string);
  case Node::Kind::Integer:
    return b.getI64IntegerAttr(node.integer);
  case Node::Kind::Float:
    return b.getF64FloatAttr(node.number);
  case Node::Kind::Boolean:
    return b.getBoolAttr(node.boolean);
  case Node::Kind::Array: {
    SmallVector<Attribute> items;
    for (const auto &item : node.items)
      items.push_back(attributeOf(*item));
    return b.getArrayAttr(items);
  }
  default: {
    SmallVector<NamedAttribute> items;
    for (const Entry &entry : node.entries)
      items.push_back(b.getNamedAttr(entry.key, attributeOf(*entry.value)));
    return b.getDictionaryAttr(items);
  }
  }
}

/// All keys of a section that have a value, with the types of the key table.
DictionaryAttr Importer::sectionAttr(StringRef section) {
  NamedAttrList attrs;
  for (const KeyInfo &key : getKeys()) {
    if (key.section != section)
      continue;
    const Node *node = spec.get(section, key.name);
    if (!node)
      continue;
    Attribute value = attributeOf(*node);
    if (key.type == KeyType::Float && node->isInteger())
      value = builder.getF64FloatAttr(node->number);
    if (key.type == KeyType::Path && node->isString())
      value = builder.getStringAttr(spec.resolvePath(node->string));
    attrs.set(key.name, value);
  }
  return attrs.getDictionary(context);
}

DictionaryAttr Importer::buildPolicies() {
  NamedAttrList attrs;
  attrs.set("name", builder.getStringAttr(stringOf("pipeline", "name")));
  attrs.set("spec", builder.getStringAttr(spec.path()));
  attrs.set("seed", builder.getI64IntegerAttr(
                        integerOf("pipeline", "seed").value_or(0)));
  NamedAttrList mesh(sectionAttr("mesh"));
  for (StringRef limit : {"device_memory", "host_memory"}) {
    mesh.erase(limit);
    if (int64_t bytes = bytesOf("mesh", limit))
      attrs.set(limit, builder.getI64IntegerAttr(bytes));
  }
  if (!integerOf("mesh", "shard")) // 0 stands for "auto"
    mesh.set("shard", builder.getI64IntegerAttr(0));
  attrs.set("mesh", mesh.getDictionary(context));
  attrs.set("precision", sectionAttr("precision"));
  NamedAttrList sharding(sectionAttr("sharding"));
  sharding.set("max_buffer",
               builder.getI64IntegerAttr(bytesOf("sharding", "max_buffer")));
  attrs.set("sharding", sharding.getDictionary(context));
  addDataPolicy(attrs);
  NamedAttrList train(sectionAttr("train"));
  train.erase("recompute"); // marked on the calls
  addBuckets(train);
  attrs.set("train", train.getDictionary(context));
  addOptimizerPolicy(attrs);
  addSchedulePolicy(attrs);
  NamedAttrList checkpoint(sectionAttr("checkpoint"));
  checkpoint.erase("max_shard_size"); // in the save table
  attrs.set("checkpoint", checkpoint.getDictionary(context));
  attrs.set("log", sectionAttr("log"));
  addSamplePolicy(attrs);
  return attrs.getDictionary(context);
}

void Importer::addDataPolicy(NamedAttrList &attrs) {
  if (data.sources.empty())
    return;
  NamedAttrList fields;
  for (auto &[input, info] : data.fields)
    fields.set(input, builder.getStringAttr(info.name));
  SmallVector<Attribute> sources, pads;
  for (const DataSource &source : data.sources) {
    SmallVector<StringRef> paths(source.paths.begin(), source.paths.end());
    NamedAttrList entry;
    entry.set("kind", builder.getStringAttr(source.kind));
    entry.set("paths", builder.getStrArrayAttr(paths));
    entry.set("weight", builder.getF64FloatAttr(source.weight));
    sources.push_back(entry.getDictionary(context));
  }
  for (const Pad &pad : data.pads) {
    NamedAttrList entry;
    entry.set("input", builder.getStringAttr(pad.input));
    entry.set("to", builder.getI64IntegerAttr(pad.to));
    entry.set("mask", builder.getStringAttr(pad.mask));
    pads.push_back(entry.getDictionary(context));
  }
  NamedAttrList dict;
  dict.set("sources", builder.getArrayAttr(sources));
  dict.set("fields", fields.getDictionary(context));
  if (!pads.empty())
    dict.set("pad", builder.getArrayAttr(pads));
  dict.set("shuffle", attributeOf(*spec.get("data", "shuffle")));
  attrs.set("data", dict.getDictionary(context));
}

/// What differs between the programs of several buckets.
void Importer::addBuckets(NamedAttrList &train) {
  if (data.buckets.size() < 2)
    return;
  SmallVector<Attribute> buckets;
  for (auto [i, bucket] : llvm::enumerate(data.buckets)) {
    NamedAttrList entry;
    entry.set("program", builder.getStringAttr(
                             bucketName(stringOf("train", "program"), i)));
    entry.set("micro_batch", builder.getI64IntegerAttr(bucket.microBatch));
    buckets.push_back(entry.getDictionary(context));
  }
  train.set("buckets", builder.getArrayAttr(buckets));
}

void Importer::addOptimizerPolicy(NamedAttrList &attrs) {
  NamedAttrList dict(sectionAttr("optimizer"));
  const Node *betas = spec.get("optimizer", "betas");
  const StringRef names[] = {"beta1", "beta2"};
  for (StringRef key : names) {
    if (!betas)
      break;
    if (!spec.isDefault(*spec.get("optimizer", key)))
      diags
          .error(spec.locOf("optimizer", key),
                 "'" + Twine(key) + "' and 'betas' are both given")
          .note(betas->loc, "'betas' is given here");
  }
  dict.erase("betas");
  attrs.set("optimizer", dict.getDictionary(context));
}

void Importer::addSchedulePolicy(NamedAttrList &attrs) {
  int64_t steps = integerOf("train", "steps").value_or(0);
  int64_t warmup = integerOf("schedule", "warmup_steps").value_or(0);
  if (steps > 0 && warmup > steps)
    diags
        .error(spec.get("schedule", "warmup_steps")->loc,
               "warmup_steps = " + Twine(warmup) +
                   " exceeds steps = " + Twine(steps))
        .note(spec.locOf("train", "steps"), "both count optimizer steps");
  NamedAttrList dict(sectionAttr("schedule"));
  dict.set("total_steps", builder.getI64IntegerAttr(steps));
  attrs.set("schedule", dict.getDictionary(context));
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

void Importer::addSamplePolicy(NamedAttrList &attrs) {
  if (!spec.has("sample"))
    return;
  bool hasEma = spec.get("train", "ema_decay") != nullptr;
  std::string weights = stringOf("sample", "weights");
  if (weights == "ema" && !hasEma)
    diags
        .error(spec.get("sample", "weights")->loc,
               "weights = \"ema\", but no average is kept")
        .note(spec.locOf("train"), "set 'ema_decay' here");
  NamedAttrList dict(sectionAttr("sample"));
  Program *program = requireProgram("sample", "to sample by");
  if (program && program->built) {
    dict.set("inputs", sampleInputs(*program));
    if (spec.has("sample.image")) {
      checkImage(*program);
      dict.set("image", sectionAttr("sample.image"));
    }
  }
  attrs.set("sample", dict.getDictionary(context));
}

DictionaryAttr Importer::sampleInputs(Program &program) {
  const Node *inputs = spec.get("sample", "inputs");
  NamedAttrList dict;
  for (const Entry &entry : inputs->entries) {
    auto it = llvm::find_if(program.inputs,
                            [&](auto &i) { return i.name == entry.key; });
    if (it == program.inputs.end()) {
      std::vector<std::string> names;
      for (const InputDecl &input : program.inputs)
        names.push_back(input.name);
      auto report =
          diags.error(entry.keyLoc, "the program '" + program.name +
                                        "' has no input '" + entry.key + "'");
      if (auto near = nearest(entry.key, names))
        report.note("did you mean '" + *near + "'?");
      report.note(program.loc, "it is declared here");
      continue;
    }
    if (DictionaryAttr attr = sampleInput(*it, entry, program))
      dict.set(entry.key, attr);
  }
  for (const InputDecl &input : program.inputs)
    if (!inputs->find(input.name))
      diags
          .error(spec.locOf("sample", "inputs"),
                 "nothing supplies the input '" + input.name +
                     "' of the program '" + program.name + "'")
          .note(input.loc, "it is declared here")
          .note("for example: inputs = { " + input.name +
                " = { cycle = 10 } }");
  return dict.getDictionary(context);
}

DictionaryAttr Importer::sampleInput(const InputDecl &input, const Entry &entry,
                                     Program &program) {
  const Node &table = *entry.value;
  const Node *cycle = table.get("cycle"), *file = table.get("file");
  if (!table.isTable() || (cycle != nullptr) == (file != nullptr)) {
    diags.error(table.loc,
                "input '" + input.name + "' needs either 'cycle' or 'file'");
    return {};
  }
  size_t index = &input - program.inputs.data();
  auto type = cast<RankedTensorType>(program.func.getArgumentTypes()[index]);
  if (cycle) {
    if (type.getRank() != 1 || !type.getElementType().isInteger(64))
      diags
          .error(cycle->loc, "'cycle' makes integers for an input [B] i64; '" +
                                 input.name + "' is " +
                                 describeTensor(Val::ofTensor(
                                     program.func.getArgument(index))))
          .note(input.loc, "it is declared here");
    return builder.getDictionaryAttr(builder.getNamedAttr(
        "cycle", builder.getI64IntegerAttr(cycle->integer)));
  }
  std::string path = spec.resolvePath(file->string);
  const Node *tensor = table.get("tensor");
  std::string name = tensor ? tensor->string : input.name;
  SafetensorsHeader header;
  std::string wrong = readSafetensorsHeader(path, header);
  const TensorInfo *info = header.find(name);
  if (!wrong.empty()) {
    diags.error(file->loc, "cannot read '" + path + "': " + wrong);
  } else if (!info) {
    std::vector<std::string> names;
    for (const TensorInfo &other : header.tensors)
      names.push_back(other.name);
    diags
        .error(tensor ? tensor->loc : file->loc,
               "'" + path + "' has no tensor '" + name + "'")
        .note("its tensors are " + quotedList(names));
  } else if (info->dtype != dtypeName(type.getElementType()) ||
             info->shape.size() != static_cast<size_t>(type.getRank()) ||
             !llvm::equal(llvm::drop_begin(info->shape),
                          type.getShape().drop_front())) {
    diags
        .error(file->loc, "tensor '" + name + "' of '" + path +
                              "' does not have the dtype and dims of the "
                              "input")
        .note(input.loc, "it is declared here");
  }
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("file", builder.getStringAttr(path)),
       builder.getNamedAttr("tensor", builder.getStringAttr(name))});
}

void Importer::checkImage(Program &program) {
  const Node *low = spec.get("sample.image", "low");
  const Node *high = spec.get("sample.image", "high");
  if (low->number >= high->number)
    diags.error(spec.isDefault(*high) ? low->loc : high->loc,
                "'low' must be below 'high'");
  const Node *file = spec.get("sample.image", "file");
  if (file->string.empty())
    diags.error(file->loc, "'file' is empty");
  const Node *output = spec.get("sample.image", "output");
  if (!output || !output->isString())
    return;
  std::vector<std::string> names;
  for (unsigned i = 0; i < program.func.getNumResults(); ++i) {
    auto name =
        cast<StringAttr>(program.func.getResultAttr(i, kOutputAttr)).getValue();
    names.push_back(name.str());
    if (name != output->string)
      continue;
    auto type = cast<RankedTensorType>(program.func.getResultTypes()[i]);
    if (type.getRank() == 4 &&
        (type.getDimSize(1) == 1 || type.getDimSize(1) == 3))
      return;
    Val value = Val::ofTensor(
        program.func.getBody().front().getTerminator()->getOperand(i));
    diags.error(output->loc, "output '" + output->string + "' is " +
                                 describeTensor(value) +
                                 "; an image is [B, C, H, W] with C = 1 or 3");
    return;
  }
  auto report =
      diags.error(output->loc, "the program '" + program.name +
                                   "' has no output '" + output->string + "'");
  if (auto near = nearest(output->string, names))
    report.note("did you mean '" + *near + "'?");
  report.note("its outputs are " + quotedList(names));
}
