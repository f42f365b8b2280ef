//===- Program.cpp - One function as runtime calls -----------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/host/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ff;

//===----------------------------------------------------------------------===//
// FunctionLowering
//===----------------------------------------------------------------------===//

namespace {

/// A program is one long straight line of calls, in which there is nothing to
/// optimise. LLVM's register allocation takes time that grows faster than the
/// line, so it is cut into functions.
constexpr unsigned kOpsPerPart = 64;

class FunctionLowering {
public:
  FunctionLowering(func::FuncOp func, HostModule &host)
      : func(func), host(host), b(func.getContext()), analysis(func),
        isProgram(func->hasAttr(kProgramAttr)) {}

  LogicalResult run();

private:
  LLVM::LLVMFuncOp createFunction(const Twine &name, bool exported);
  void beginPart();
  LogicalResult lower(Operation &op);
  /// Stores the pointers to what a launch reads and writes in `buffers`.
  void storeBuffers(Operation *launch);
  LogicalResult lower(LaunchOp op);
  LogicalResult lower(LaunchDeviceOp op);
  LogicalResult lower(MatmulOp op);
  LogicalResult lower(RandomOp op);
  LogicalResult lower(EmbeddingOp op);
  LogicalResult lower(EmbeddingBackwardOp op);
  LogicalResult lower(func::CallOp op);
  void lowerCollective(Operation &op);

  Value constant(Type type, int64_t value) {
    return b.create<LLVM::ConstantOp>(loc, type, b.getIntegerAttr(type, value));
  }
  Value advance(Value pointer, int64_t bytes) {
    if (bytes == 0)
      return pointer;
    return b.create<LLVM::GEPOp>(
        loc, host.ptr, b.getI8Type(), pointer,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  }
  Value advance64(Value pointer, int64_t bytes) {
    return b.create<LLVM::GEPOp>(loc, host.ptr, b.getI8Type(), pointer,
                                 ValueRange{constant(host.i64, bytes)});
  }
  /// Calls a function of the runtime; the types come from the operands.
  Value call(StringRef name, Type result, ValueRange operands) {
    auto callee =
        host.declare(name, result, llvm::to_vector(operands.getTypes()));
    auto op = b.create<LLVM::CallOp>(loc, callee, operands);
    return op.getNumResults() ? op.getResult() : Value();
  }
  /// Where the elements of `value` begin in memory.
  Value pointerTo(Value value);
  Value rootPointer(Value root);

  func::FuncOp func;
  HostModule &host;
  OpBuilder b;
  BufferAnalysis analysis;
  Location loc = func.getLoc();
  bool isProgram;
  std::string name;
  SmallVector<LLVM::LLVMFuncOp> parts;
  unsigned opsInPart = 0;
  int64_t mostBuffers = 1; ///< of any launch
  Value ctx, frame, buffers;
  SmallVector<Value> resultPointers;
  llvm::DenseMap<Value, Value> pointers;
  /// The buffer of a group, by the gather or reduction and the group's number.
  llvm::DenseMap<std::pair<Operation *, int32_t>, Value> groupBases;
};

} // namespace

LLVM::LLVMFuncOp FunctionLowering::createFunction(const Twine &name,
                                                  bool exported) {
  SmallVector<Type> args{host.ptr};
  if (!isProgram)
    args.append(1 + func.getNumArguments() + func.getNumResults(), host.ptr);
  b.setInsertionPoint(func);
  auto function = b.create<LLVM::LLVMFuncOp>(
      func.getLoc(), name.str(),
      LLVM::LLVMFunctionType::get(host.voidType, args));
  if (!exported)
    function.setLinkage(LLVM::Linkage::Internal);
  function.setPassthroughAttr(b.getStrArrayAttr({"noinline", "optnone"}));
  b.setInsertionPointToStart(function.addEntryBlock(b));
  return function;
}

/// Begins a function that holds the next part. It computes the pointers that it
/// needs anew, from the context, the frame and constants.
void FunctionLowering::beginPart() {
  loc = func.getLoc();
  LLVM::LLVMFuncOp part =
      createFunction(name + ".part" + Twine(parts.size()), /*exported=*/false);
  parts.push_back(part);
  Block *entry = &part.getBody().front();
  ctx = entry->getArgument(0);
  pointers.clear();
  groupBases.clear();
  resultPointers.clear();
  opsInPart = 0;

  // One array serves all launches: the runtime reads it before it returns.
  buffers = b.create<LLVM::AllocaOp>(loc, host.ptr, host.ptr,
                                     constant(host.i64, mostBuffers));
  if (isProgram) {
    frame = call("ff_rt_arena", host.ptr, {ctx});
    for (auto [i, arg] : llvm::enumerate(func.getArguments()))
      pointers[arg] =
          call("ff_rt_input", host.ptr, {ctx, constant(host.i32, i)});
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      resultPointers.push_back(
          call("ff_rt_output", host.ptr, {ctx, constant(host.i32, i)}));
    return;
  }
  frame = entry->getArgument(1);
  unsigned next = 2;
  for (Value arg : func.getArguments())
    pointers[arg] = entry->getArgument(next++);
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    resultPointers.push_back(entry->getArgument(next++));
}

Value FunctionLowering::rootPointer(Value root) {
  Value &pointer = pointers[root];
  if (pointer)
    return pointer;
  if (auto it = analysis.resultOf.find(root); it != analysis.resultOf.end())
    return pointer = resultPointers[it->second];
  if (auto it = analysis.gradOf.find(root); it != analysis.gradOf.end()) {
    auto [reduce, index] = it->second;
    HostModule::GroupPlace place = host.lookup(
        reduce.getUnitAttr(), cast<StringAttr>(reduce.getParams()[index]));
    Value &base = groupBases[{reduce.getOperation(), place.group}];
    if (!base)
      base = call("ff_rt_group_grad", host.ptr,
                  {ctx, constant(host.i32, place.group),
                   constant(host.i32, *reduce.getSlot())});
    return pointer = advance64(base, place.gradOffset);
  }
  Operation *def = root.getDefiningOp();
  if (isa<LossSeedOp>(def))
    return pointer = call("ff_rt_loss_seed", host.ptr, {ctx});
  if (auto view = dyn_cast<ViewOp>(def)) {
    HostModule::GroupPlace place =
        host.lookup(view.getUnitSymbol(), view.getParamAttr());
    Value &base = groupBases[{view.getUnit().getDefiningOp(), place.group}];
    if (!base)
      base = call("ff_rt_group_data", host.ptr,
                  {ctx, constant(host.i32, place.group)});
    return pointer = advance64(base, place.dataOffset);
  }
  auto offsets = def->getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttr);
  int64_t offset = offsets[cast<OpResult>(root).getResultNumber()];
  return pointer = advance64(frame, offset);
}

