//===- ff-opt.cpp - Runs passes on .mlir files ---------------------------===//
//
// Part of the ff project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/Register.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ff::registerDialects(registry);
  ff::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "ff optimizer driver\n", registry));
}
