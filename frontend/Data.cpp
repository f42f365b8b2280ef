//===- Data.cpp - The data of the train program -----------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The headers of all data say which shapes samples have. Each combination of
// shapes is a bucket, for which the train program is built once.
//
//===----------------------------------------------------------------------===//

#include "frontend/Importer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Importer = ff::frontend::Importer;

/// More are likely a mistake, and each takes its time to compile.
static constexpr size_t kMaxBuckets = 64;

//===----------------------------------------------------------------------===//
// Sources, fields, padding
//===----------------------------------------------------------------------===//

/// `files`, `samples` or `sources`. False after an error.
bool Importer::readSources(DataFiles &files) {
  const Node *table = spec.sectionNode("data");
  const Node *sources = table->get("sources");
  const Node *own =
      table->get("files") ? table->get("files") : table->get("samples");
  if (sources && own) {
    diags
        .error(own->loc, "'sources' and '" +
                             Twine(table->get("files") ? "files" : "samples") +
                             "' are both given")
        .note(sources->loc, "'sources' is given here; it can hold all of them");
    return false;
  }
  if (!sources) {
    auto source = files.parse(*table);
    if (source)
      data.sources.push_back(std::move(*source));
    return source.has_value();
  }
  if (sources->items.empty()) {
    diags.error(sources->loc, "'sources' names no source");
    return false;
  }
  for (const auto &item : sources->items) {
    auto source = files.parse(*item);
    if (!source)
      return false;
    data.sources.push_back(std::move(*source));
  }
  return true;
}

/// The inputs that [data.pad] names. False after an error.
bool Importer::readPads(const Program &train) {
  const Node *pads = spec.get("data", "pad");
  auto findInput = [&](StringRef name) {
    return llvm::find_if(train.inputs,
                         [&](auto &input) { return input.name == name; });
  };
  auto missing = [&](SMLoc loc, StringRef name) {
    diags
        .error(loc,
               "the program '" + train.name + "' has no input '" + name + "'")
        .note(train.loc, "it is declared here");
    return false;
  };
  for (const Entry &entry : pads->entries) {
    if (!entry.value->isTable())
      return false; // reported by the validation
    auto input = findInput(entry.key);
    if (input == train.inputs.end())
      return missing(entry.keyLoc, entry.key);
    const Node *to = entry.value->get("to"), *mask = entry.value->get("mask");
    if (!to)
      return false;
    Pad pad{entry.key, to->integer, "", entry.keyLoc};
    if (mask) {
      pad.mask = mask->string;
      auto found = findInput(pad.mask);
      if (found == train.inputs.end())
        return missing(mask->loc, pad.mask);
      if (data.isMask(pad.mask) || pads->get(pad.mask)) {
        diags.error(mask->loc, "'" + pad.mask + "' is " +
                                   (data.isMask(pad.mask)
                                        ? "the mask of another input as well"
                                        : "filled up itself, and so no mask"));
        return false;
      }
      bool declared = found->dtype == "i64";
      if (!declared || found->name == entry.key) {
        diags
            .error(found->loc, "'" + pad.mask + "' is the mask of '" +
                                   entry.key + "' and must be [B, " +
                                   Twine(pad.to) + "] i64")
            .note(mask->loc, "it is made the mask here");
        return false;
      }
    }
    data.pads.push_back(std::move(pad));
  }
  return true;
}

