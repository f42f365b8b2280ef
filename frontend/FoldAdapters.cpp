//===- FoldAdapters.cpp - Adapters that are folded into weights -----------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// adapters = [{ path = "style.safetensors", strength = 0.8 }]: each layer of
// the file finds the weight that it was trained for, by the name of the
// parameter or by that of the tensor that supplies it, and the parameter gets a
// patch.
//
//===----------------------------------------------------------------------===//

#include "frontend/AdapterFile.h"
#include "frontend/Importer.h"
#include "frontend/JsonReader.h"
#include "frontend/Safetensors.h"
#include "frontend/WeightReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace mlir;
using namespace ff;
using namespace ff::frontend;
using Tensor = WeightFiles::Tensor;

namespace {

/// Where a tensor of the weight files, or a part of it, lies in a parameter.
struct Place {
  ComponentParam *param;
  /// The element of the parameter that is the tensor's first: negative where
  /// the parameter has a later part of the tensor alone.
  int64_t first;
  int64_t numel, rows; ///< of the tensor
  bool isPart = false; ///< and then nothing else is in the parameter
};

/// The places of one tensor: several where it is split.
using Places = SmallVector<Place, 1>;

class Folder {
public:
  Folder(MLIRContext *context, ComponentInfo &info, Diagnostics &diags);

  bool fold(const Node &entry, const std::string &path);

private:
  Diagnostics::Report fail(SMLoc loc, const Twine &message) {
    failed = true;
    return diags.error(loc, message);
  }
  /// Where PATH.`suffix` lies: empty where nothing has that name.
  ArrayRef<Place> find(StringRef path, StringRef suffix) const;
  void addLowRank(StringRef path, const LayerAdapter &layer,
                  const Place &place);
  void addTensor(const Tensor &tensor, const Place &place);
  void addPatch(const Tensor &tensor, const Tensor *down, double scale,
                const Place &place);
  bool isFree(StringRef path, StringRef suffix, const Place &place);
  bool apply(StringRef path, const LayerAdapter &layer);
  std::optional<double> alphaOf(StringRef path, const LayerAdapter &layer);
  bool isFloat(const Tensor &tensor);
  void readAdapterConfigs(const std::string &path);
  void addAlpha(StringRef pattern, std::optional<double> number,
                const std::string &where);
  void readAdapterConfig(StringRef text, const std::string &where);

  MLIRContext *context;
  ComponentInfo &info;
  Diagnostics &diags;
  bool failed = false;
  llvm::StringMap<Places> places;       ///< by parameter and by tensor
  llvm::StringMap<Places> mangled;      ///< the same as kohya names them
  llvm::StringMap<std::string> clashes; ///< of these: the other parameter

  // Of the adapter that is folded.
  AdapterFile file;
  SMLoc loc;
  double strength = 1;
  std::optional<double> alpha; ///< of all its layers
  /// As PEFT has them: patterns of the end of a path, of which the first that
  /// matches counts.
  std::vector<std::pair<std::string, double>> alphas;
  llvm::StringMap<std::string> applied; ///< weight -> the path of its adapter
  /// Its files among those of the component.
  SmallVector<unsigned> fileNumbers;
  bool assumedAlpha = false;
};

} // namespace

/// The file in a folder of PEFT or diffusers; another path as it is.
static std::string fileOfAdapter(StringRef path) {
  for (StringRef name :
       {"adapter_model.safetensors", "pytorch_lora_weights.safetensors"}) {
    SmallString<128> file(path);
    llvm::sys::path::append(file, name);
    if (llvm::sys::fs::exists(file))
      return file.str().str();
  }
  return path.str();
}

static std::string describe(const Tensor &tensor) {
  return "'" + tensor.key + "' is " + tensor.dtype + " " +
         shapeText(tensor.shape);
}

static std::string mangle(StringRef path) {
  std::string text = path.str();
  std::replace(text.begin(), text.end(), '.', '_');
  return text;
}

