//===- Elaborator.h - Builds the functions of programs and blocks -*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FF_FRONTEND_ELABORATOR_H
#define FF_FRONTEND_ELABORATOR_H

#include "frontend/Component.h"
#include "frontend/Evaluator.h"
#include "frontend/Ranges.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/StringSaver.h"

namespace ff::frontend {

/// A function that is being built.
struct FunctionState {
  mlir::func::FuncOp func;
  mlir::OpBuilder builder;
  bool isBlock = false;
  /// A program that is not differentiated calls components instead of inlining
  /// them: a sampler calls the same one in every step.
  bool callsComponents = false;
  int64_t batch = 0;     ///< `B` of a program
  unsigned nextSite = 0; ///< of randomness: program number << 24 | count
  /// The values of parameters: arguments of a block, ff.param of a program.
  llvm::StringMap<mlir::Value> params;
  /// Of a block: the component and place of the instance that it is built from.
  /// The instances that share the function have the same parameters and dtypes.
  ComponentInfo *component = nullptr;
  std::string prefix;
  /// Random values that the callers of a block draw for it: they follow its
  /// parameters.
  std::vector<std::pair<mlir::Type, Distribution>> draws;
  /// Weights, relative to the block, whose adapters the function applies.
  std::vector<std::string> adapted;

  explicit FunctionState(mlir::MLIRContext *context) : builder(context) {}
};

/// The function of a block or of a component, and what its calls give.
struct BlockFunction {
  mlir::func::FuncOp func;
  Val result; ///< whose tensors stand for the results, in order
  std::vector<std::string> params; ///< relative to the block
  std::vector<std::pair<mlir::Type, Distribution>> draws;
  std::vector<std::string> adapted;
};

/// A side of a branch that no sample takes.
struct DeadBranch {
  SMLoc loc;
  std::string why;
  std::vector<std::string> components; ///< names that it mentions
};

/// Elaborates modules into functions. Emission of single operations is in
/// Emit.cpp, of calls in Calls.cpp.
class Elaborator {
public:
  Elaborator(mlir::ModuleOp module, Diagnostics &diags, mlir::Type elementType)
      : module(module), context(module.getContext()), diags(diags),
        elementType(elementType), programType(elementType), saver(allocator) {}

  mlir::ModuleOp module;
  mlir::MLIRContext *context;
  Diagnostics &diags;
  /// The compute dtype: of the component that is elaborated, or of programs.
  mlir::Type elementType;
  mlir::Type programType; ///< of programs: f32 or f64
  FunctionState *function = nullptr;
  /// Components of the bundle, by name.
  llvm::StringMap<Val> components;
  llvm::StringMap<ComponentInfo *> infos;
  /// Whether it is the program that trains that is built: adapters drop out,
  /// and those that it applies count as used.
  bool dropsOut = false;
  std::set<std::string> usedComponents;
  std::vector<DeadBranch> deadBranches;
  std::vector<RangeFact> facts; ///< of the branches around what is elaborated

  mlir::OpBuilder &builder() { return function->builder; }
  mlir::Location location(SMLoc loc) { return diags.location(context, loc); }
  /// Reports an error, with the calls that led to it.
  Diagnostics::Report error(SMLoc loc, const Twine &message);
  StringRef save(const Twine &text) { return saver.save(text); }

  // Calls.cpp
  Val callModule(const Instance &instance, llvm::ArrayRef<Arg> args,
                 StringRef callee, SMLoc loc);
  Val param(const Instance &instance, const Param &param, SMLoc loc);
  /// A random tensor; in a block, one that its callers draw.
  Val random(Distribution distribution, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<StringRef> dims, mlir::Type element, SMLoc loc);
  /// The float type that an input declares by `name`; null if it is none.
  mlir::Type declaredDtype(StringRef name);
  /// f32, or f64 where the compute dtype is that: for phases and tables.
  mlir::Type floatType() {
    return elementType.isF64() ? elementType : programType;
  }
  /// Checks a tensor against its declaration and binds its named dims.
  bool bindTensor(const InputDecl &input, const Val &value, SMLoc loc,
                  Scope &scope, const Twine &what);

