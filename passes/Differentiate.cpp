//===- Differentiate.cpp - Adds the backward of the program that trains --===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"
#include "dialect/View.h"
#include "passes/Passes.h"
#include "passes/Residuals.h"
#include "passes/Spec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>

namespace ff {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Passes.h.inc"
} // namespace ff

using namespace mlir;
using namespace ff;

namespace {

/// The forward and backward functions of a block, for one set of arguments
/// whose gradients are wanted and one set of results that have gradients.
struct BlockVariant {
  func::FuncOp forward;  ///< (args) -> (results, residuals)
  func::FuncOp backward; ///< (args that it needs, residuals, result gradients)
                         ///< -> gradients of the wanted arguments
  SmallVector<unsigned>
      backwardArgs;               ///< the arguments of the block among these
  SmallVector<unsigned> gradArgs; ///< the arguments that have a gradient
};

/// A gradient in the making: contributions that are not yet added up. Slices
/// are kept apart, so that those that tile a dim become one concatenation.
struct Contributions {
  struct Slice {
    int64_t dim, start;
    Value grad;
  };
  /// The sum so far. Added to as gradients arrive, so that a sum over layers
  /// holds one value and not one for each layer.
  Value whole;
  SmallVector<Slice> slices;
  /// Those of a parameter in bf16 or f16 are added up in f32 (V6).
  bool wide = false;
  /// ... or in the dtype in which it is reduced, where that is wider.
  Type reduce;

  void add(OpBuilder &b, Value grad) {
    if (whole)
      whole = addUp(b, widen(b, whole), widen(b, grad));
    else
      whole = grad;
  }
  Value widen(OpBuilder &b, Value grad) const;
  static Value addUp(OpBuilder &b, Value x, Value y);
};

/// `value` with elements of `dtype`.
Value convertTo(OpBuilder &b, Value value, Type dtype) {
  auto type = cast<RankedTensorType>(value.getType());
  unsigned from = type.getElementTypeBitWidth();
  unsigned to = dtype.getIntOrFloatBitWidth();
  if (type.getElementType() == dtype)
    return value;
  // What was rounded from `dtype` is that.
  if (auto rounded = value.getDefiningOp<arith::TruncFOp>())
    if (rounded.getIn().getType() == type.clone(dtype))
      return rounded.getIn();
  RankedTensorType result = type.clone(dtype);
  if (from < to)
    return b.create<arith::ExtFOp>(value.getLoc(), result, value);
  if (from > to)
    return b.create<arith::TruncFOp>(value.getLoc(), result, value);
  // bf16 and f16: neither holds the other.
  Value wide = b.create<arith::ExtFOp>(value.getLoc(),
                                       type.clone(b.getF32Type()), value);
  return b.create<arith::TruncFOp>(value.getLoc(), result, wide);
}

Value Contributions::widen(OpBuilder &b, Value grad) const {
  if (!wide)
    return grad;
  Type dtype = numberTypeOf(getElementTypeOrSelf(grad));
  if (reduce && reduce.getIntOrFloatBitWidth() > dtype.getIntOrFloatBitWidth())
    dtype = reduce;
  return convertTo(b, grad, dtype);
}

/// Gradients of a parameter may arrive in its reduction dtype, which is wider.
Value Contributions::addUp(OpBuilder &b, Value x, Value y) {
  Type tx = getElementTypeOrSelf(x), ty = getElementTypeOrSelf(y);
  Type wider =
      tx.getIntOrFloatBitWidth() >= ty.getIntOrFloatBitWidth() ? tx : ty;
  return b.create<arith::AddFOp>(y.getLoc(), convertTo(b, x, wider),
                                 convertTo(b, y, wider));
}

class Differentiator {
public:
  Differentiator(ModuleOp module) : module(module), symbols(module) {
    module.walk([&](ParameterOp param) {
      if (!param.isTrainable())
        return;
      Type reduce = param.getReduceDtype();
      if (!widestReduce ||
          reduce.getIntOrFloatBitWidth() > widestReduce.getIntOrFloatBitWidth())
        widestReduce = reduce;
    });
  }

