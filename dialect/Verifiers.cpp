//===- Verifiers.cpp - Constraints of the ff dialect --------------------*- C++
//-*-===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check carries the number of its constraint in the operation's
// documentation.
//
//===----------------------------------------------------------------------===//

#include "dialect/FF.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace ff;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

/// Elements, batch dims and the two matrix dims of a matmul operand.
static LogicalResult verifySameElementType(Operation *op, Value a, Value b) {
  Type ta = tensorOf(a).getElementType(), tb = tensorOf(b).getElementType();
  if (ta != tb)
    return op->emitOpError() << "element types differ: " << ta << " and " << tb;
  return success();
}

/// Sums of bf16 and f16 may be left in f32, the type they are computed in.
static LogicalResult verifySameOrNumber(Operation *op, Value operand,
                                        Value result) {
  Type from = tensorOf(operand).getElementType();
  Type to = tensorOf(result).getElementType();
  if (to == from || to == numberTypeOf(from))
    return success();
  InFlightDiagnostic error = op->emitOpError() << "makes " << to << " of "
                                               << from << ", not " << from;
  if (isNarrowFloat(from))
    error << " or " << numberTypeOf(from);
  return error;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Type dtype, bool trainable, Type reduceDtype,
                                Type gather, Type master, int64_t numel,
                                ArrayRef<StringAttr> params,
                                ArrayRef<int64_t> offsets) {
  // C3
  if (params.empty())
    return emitError() << "a group needs at least one parameter";
  if (params.size() != offsets.size())
    return emitError() << "group has " << params.size() << " params and "
                       << offsets.size() << " offsets";
  // C2
  int64_t last = -1;
  for (auto [param, offset] : llvm::zip_equal(params, offsets)) {
    if (offset % 16 != 0)
      return emitError() << "offset " << offset << " of '" << param.getValue()
                         << "' is not a multiple of 16 elements";
    if (offset <= last)
      return emitError() << "offset " << offset << " of '" << param.getValue()
                         << "' does not follow " << last;
    last = offset;
  }
  if (numel <= last)
    return emitError() << "numel " << numel << " ends before the last offset "
                       << last;
  return success();
}

//===----------------------------------------------------------------------===//
// Pipeline operations
//===----------------------------------------------------------------------===//

static FailureOr<ParameterOp> lookupParameter(Operation *op,
                                              SymbolTableCollection &tables,
                                              SymbolRefAttr ref) {
  auto module = op->getParentOfType<ModuleOp>();
  auto param =
      dyn_cast_or_null<ParameterOp>(tables.lookupSymbolIn(module, ref));
  if (!param) {
    op->emitOpError() << ref << " is not a parameter of a component";
    return failure();
  }
  return param;
}

LogicalResult ParamOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<ParameterOp> param = lookupParameter(*this, tables, getParam());
  if (failed(param))
    return failure();
  if (param->getGatheredType() != getType())
    return emitOpError() << "has type " << getType()
                         << ", but the parameter is "
                         << param->getGatheredType();
  return success();
}

LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<ParameterOp> param = lookupParameter(*this, tables, getParam());
  if (failed(param))
    return failure();
  auto want = cast<RankedTensorType>(param->getType());
  if (want.getShape() != tensorOf(getGrad()).getShape())
    return emitOpError() << "has shape "
                         << shapeText(tensorOf(getGrad()).getShape())
                         << ", but the parameter has "
                         << shapeText(want.getShape());
  Type dtype = tensorOf(getGrad()).getElementType();
  if (dtype != param->getReduceDtype()) // V6
    return emitOpError() << "has dtype " << dtype
                         << ", but the parameter is reduced in "
                         << param->getReduceDtype();
  return success();
}

bool ParameterOp::isTrainable() {
  if (std::optional<bool> given = getTrainable())
    return *given;
  return cast<ComponentOp>((*this)->getParentOp()).getTrain() ==
         TrainMode::Full;
}

Type ParameterOp::getReduceDtype() {
  if (std::optional<Type> given = getReduce())
    return *given;
  // Gradients are reduced in f32, or in the dtype where that is wider.
  Type storage = getStorageDtype();
  return storage.isF64() ? storage : Float32Type::get(getContext());
}

