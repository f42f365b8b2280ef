//===- Importer.h - The parts of an import ----------------------*- C++ -*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_IMPORTER_H
#define FF_FRONTEND_IMPORTER_H

#include "frontend/Component.h"
#include "frontend/DataFiles.h"
#include "frontend/Elaborator.h"
#include "frontend/Safetensors.h"
#include "frontend/Weights.h"
#include "llvm/ADT/SetVector.h"

namespace ff::frontend {

/// Samples of equal shapes, for which the train program is built.
struct DataBucket {
  /// Of each input, without the batch; masks of padding as well.
  std::map<StringRef, std::vector<int64_t>> shapes;
  int64_t microBatch = 0;
  int64_t samples = 0;
  std::string where; ///< the first of them
  SMLoc loc;         ///< of its source; of a listed one, in the list
};

/// An input that is filled up with zeros in its first dim.
struct Pad {
  StringRef input;
  int64_t to;
  StringRef mask; ///< empty, or the input that says what is no padding
  SMLoc loc;
};

/// The data of the train program, from the headers of its files.
struct DataSet {
  std::vector<DataSource> sources;
  /// Tensor that supplies each input, of the first sample.
  llvm::MapVector<StringRef, TensorInfo> fields;
  std::vector<Pad> pads;
  std::vector<DataBucket> buckets;

  bool isMask(StringRef input) const {
    return llvm::any_of(pads, [&](const Pad &pad) {
      return !pad.mask.empty() && pad.mask == input;
    });
  }
};

/// One import: the spec, and the module that it becomes.
class Importer {
public:
  Importer(mlir::MLIRContext *context, const Spec &spec, Diagnostics &diags);

  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  struct Program {
    std::string name;
    SMLoc loc;
    SMLoc forwardLoc;
    std::vector<InputDecl> inputs;
    std::vector<Stmt> body;
    unsigned number = 0;
    mlir::func::FuncOp func;
    SMLoc returnLoc;
    bool parsed = false;
    bool built = false; ///< `func` is complete
  };

  // Import.cpp
  std::string stringOf(StringRef section, StringRef key) const;
  std::optional<int64_t> integerOf(StringRef section, StringRef key) const;
  /// A key with a size in bytes, such as "80GiB"; 0 where there is none.
  int64_t bytesOf(StringRef section, StringRef key) const;
  void resolveDtype();
  bool resolveBatches();

  // Bundle.cpp
  void addComponents();
  bool readComponent(const Entry &entry, ComponentInfo &info);
  bool readWeights(ComponentInfo &info);
  SourceAttr sourceOf(const WeightFiles::Tensor &tensor);
  bool checkFileDtypes(const ComponentInfo &info, SMLoc loc);
  void emitComponent(ComponentInfo &info);
  mlir::DictionaryAttr ownPrecision(const ComponentInfo &info) const;
  void emitParameter(const ComponentInfo &info, const ComponentParam &param);
  void checkComponents(const std::set<std::string> &inTraining);
  void reportUnreached(const ComponentInfo &info);

  // FoldAdapters.cpp
  /// Tensors of adapters that take the place of those of the weights.
  bool addSetWeights(const ComponentInfo &info, WeightFiles &files);
  bool foldAdapters(ComponentInfo &info);

  // Config.cpp
  bool readConfig(const Node &config, const ModuleDecl &decl, ConfigArgs &args,
                  ComponentInfo &info);
  bool readJsonConfig(const Node &path, const ModuleDecl &decl,
                      ConfigArgs &args, ComponentInfo &info);

  // Precision.cpp
  /// A key of [bundle.NAME.SECTION], else of [SECTION].
  const Node *componentNode(const ComponentInfo &info, StringRef section,
                            StringRef key) const;
  mlir::Type componentDtype(const ComponentInfo &info, StringRef key) const;
  bool applyKeep(ComponentInfo &info, const Node *keep,
                 std::vector<mlir::Type> &dtypes, bool mustMatch);
  void checkKeepPatterns();
  void reportDeadPattern(StringRef pattern, SMLoc loc, const Twine &what,
                         llvm::ArrayRef<std::string> names);
  bool resolveComponentDtypes(ComponentInfo &info);
  bool resolvePrecision(ComponentInfo &info);
  void setDerivedDtypes(ComponentParam &param, bool hasMaster);
  void warnAboutNarrowing(const ComponentInfo &info);
  void warnAboutPrecision(const ComponentInfo &info, bool hasMaster);
  bool applyMixedDtype(ComponentInfo &info);
  template <typename Units>
  bool rejectMixed(const ComponentInfo &info, const Units &units);