/// What each input reads; false after an error.
bool Importer::readFields(const Program &train,
                          std::vector<DataField> &wanted) {
  const Node *fields = spec.get("data", "fields");
  bool ok = true;
  for (const InputDecl &input : train.inputs) {
    if (data.isMask(input.name))
      continue;
    const Entry *field = fields->isTable() ? fields->find(input.name) : nullptr;
    wanted.push_back({input.name, field ? field->value->string : input.name,
                      field ? field->value->loc : input.loc});
  }
  for (const Entry &field : fields->entries) {
    bool isInput = llvm::any_of(
        train.inputs, [&](auto &input) { return input.name == field.key; });
    if (isInput && !data.isMask(field.key))
      continue;
    ok = false;
    if (isInput)
      diags.error(field.keyLoc, "'" + field.key +
                                    "' is a mask of [data.pad], which no field "
                                    "supplies");
    else
      diags
          .error(field.keyLoc, "the program '" + train.name +
                                   "' has no input '" + field.key + "'")
          .note(train.loc, "it is declared here");
  }
  return ok;
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

static std::string shapesText(const DataBucket &bucket) {
  std::string text;
  for (auto &[input, shape] : bucket.shapes) {
    text += (text.empty() ? "" : ", ") + input.str() + " [";
    for (auto [i, size] : llvm::enumerate(shape))
      text += (i ? ", " : "") + std::to_string(size);
    text += "]";
  }
  return text;
}

/// The samples of a run, as the program gets them. Nothing after an error.
std::optional<DataBucket> Importer::bucketOf(const SampleRun &run,
                                             ArrayRef<DataField> wanted) {
  DataBucket bucket;
  bucket.samples = run.count;
  bucket.where = run.where;
  for (auto [field, info] : llvm::zip_equal(wanted, run.fields)) {
    std::vector<int64_t> shape = info.shape;
    for (const Pad &pad : data.pads) {
      if (pad.input != field.input)
        continue;
      if (shape.empty() || shape.front() > pad.to) {
        diags.error(pad.loc, "'" + info.name + "' of '" + run.where + "' has " +
                                 (shape.empty() ? Twine("no dim")
                                                : Twine(shape.front()) +
                                                      " in its first dim") +
                                 ", which is not padded to " + Twine(pad.to));
        return std::nullopt;
      }
      shape.front() = pad.to;
      if (!pad.mask.empty())
        bucket.shapes[pad.mask] = {pad.to};
    }
    if (llvm::is_contained(shape, 0)) {
      diags
          .error(field.loc, "'" + info.name + "' of '" + run.where +
                                "' is empty: one of its dims is 0")
          .note("leave the sample out, or fill it up with pad");
      return std::nullopt;
    }
    bucket.shapes[field.input] = std::move(shape);
  }
  return bucket;
}

/// The sizes of the dims that inputs declare by a name.
static std::map<std::string, int64_t> namedDims(ArrayRef<InputDecl> inputs,
                                                const DataBucket &bucket) {
  std::map<std::string, int64_t> sizes;
  for (const InputDecl &input : inputs) {
    auto shape = bucket.shapes.find(input.name);
    if (shape == bucket.shapes.end() ||
        shape->second.size() + 1 != input.dims.size())
      continue; // reported when it is bound
    for (auto [dim, size] :
         llvm::zip_equal(llvm::drop_begin(input.dims), shape->second))
      if (dim->kind == Expr::Kind::Name)
        sizes.try_emplace(dim->text, size);
  }
  return sizes;
}

/// Without `buckets`, all samples must have the shapes of the first.
bool Importer::checkOneBucket() {
  if (data.buckets.size() < 2)
    return true;
  const DataBucket &a = data.buckets[0], &b = data.buckets[1];
  for (auto &[input, shape] : a.shapes) {
    if (b.shapes.find(input)->second == shape)
      continue;
    auto field = data.fields.find(input);
    diags
        .error(b.loc, "tensor '" +
                          (field == data.fields.end() ? input.str()
                                                      : field->second.name) +
                          "' differs between '" + a.where + "' and '" +
                          b.where + "' in more than the number of samples")
        .note("they are " + shapesText(a) + " and " + shapesText(b))
        .note(
            "buckets = \"auto\" in [data] compiles a step for each shape; pad "
            "fills up the first dim of an input");
    return false;
  }
  return true;
}

/// Puts the buckets in the order of the spec's list.
bool Importer::matchBuckets(const Node &list, const Program &train) {
  std::vector<DataBucket> matched;
  std::vector<const Node *> owner(data.buckets.size());
  for (const auto &item : list.items) {
    DataBucket *found = nullptr;
    for (auto [i, bucket] : llvm::enumerate(data.buckets)) {
      auto sizes = namedDims(train.inputs, bucket);
      bool fits = true;
      for (const Entry &entry : item->entries) {
        if (entry.key == "micro_batch")
          continue;
        auto size = sizes.find(entry.key);
        if (size == sizes.end()) {
          diags
              .error(entry.keyLoc, "no input of the program '" + train.name +
                                       "' has a dim '" + entry.key + "'")
              .note(train.loc, "it is declared here");
          return false;
        }
        fits &= size->second == entry.value->integer;
      }
      if (!fits)
        continue;
      if (owner[i] || found) {
        auto report = diags.error(
            item->loc, found ? "samples of several shapes are in this bucket"
                             : "two buckets hold the same samples");
        if (found)
          report.note("'" + found->where + "' has " + shapesText(*found) +
                      ", '" + bucket.where + "' has " + shapesText(bucket));
        else
          report.note(owner[i]->loc, "the other one");
        return false;
      }
      found = &bucket;
      owner[i] = item.get();
    }
    if (!found) {
      diags.error(item->loc, "no sample is in this bucket")
          .note("the first sample has " + shapesText(data.buckets.front()));
      return false;
    }
    matched.push_back(*found);
    if (const Node *micro = item->get("micro_batch"))
      matched.back().microBatch = micro->integer;
    matched.back().loc = item->loc;
  }
  for (auto [i, bucket] : llvm::enumerate(data.buckets))
    if (!owner[i]) {
      diags
          .error(list.loc, "'" + bucket.where + "' is in no bucket: " +
                               shapesText(bucket) + "; " +
                               Twine(bucket.samples) + " samples are like it")
          .note("list it, or leave the samples out");
      return false;
    }
  data.buckets = std::move(matched);
  return true;
}

bool Importer::resolveBuckets(const Program &train) {
  const Node *buckets = spec.get("data", "buckets");
  if (!buckets) {
    if (!checkOneBucket())
      return false;
  } else if (buckets->isString()) {
    if (data.buckets.size() > kMaxBuckets) {
      diags
          .error(buckets->loc, "the samples have " +
                                   Twine(data.buckets.size()) +
                                   " shapes; a step would be compiled for each")
          .note("resize them to at most " + Twine(kMaxBuckets) +
                " shapes, or fill up an input with pad");
      return false;
    }
    // The largest first, whatever the order of the files.
    auto volume = [](const DataBucket &bucket) {
      double elements = 0;
      for (auto &[input, shape] : bucket.shapes)
        elements += std::accumulate(shape.begin(), shape.end(), 1.0,
                                    std::multiplies<>());
      return elements;
    };
    llvm::sort(data.buckets, [&](const auto &a, const auto &b) {
      return std::pair(-volume(a), shapesText(a)) <
             std::pair(-volume(b), shapesText(b));
    });
  } else if (!matchBuckets(*buckets, train)) {
    return false;
  }
  for (size_t i = 1; i < data.buckets.size(); ++i)
    if (Program *other = findProgram(bucketName(train.name, i))) {
      diags.error(other->loc, "a bucket of '" + train.name + "' is called '" +
                                  other->name +
                                  "'; give this program another name");
      return false;
    }
  for (DataBucket &bucket : data.buckets) {
    if (!bucket.microBatch)
      bucket.microBatch = microBatch;
    if (globalBatch < 1 || bucket.microBatch < 1 ||
        globalBatch % bucket.microBatch == 0)
      continue;
    diags
        .error(bucket.loc,
               "micro_batch = " + Twine(bucket.microBatch) +
                   " does not divide global_batch = " + Twine(globalBatch))
        .note(spec.locOf("train", "global_batch"),
              "global_batch = micro_batch × number of micro-batches");
    return false;
  }
  return true;
}

/// Sorts the samples of all sources into buckets.
bool Importer::fillBuckets(DataFiles &files, ArrayRef<DataField> wanted) {
  std::map<std::string, size_t> known;
  std::string firstWhere;
  for (const DataSource &source : data.sources) {
    std::vector<SampleRun> runs;
    if (!files.read(source, runs))
      return false;
    if (runs.empty()) {
      diags.error(source.loc, "the data holds no samples");
      return false;
    }
    for (const SampleRun &run : runs) {
      for (auto [field, info] : llvm::zip_equal(wanted, run.fields)) {
        auto [it, fresh] = data.fields.insert({field.input, info});
        if (fresh || it->second.dtype == info.dtype)
          continue;
        diags
            .error(source.loc, "tensor '" + info.name + "' differs between '" +
                                   firstWhere + "' and '" + run.where +
                                   "' in more than the number of samples")
            .note("it is " + it->second.dtype + " in the one and " +
                  info.dtype + " in the other");
        return false;
      }
      if (firstWhere.empty())
        firstWhere = run.where;
      std::optional<DataBucket> bucket = bucketOf(run, wanted);
      if (!bucket)
        return false;
      bucket->loc = source.loc;
      auto [it, fresh] =
          known.try_emplace(shapesText(*bucket), data.buckets.size());
      if (fresh)
        data.buckets.push_back(std::move(*bucket));
      else
        data.buckets[it->second].samples += run.count;
    }
  }
  return true;
}

void Importer::readData() {
  Program *train = findProgram(stringOf("train", "program"));
  if (!train)
    return;
  if (!spec.sectionNode("data")) {
    if (!train->inputs.empty())
      diags
          .error(train->inputs.front().loc,
                 "the program '" + train->name +
                     "' has inputs, but there is no [data]")
          .note("for example: [data] files = \"data.safetensors\"");
    return;
  }
  std::vector<DataField> wanted;
  if (!readPads(*train))
    return;
  // What is wrong with the files is said as well.
  bool ok = readFields(*train, wanted);
  DataFiles files(spec, diags, wanted);
  if (!readSources(files))
    return;
  // What the inputs are is not known then; only that there are samples.
  if (wanted.empty()) {
    data.buckets.emplace_back().microBatch = microBatch;
    return;
  }
  if (!fillBuckets(files, wanted) || !resolveBuckets(*train) || !ok)
    data.buckets.clear();
}