Folder::Folder(MLIRContext *context, ComponentInfo &info, Diagnostics &diags)
    : context(context), info(info), diags(diags) {
  auto join = [](llvm::StringMap<Places> &map, StringRef name,
                 const Place &place) {
    Places &known = map[name];
    // The parts of a tensor, of which each parameter has one.
    bool others = llvm::all_of(known, [&](const Place &other) {
      return other.isPart && place.isPart && other.param != place.param;
    });
    if (others)
      known.push_back(place);
    return others ||
           llvm::any_of(known, [&](auto &p) { return p.param == place.param; });
  };
  auto add = [&](StringRef name, const Place &place) {
    join(places, name, place);
    for (StringRef end : {".weight", ".bias"}) {
      StringRef path = name;
      if (!path.consume_back(end))
        continue;
      std::string key = mangle(path) + end.str();
      if (!join(mangled, key, place))
        clashes[key] = place.param->name;
    }
  };
  auto addFileName = [&](StringRef name, const Place &place) {
    for (const std::string &stripped : strippedPaths(name, info.name))
      add(stripped, place);
  };
  for (ComponentParam &param : info.params) {
    if (!param.source || param.isAdapter || param.isBuffer())
      continue;
    ArrayRef<int64_t> shape = param.decl->shape;
    int64_t rows = shape.empty() ? 1 : shape.front();
    add(param.name, {&param, 0, param.numel(), rows});
  }
  // A parameter's own name counts before that of a tensor.
  for (ComponentParam &param : info.params) {
    if (!param.source || !param.source.getPieces())
      continue;
    int64_t at = 0;
    for (auto piece : param.source.getPieces().getAsRange<PieceAttr>()) {
      int64_t numel = ShapedType::getNumElements(piece.getShape());
      int64_t rows = piece.getShape().empty() ? 1 : piece.getShape().front();
      bool isPart = piece.getCount() != numel;
      assert((!isPart || param.source.getPieces().size() == 1) &&
             "a part of a tensor stands alone");
      addFileName(piece.getTensor().getValue(),
                  {&param, at - piece.getFirst(), numel, rows, isPart});
      at += piece.getCount();
    }
  }
  for (ComponentParam &param : info.params)
    if (param.source && !param.source.getPieces())
      if (auto it = places.find(param.name); it != places.end())
        addFileName(param.source.getTensor().getValue(),
                    Place(it->second.front()));
}

ArrayRef<Place> Folder::find(StringRef path, StringRef suffix) const {
  if (StringRef body = kohyaPath(path); !body.empty()) {
    auto it = mangled.find((body + suffix).str());
    return it == mangled.end() ? ArrayRef<Place>() : it->second;
  }
  for (const std::string &stripped : strippedPaths(path, info.name))
    if (auto it = places.find(stripped + suffix.str()); it != places.end())
      return it->second;
  return {};
}

/// A pattern of Python as POSIX has it, where it has one that matches the same
/// whole names; nothing where it does not.
static std::optional<std::string> posixOf(StringRef pattern) {
  std::string text;
  bool inSet = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    char c = pattern[i];
    char next = i + 1 < pattern.size() ? pattern[i + 1] : 0;
    if (c == '\\') {
      StringRef set = next == 'd'   ? "0-9"
                      : next == 'w' ? "A-Za-z0-9_"
                      : next == 's' ? " \t"
                                    : "";
      StringRef others = next == 'D'   ? "0-9"
                         : next == 'W' ? "A-Za-z0-9_"
                         : next == 'S' ? " \t"
                                       : "";
      if (!set.empty())
        text += (inSet ? set.str() : "[" + set.str() + "]");
      else if (!others.empty() && !inSet)
        text += "[^" + others.str() + "]";
      else if (next == 0 || llvm::isAlnum(next))
        return std::nullopt; // an assertion, a backreference, a character
      else if (inSet && (next == ']' || next == '-' || next == '^'))
        return std::nullopt; // POSIX has no escapes there
      else
        text += inSet ? std::string(1, next) : std::string{c, next};
      ++i;
      continue;
    }
    if (c == '[' || c == ']')
      inSet = c == '[';
    if (inSet || c == ']') {
      text += c;
      continue;
    }
    if (c == '(' && next == '?') {
      if (!pattern.substr(i).starts_with("(?:"))
        return std::nullopt;
      text += '(';
      i += 2;
      continue;
    }
    text += c;
    // Whether a repetition is lazy makes no difference to a whole match.
    bool repeats = c == '*' || c == '+' || c == '?' || c == '}';
    if (repeats && next == '?')
      ++i;
    else if (repeats && next == '+')
      return std::nullopt;
  }
  return text;
}

void Folder::addAlpha(StringRef pattern, std::optional<double> number,
                      const std::string &where) {
  std::optional<std::string> posix = posixOf(pattern);
  std::string wrong = "it has what POSIX patterns have not";
  if (!number)
    fail(loc, where + ": the alpha of '" + pattern +
                  "' in alpha_pattern is no number");
  else if (!posix || !llvm::Regex("(" + *posix + ")").isValid(wrong))
    fail(loc, where + ": '" + pattern +
                  "' of alpha_pattern cannot be read as a pattern: " + wrong)
        .note("write the layers out in the file, or give their alphas as "
              "tensors .alpha");
  else
    alphas.emplace_back(*posix, *number);
}