LogicalResult ParameterOp::verify() {
  for (auto [name, type] :
       {std::pair("gather", getGather()), std::pair("master", getMaster()),
        std::pair("reduce", getReduce())})
    if (type && !isa<FloatType>(*type))
      return emitOpError() << name << " dtype " << *type << " is not a float";
  bool isFloat = isa<FloatType>(getStorageDtype());
  if (!isFloat && (getGather() || getMaster()))
    return emitOpError() << "of " << getStorageDtype()
                         << " cannot be gathered in another dtype";
  if (!isTrainable())
    return success();
  if (!isFloat)
    return emitOpError() << "is trainable and of " << getStorageDtype()
                         << "; only floats can be trained";
  if (getBuffer())
    return emitOpError("is a buffer and trainable");
  return success();
}

/// The dtypes that a group and its members share (V1), with what they are.
static LogicalResult verifyMember(UnitOp unit, GroupAttr group,
                                  ParameterOp param) {
  auto same = [&](StringRef what, Type want, Type have) -> LogicalResult {
    if (want == have)
      return success();
    return unit.emitOpError() << "group of " << want << what << " holds '"
                              << param.getSymName() << "' of " << have;
  };
  if (failed(same("", group.getDtype(), param.getStorageDtype())) ||
      failed(same(" (gathered)", group.getGatherDtype(),
                  param.getGatherDtype())) ||
      failed(same(" (master)", group.getMasterDtype(), param.getMasterDtype())))
    return failure();
  if (group.getTrainable() != param.isTrainable())
    return unit.emitOpError()
           << "has a group with trainable = " << group.getTrainable()
           << ", but '" << param.getSymName() << "' is "
           << (param.isTrainable() ? "trainable" : "frozen");
  if (!group.getTrainable())
    return success();
  return same(" (reduced)", group.getReduceDtype(), param.getReduceDtype());
}

LogicalResult UnitOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto component = dyn_cast_or_null<ComponentOp>(
      tables.lookupSymbolIn(module, getComponentAttr()));
  if (!component) // C1
    return emitOpError() << getComponentAttr() << " is not a component";
  llvm::StringSet<> seen;
  for (auto group : getGroups().getAsRange<GroupAttr>()) {
    for (auto [i, name] : llvm::enumerate(group.getParams())) {
      auto param =
          dyn_cast_or_null<ParameterOp>(tables.lookupSymbolIn(component, name));
      if (!param) // C1
        return emitOpError()
               << "'" << name.getValue() << "' is not a parameter of "
               << getComponentAttr();
      if (failed(verifyMember(*this, group, param))) // C2
        return failure();
      bool isLast = i + 1 == group.getOffsets().size();
      int64_t limit = isLast ? group.getNumel() : group.getOffsets()[i + 1];
      int64_t end = group.getOffsets()[i] +
                    cast<RankedTensorType>(param.getType()).getNumElements();
      if (end > limit) // C2 of #ff.group
        return emitOpError() << "'" << name.getValue() << "' ends at element "
                             << end << " of its group, beyond " << limit;
      if (!seen.insert(name.getValue()).second) // C3
        return emitOpError()
               << "'" << name.getValue() << "' stands in two groups";
    }
  }
  return success();
}

static LogicalResult verifyUnitUse(Operation *op, SymbolTableCollection &tables,
                                   FlatSymbolRefAttr unit) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!isa_and_nonnull<UnitOp>(tables.lookupSymbolIn(module, unit)))
    return op->emitOpError() << unit << " is not a unit";
  return success();
}

LogicalResult GatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyUnitUse(*this, tables, getUnitAttr());
}
LogicalResult GatherStartOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyUnitUse(*this, tables, getUnitAttr());
}
LogicalResult ReduceWaitOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyUnitUse(*this, tables, getUnitAttr());
}
LogicalResult
ReduceGradientsOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getGrads().size() != getParams().size())
    return emitOpError() << "has " << getGrads().size() << " gradients and "
                         << getParams().size() << " names";
  return verifyUnitUse(*this, tables, getUnitAttr());
}

