//===- Reference.cpp - Schema, reference and resolved values ----*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"
#include "frontend/Frontend.h"
#include "frontend/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace ff;
using namespace ff::frontend;
using llvm::raw_ostream;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// JSON Schema
//===----------------------------------------------------------------------===//

static json::Object ofType(StringRef type) {
  return json::Object{{"type", type}};
}

static json::Object arrayOf(json::Object items) {
  return json::Object{{"type", "array"}, {"items", std::move(items)}};
}

static json::Object anyOf(json::Array options) {
  return json::Object{{"anyOf", std::move(options)}};
}

static json::Object tableOf(json::Object values) {
  return json::Object{{"type", "object"},
                      {"additionalProperties", std::move(values)}};
}

static json::Object schemaOfSection(StringRef section);

static json::Object schemaOfType(const KeyInfo &key) {
  std::string nested = (key.section + "." + key.name).str();
  json::Object shape =
      arrayOf(anyOf(json::Array{ofType("integer"), ofType("string")}));
  switch (key.type) {
  case KeyType::String:
  case KeyType::Path:
    return ofType("string");
  case KeyType::Choice: {
    json::Array choices;
    llvm::SmallVector<StringRef> names;
    StringRef(key.choices).split(names, '|');
    for (StringRef name : names)
      choices.push_back(name);
    return json::Object{{"enum", std::move(choices)}};
  }
  case KeyType::Integer:
    return ofType("integer");
  case KeyType::Float:
    return ofType("number");
  case KeyType::Boolean:
    return ofType("boolean");
  case KeyType::Strings:
    return anyOf(json::Array{ofType("string"), arrayOf(ofType("string"))});
  case KeyType::StringArray:
    return arrayOf(ofType("string"));
  case KeyType::FloatPair: {
    json::Object pair = arrayOf(ofType("number"));
    pair["minItems"] = 2;
    pair["maxItems"] = 2;
    return pair;
  }
  case KeyType::IntegerOrAuto:
    return anyOf(
        json::Array{ofType("integer"), json::Object{{"const", "auto"}}});
  case KeyType::Expression:
    return anyOf(
        json::Array{ofType("integer"), ofType("boolean"), ofType("string")});
  case KeyType::StringTable:
    return tableOf(ofType("string"));
  case KeyType::Config:
    return anyOf(json::Array{ofType("object"), ofType("string")});
  case KeyType::FreeTable:
    return ofType("object");
  case KeyType::ConfigDecl:
    return anyOf(json::Array{arrayOf(ofType("string")), ofType("object")});
  case KeyType::Initializer:
    return anyOf(json::Array{ofType("string"), ofType("object")});
  case KeyType::Shape:
    return shape;
  case KeyType::ParamTable:
    return tableOf(
        anyOf(json::Array{std::move(shape), schemaOfSection(nested + ".*")}));
  case KeyType::SectionTable:
    return tableOf(schemaOfSection(nested + ".*"));
  case KeyType::Tables:
    return arrayOf(schemaOfSection(nested));
  case KeyType::Section:
    return schemaOfSection(nested);
  case KeyType::Units:
    return anyOf(json::Array{
        json::Object{{"const", "blocks"}}, arrayOf(ofType("string")),
        json::Object{
            {"type", "object"},
            {"properties", json::Object{{"min_params", ofType("integer")}}},
            {"required", json::Array{"min_params"}},
            {"additionalProperties", false}}});
  case KeyType::Buckets:
    return anyOf(json::Array{
        json::Object{{"enum", json::Array{"auto"}}},
        arrayOf(json::Object{{"type", "object"},
                             {"additionalProperties", ofType("integer")}})});
  case KeyType::Recompute:
    return anyOf(
        json::Array{json::Object{{"enum", json::Array{"none", "block"}}},
                    arrayOf(ofType("string"))});
  case KeyType::Bytes:
    return anyOf(json::Array{ofType("integer"), ofType("string")});
  }
  llvm_unreachable("all types are covered");
}

