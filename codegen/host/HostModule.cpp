//===- HostModule.cpp - What the functions of a module share
//---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/host/Program.h"

#include "dialect/Flops.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ff;

HostModule::HostModule(ModuleOp module) : module(module) {
  MLIRContext *context = module.getContext();
  ptr = LLVM::LLVMPointerType::get(context);
  i32 = IntegerType::get(context, 32);
  i64 = IntegerType::get(context, 64);
  voidType = LLVM::LLVMVoidType::get(context);
  int32_t group = 0;
  for (auto [number, unit] : llvm::enumerate(module.getOps<UnitOp>())) {
    unitNumbers[unit.getSymNameAttr()] = number;
    for (auto attr : unit.getGroups().getAsRange<GroupAttr>()) {
      int64_t data = getElementBytes(attr.getGatherDtype());
      int64_t grad = getElementBytes(attr.getReduceDtype());
      for (auto [name, offset] :
           llvm::zip_equal(attr.getParams(), attr.getOffsets()))
        places[{unit.getSymNameAttr(), name}] = {group, offset * data,
                                                 offset * grad};
      ++group;
    }
  }
}

HostModule::GroupPlace HostModule::lookup(FlatSymbolRefAttr unit,
                                          StringAttr param) const {
  // Names in operations carry no type, names in groups may: compare by text.
  auto it = places.find(
      {unit.getAttr(), StringAttr::get(param.getContext(), param.getValue())});
  assert(it != places.end() && "ff-verify-collectives holds");
  return it->second;
}

LLVM::LLVMFuncOp HostModule::declare(StringRef name, Type result,
                                     ArrayRef<Type> args) {
  if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return builder.create<LLVM::LLVMFuncOp>(
      module.getLoc(), name, LLVM::LLVMFunctionType::get(result, args));
}

static int32_t numberOf(llvm::json::Value descriptor,
                        llvm::StringMap<int32_t> &numbers,
                        std::vector<llvm::json::Value> &table) {
  std::string key = llvm::formatv("{0}", descriptor).str();
  auto [it, fresh] = numbers.try_emplace(key, table.size());
  if (fresh)
    table.push_back(std::move(descriptor));
  return it->second;
}

int32_t HostModule::getMatmul(llvm::json::Value descriptor) {
  return numberOf(std::move(descriptor), matmulNumbers, matmuls);
}

int32_t HostModule::getKernel(llvm::json::Value descriptor) {
  return numberOf(std::move(descriptor), kernelNumbers, kernels);
}

//===----------------------------------------------------------------------===//
// Entries of its tables
//===----------------------------------------------------------------------===//

llvm::json::Object ff::describeKernel(LaunchDeviceOp op) {
  int64_t bytes = 0;
  for (Type type : op->getOperandTypes())
    bytes += getBytes(type);
  for (Type type : op->getResultTypes())
    bytes += getBytes(type);
  auto flops = op->getAttrOfType<FloatAttr>(kFlopsAttr);
  return llvm::json::Object{
      {"name", op.getKernel().getLeafReference().getValue()},
      {"blocks", static_cast<int64_t>(op.getBlocks())},
      {"threads", static_cast<int64_t>(op.getThreads())},
      {"shared_bytes", static_cast<int64_t>(op.getShared())},
      {"buffers", op->getNumOperands() + op->getNumResults()},
      {"bytes", bytes},
      {"flops", flops ? flops.getValueAsDouble() : 0.0}};
}

static llvm::json::Array toJson(ArrayRef<int64_t> values) {
  llvm::json::Array array;
  for (int64_t value : values)
    array.push_back(value);
  return array;
}

/// Strides of a matmul operand as (batch dims, rows, columns).
static llvm::json::Array matrixStrides(ArrayRef<int64_t> strides,
                                       size_t batchDims, bool transposed) {
  SmallVector<int64_t> result(strides);
  size_t rank = result.size();
  if (transposed)
    std::swap(result[rank - 1], result[rank - 2]);
  // A shared operand repeats over the batch.
  result.insert(result.begin(), batchDims - (rank - 2), 0);
  return toJson(result);
}

llvm::json::Object ff::describeMatmul(MatmulOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  auto out = cast<RankedTensorType>(op.getType());
  StringRef dtype = getDtypeName(lhs.getElementType());
  StringRef resultDtype = getDtypeName(out.getElementType());
  size_t batchDims = out.getRank() - 2;
  ArrayRef<int64_t> shape = out.getShape();
  int64_t k = lhs.getDimSize(lhs.getRank() - (op.getTransposeLhs() ? 2 : 1));
  llvm::json::Object descriptor{
      {"dtype", dtype},
      {"batch", toJson(shape.take_front(batchDims))},
      {"m", shape[batchDims]},
      {"n", shape[batchDims + 1]},
      {"k", k},
      {"a_strides", matrixStrides(resolveView(op.getLhs()).strides, batchDims,
                                  op.getTransposeLhs())},
      {"b_strides", matrixStrides(resolveView(op.getRhs()).strides, batchDims,
                                  op.getTransposeRhs())},
      {"c_strides", toJson(rowMajorStrides(shape))},
      {"bias", static_cast<bool>(op.getBias())},
      {"activation", nullptr}};
  if (resultDtype != dtype)
    descriptor["c_dtype"] = resultDtype;
  if (op.getActivation())
    descriptor["activation"] = stringifyActivationKind(*op.getActivation());
  return descriptor;
}