Value FunctionLowering::pointerTo(Value value) {
  StridedView view = resolveView(value);
  int64_t bytes =
      view.offset *
      getElementBytes(cast<RankedTensorType>(value.getType()).getElementType());
  Value root = rootPointer(view.root);
  return bytes ? advance64(root, bytes) : root;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void FunctionLowering::storeBuffers(Operation *launch) {
  SmallVector<Value> all;
  for (Value input : launch->getOperands())
    all.push_back(pointerTo(input));
  for (Value output : launch->getResults())
    all.push_back(rootPointer(output));
  for (auto [i, pointer] : llvm::enumerate(all)) {
    Value slot = advance(buffers, i * 8);
    b.create<LLVM::StoreOp>(loc, pointer, slot);
  }
}

LogicalResult FunctionLowering::lower(LaunchOp op) {
  storeBuffers(op);
  auto type = b.getFunctionType({host.ptr, host.i64, host.i64}, {});
  Value kernel = b.create<func::ConstantOp>(loc, type, op.getKernelAttr());
  kernel =
      b.create<UnrealizedConversionCastOp>(loc, host.ptr, kernel).getResult(0);
  call("ff_rt_parallel_for", host.voidType,
       {ctx, kernel, buffers, constant(host.i64, op.getIterations()),
        constant(host.i64, op.getGrain())});
  return success();
}

LogicalResult FunctionLowering::lower(LaunchDeviceOp op) {
  storeBuffers(op);
  call("ff_rt_launch", host.voidType,
       {ctx, constant(host.i32, host.getKernel(describeKernel(op))), buffers});
  return success();
}

LogicalResult FunctionLowering::lower(MatmulOp op) {
  Value bias = op.getBias() ? pointerTo(op.getBias())
                            : b.create<LLVM::ZeroOp>(loc, host.ptr).getResult();
  int32_t number = host.getMatmul(describeMatmul(op));
  call("ff_rt_matmul", host.voidType,
       {ctx, constant(host.i32, number), pointerTo(op.getLhs()),
        pointerTo(op.getRhs()), bias, rootPointer(op.getResult())});
  return success();
}

LogicalResult FunctionLowering::lower(RandomOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t batch = type.getDimSize(0);
  call("ff_rt_random", host.voidType,
       {ctx, constant(host.i32, op.getSite()),
        constant(host.i32, static_cast<int64_t>(op.getDistribution())),
        constant(host.i32, getDtypeCode(type.getElementType())),
        rootPointer(op.getResult()), constant(host.i64, batch),
        constant(host.i64, type.getNumElements() / batch)});
  return success();
}

LogicalResult FunctionLowering::lower(EmbeddingOp op) {
  auto table = cast<RankedTensorType>(op.getTable().getType());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  call("ff_rt_embedding", host.voidType,
       {ctx, constant(host.i32, getDtypeCode(table.getElementType())),
        pointerTo(op.getTable()), pointerTo(op.getIds()),
        rootPointer(op.getResult()), constant(host.i64, ids.getNumElements()),
        constant(host.i64, table.getDimSize(0)),
        constant(host.i64, table.getDimSize(1))});
  return success();
}

LogicalResult FunctionLowering::lower(EmbeddingBackwardOp op) {
  auto table = cast<RankedTensorType>(op.getType());
  auto grad = cast<RankedTensorType>(op.getGrad().getType());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  call("ff_rt_embedding_grad", host.voidType,
       {ctx, constant(host.i32, getDtypeCode(grad.getElementType())),
        pointerTo(op.getGrad()), pointerTo(op.getIds()),
        rootPointer(op.getResult()), constant(host.i64, ids.getNumElements()),
        constant(host.i64, table.getDimSize(0)),
        constant(host.i64, table.getDimSize(1))});
  return success();
}

LogicalResult FunctionLowering::lower(func::CallOp op) {
  SmallVector<Value> operands{ctx};
  auto at = op->getAttrOfType<IntegerAttr>(kFrameAttr);
  operands.push_back(at ? advance64(frame, at.getInt()) : frame);
  for (Value operand : op.getOperands())
    operands.push_back(pointerTo(operand));
  for (Value result : op.getResults())
    operands.push_back(rootPointer(result));
  // The callee has this name once it is lowered; declared types would clash.
  b.create<LLVM::CallOp>(loc, TypeRange(), op.getCallee(), operands);
  return success();
}

void FunctionLowering::lowerCollective(Operation &op) {
  auto unit = [&](FlatSymbolRefAttr name) {
    return constant(host.i32, host.getUnitNumber(name));
  };
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](GatherStartOp start) {
        call("ff_rt_gather_start", host.voidType,
             {ctx, unit(start.getUnitAttr()),
              constant(host.i32, *start.getSlot())});
      })
      .Case([&](GatherWaitOp wait) {
        auto start = wait.getPending().getDefiningOp<GatherStartOp>();
        call("ff_rt_gather_wait", host.voidType,
             {ctx, unit(start.getUnitAttr())});
      })
      .Case([&](ReleaseOp release) {
        auto wait = release.getUnit().getDefiningOp<GatherWaitOp>();
        auto start = wait.getPending().getDefiningOp<GatherStartOp>();
        call("ff_rt_release", host.voidType, {ctx, unit(start.getUnitAttr())});
      })
      .Case([&](ReduceGradientsOp reduce) {
        call("ff_rt_reduce_start", host.voidType,
             {ctx, unit(reduce.getUnitAttr()),
              constant(host.i32, *reduce.getSlot())});
      })
      .Case([&](ReduceWaitOp wait) {
        call("ff_rt_reduce_wait", host.voidType,
             {ctx, unit(wait.getUnitAttr())});
      });
}