static json::Object schemaOfSection(StringRef section) {
  json::Object properties;
  json::Array required;
  for (const KeyInfo &key : getKeys()) {
    if (key.section != section)
      continue;
    json::Object schema = schemaOfType(key);
    schema["description"] = StringRef(key.doc);
    if (key.range == Range::Positive || key.range == Range::Count)
      schema["exclusiveMinimum"] = 0;
    if (key.range == Range::NotNegative || key.range == Range::UnitInterval)
      schema["minimum"] = 0;
    if (key.range == Range::UnitInterval)
      schema["exclusiveMaximum"] = 1;
    if (key.range == Range::Count)
      schema["maximum"] = std::numeric_limits<int32_t>::max();
    if (key.range == Range::Scale) {
      schema["minimum"] = 1;
      schema["maximum"] = 64;
    }
    if (key.hasDefault()) { // scalars and empty tables are JSON as well
      llvm::Expected<json::Value> value = json::parse(key.fallback);
      if (value)
        schema["default"] = std::move(*value);
      else
        llvm::consumeError(value.takeError());
    }
    if (key.isRequired())
      required.push_back(StringRef(key.name));
    properties[key.name] = std::move(schema);
  }
  json::Object result{{"type", "object"},
                      {"additionalProperties", false},
                      {"properties", std::move(properties)}};
  if (const SectionInfo *info = findSection(section))
    result["description"] = StringRef(info->doc);
  if (!required.empty())
    result["required"] = std::move(required);
  return result;
}

void ff::printSchema(raw_ostream &out) {
  json::Object properties;
  json::Array required;
  for (const SectionInfo &section : getSections()) {
    auto [name, rest] = StringRef(section.name).split('.');
    if (!rest.empty() && rest != "*")
      continue; // part of another section
    json::Object schema = schemaOfSection(section.name);
    properties[name] =
        rest.empty() ? std::move(schema) : tableOf(std::move(schema));
    if (section.required)
      required.push_back(name);
  }
  json::Value schema =
      json::Object{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                   {"title", "ff pipeline"},
                   {"type", "object"},
                   {"additionalProperties", false},
                   {"properties", std::move(properties)},
                   {"required", std::move(required)}};
  out << llvm::formatv("{0:2}", schema) << "\n";
}

//===----------------------------------------------------------------------===//
// Language reference
//===----------------------------------------------------------------------===//

/// "`a` | `b`" would end a cell of a table.
static std::string cell(StringRef text) {
  std::string result;
  for (char c : text) {
    if (c == '|')
      result += '\\';
    result += c;
  }
  return result;
}

static std::string heading(StringRef section) {
  std::string text;
  for (char c : section)
    text += c == '*' ? std::string("NAME") : std::string(1, c);
  return text;
}

static void printKeys(StringRef section, raw_ostream &out) {
  out << "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const KeyInfo &key : getKeys()) {
    if (key.section != section)
      continue;
    std::string type = describeType(key.type).str();
    if (key.type == KeyType::Choice) {
      llvm::SmallVector<StringRef> names;
      StringRef(key.choices).split(names, '|');
      type.clear();
      for (StringRef name : names)
        type += (type.empty() ? "`\"" : ", `\"") + name.str() + "\"`";
    }
    std::string fallback = key.isRequired()   ? "required"
                           : key.hasDefault() ? "`" + key.fallback.str() + "`"
                                              : "none";
    out << "| `" << key.name << "` | " << cell(type) << " | " << cell(fallback)
        << " | " << cell(key.doc);
    if (!key.example.empty())
      out << "<br>`" << cell(key.example) << "`";
    out << " |\n";
  }
  out << "\n";
}

static constexpr llvm::StringLiteral preamble = R"(# Language reference

Generated by `ff-compile --print-reference`; do not edit.

A spec is a TOML file. Paths in it are relative to its folder. Every key is listed here; any other is an error.

)";

static constexpr llvm::StringLiteral forwardGuide = R"(## The forward language

`forward` strings are written in a small subset of Python. Blocks are indented by spaces; `#` starts a comment.

- Statements: `x = e`, `a, b = e`, `x += e` (and the other operators), `return e`, `for x in e:`, `if e:` with `elif` and
  `else:`, `pass`. Everything but tensors is known at compile time: loops are unrolled and branches are chosen while the spec
  is compiled. In a branch on a comparison of tensors, a scalar or one value for each sample, both sides run and each sample takes
  the values of its side; `where` selects single elements.
- Expressions: integers, floats, strings, `True`, `False`, `None`, lists, `+ - * / // % **`, `@` for matrix products,
  comparisons, `in` for lists, `and or not`, `a if c else b`, calls with positional and keyword arguments, `pi`.
- Tensors follow the broadcasting rules of NumPy: dims are aligned at the end, dims of size 1 repeat. Numbers take the dtype of
  the tensor they meet. `x.shape` is a list of integers; `x[:, 2:5]`, `x[0]`, `x[..., None]` cut, drop and add dims.