  // Emit.cpp
  Val binary(Operator op, const Val &lhs, const Val &rhs, SMLoc loc);
  Val negate(const Val &value, SMLoc loc);
  /// A number as a tensor like `type`, a tensor as it is.
  mlir::Value splat(mlir::RankedTensorType type, double value, SMLoc loc);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      SMLoc loc);
  /// Repeats dims of size 1 and adds leading dims.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                        SMLoc loc);
  /// Integers, booleans or floats as floats of `element`.
  Val convert(const Val &value, mlir::Type element, SMLoc loc);
  Val slice(const Val &value, int64_t dim, int64_t start, int64_t size,
            SMLoc loc);
  Val reshaped(const Val &value, llvm::ArrayRef<int64_t> shape,
               llvm::ArrayRef<StringRef> dims, SMLoc loc);
  Val reduce(ReduceKind kind, const Val &value, llvm::ArrayRef<int64_t> dims,
             bool keep, SMLoc loc);
  Val linear(const Val &input, const Val &weight, const Val *bias, SMLoc loc);
  Val matmul(const Val &lhs, const Val &rhs, bool transposeLhs,
             bool transposeRhs, SMLoc loc);
  /// A tensor of bf16 or f16 as f32: before it was rounded, where that is
  /// known.
  Val widened(const Val &value, SMLoc loc);
  /// The dtype to round to what is computed from these: bf16 or f16 where all
  /// float tensors among them are that; null: none.
  mlir::Type narrowDtype(llvm::ArrayRef<const Val *> operands);
  Val rounded(const Val &value, mlir::Type dtype, SMLoc loc);
  /// Adds the output of the adapter of a weight, if there is one.
  Val addAdapter(Val result, const Val &input, const Val &weight, SMLoc loc);
  /// Makes the shapes and dtypes of both equal. False after an error.
  bool unify(Val &lhs, Val &rhs, const Twine &what, SMLoc loc);

private:
  struct Frame {
    std::string callee;
    SMLoc loc;
  };

  bool bindInputs(const ModuleDecl &decl, llvm::ArrayRef<Arg> args,
                  StringRef callee, SMLoc loc, Scope &scope);
  bool bindInput(const InputDecl &input, const Arg &arg, StringRef callee,
                 Scope &scope);
  Val runForward(Scope &scope, SMLoc loc);
  Val callBlock(const Instance &instance, Scope &scope, SMLoc loc);
  bool checkWeightArguments(Scope &scope, SMLoc loc);
  void convertFloats(Val &value, mlir::Type to, SMLoc loc);
  /// The numbers that a weight of fp8 or int8 stands for; other parameters as
  /// they are. Quantized.cpp.
  Val decoded(Val value, ComponentInfo &info, const ComponentParam &param,
              SMLoc loc);
  /// The component that an instance is a part of, and its place there.
  ComponentInfo *infoOf(const Instance &instance, std::string &prefix);
  mlir::Value paramValue(const Instance &instance, const ComponentParam &param,
                         SMLoc loc);
  BlockFunction *getBlock(const Instance &instance, Scope &scope, SMLoc loc);
  void buildBlock(BlockFunction &block, const Instance &instance, Scope scope,
                  SMLoc loc);
  /// Whether the call is one of a whole component that is not inlined.
  bool isComponentCall(const Instance &instance) const {
    return function->callsComponents && instance.component &&
           instance.prefix.empty();
  }

  bool base = false; ///< adapters are left out
  std::vector<Frame> frames;
  llvm::StringMap<BlockFunction> blocks;
  llvm::StringMap<unsigned> blockCounts;
  llvm::BumpPtrAllocator allocator;
  llvm::UniqueStringSaver saver;
};

} // namespace ff::frontend

#endif // FF_FRONTEND_ELABORATOR_H
