// RUN: ff-opt %s --ff-merge-launches | FileCheck %s
// RUN: ff-opt %s --ff-merge-launches | ff-opt | FileCheck %s

// Independent launches become one, past a matmul, past views and past the second step of a sum.
// CHECK-LABEL: func.func @independent(
func.func @independent(%x: tensor<64xf32>, %w: tensor<8x8xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {
  // CHECK-NOT: ff.launch_device
  // CHECK: %[[M:.*]] = ff.matmul
  // CHECK: %[[R:.*]]:2 = ff.launch_device @kernels::@merged_0(%[[M]], %arg0) blocks 7 threads 64 shared 16 {ff.flops = 1.000000e+01 : f64} : (tensor<8x8xf32>, tensor<64xf32>) -> (tensor<8x8xf32>, tensor<64xf32>)
  // CHECK: %[[S:.*]] = ff.reshape %[[R]]#1
  // CHECK: %[[T:.*]] = ff.launch_device @kernels::@small(%[[S]])
  // CHECK: return %[[T]], %[[R]]#0
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 16 {ff.flops = 10.0 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %v = ff.reshape %a : tensor<64xf32> to tensor<8x8xf32>
  %s = ff.launch_device @kernels::@small(%v) blocks 1 threads 32 shared 0 : (tensor<8x8xf32>) -> tensor<64xf32>
  %m = ff.matmul %w, %w : tensor<8x8xf32>, tensor<8x8xf32> to tensor<8x8xf32>
  %b = ff.launch_device @kernels::@second(%m) blocks 3 threads 64 shared 0 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %s, %b : tensor<64xf32>, tensor<8x8xf32>
}

// What depends on another one, has other threads or calls a function stays as it is.
// CHECK-LABEL: func.func @apart(
func.func @apart(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  // CHECK-COUNT-4: ff.launch_device @kernels::@{{first|small|calls}}(
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %b = ff.launch_device @kernels::@first(%a) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %c = ff.launch_device @kernels::@small(%x) blocks 1 threads 32 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %d = ff.launch_device @kernels::@calls(%x) blocks 1 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %b, %c, %d : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Not past a call, which may gather and release.
// CHECK-LABEL: func.func @calls(
func.func @calls(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: ff.launch_device
  // CHECK: call
  // CHECK: ff.launch_device
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %b = call @layer(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %c = ff.launch_device @kernels::@first(%b) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %a, %c : tensor<64xf32>, tensor<64xf32>
}
func.func private @layer(%x: tensor<64xf32>) -> tensor<64xf32>

// One that reads much moves past one launch; two would keep what it reads for long.
// CHECK-LABEL: func.func @large(
func.func @large(%x: tensor<1048576xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: ff.launch_device @kernels::@first(%arg0) blocks 4
  // CHECK: ff.launch_device @kernels::@small
  // CHECK: ff.launch_device @kernels::@small
  // CHECK: ff.launch_device @kernels::@first({{.*}}) blocks 5
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 0 : (tensor<1048576xf32>) -> tensor<64xf32>
  %b = ff.launch_device @kernels::@small(%y) blocks 1 threads 32 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %c = ff.launch_device @kernels::@small(%b) blocks 1 threads 32 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %d = ff.launch_device @kernels::@first(%c) blocks 5 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %a, %d : tensor<64xf32>, tensor<64xf32>
}

// What takes long anyway stays.
// CHECK-LABEL: func.func @larger(
func.func @larger(%x: tensor<16777216xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK-COUNT-2: ff.launch_device @kernels::@first
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 0 : (tensor<16777216xf32>) -> tensor<64xf32>
  %d = ff.launch_device @kernels::@first(%y) blocks 5 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %a, %d : tensor<64xf32>, tensor<64xf32>
}

// One kernel, twice.
// CHECK-LABEL: func.func @twice(
func.func @twice(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: ff.launch_device @kernels::@merged_1(%arg1, %arg0) blocks 8
  %a = ff.launch_device @kernels::@first(%x) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  %b = ff.launch_device @kernels::@first(%y) blocks 4 threads 64 shared 0 : (tensor<64xf32>) -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

gpu.module @kernels [#nvvm.target<chip = "sm_90">] {
  func.func private @helper()
  gpu.func @first(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, nvvm.minctasm = 2 : i32} {
    %b = gpu.block_id x
    %c = arith.constant 0 : index
    %first = arith.cmpi eq, %b, %c : index
    scf.if %first {
      %v = llvm.load %x : !llvm.ptr -> f32
      llvm.store %v, %y : f32, !llvm.ptr
    }
    gpu.return
  }
  // CHECK-NOT: gpu.func @second(
  gpu.func @second(%x: !llvm.ptr {llvm.noalias, llvm.readonly}, %y: !llvm.ptr {llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, nvvm.minctasm = 2 : i32} {
    %b = gpu.block_id x
    %i = arith.index_cast %b : index to i64
    llvm.store %i, %y : i64, !llvm.ptr
    gpu.return
  }
  gpu.func @small(%x: !llvm.ptr, %y: !llvm.ptr) kernel {
    gpu.return
  }
  gpu.func @calls(%x: !llvm.ptr, %y: !llvm.ptr) kernel {
    func.call @helper() : () -> ()
    gpu.return
  }
  // Operands of both, then results of both; the second one counts its blocks from 0.
  // CHECK: gpu.func @merged_0(%[[X0:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[X1:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[Y0:.*]]: !llvm.ptr {llvm.noalias}, %[[Y1:.*]]: !llvm.ptr {llvm.noalias}) kernel attributes {known_block_size = array<i32: 64, 1, 1>, nvvm.minctasm = 2 : i32} {
  // CHECK: %[[BLOCK:.*]] = gpu.block_id x
  // CHECK: %[[COUNT:.*]] = arith.constant 3 : index
  // CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[BLOCK]], %[[COUNT]]
  // CHECK: scf.if %[[FIRST]] {
  // CHECK: %[[ID:.*]] = gpu.block_id x
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[ID]]
  // CHECK: llvm.store %[[INDEX]], %[[Y0]]
  // CHECK: } else {
  // CHECK: %[[REST:.*]] = arith.subi %[[BLOCK]], %[[COUNT]]
  // CHECK: arith.cmpi eq, %[[REST]]
  // CHECK: llvm.load %[[X1]]
  // CHECK: llvm.store %{{.*}}, %[[Y1]]
}