  LogicalResult differentiateProgram(func::FuncOp program);

private:
  FailureOr<BlockVariant> getVariant(func::FuncOp block, ArrayRef<bool> active,
                                     ArrayRef<bool> seeded);
  LogicalResult backward(Block &body, OpBuilder builder,
                         llvm::DenseSet<Value> &active,
                         llvm::DenseMap<Value, Contributions> &grads);
  LogicalResult backwardCall(func::CallOp call, OpBuilder &builder,
                             llvm::DenseSet<Value> &active,
                             llvm::DenseMap<Value, Contributions> &grads);
  void markActive(Block &body, llvm::DenseSet<Value> &active);
  void split(func::FuncOp block, Region &joint, BlockVariant &variant);
  bool isTrainable(ParamOp param);
  bool isOfParameter(Value value);
  Contributions &at(llvm::DenseMap<Value, Contributions> &grads, Value value) {
    auto [it, fresh] = grads.try_emplace(value);
    if (fresh) {
      it->second.wide = isOfParameter(value);
      if (auto param = value.getDefiningOp<ParamOp>())
        it->second.reduce = lookupParameter(param.getParam()).getReduceDtype();
      else if (paramArgs.contains(value))
        it->second.reduce = widestReduce;
    }
    return it->second;
  }
  ParameterOp lookupParameter(SymbolRefAttr ref) {
    return cast<ParameterOp>(tables.lookupSymbolIn(module, ref));
  }

