// RUN: not ff-opt %s --ff-lower-kernels=vector-bytes=8 2>&1 | FileCheck %s

// CHECK: error: vector-bytes must be a power of two of at least 16, got 8
module {
}