/// Fields of PEFT's config: beside its weights, or in the header of a file of
/// diffusers, where each has the name of its component before it.
void Folder::readAdapterConfig(StringRef text, const std::string &where) {
  if (isNestedTooDeeply(text)) {
    fail(loc, where + " is nested too deeply");
    return;
  }
  auto json = llvm::json::parse(text);
  if (!json) {
    fail(loc, where + " is no JSON: " + toString(json.takeError()));
    return;
  }
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return;
  auto field = [&](StringRef key) -> const llvm::json::Value * {
    for (const auto &[name, value] : *object)
      if (llvm::is_contained(strippedPaths(StringRef(name), info.name), key))
        return &value;
    return nullptr;
  };
  if (const auto *value = field("lora_alpha"))
    if (auto number = value->getAsNumber())
      alpha = *number;
  const llvm::json::Value *patterns = field("alpha_pattern");
  const llvm::json::Object *table =
      patterns ? patterns->getAsObject() : nullptr;
  // llvm::json keeps no order, and the first pattern that matches counts.
  JsonReader ordered(text, where);
  ordered.object([&](StringRef key, size_t) {
    bool isTable =
        table && ordered.peek() == '{' &&
        llvm::is_contained(strippedPaths(key, info.name), "alpha_pattern");
    if (!isTable)
      return ordered.skip();
    return ordered.object([&](StringRef layer, size_t) {
      if (const llvm::json::Value *value = table->get(layer))
        addAlpha(layer, value->getAsNumber(), where);
      return ordered.skip();
    });
  });
  auto isSet = [&](StringRef key) {
    const llvm::json::Value *value = field(key);
    return value && (value->getAsBoolean().value_or(false) ||
                     value->getAsNumber().value_or(0) != 0);
  };
  const llvm::json::Value *type = field("peft_type");
  StringRef kind = type ? type->getAsString().value_or("LORA") : "LORA";
  for (StringRef key : {"use_rslora", "use_dora", "fan_in_fan_out"})
    if (isSet(key))
      kind = key;
  if (kind != "LORA")
    fail(loc,
         where + " says '" + kind + "', which is no adapter that can be folded")
        .note("merge it with PEFT, and give the merged weights");
}

void Folder::readAdapterConfigs(const std::string &path) {
  if (!file.files.adapterConfig.empty())
    return readAdapterConfig(file.files.adapterConfig,
                             "the header of '" + path + "'");
  SmallString<128> config(llvm::sys::fs::is_directory(path)
                              ? StringRef(path)
                              : llvm::sys::path::parent_path(path));
  llvm::sys::path::append(config, "adapter_config.json");
  if (auto buffer = llvm::MemoryBuffer::getFile(config))
    readAdapterConfig((*buffer)->getBuffer(), ("'" + config + "'").str());
}

std::optional<double> Folder::alphaOf(StringRef path,
                                      const LayerAdapter &layer) {
  std::optional<double> value = alpha;
  auto matches = [&](const auto &entry) {
    llvm::Regex pattern("^(.*\\.)?(" + entry.first + ")$");
    return llvm::any_of(
        strippedPaths(path, info.name),
        [&](const std::string &name) { return pattern.match(name); });
  };
  if (auto it = llvm::find_if(alphas, matches); it != alphas.end())
    value = it->second;
  if (layer.alpha) {
    value = readScalar(file.files, *layer.alpha);
    if (!value)
      fail(loc, describe(*layer.alpha) + ", and an alpha is one number");
  }
  if (value && !(std::isfinite(*value) && *value > 0)) {
    fail(loc, "the adapter of '" + path + "' has the alpha " +
                  std::to_string(*value))
        .note("an alpha is positive: mend the file, or give 'alpha'");
    return std::nullopt;
  }
  return value;
}

/// Numbers that the trainer can add up.
bool Folder::isFloat(const Tensor &tensor) {
  if (llvm::is_contained({"f32", "f64", "bf16", "f16"}, tensor.dtype))
    return true;
  fail(loc, describe(tensor) + ", and adapters are f32, f64, bf16 or f16")
      .note("convert the file");
  return false;
}