LogicalResult FunctionLowering::lower(Operation &op) {
  loc = op.getLoc();
  if (isViewOp(&op) || isa<ViewOp, LossSeedOp, arith::ConstantOp>(op))
    return success();
  if (isa<GatherStartOp, GatherWaitOp, ReleaseOp, ReduceGradientsOp,
          ReduceWaitOp>(op)) {
    lowerCollective(op);
    return success();
  }
  ++opsInPart;
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<LaunchOp, LaunchDeviceOp, MatmulOp, RandomOp, EmbeddingOp,
            EmbeddingBackwardOp, func::CallOp>(
          [&](auto concrete) { return lower(concrete); })
      .Case([&](func::ReturnOp) {
        b.create<LLVM::ReturnOp>(loc, ValueRange());
        return success();
      })
      .Default([](Operation *other) {
        return other->emitOpError("cannot become a runtime call");
      });
}

LogicalResult FunctionLowering::run() {
  name =
      isProgram ? ("ff_program_" + func.getName()).str() : func.getName().str();
  func.setName((func.getName() + ".tensors").str());
  for (Operation &op : func.getBody().front())
    if (isa<LaunchOp, LaunchDeviceOp>(op))
      mostBuffers = std::max<int64_t>(mostBuffers,
                                      op.getNumOperands() + op.getNumResults());
  beginPart();
  for (Operation &op : func.getBody().front()) {
    if (opsInPart >= kOpsPerPart) {
      b.create<LLVM::ReturnOp>(loc, ValueRange());
      beginPart();
    }
    if (failed(lower(op)))
      return failure();
  }
  LLVM::LLVMFuncOp whole = createFunction(name, /*exported=*/isProgram);
  for (LLVM::LLVMFuncOp part : parts)
    b.create<LLVM::CallOp>(func.getLoc(), part,
                           whole.getBody().front().getArguments());
  b.create<LLVM::ReturnOp>(func.getLoc(), ValueRange());
  func.erase();
  return success();
}

LogicalResult ff::lowerFunction(func::FuncOp func, HostModule &host) {
  return FunctionLowering(func, host).run();
}