  ModuleOp module;
  SymbolTable symbols;
  SymbolTableCollection tables;
  std::map<std::string, BlockVariant> variants;
  /// Of all parameters: that of a block's, which differ from call to call.
  Type widestReduce;
  /// Arguments of the bodies in the making that are parameters.
  llvm::DenseSet<Value> paramArgs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

bool Differentiator::isTrainable(ParamOp param) {
  return lookupParameter(param.getParam()).isTrainable();
}

/// Whether `value` is a parameter, or a view of one.
bool Differentiator::isOfParameter(Value value) {
  Operation *def = value.getDefiningOp();
  if (!def)
    return paramArgs.contains(value);
  return isa<ParamOp>(def) ||
         (isViewOp(def) && isOfParameter(def->getOperand(0)));
}

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// A value is active where a gradient can flow through it to something that is
/// trained.
void Differentiator::markActive(Block &body, llvm::DenseSet<Value> &active) {
  for (Operation &op : body) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      if (isTrainable(param))
        active.insert(param.getResult());
      continue;
    }
    if (isa<StopGradientOp>(op))
      continue;
    if (!llvm::any_of(op.getOperands(),
                      [&](Value v) { return active.contains(v); }))
      continue;
    for (Value result : op.getResults())
      if (isFloatTensor(result.getType()))
        active.insert(result);
  }
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

/// The slices as one concatenation where they do not overlap; zeros fill gaps.
static Value concatSlices(OpBuilder &b, Location loc, RankedTensorType type,
                          ArrayRef<Contributions::Slice> unordered) {
  // Slices that start alike overlap, so their order here is of no matter.
  SmallVector<Contributions::Slice> slices(unordered);
  int64_t dim = slices[0].dim, end = 0;
  llvm::sort(slices,
             [](const auto &x, const auto &y) { return x.start < y.start; });
  SmallVector<Value> parts;
  auto fill = [&](int64_t size) {
    if (size <= 0)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    parts.push_back(createSplat(
        b, loc, RankedTensorType::get(shape, type.getElementType()), 0));
  };
  for (const Contributions::Slice &slice : slices) {
    if (slice.dim != dim || slice.start < end)
      return {};
    fill(slice.start - end);
    parts.push_back(slice.grad);
    end = slice.start +
          cast<RankedTensorType>(slice.grad.getType()).getDimSize(dim);
  }
  fill(type.getDimSize(dim) - end);
  if (parts.size() == 1)
    return parts[0];
  return b.create<ConcatOp>(loc, type, parts, dim);
}

/// Adds up the contributions to the gradient of `value`; null if none.
static Value finish(OpBuilder &b, Value value, Contributions &parts) {
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  if (!parts.slices.empty()) {
    if (Value joined = concatSlices(b, loc, type, parts.slices))
      parts.add(b, joined);
    else
      for (Contributions::Slice &slice : parts.slices)
        parts.add(b, concatSlices(b, loc, type, slice));
    parts.slices.clear();
  }
  return parts.whole;
}

//===----------------------------------------------------------------------===//
// Backward of a body
//===----------------------------------------------------------------------===//

/// Emits at `builder` the gradients of every active value of `body` that the
/// seeds in `grads` reach, last operation first.
LogicalResult
Differentiator::backward(Block &body, OpBuilder builder,
                         llvm::DenseSet<Value> &active,
                         llvm::DenseMap<Value, Contributions> &grads) {
  SmallVector<Operation *> order;
  for (Operation &op : body)
    order.push_back(&op);
  for (Operation *op : llvm::reverse(order)) {
    if (!llvm::any_of(op->getResults(),
                      [&](Value v) { return active.contains(v); }) ||
        isa<ParamOp>(op))
      continue;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (failed(backwardCall(call, builder, active, grads)))
        return failure();
      continue;
    }
    SmallVector<Value> resultGrads;
    for (Value result : op->getResults()) {
      auto it = grads.find(result);
      Value grad =
          it == grads.end() ? Value() : finish(builder, result, it->second);
      // What was added up in f32 goes on as the operation expects it.
      resultGrads.push_back(
          grad ? convertTo(builder, grad, getElementTypeOrSelf(result)) : grad);
    }
    if (llvm::none_of(resultGrads, [](Value v) { return bool(v); }))
      continue;
    if (auto slice = dyn_cast<SliceOp>(op)) {
      at(grads, slice.getInput())
          .slices.push_back({static_cast<int64_t>(slice.getDim()),
                             static_cast<int64_t>(slice.getStart()),
                             resultGrads[0]});
      continue;
    }
    if (isa<AttentionOp>(op) && resultGrads[1])
      return op->emitOpError("has no gradient with respect to its second "
                             "result, the logarithm of the denominator");
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitOpError("has no gradient, but a trainable parameter "
                             "reaches the loss through it");
    SmallVector<bool> wanted;
    for (Value operand : op->getOperands())
      wanted.push_back(active.contains(operand));
    SmallVector<Value> operandGrads(op->getNumOperands());
    differentiable.buildBackward(builder, resultGrads, wanted, operandGrads);
    for (auto [operand, want, grad] :
         llvm::zip_equal(op->getOperands(), wanted, operandGrads))
      if (want && grad)
        at(grads, operand).add(builder, grad);
  }
  return success();
}