void Folder::addPatch(const Tensor &tensor, const Tensor *down, double scale,
                      const Place &place) {
  auto text = [&](StringRef value) { return StringAttr::get(context, value); };
  place.param->patches.push_back(PatchAttr::get(
      context, fileNumbers[tensor.file], text(tensor.key), tensor.shape,
      text(down ? StringRef(down->key) : StringRef()),
      FloatAttr::get(Float64Type::get(context), scale), place.first,
      place.numel));
}

void Folder::addLowRank(StringRef path, const LayerAdapter &layer,
                        const Place &place) {
  const Tensor &down = *layer.down, &up = *layer.up;
  if (!isFloat(down) || !isFloat(up))
    return;
  int64_t columns = place.numel / std::max<int64_t>(place.rows, 1);
  auto inner = [](const Tensor &t) {
    return t.shape.empty() || !t.shape.front() ? 0
                                               : t.numel() / t.shape.front();
  };
  int64_t rank = down.shape.empty() ? 0 : down.shape.front();
  if (!rank || inner(up) != rank || up.shape.front() != place.rows ||
      inner(down) != columns || down.file != up.file) {
    fail(loc, "the adapter of '" + place.param->name + "' of component '" +
                  info.name + "' does not fit")
        .note(describe(down) + ", " + describe(up) + ", the weight is [" +
              Twine(place.rows) + ", " + Twine(columns) +
              "]; A is [r, columns] and B [rows, r]");
    return;
  }
  std::optional<double> own = alphaOf(path, layer);
  assumedAlpha |= !own;
  double scale = own.value_or(double(rank)) / double(rank);
  addPatch(up, &down, strength * scale, place);
}

void Folder::addTensor(const Tensor &tensor, const Place &place) {
  if (!isFloat(tensor))
    return;
  if (tensor.numel() != place.numel) {
    fail(loc, describe(tensor) + ", which is added to '" + place.param->name +
                  "' of component '" + info.name + "' with " +
                  Twine(place.numel) + " elements there");
    return;
  }
  addPatch(tensor, nullptr, strength, place);
}

/// Whether no other layer of the adapter is of the same weight.
bool Folder::isFree(StringRef path, StringRef suffix, const Place &place) {
  std::string key = (kohyaPath(path) + suffix).str();
  if (auto it = clashes.find(key);
      it != clashes.end() && !kohyaPath(path).empty()) {
    fail(loc, "'" + path + "' may be of '" + place.param->name + "' and of '" +
                  it->second + "' of component '" + info.name + "'")
        .note("give the adapter under the names of PEFT");
    return false;
  }
  std::string weight = place.param->name + "@" + std::to_string(place.first);
  auto [it, fresh] = applied.try_emplace(weight, path.str());
  if (fresh || it->second == path)
    return true;
  fail(loc, "'" + it->second + "' and '" + path +
                "' of the adapter are both of '" + place.param->name +
                "' of component '" + info.name + "'")
      .note("leave one of them out: the file is of several models");
  return false;
}

/// False where nothing of the layer is of this component.
bool Folder::apply(StringRef path, const LayerAdapter &layer) {
  bool any = false;
  auto placesOf = [&](StringRef suffix) {
    ArrayRef<Place> all = find(path, suffix);
    any |= !all.empty();
    for (const Place &place : all)
      if (!isFree(path, suffix, place))
        return ArrayRef<Place>();
    return all;
  };
  if (layer.down || layer.up)
    for (const Place &place : placesOf(".weight")) {
      if (layer.down && layer.up)
        addLowRank(path, layer, place);
      else
        fail(loc, "the adapter of '" + path + "' has '" +
                      (layer.down ? layer.down : layer.up)->key + "' alone")
            .note("a low-rank adapter is two tensors, A and B");
    }
  if (layer.diff)
    for (const Place &place : placesOf(".weight"))
      addTensor(*layer.diff, place);
  if (layer.diffBias)
    for (const Place &place : placesOf(".bias"))
      addTensor(*layer.diffBias, place);
  // Taken as a tensor of the weights before; see addSetWeights.
  any |= layer.setWeight && kohyaPath(path).empty() &&
         !find(path, ".weight").empty();
  return any;
}

