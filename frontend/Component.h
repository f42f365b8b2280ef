//===- Component.h - A component and what is decided of it ------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the keys of [bundle.NAME], [precision] and [sharding] say of each single
// parameter, decided before anything is elaborated.
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_COMPONENT_H
#define FF_FRONTEND_COMPONENT_H

#include "dialect/FF.h"
#include "frontend/Modules.h"
#include "llvm/ADT/StringSet.h"

namespace ff::frontend {

/// One parameter instance of a component, adapters included.
struct ComponentParam {
  std::string name;  ///< in the component
  const Param *decl; ///< its shape, initialiser, ...
  std::string block; ///< the outermost block around it, or empty
  std::string unit;  ///< its shard unit; empty: the root unit
  bool trainable = false;
  bool isAdapter = false;

  // Dtypes; see Precision.cpp.
  mlir::Type storage, compute, gather, master, reduce;

  SourceAttr source; ///< null: the initialiser
  llvm::SmallVector<mlir::Attribute>
      patches;           ///< PatchAttrs, in the order of the spec
  std::string fileDtype; ///< of the source, or stated; empty: unknown
  /// Of a weight of fp8 or int8: the parameter with its scale, or empty.
  std::string scaleName;
  std::string saveName; ///< in the saved model; empty: it is not saved
  int64_t saveFile = 0;

  bool isBuffer() const { return decl->buffer; }
  int64_t numel() const {
    int64_t product = 1;
    for (int64_t size : decl->shape)
      product *= size;
    return product;
  }
};

/// The adapter of one linear weight: scale · B (A x).
struct Adapter {
  std::string a, b; ///< names of its parameters in the component
  int64_t rank = 0;
  double alpha = 0, dropout = 0;
  SMLoc loc; ///< of the pattern that asks for it
  bool used = false;
  /// How often the weight is named, and how often by a linear.
  unsigned mentions = 0, linears = 0;

  double scale() const { return alpha / static_cast<double>(rank); }
};

struct ComponentInfo {
  std::string name;
  SMLoc loc;
  const Node *table = nullptr;
  ModuleType *type = nullptr;
  std::string configText;        ///< of the file, where the config is one
  bool isOfTransformers = false; ///< that file is, not of diffusers
  TrainMode train = TrainMode::Full;
  SMLoc trainLoc;
  mlir::Type compute; ///< dtype of activations
  mlir::Type output;  ///< dtype of what a call returns
  bool reshardAfterForward = true, sharded = true;
  std::string mixedDtype; ///< "split", "promote" or "error"
  SMLoc mixedLoc;
  std::vector<std::string> files;
  /// In the order of the declarations; an adapter follows its weight.
  std::vector<ComponentParam> params;
  llvm::StringMap<size_t> index;     ///< of `params`
  llvm::StringMap<std::string> tied; ///< other names of a parameter -> its own
  llvm::MapVector<std::string, Adapter, std::map<std::string, unsigned>>
      adapters; ///< by the name of the weight
  std::vector<std::string> saveFiles;
  llvm::StringSet<> recomputed; ///< paths of blocks; see kRecomputeAttr
  /// The declarations of the adapters' parameters.
  std::vector<std::unique_ptr<Param>> ownDecls;

  ComponentParam *find(StringRef name) {
    auto alias = tied.find(name);
    auto it = index.find(alias == tied.end() ? name : alias->second);
    return it == index.end() ? nullptr : &params[it->second];
  }
  /// Appends a parameter.
  ComponentParam &add(ComponentParam param) {
    index[param.name] = params.size();
    params.push_back(std::move(param));
    return params.back();
  }
};

} // namespace ff::frontend

#endif // FF_FRONTEND_COMPONENT_H