LogicalResult
Differentiator::backwardCall(func::CallOp call, OpBuilder &builder,
                             llvm::DenseSet<Value> &active,
                             llvm::DenseMap<Value, Contributions> &grads) {
  SmallVector<bool> wanted, seeded;
  SmallVector<Value> seeds;
  for (Value operand : call.getOperands())
    wanted.push_back(active.contains(operand));
  for (Value result : call.getResults()) {
    auto it = grads.find(result);
    Value grad =
        it == grads.end() ? Value() : finish(builder, result, it->second);
    seeded.push_back(bool(grad));
    if (grad)
      seeds.push_back(grad);
  }
  if (seeds.empty())
    return success();

  auto block = symbols.lookup<func::FuncOp>(call.getCallee());
  FailureOr<BlockVariant> variant = getVariant(block, wanted, seeded);
  if (failed(variant))
    return failure();

  // The forward variant returns the results of the block first, then residuals.
  OpBuilder forwardBuilder(call);
  auto forward = forwardBuilder.create<func::CallOp>(
      call.getLoc(), variant->forward, call.getOperands());
  // Random values that were drawn for the block are drawn again instead of
  // being kept: they depend on nothing but their site.
  SmallVector<Value> again(call.getOperands());
  for (Value &operand : again)
    if (auto random = operand.getDefiningOp<RandomOp>()) {
      Operation *copy = builder.clone(*random);
      // Else CSE would make one of the two.
      copy->setAttr(kDrawnAgainAttr, builder.getUnitAttr());
      operand = copy->getResult(0);
    }
  // Recompute: the same function once more, right before the backward, so that
  // nothing but the arguments lives until then. The results of the first call
  // beyond those of the block are dropped.
  func::CallOp source = forward;
  if (call->hasAttr(kRecomputeAttr)) {
    source =
        builder.create<func::CallOp>(call.getLoc(), variant->forward, again);
    source->setAttr(kRecomputeAttr, builder.getUnitAttr());
  }
  SmallVector<Value> operands;
  for (unsigned arg : variant->backwardArgs)
    operands.push_back(again[arg]);
  llvm::append_range(operands,
                     source.getResults().drop_front(call.getNumResults()));
  llvm::append_range(operands, seeds);
  auto backward =
      builder.create<func::CallOp>(call.getLoc(), variant->backward, operands);
  for (auto [arg, grad] :
       llvm::zip_equal(variant->gradArgs, backward.getResults()))
    at(grads, call.getOperand(arg)).add(builder, grad);

  for (auto [old, now] : llvm::zip(call.getResults(), forward.getResults())) {
    old.replaceAllUsesWith(now);
    if (active.erase(old))
      active.insert(now);
    // The address of the old value may be that of a new one soon.
    grads.erase(old);
  }
  call.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Variants of a block
//===----------------------------------------------------------------------===//

/// Clones into the backward what it can compute again of the forward.
static Value recompute(OpBuilder &b, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  for (Value operand : def->getOperands())
    recompute(b, operand, mapping);
  b.clone(*def, mapping);
  return mapping.lookup(value);
}

static std::string maskText(ArrayRef<bool> mask) {
  std::string text;
  for (bool bit : mask)
    text += bit ? '1' : '0';
  return text;
}

FailureOr<BlockVariant> Differentiator::getVariant(func::FuncOp block,
                                                   ArrayRef<bool> wanted,
                                                   ArrayRef<bool> seeded) {
  std::string key =
      (block.getName() + "/" + maskText(wanted) + "/" + maskText(seeded)).str();
  if (auto it = variants.find(key); it != variants.end())
    return it->second;

  // A working copy: the forward in its first block, the backward in a second.
  OwningOpRef<func::FuncOp> joint = block.clone();
  Region &region = joint->getBody();
  Block &forward = region.front();
  Block *back = new Block;
  region.push_back(back);

  llvm::DenseSet<Value> active;
  for (auto [arg, want] : llvm::zip_equal(forward.getArguments(), wanted))
    if (want)
      active.insert(arg);
  markActive(forward, active);
  for (auto [i, arg] : llvm::enumerate(forward.getArguments()))
    if (block.getArgAttr(i, kParamAttr))
      paramArgs.insert(arg);

  auto builder = OpBuilder::atBlockEnd(back);
  llvm::DenseMap<Value, Contributions> grads;
  for (auto [value, has] :
       llvm::zip_equal(forward.getTerminator()->getOperands(), seeded))
    if (has)
      at(grads, value)
          .add(builder, back->addArgument(value.getType(), value.getLoc()));

  if (failed(backward(forward, builder, active, grads)))
    return failure();
  BlockVariant variant;
  SmallVector<Value> argGrads;
  for (auto [i, arg] : llvm::enumerate(forward.getArguments())) {
    auto it = grads.find(arg);
    if (!wanted[i] || it == grads.end())
      continue;
    if (Value grad = finish(builder, arg, it->second)) {
      // That of a parameter is reduced in f32 at least: it is not rounded
      // before.
      if (block.getArgAttr(i, kParamAttr) &&
          isNarrowFloat(getElementTypeOrSelf(grad)))
        grad = convertTo(builder, grad, builder.getF32Type());
      variant.gradArgs.push_back(i);
      argGrads.push_back(grad);
    }
  }
  // Their addresses may be those of others soon.
  for (BlockArgument arg : forward.getArguments())
    paramArgs.erase(arg);
  builder.create<func::ReturnOp>(block.getLoc(), argGrads);
  split(block, region, variant);
  variants[key] = variant;
  return variant;
}

/// A new private function after `block`, with an empty body.
static func::FuncOp createAfter(func::FuncOp block, StringRef suffix,
                                FunctionType type, SymbolTable &symbols) {
  auto func = func::FuncOp::create(block.getLoc(),
                                   (block.getName() + suffix).str(), type);
  func.setPrivate();
  func->setAttr(kBlockAttr, block->getAttr(kBlockAttr));
  symbols.insert(func, std::next(Block::iterator(block)));
  func.addEntryBlock();
  return func;
}

void Differentiator::split(func::FuncOp block, Region &joint,
                           BlockVariant &variant) {
  Block &forward = joint.front(), &back = joint.back();
  Residuals residuals(block, forward);
  for (Operation &op : back)
    for (Value operand : op.getOperands())
      residuals.need(operand, &op);
  SmallVector<Value> saved = residuals.getSaved();

  // Forward: the block as it is, which also returns the residuals.
  SmallVector<Type> argTypes(block.getArgumentTypes());
  SmallVector<Type> resultTypes(block.getResultTypes());
  for (Value value : saved)
    resultTypes.push_back(value.getType());
  OpBuilder b(block.getContext());
  variant.forward = createAfter(
      block, "_fwd", b.getFunctionType(argTypes, resultTypes), symbols);
  if (ArrayAttr attrs = block.getAllArgAttrs())
    variant.forward.setAllArgAttrs(attrs);
  IRMapping mapping;
  Block &entry = variant.forward.getBody().front();
  mapping.map(forward.getArguments(), entry.getArguments());
  b.setInsertionPointToEnd(&entry);
  for (Operation &op : forward)
    b.clone(op, mapping);
  SmallVector<Value> savedHere;
  for (Value value : saved)
    savedHere.push_back(mapping.lookup(value));
  entry.getTerminator()->insertOperands(entry.getTerminator()->getNumOperands(),
                                        savedHere);

  // Backward: residuals and seeds come in, cheap values are computed again.
  SmallVector<Type> backTypes(argTypes);
  for (Value value : saved)
    backTypes.push_back(value.getType());
  llvm::append_range(backTypes, back.getArgumentTypes());
  SmallVector<Type> gradTypes(back.getTerminator()->getOperandTypes());
  variant.backward = createAfter(
      block, "_bwd", b.getFunctionType(backTypes, gradTypes), symbols);
  Block &backEntry = variant.backward.getBody().front();
  IRMapping backMapping;
  unsigned next = 0;
  for (Value arg : forward.getArguments())
    backMapping.map(arg, backEntry.getArgument(next++));
  for (Value value : saved)
    backMapping.map(value, backEntry.getArgument(next++));
  for (Value seed : back.getArguments())
    backMapping.map(seed, backEntry.getArgument(next++));
  b.setInsertionPointToEnd(&backEntry);
  for (Operation &op : back) {
    for (Value operand : op.getOperands())
      recompute(b, operand, backMapping);
    b.clone(op, backMapping);
  }

  llvm::BitVector unused(backEntry.getNumArguments());
  for (unsigned i = 0; i < argTypes.size(); ++i) {
    if (backEntry.getArgument(i).use_empty())
      unused.set(i);
    else
      variant.backwardArgs.push_back(i);
  }
  variant.backward.eraseArguments(unused);
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// One error that names the parameters which no gradient reaches (V4).
static LogicalResult reportUnreached(func::FuncOp program,
                                     ArrayRef<ParameterOp> unreached,
                                     size_t trainable) {
  if (unreached.empty())
    return success();
  InFlightDiagnostic diag =
      emitError(program.getLoc())
      << unreached.size() << " of " << trainable
      << " trainable parameters have no path to the loss of program '"
      << program.getName() << "'";
  for (ParameterOp param : unreached.take_front(3))
    diag.attachNote(param.getLoc())
        << "'" << cast<ComponentOp>(param->getParentOp()).getSymName() << "."
        << param.getSymName()
        << "' is one; freeze its component, or use it in the program";
  return diag;
}

LogicalResult Differentiator::differentiateProgram(func::FuncOp program) {
  Block &body = program.getBody().front();
  Operation *terminator = body.getTerminator();
  // The second scalar is the count that the sums of a step are divided by.
  bool scalars = llvm::all_of(terminator->getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getRank() == 0;
  });
  if (!scalars || terminator->getNumOperands() < 1 ||
      terminator->getNumOperands() > 2)
    return emitError(program.getLoc())
           << "program '" << program.getName()
           << "' is trained, so it must return one scalar, the loss, or two, a "
              "sum and a count";

  llvm::DenseSet<Value> active;
  markActive(body, active);
  Value loss = terminator->getOperand(0);
  if (terminator->getNumOperands() == 2 &&
      active.contains(terminator->getOperand(1))) {
    InFlightDiagnostic diag = emitError(terminator->getOperand(1).getLoc())
                              << "the count of program '" << program.getName()
                              << "' depends on what is trained, and the sum "
                                 "alone is differentiated";
    diag.attachNote(terminator->getOperand(1).getLoc())
        << "stop_gradient(n) makes a constant of it";
    return diag;
  }

  // Emitted in a block of its own, which then joins the body.
  Block *back = new Block;
  program.getBody().push_back(back);
  auto builder = OpBuilder::atBlockEnd(back);
  llvm::DenseMap<Value, Contributions> grads;
  grads[loss].add(builder,
                  builder.create<LossSeedOp>(loss.getLoc(), loss.getType()));
  if (failed(backward(body, builder, active, grads)))
    return failure();

  llvm::MapVector<Attribute, Value> paramGrads;
  for (auto param : body.getOps<ParamOp>()) {
    auto it = grads.find(param.getResult());
    if (it == grads.end() || !active.contains(param.getResult()))
      continue;
    Value grad = finish(builder, param.getResult(), it->second);
    Value &sum = paramGrads[param.getParam()];
    if (grad && sum)
      grad = Contributions::addUp(builder, it->second.widen(builder, sum),
                                  it->second.widen(builder, grad));
    if (grad)
      sum = grad;
  }
  SmallVector<ParameterOp> unreached;
  size_t trainable = 0;
  for (auto component : module.getOps<ComponentOp>()) {
    for (auto param : component.getBody().getOps<ParameterOp>()) {
      if (!param.isTrainable())
        continue;
      ++trainable;
      auto ref =
          SymbolRefAttr::get(component.getSymNameAttr(),
                             {FlatSymbolRefAttr::get(param.getSymNameAttr())});
      if (Value grad = paramGrads.lookup(ref))
        builder.create<GradientOp>(
            param.getLoc(), ref,
            convertTo(builder, grad, param.getReduceDtype()));
      else
        unreached.push_back(param);
    }
  }
  // The mark stays on the second calls alone; what has no backward has none.
  for (auto call : body.getOps<func::CallOp>())
    call->removeAttr(kRecomputeAttr);
  body.getOperations().splice(terminator->getIterator(), back->getOperations());
  back->erase();
  return reportUnreached(program, unreached, trainable);
}

namespace {
struct DifferentiatePass : ff::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<std::string> names = getTrainPrograms(module);
    if (!program.empty())
      names = {program};
    Differentiator differentiator(module);
    for (const std::string &name : names) {
      auto func = module.lookupSymbol<func::FuncOp>(name);
      if (!func || !func->hasAttr(kProgramAttr)) {
        module.emitError() << "train.program '" << name << "' is not a program";
        return signalPassFailure();
      }
      if (failed(differentiator.differentiateProgram(func)))
        return signalPassFailure();
    }
  }
};
} // namespace