bool Folder::fold(const Node &entry, const std::string &path) {
  loc = entry.get("path")->loc;
  if (const Node *node = entry.get("strength"))
    strength = node->number;
  if (!readWeightFiles(fileOfAdapter(path), loc, file.files, diags))
    return false;
  sortAdapterTensors(file);
  readAdapterConfigs(path);
  if (const Node *node = entry.get("alpha"))
    alpha = node->number;
  for (const std::string &name : file.files.files) {
    // One that gives whole weights is there.
    auto it = llvm::find(info.files, name);
    fileNumbers.push_back(it - info.files.begin());
    if (it == info.files.end())
      info.files.push_back(name);
  }
  for (const std::string &key : file.unknown)
    for (StringRef part : {"lora_magnitude_vector", "dora_scale", "lora_mid",
                           "lora_B.bias", "hada_", "lokr_"})
      if (StringRef(key).contains(part))
        fail(loc, "'" + key + "' of '" + path +
                      "' is of no adapter that can be folded")
            .note("merge it with the tool that made it, and give the merged "
                  "weights");
  std::vector<std::string> unapplied = file.unknown;
  size_t layersApplied = 0;
  for (const auto &[layerPath, layer] : file.layers) {
    if (apply(layerPath, layer))
      ++layersApplied;
    else
      llvm::append_range(unapplied, layer.keys());
  }
  if (failed)
    return false;
  if (!layersApplied) {
    auto report =
        fail(loc, "the adapter '" + path + "' is of no weight of component '" +
                      info.name + "'");
    report.note("it has " + someOf(unapplied));
    std::vector<std::string> names;
    for (const ComponentParam &param : info.params)
      names.push_back(param.name);
    report.note("the component has " + someOf(names));
    return false;
  }
  if (!unapplied.empty())
    diags
        .warning(loc, counted(unapplied.size(), "tensor") +
                          " of the adapter '" + path + "' " +
                          (unapplied.size() == 1 ? "is" : "are") +
                          " not applied: component '" + info.name +
                          "' has no such weights")
        .note("not applied: " + someOf(unapplied));
  if (assumedAlpha)
    diags
        .warning(loc, "the adapter '" + path +
                          "' says no alpha for some of its layers")
        .note("their B A is taken as it is, as with alpha = rank; give 'alpha' "
              "if it was another");
  return true;
}

bool Importer::foldAdapters(ComponentInfo &info) {
  const Node *list = info.table->get("adapters");
  if (!list)
    return true;
  bool ok = true;
  for (const auto &entry : list->items) {
    if (entry->get("path"))
      ok &= Folder(context, info, diags)
                .fold(*entry, spec.resolvePath(entry->get("path")->string));
  }
  for (const ComponentParam &param : info.params) {
    Type dtype = dtypeOf(context, param.fileDtype);
    if (param.patches.empty() || (dtype && isa<FloatType>(dtype)))
      continue;
    diags
        .error(list->loc, "an adapter is folded into '" + param.name +
                              "' of component '" + info.name + "', which is " +
                              param.fileDtype + " in its file")
        .note("the sum needs a float: convert the file");
    ok = false;
  }
  return ok;
}

bool Importer::addSetWeights(const ComponentInfo &info, WeightFiles &files) {
  const Node *list = info.table->get("adapters");
  if (!list)
    return true;
  for (const auto &entry : list->items) {
    const Node *path = entry->get("path");
    if (!path)
      continue;
    AdapterFile adapter;
    if (!readWeightFiles(fileOfAdapter(spec.resolvePath(path->string)),
                         path->loc, adapter.files, diags))
      return false;
    sortAdapterTensors(adapter);
    for (const auto &[layerPath, layer] : adapter.layers) {
      if (!layer.setWeight)
        continue;
      Tensor tensor = *layer.setWeight;
      // Under the name of a tensor of the weights, or of a parameter.
      auto paths = strippedPaths(layerPath, info.name);
      auto isKnown = [&](const std::string &name) {
        return info.index.count(name + ".weight") ||
               llvm::any_of(files.tensors, [&](const Tensor &other) {
                 return other.key == name + ".weight";
               });
      };
      auto known = llvm::find_if(paths, isKnown);
      std::string key =
          (known == paths.end() ? paths.front() : *known) + ".weight";
      tensor.pieces = {{unsigned(files.files.size()) + tensor.file, tensor.key,
                        tensor.shape, 0, tensor.numel()}};
      tensor.file += files.files.size();
      tensor.key = key;
      llvm::erase_if(files.tensors,
                     [&](const Tensor &other) { return other.key == key; });
      files.tensors.push_back(std::move(tensor));
    }
    bool any = llvm::any_of(adapter.layers, [](const auto &layer) {
      return layer.second.setWeight != nullptr;
    });
    if (any)
      llvm::append_range(files.files, adapter.files.files);
  }
  return true;
}