- Names: variables, inputs, named dims of the inputs, values of the config, submodules, parameters. Parameters are written with
  the dots and numbers of their names, `net.0.proj.weight`; `net.0.proj` alone stands for all parameters below it, of which
  `linear`, `layer_norm`, `rms_norm` and `embedding` take `.weight` and `.bias`. In programs, the components of the bundle are
  names.
- An input is declared as `"x: [B, S, 4 * dim] f32"`. A dim is a number, an expression, or a name: the first use of a name binds
  it, the others must agree. `...` in front stands for any leading dims. Without a dtype an input has the compute dtype, to which
  floats of the data and of callers are converted; with `float` it has fp32, or fp64 where the compute dtype is that. An input of
  a module without dims, `"causal"`, is a compile-time value. One that ends in `= None` may be left out: `"mask: [B, S] bool = None"`.
  `if mask != None:` asks whether it is there.
- In a program, dim 0 of every input is `B`, the micro-batch. The other dims of the train program are bound by the headers of the
  data files; other programs know the names that it binds.
- A program returns tensors: `return loss`, `return x, y`, or with names `return {image = x}`. An output without a name of its own
  has the name of the variable that is returned, else `loss` (of the train program) or `result`.
- A submodule with a `count` is a list: `for block in blocks:` or `blocks[0]`. Each element is a block: one function for each
  distinct configuration, however many layers call it, and one shard unit for each element. In the config of the list, `index` is
  the number of the element: `last = "index == depth - 1"`.
- A parameter must be used, a config value and a submodule without parameters must be mentioned: in a branch that is not taken will do.

)";

void ff::printLanguageReference(raw_ostream &out) {
  out << preamble << "## Sections\n\n";
  for (const SectionInfo &section : getSections()) {
    out << "### [" << heading(section.name) << "]\n\n"
        << section.doc << (section.required ? " Required.\n\n" : "\n\n");
    printKeys(section.name, out);
  }
  out << forwardGuide << "## Operations\n\n";
  out << "| operation | meaning | example |\n|---|---|---|\n";
  for (const Builtin &builtin : getBuiltins())
    out << "| `" << builtin.name << "(" << cell(builtin.signature) << ")` | "
        << cell(builtin.doc) << " | `" << cell(builtin.example) << "` |\n";
  out << "\n## Keys of other tools\n\n"
      << "These are errors that name the key to use.\n\n"
      << "| there | here |\n|---|---|\n";
  for (const RenamedKey &key : getRenamedKeys()) {
    out << "| `" << key.name << "` | `" << key.key << "` in ["
        << heading(key.section) << "]";
    if (!key.note.empty())
      out << "; " << key.note;
    out << " |\n";
  }
}

//===----------------------------------------------------------------------===//
// Resolved values
//===----------------------------------------------------------------------===//

static void printValue(StringRef key, const Node &node, StringRef origin,
                       raw_ostream &out) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << key << " = ";
  printToml(node, os);
  out << llvm::left_justify(text, 48) << " # " << origin << "\n";
}

static void printSection(const Spec &spec, const Node *table, StringRef section,
                         StringRef name, raw_ostream &out) {
  out << "[" << name << "]\n";
  for (const KeyInfo &key : getKeys()) {
    if (key.section != section || key.type == KeyType::Section)
      continue;
    const Node *node = table ? spec.get(*table, section, key.name)
                             : spec.get(section, key.name);
    if (!node)
      continue;
    printValue(key.name, *node, spec.originOf(*node), out);
  }
  out << "\n";
}

bool ff::printResolved(StringRef path, const ImportOptions &options,
                       raw_ostream &out, raw_ostream &os) {
  Diagnostics diags(os);
  Spec spec(diags);
  if (!spec.load(path, options) || diags.getNumErrors())
    return false;
  for (const SectionInfo &section : getSections()) {
    StringRef name = section.name;
    auto [head, rest] = name.split('.');
    if (head == "module" || head == "program")
      continue;
    if (rest == "*") {
      if (const Node *table = spec.sectionNode(head))
        for (const Entry &entry : table->entries)
          printSection(spec, entry.value.get(), name,
                       (head + "." + entry.key).str(), out);
      continue;
    }
    bool optional = head == "sample" || head == "data";
    if (name.contains('*') || (optional && !spec.has(name)))
      continue;
    printSection(spec, spec.sectionNode(name), name, name, out);
  }
  return true;
}