  // Adapters.cpp
  bool addAdapters(ComponentInfo &info);
  void checkAdapters(const ComponentInfo &info);
  mlir::DictionaryAttr loraAttr(const ComponentInfo &info);

  // Units.cpp
  bool resolveUnits(llvm::ArrayRef<ComponentInfo *> all);
  bool checkTiedUnits(ComponentInfo &info, const Node &patterns,
                      llvm::SetVector<const Node *> &alive);
  void warnAboutUnits(llvm::ArrayRef<ComponentInfo *> all);

  // Quantized.cpp
  bool addScales(ComponentInfo &info, const WeightFiles &files, SMLoc loc);

  // SaveTable.cpp
  void addSaveTable(ComponentInfo &info);

  // Recompute.cpp
  void resolveRecompute(ComponentInfo &info);
  void checkRecomputePatterns();

  // Data.cpp
  void readData();
  bool readSources(DataFiles &files);
  bool readPads(const Program &train);
  bool readFields(const Program &train, std::vector<DataField> &wanted);
  bool fillBuckets(DataFiles &files, llvm::ArrayRef<DataField> wanted);
  std::optional<DataBucket> bucketOf(const SampleRun &run,
                                     llvm::ArrayRef<DataField> wanted);
  bool checkOneBucket();
  bool matchBuckets(const Node &list, const Program &train);
  bool resolveBuckets(const Program &train);

  // Programs.cpp
  void parsePrograms();
  Program *findProgram(StringRef name);
  Program *requireProgram(StringRef section, StringRef why);
  void buildProgram(Program &program, size_t bucketNumber = 0);
  bool bindProgramInputs(Program &program, Scope &scope);
  std::optional<mlir::RankedTensorType> dataInputType(const InputDecl &input,
                                                      int64_t batch);
  void bindDims(const Scope &scope);
  std::optional<mlir::RankedTensorType>
  inputType(Program &program, const InputDecl &input, Scope &scope);
  void finishProgram(Program &program, const Val &result, const Expr *returned);
  void checkLoss(Program &program);

  // Policies.cpp
  mlir::DictionaryAttr buildPolicies();
  mlir::Attribute attributeOf(const Node &node) const;
  mlir::DictionaryAttr sectionAttr(StringRef section);
  void addDataPolicy(mlir::NamedAttrList &attrs);
  void addBuckets(mlir::NamedAttrList &train);
  void addOptimizerPolicy(mlir::NamedAttrList &attrs);
  void addSchedulePolicy(mlir::NamedAttrList &attrs);
  void addSamplePolicy(mlir::NamedAttrList &attrs);
  mlir::DictionaryAttr sampleInputs(Program &program);
  mlir::DictionaryAttr sampleInput(const InputDecl &input, const Entry &entry,
                                   Program &program);
  void checkImage(Program &program);

  mlir::MLIRContext *context;
  const Spec &spec;
  Diagnostics &diags;
  ModuleTable modules;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Elaborator> elaborator;
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::unique_ptr<ComponentInfo>> components;
  /// Patterns of tables that concern all components, and matched in one.
  llvm::DenseSet<const Entry *> usedPatterns;
  llvm::DenseSet<const Node *> usedRecompute;
  DataSet data;
  mlir::Type elementType;
  int64_t globalBatch = 0, microBatch = 0, sampleBatch = 0;
  size_t bucket = 0; ///< for which the train program is built
  /// Named dims that the train program binds, for the other programs: those in
  /// which its buckets agree.
  llvm::StringMap<Val> dims;
};

/// The name of the program that `program` is for a bucket: "train.1".
std::string bucketName(StringRef program, size_t bucket);
/// A config value as an attribute.
mlir::Attribute configAttr(mlir::Builder &b, const Val &value);
/// The bytes that a text such as "80GiB", "500 MB" or "1024" says; nothing
/// where it says none.
std::optional<int64_t> parseBytes(StringRef text);

} // namespace ff::frontend

#endif // FF_FRONTEND_IMPORTER_H
