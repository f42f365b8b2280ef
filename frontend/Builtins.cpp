//===- Builtins.cpp - Calls of builtin operations ---------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "frontend/Builtins.h"

#include "llvm/ADT/STLExtras.h"

using namespace ff::frontend;

const Builtin *ff::frontend::findBuiltin(StringRef name) {
  static const auto *index = [] {
    auto *map = new llvm::StringMap<const Builtin *>();
    for (const Builtin &builtin : getBuiltins())
      (*map)[builtin.name] = &builtin;
    return map;
  }();
  return index->lookup(name);
}

std::vector<std::pair<StringRef, bool>>
ff::frontend::parametersOf(const Builtin &builtin) {
  std::vector<std::pair<StringRef, bool>> names;
  llvm::SmallVector<StringRef> parts;
  StringRef(builtin.signature).split(parts, ", ");
  for (StringRef part : parts) {
    auto [name, fallback] = part.split('=');
    names.push_back({name, !fallback.empty()});
  }
  return names;
}

static Diagnostics::Report report(Elaborator *elaborator, Diagnostics &diags,
                                  SMLoc loc, const Twine &message) {
  return elaborator ? elaborator->error(loc, message)
                    : diags.error(loc, message);
}

/// Puts the arguments in the order of the signature. False after an error.
static bool bind(const Builtin &builtin, llvm::ArrayRef<Arg> args, SMLoc loc,
                 Elaborator *elaborator, Diagnostics &diags,
                 std::vector<Arg> &bound) {
  auto parameters = parametersOf(builtin);
  std::vector<bool> given(parameters.size());
  bound.resize(parameters.size());
  for (Arg &arg : bound)
    arg = {"", loc, Val::none()};
  auto signature =
      ("it is called as " + Twine(builtin.name) + "(" + builtin.signature + ")")
          .str();
  size_t position = 0;
  for (const Arg &arg : args) {
    size_t i = position;
    if (arg.name.empty())
      ++position;
    else
      i = llvm::find_if(parameters,
                        [&](auto &p) { return p.first == arg.name; }) -
          parameters.begin();
    if (i < parameters.size() && !given[i]) {
      given[i] = true;
      bound[i] = arg;
      continue;
    }
    std::string what = arg.name.empty() ? "too many arguments for '"
                       : i < parameters.size()
                           ? "argument '" + arg.name + "' is given twice to '"
                           : "unknown argument '" + arg.name + "' of '";
    auto error =
        report(elaborator, diags, arg.loc, what + Twine(builtin.name) + "'");
    std::vector<StringRef> names;
    for (auto &parameter : parameters)
      names.push_back(parameter.first);
    auto near = arg.name.empty() ? std::nullopt : nearest(arg.name, names);
    error.note(near ? "did you mean '" + *near + "'?" : signature);
    return false;
  }
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    if (given[i] || parameter.second || parameter.first.empty())
      continue;
    report(elaborator, diags, loc,
           "'" + Twine(builtin.name) + "' needs the argument '" +
               parameter.first + "'")
        .note(signature);
    return false;
  }
  return true;
}

/// Widens the operands of a builtin that computes in f32, and rounds its
/// result.
static Val emitIn(Call &call) {
  Numerics numerics = call.builtin.numerics;
  Elaborator &e = call.e;
  if (numerics == Numerics::AsIs)
    return call.builtin.emit(call);
  std::vector<const Val *> operands;
  for (const Arg &arg : call.args)
    operands.push_back(&arg.value);
  if (numerics == Numerics::WideLikeFirst)
    operands.resize(1);
  mlir::Type dtype = e.narrowDtype(operands);
  for (Arg &arg : call.args)
    arg.value = e.widened(arg.value, call.loc);
  Val result = call.builtin.emit(call);
  return dtype ? e.rounded(result, dtype, call.loc) : result;
}