LogicalResult ViewOp::verify() {
  if (!getUnitSymbol())
    return emitOpError() << "views a unit that no gather defines";
  return success();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  int64_t dim = static_cast<int64_t>(getDim());
  if (dim < 0 || dim >= tensorOf(getResult()).getRank())
    return emitOpError() << "dim " << dim << " is not a dim of "
                         << getResult().getType();
  return success();
}

LogicalResult RandomOp::verify() {
  if (tensorOf(getResult()).getRank() == 0)
    return emitOpError() << "needs a batch dim";
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto in = tensorOf(getInput()), out = tensorOf(getResult());
  if (static_cast<int64_t>(getDims().size()) != in.getRank()) // C1
    return emitOpError() << "has " << getDims().size()
                         << " dims for an operand of rank " << in.getRank();
  int64_t last = -1;
  for (auto [i, dim] : llvm::enumerate(getDims())) {
    if (dim <= last || dim >= out.getRank()) // C1
      return emitOpError() << "dims must ascend below the rank "
                           << out.getRank() << " of the result";
    last = dim;
    if (in.getDimSize(i) != out.getDimSize(dim)) // C2
      return emitOpError() << "operand dim " << i << " of size "
                           << in.getDimSize(i) << " becomes result dim " << dim
                           << " of size " << out.getDimSize(dim);
  }
  return verifySameElementType(*this, getInput(), getResult()); // C3
}

LogicalResult ReshapeOp::verify() {
  auto in = tensorOf(getInput()), out = tensorOf(getResult());
  if (in.getNumElements() != out.getNumElements()) // C1
    return emitOpError() << shapeText(in.getShape()) << " has "
                         << in.getNumElements() << " elements, "
                         << shapeText(out.getShape()) << " has "
                         << out.getNumElements();
  return verifySameElementType(*this, getInput(), getResult()); // C2
}

LogicalResult TransposeOp::verify() {
  auto in = tensorOf(getInput()), out = tensorOf(getResult());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, in.getRank())) ||
      out.getRank() != in.getRank()) // C1
    return emitOpError() << shapeText(getPermutation())
                         << " is not a permutation of " << in.getRank()
                         << " dims";
  for (auto [i, p] : llvm::enumerate(getPermutation()))
    if (out.getDimSize(i) != in.getDimSize(p)) // C2
      return emitOpError() << "result dim " << i << " of size "
                           << out.getDimSize(i) << " is operand dim " << p
                           << " of size " << in.getDimSize(p);
  return verifySameElementType(*this, getInput(), getResult());
}

LogicalResult SliceOp::verify() {
  auto in = tensorOf(getInput()), out = tensorOf(getResult());
  int64_t dim = getDim(), start = getStart();
  if (in.getRank() != out.getRank() || dim < 0 || dim >= in.getRank())
    return emitOpError() << "dim " << dim << " is not a dim of both "
                         << shapeText(in.getShape()) << " and "
                         << shapeText(out.getShape());
  if (start < 0 || start + out.getDimSize(dim) > in.getDimSize(dim)) // C1
    return emitOpError() << "range [" << start << ", "
                         << start + out.getDimSize(dim) << ") leaves dim "
                         << dim << " of size " << in.getDimSize(dim);
  for (int64_t i = 0; i < in.getRank(); ++i)
    if (i != dim && in.getDimSize(i) != out.getDimSize(i)) // C2
      return emitOpError() << "dim " << i << " changes from "
                           << in.getDimSize(i) << " to " << out.getDimSize(i);
  return verifySameElementType(*this, getInput(), getResult());
}

LogicalResult ConcatOp::verify() {
  auto out = tensorOf(getResult());
  int64_t dim = getDim(), total = 0;
  if (getInputs().empty() || dim < 0 || dim >= out.getRank())
    return emitOpError() << "needs operands and a dim of the result";
  for (Value input : getInputs()) {
    auto in = tensorOf(input);
    if (in.getRank() != out.getRank())
      return emitOpError() << "operand of rank " << in.getRank()
                           << ", result of rank " << out.getRank();
    for (int64_t i = 0; i < out.getRank(); ++i)
      if (i != dim && in.getDimSize(i) != out.getDimSize(i)) // C1
        return emitOpError() << "dim " << i << " is " << in.getDimSize(i)
                             << " in an operand and " << out.getDimSize(i)
                             << " in the result";
    total += in.getDimSize(dim);
    if (failed(verifySameElementType(*this, input, getResult())))
      return failure();
  }
  if (total != out.getDimSize(dim)) // C2
    return emitOpError() << "operands add up to " << total << " along dim "
                         << dim << ", the result has " << out.getDimSize(dim);
  return success();
}

