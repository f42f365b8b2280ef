// RUN: not ff-opt %s --ff-embed-device-code=ptxas=none 2>&1 | FileCheck %s
// RUN: not ff-opt %s --ff-embed-device-code=ptxas=/no/such/ptxas 2>&1 | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
}
// CHECK: embed-invalid.mlir:[[#@LINE+1]]:{{.*}}: error: a program has one gpu.module, and 'more' is another
gpu.module @more [#nvvm.target<chip = "sm_80">] {
}
