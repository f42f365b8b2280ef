//===- Recording.cpp - Launches in a file, to run elsewhere ---------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/device/testing/Recording.h"
#include "dialect/Flops.h"

#include "llvm/Support/EndianStream.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ff;

static std::string dtypeName(Type element) {
  if (element.isInteger(1))
    return "BOOL";
  if (element.isBF16())
    return "BF16";
  std::string width = std::to_string(element.getIntOrFloatBitWidth());
  return (isa<FloatType>(element) ? "F" : "I") + width;
}

std::string Recording::keep(const HostTensor &values) {
  Buffer buffer = toBuffer(values);
  Type element = buffer.type.getElementType();
  std::string bytes(buffer.bytes.data(), buffer.bytes.size() - Buffer::kGuard);
  auto [place, isNew] =
      numbers.try_emplace(dtypeName(element) + bytes, tensors.size());
  if (isNew)
    tensors.emplace_back(element, &place->first);
  return std::to_string(place->second);
}

void Recording::describe(func::FuncOp function, LaunchDeviceOp launch,
                         ArrayRef<const HostTensor *> values) {
  auto flops = launch->getAttrOfType<FloatAttr>(kFlopsAttr);
  std::string text = llvm::formatv(
      "{0} {1} {2} {3} {4} {5} {6:F0}", function.getName(),
      launch.getKernel().getLeafReference().getValue(), launch.getBlocks(),
      launch.getThreads(), launch.getShared(), launch.getInputs().size(),
      flops ? flops.getValueAsDouble() : 0.0);
  size_t inputs = launch.getInputs().size(), index = 0;
  auto append = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    text += llvm::formatv(" {0}:{1}:{2}", dtypeName(tensor.getElementType()),
                          tensor.getNumElements(),
                          values.empty() ? "-" : keep(*values[index]));
    if (index++ >= inputs)
      text += llvm::formatv(":{0:E}",
                            toleranceOf(function, tensor.getElementType()));
  };
  for (Type type : launch->getOperandTypes())
    append(type);
  for (Type type : launch->getResultTypes())
    append(type);
  launches.push_back(text);
}

/// The result of the function, behind views, that `value` is.
static std::optional<size_t> returnedAs(Value value) {
  Operation *end = value.getParentBlock()->getTerminator();
  for (auto [i, result] : llvm::enumerate(end->getOperands())) {
    Value source = result;
    while (auto reshape = source.getDefiningOp<ReshapeOp>())
      source = reshape->getOperand(0);
    if (source == value)
      return i;
  }
  return std::nullopt;
}

void Recording::add(func::FuncOp function, LaunchDeviceOp launch,
                    ArrayRef<HostTensor> in, ArrayRef<HostTensor> out,
                    ArrayRef<HostTensor> want) {
  auto parent = launch->getParentOfType<func::FuncOp>();
  bool isOuter = parent.getName() == function.getName();
  SmallVector<const HostTensor *> values;
  for (const HostTensor &value : in)
    values.push_back(&value);
  for (auto [value, result] : llvm::zip_equal(out, launch.getResults())) {
    auto returned = isOuter ? returnedAs(result) : std::nullopt;
    values.push_back(returned ? &want[*returned] : &value);
  }
  describe(function, launch, values);
}

void Recording::addShapes(func::FuncOp lowered) {
  lowered.walk([&](LaunchDeviceOp launch) { describe(lowered, launch, {}); });
}

llvm::Error Recording::write(StringRef path, StringRef ptx) const {
  llvm::json::Object texts{{"ptx", ptx}};
  for (auto [number, text] : llvm::enumerate(launches))
    texts[llvm::formatv("{0,0+5}", number).str()] = text;
  llvm::json::Object header{{"__metadata__", std::move(texts)}};
  std::string data;
  for (auto [number, tensor] : llvm::enumerate(tensors)) {
    std::string dtype = dtypeName(tensor.first);
    llvm::StringRef bytes = StringRef(*tensor.second).drop_front(dtype.size());
    size_t size = Buffer(RankedTensorType::get({}, tensor.first)).width();
    size_t begin = data.size();
    data += bytes;
    header[std::to_string(number)] = llvm::json::Object{
        {"dtype", dtype},
        {"shape", llvm::json::Array{bytes.size() / size}},
        {"data_offsets", llvm::json::Array{begin, data.size()}}};
  }
  std::string text = llvm::formatv("{0}", llvm::json::Value(std::move(header)));
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return llvm::createStringError(error, "cannot write " + path);
  llvm::support::endian::write<uint64_t>(file, text.size(),
                                         llvm::endianness::little);
  file << text << data;
  return llvm::Error::success();
}