static LogicalResult verifyEmbedding(Operation *op, Value table, Value ids,
                                     Value rows) {
  auto tableType = tensorOf(table), rowsType = tensorOf(rows);
  SmallVector<int64_t> want(tensorOf(ids).getShape());
  if (tableType.getRank() != 2)
    return op->emitOpError()
           << "table has rank " << tableType.getRank() << ", not 2";
  want.push_back(tableType.getDimSize(1));
  if (rowsType.getShape() != ArrayRef<int64_t>(want))
    return op->emitOpError()
           << "rows have shape " << shapeText(rowsType.getShape()) << ", not "
           << shapeText(want);
  return success();
}

LogicalResult EmbeddingOp::verify() {
  if (failed(verifyEmbedding(*this, getTable(), getIds(), getResult())))
    return failure();
  return verifySameElementType(*this, getTable(), getResult());
}
LogicalResult EmbeddingBackwardOp::verify() {
  if (failed(verifyEmbedding(*this, getResult(), getIds(), getGrad())))
    return failure();
  return verifySameOrNumber(*this, getGrad(), getResult()); // C1
}

LogicalResult ReduceOp::verify() {
  auto in = tensorOf(getInput()), out = tensorOf(getResult());
  int64_t last = -1;
  SmallVector<int64_t> want(in.getShape());
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= in.getRank()) // C1
      return emitOpError() << "dims must ascend below the rank "
                           << in.getRank();
    last = dim;
  }
  for (int64_t dim : llvm::reverse(getDims()))
    want.erase(want.begin() + dim);
  if (out.getShape() != ArrayRef<int64_t>(want)) // C2
    return emitOpError() << "result has shape " << shapeText(out.getShape())
                         << ", not " << shapeText(want);
  return verifySameElementType(*this, getInput(), getResult());
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  auto lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs()),
       out = tensorOf(getResult());
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOpError() << "needs matrices, has ranks " << lhs.getRank()
                         << " and " << rhs.getRank();
  ArrayRef<int64_t> batch = lhs.getShape().drop_back(2);
  ArrayRef<int64_t> rhsBatch = rhs.getShape().drop_back(2);
  if (!rhsBatch.empty() && rhsBatch != batch) // C1
    return emitOpError() << "batch dims " << shapeText(batch) << " and "
                         << shapeText(rhsBatch) << " differ";
  ArrayRef<int64_t> l = lhs.getShape().take_back(2);
  ArrayRef<int64_t> r = rhs.getShape().take_back(2);
  int64_t m = getTransposeLhs() ? l[1] : l[0];
  int64_t kLhs = getTransposeLhs() ? l[0] : l[1];
  int64_t kRhs = getTransposeRhs() ? r[1] : r[0];
  int64_t n = getTransposeRhs() ? r[0] : r[1];
  if (kLhs != kRhs) // C2
    return emitOpError() << "contracts " << kLhs << " with " << kRhs;
  SmallVector<int64_t> want(batch);
  want.append({m, n});
  if (out.getShape() != ArrayRef<int64_t>(want)) // C3
    return emitOpError() << "result has shape " << shapeText(out.getShape())
                         << ", not " << shapeText(want);
  if (getBias() && (tensorOf(getBias()).getRank() != 1 ||
                    tensorOf(getBias()).getDimSize(0) != n)) // C3
    return emitOpError() << "bias has shape "
                         << shapeText(tensorOf(getBias()).getShape())
                         << ", not [" << n << "]";
  if (failed(verifySameElementType(*this, getLhs(), getRhs())) || // C4
      failed(verifySameOrNumber(*this, getLhs(), getResult())))
    return failure();
  return getBias() ? verifySameElementType(*this, getResult(), getBias())
                   : success();
}