Val ff::frontend::callBuiltin(const Builtin &builtin, llvm::ArrayRef<Arg> args,
                              SMLoc loc, Elaborator *elaborator,
                              Diagnostics &diags) {
  std::vector<Arg> bound;
  if (!bind(builtin, args, loc, elaborator, diags, bound))
    return Val::error();
  if (!elaborator) {
    diags.error(loc, "functions cannot be called here");
    return Val::error();
  }
  Call call(builtin, loc, *elaborator);
  call.args = std::move(bound);
  return emitIn(call);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Val Call::fail(const Twine &message) {
  e.error(loc, Twine(builtin.name) + ": " + message);
  return Val::error();
}

Val Call::failAt(size_t i, const Twine &message) {
  e.error(args[i].loc, Twine(builtin.name) + ": " + message);
  return Val::error();
}

bool Call::wrong(size_t i, StringRef wanted) {
  const Val &value = args[i].value;
  std::string got = value.isTensor() ? "the tensor " + describeTensor(value)
                                     : describeKind(value).str();
  failAt(i, "argument '" + parametersOf(builtin)[i].first + "' must be " +
                wanted + ", not " + got);
  return false;
}

bool Call::isTensor(size_t i) {
  return args[i].value.isTensor() || wrong(i, "a tensor");
}

bool Call::isFloatTensor(size_t i) {
  if (args[i].value.isFloatTensor())
    return true;
  wrong(i, "a float tensor");
  return false;
}

std::optional<int64_t> Call::integer(size_t i) {
  if (args[i].value.isInteger())
    return args[i].value.integer;
  wrong(i, "an integer known at compile time");
  return std::nullopt;
}

std::optional<double> Call::number(size_t i) {
  if (args[i].value.isNumber())
    return args[i].value.asDouble();
  wrong(i, "a number known at compile time");
  return std::nullopt;
}

std::optional<bool> Call::boolean(size_t i) {
  if (args[i].value.isBoolean())
    return args[i].value.integer != 0;
  if (args[i].value.isNone())
    return false;
  wrong(i, "True or False");
  return std::nullopt;
}

std::optional<int64_t> Call::dim(size_t i, size_t tensor) {
  auto value = integer(i);
  if (!value)
    return std::nullopt;
  const Val &of = args[tensor].value;
  int64_t dim = *value < 0 ? *value + of.rank() : *value;
  if (dim >= 0 && dim < of.rank())
    return dim;
  failAt(i, "there is no dim " + Twine(*value) + " in " + describeTensor(of));
  return std::nullopt;
}

std::optional<std::vector<int64_t>> Call::dims(size_t i, size_t tensor) {
  const Val &value = args[i].value, &of = args[tensor].value;
  std::vector<int64_t> result;
  if (value.isNone()) {
    for (int64_t d = 0; d < of.rank(); ++d)
      result.push_back(d);
    return result;
  }
  llvm::ArrayRef<Val> items =
      value.isList() ? llvm::ArrayRef(value.items) : llvm::ArrayRef(value);
  for (const Val &item : items) {
    if (!item.isInteger()) {
      wrong(i, "a dim or a list of dims");
      return std::nullopt;
    }
    int64_t dim = item.integer < 0 ? item.integer + of.rank() : item.integer;
    if (dim < 0 || dim >= of.rank() || llvm::is_contained(result, dim)) {
      failAt(i,
             "dim " + Twine(item.integer) +
                 (llvm::is_contained(result, dim) ? " stands twice"
                                                  : " does not exist in ") +
                 (llvm::is_contained(result, dim) ? "" : describeTensor(of)));
      return std::nullopt;
    }
    result.push_back(dim);
  }
  llvm::sort(result);
  return result;
}

bool Call::shape(size_t i, llvm::SmallVectorImpl<int64_t> &sizes,
                 llvm::SmallVectorImpl<StringRef> &names, bool infer) {
  const Val &value = args[i].value;
  llvm::ArrayRef<Val> items =
      value.isList() ? llvm::ArrayRef(value.items) : llvm::ArrayRef(value);
  for (const Val &item : items) {
    if (!item.isInteger())
      return wrong(i, "a list of integers known at compile time");
    if (item.integer < 1 && !(infer && item.integer == -1)) {
      failAt(i, "a dim of size " + Twine(item.integer));
      return false;
    }
    sizes.push_back(item.integer);
    names.push_back(item.text.empty() ? StringRef() : e.save(item.text));
  }
  return true;
}

bool Call::tensorShape(size_t i, llvm::SmallVectorImpl<int64_t> &sizes,
                       llvm::SmallVectorImpl<StringRef> &names, bool infer) {
  if (!shape(i, sizes, names, infer))
    return false;
  if (!isTooLarge(sizes))
    return true;
  failAt(i, "a tensor of more than 2^40 elements");
  return false;
}

std::optional<Val> Call::paramOf(size_t i, StringRef suffix) {
  const Val &value = args[i].value;
  assert(value.kind == Val::Kind::Params);
  return lookupInModule(value.instance, value.text + "." + suffix.str(), &e,
                        loc);
}
