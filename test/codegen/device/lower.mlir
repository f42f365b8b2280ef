// RUN: ff-opt %s --ff-lower-kernels-to-gpu | FileCheck %s
// RUN: ff-opt %s --ff-lower-kernels-to-gpu | ff-opt | FileCheck %s
// RUN: ff-opt %s --ff-lower-kernels-to-gpu=chip=sm_80 | FileCheck --check-prefix=CHIP %s
// RUN: not ff-opt %s --ff-lower-kernels-to-gpu=chip=sm_70 2>&1 | FileCheck --check-prefix=WRONG %s

// CHIP: chip = "sm_80"
// WRONG: error: chip must be one of sm_80, sm_90, sm_90a, got sm_70

// Equal kernels are one; a slice that is aligned otherwise has one of its own.
// CHECK-LABEL: @elementwise
func.func @elementwise(%a: tensor<4096xf32>, %b: tensor<8192xf32>) -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>) {
  // CHECK: ff.launch_device @kernels::@[[K:kernel_[0-9]+]](%arg0) blocks 4 threads 256 shared 0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %0 = ff.fused (%a) domain [4096] reduced 0 : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%x: tensor<4096xf32>):
    %e = arith.negf %x : tensor<4096xf32>
    ff.yield %e : tensor<4096xf32>
  }
  // CHECK: %[[S:.*]] = ff.slice %{{.*}} dim 0 at 4 : tensor<8192xf32> to tensor<8188xf32>
  // CHECK: ff.launch_device @kernels::@[[K]](%[[S]])
  %s = ff.slice %b dim 0 at 4 : tensor<8192xf32> to tensor<4096xf32>
  %1 = ff.fused (%s) domain [4096] reduced 0 : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%x: tensor<4096xf32>):
    %e = arith.negf %x : tensor<4096xf32>
    ff.yield %e : tensor<4096xf32>
  }
  // CHECK-NOT: @[[K]](
  // CHECK: ff.launch_device @kernels::@kernel_
  %t = ff.slice %b dim 0 at 1 : tensor<8192xf32> to tensor<4096xf32>
  %2 = ff.fused (%t) domain [4096] reduced 0 : (tensor<4096xf32>) -> tensor<4096xf32> {
  ^bb0(%x: tensor<4096xf32>):
    %e = arith.negf %x : tensor<4096xf32>
    ff.yield %e : tensor<4096xf32>
  }
  return %0, %1, %2 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>
}

// Short rows share a warp, sixteen threads a row; long ones have a block and shared memory.
// CHECK-LABEL: @rows
func.func @rows(%a: tensor<100x64xf32>, %b: tensor<9x4096xf32>) -> (tensor<100xf32>, tensor<9xf32>) {
  // CHECK: ff.launch_device {{.*}}(%arg0) blocks 13 threads 128 shared 0
  %0 = ff.fused (%a) domain [100, 64] reduced 1 : (tensor<100x64xf32>) -> tensor<100xf32> {
  ^bb0(%x: tensor<100x64xf32>):
    %s = ff.reduce <sum> %x dims [1] : tensor<100x64xf32> to tensor<100xf32>
    ff.yield %s : tensor<100xf32>
  }
  // CHECK: ff.launch_device {{.*}}(%arg1) blocks 9 threads 256 shared 32
  %1 = ff.fused (%b) domain [9, 4096] reduced 1 : (tensor<9x4096xf32>) -> tensor<9xf32> {
  ^bb0(%x: tensor<9x4096xf32>):
    %s = ff.reduce <sum> %x dims [1] : tensor<9x4096xf32> to tensor<9xf32>
    ff.yield %s : tensor<9xf32>
  }
  return %0, %1 : tensor<100xf32>, tensor<9xf32>
}

// Few columns of many elements are cut into parts, whose sums are f32.
// CHECK-LABEL: @columns
func.func @columns(%a: tensor<4096x96xbf16>) -> tensor<96xbf16> {
  // CHECK: %[[P:.*]] = ff.launch_device {{.*}}(%arg0) blocks 64 threads 256 shared 8192 : (tensor<4096x96xbf16>) -> tensor<64x96xf32>
  // CHECK: ff.launch_device {{.*}}(%[[P]]) blocks 2 threads 64 shared 0 : (tensor<64x96xf32>) -> tensor<96xbf16>
  %0 = ff.fused (%a) domain [4096, 96] reduced 0 columns [0] : (tensor<4096x96xbf16>) -> tensor<96xbf16> {
  ^bb0(%x: tensor<4096x96xbf16>):
    %s = ff.reduce <sum> %x dims [0] : tensor<4096x96xbf16> to tensor<96xbf16>
    ff.yield %s : tensor<96xbf16>
  }
  return %0 : tensor<96xbf16>
}

// CHECK: gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx78">]
// CHECK: gpu.func @kernel_0(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.readonly}, %{{.*}}: !llvm.ptr {llvm.noalias}) kernel