static LogicalResult verifyAttention(Operation *op, Value query, Value key,
                                     Value value, Value lse, Value mask) {
  auto q = tensorOf(query), k = tensorOf(key), v = tensorOf(value),
       l = tensorOf(lse);
  if (q.getRank() != 4 || k.getRank() != 4)
    return op->emitOpError("needs query, key and value of rank 4 "
                           "[batch, sequence, heads, head dim]");
  if (k.getShape() != v.getShape())
    return op->emitOpError()
           << "key " << shapeText(k.getShape()) << " and value "
           << shapeText(v.getShape()) << " differ";
  for (int64_t dim : {0, 2, 3})
    if (q.getDimSize(dim) != k.getDimSize(dim))
      return op->emitOpError()
             << "dim " << dim << " of query is " << q.getDimSize(dim)
             << ", of key " << k.getDimSize(dim);
  SmallVector<int64_t> want{q.getDimSize(0), q.getDimSize(2), q.getDimSize(1)};
  if (l.getShape() != ArrayRef<int64_t>(want))
    return op->emitOpError() << "lse has shape " << shapeText(l.getShape())
                             << ", not " << shapeText(want);
  if (mask && tensorOf(mask).getShape() != k.getShape().take_front(2)) // C3
    return op->emitOpError()
           << "mask has shape " << shapeText(tensorOf(mask).getShape())
           << ", not " << shapeText(k.getShape().take_front(2));
  Type number = numberTypeOf(q.getElementType());
  if (l.getElementType() != number) // C2
    return op->emitOpError()
           << "lse of " << q.getElementType() << " operands is " << number
           << ", not " << l.getElementType();
  if (failed(verifySameElementType(op, query, key))) // C1
    return failure();
  return verifySameElementType(op, query, value);
}

LogicalResult AttentionOp::verify() {
  if (getResult().getType() != getQuery().getType())
    return emitOpError("result and query have different types");
  return verifyAttention(*this, getQuery(), getKey(), getValue(), getLse(),
                         getMask());
}

LogicalResult AttentionBackwardOp::verify() {
  for (auto [of, as] :
       {std::pair(getQuery(), getResult()), std::pair(getQuery(), getGrad()),
        std::pair(getQuery(), getQueryGrad()),
        std::pair(getKey(), getKeyGrad()),
        std::pair(getValue(), getValueGrad())})
    if (of.getType() != as.getType()) // C1
      return emitOpError() << "has " << as.getType() << " where "
                           << of.getType() << " belongs";
  return verifyAttention(*this, getQuery(), getKey(), getValue(), getLse(),
                         getMask());
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

LogicalResult FusedOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError() << "has " << getInputs().size() << " operands and "
                         << body.getNumArguments() << " block arguments";
  for (auto [arg, input] : llvm::zip_equal(body.getArguments(), getInputs()))
    if (arg.getType() != input.getType())
      return emitOpError() << "block argument " << arg.getType()
                           << " stands for an operand " << input.getType();
  auto yield = cast<YieldOp>(body.getTerminator());
  if (yield.getValues().getTypes() != getOutputs().getTypes())
    return emitOpError("yields other types than its results");
  int64_t rank = getDomain().size();
  if (static_cast<int64_t>(getReduced()) > rank)
    return emitOpError() << "reduces " << getReduced() << " of " << rank
                         << " dims";
  return success();
}

LogicalResult LaunchDeviceOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  auto kernel = dyn_cast_or_null<FunctionOpInterface>(
      tables.lookupSymbolIn(module, getKernelAttr()));
  if (!kernel)
    return emitOpError() << getKernelAttr() << " is not a function";
  if (kernel.getNumArguments() != getNumOperands() + getNumResults())
    return emitOpError() << getKernelAttr() << " has "
                         << kernel.getNumArguments() << " parameters for "
                         << getNumOperands() << " operands and "
                         << getNumResults() << " results";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (!isa_and_nonnull<FunctionOpInterface>(
          tables.lookupSymbolIn(module, getKernelAttr())))
    return emitOpError() << getKernelAttr() << " is not a function";
  return success();
}
