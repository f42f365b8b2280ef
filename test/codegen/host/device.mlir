// RUN: ff-opt %s --ff-plan-memory --ff-lower-to-runtime-calls | FileCheck %s
// RUN: ff-opt %s --ff-plan-memory --ff-lower-to-runtime-calls --ff-embed-device-code=ptxas=none | FileCheck %s --check-prefix=EMBED

// Launches of a GPU are calls by number; each distinct one is in the metadata once.

module attributes {ff.target = {kind = "cuda", chip = "sm_80"}, ff.spec = {precision = {tf32 = true}}} {

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx78">] {
  gpu.func @kernel_0(%x: !llvm.ptr, %y: !llvm.ptr) kernel {
    gpu.return
  }
}

// CHECK-LABEL: llvm.func internal @ff_program_p.part0(
// CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: llvm.call @ff_rt_launch(%{{.*}}, %{{.*}}, %[[BUFFERS:.*]]) : (!llvm.ptr, i32, !llvm.ptr) -> ()
// CHECK: llvm.mlir.constant(0 : i32)
// CHECK-NEXT: llvm.call @ff_rt_launch(
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK-NEXT: llvm.call @ff_rt_launch(
func.func @p(%x: tensor<64xf32> {ff.input = "x"}) -> (tensor<64xf32> {ff.output = "y"}) attributes {ff.program = "p"} {
  %a = ff.launch_device @kernels::@kernel_0(%x) blocks 1 threads 64 shared 16 {ff.flops = 64.0 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %b = ff.launch_device @kernels::@kernel_0(%a) blocks 1 threads 64 shared 16 {ff.flops = 64.0 : f64} : (tensor<64xf32>) -> tensor<64xf32>
  %c = ff.launch_device @kernels::@kernel_0(%b) blocks 2 threads 32 shared 16 : (tensor<64xf32>) -> tensor<64xf32>
  return %c : tensor<64xf32>
}
}

// CHECK: llvm.mlir.global external constant @ff_device_image() {{.*}}: !llvm.struct<(ptr, i64, ptr, i64)>
// CHECK: @ff_metadata(
// CHECK-SAME: \22kernels\22:[{\22blocks\22:1,\22buffers\22:2,\22bytes\22:512,\22flops\22:64,\22name\22:\22kernel_0\22,\22shared_bytes\22:16,\22threads\22:64},{\22blocks\22:2,\22buffers\22:2,\22bytes\22:512,\22flops\22:0,\22name\22:\22kernel_0\22,\22shared_bytes\22:16,\22threads\22:32}]
// CHECK-SAME: \22target\22:{\22chip\22:\22sm_80\22,\22kind\22:\22cuda\22,\22tf32\22:true}
// CHECK: llvm.mlir.addressof @ff_device_image
// CHECK: llvm.call @ff_rt_cuda_main(

// EMBED-NOT: gpu.module
// EMBED: llvm.mlir.global external constant @ff_device_image() {{.*}}: !llvm.struct<(ptr, i64, ptr, i64)> {
// EMBED: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// EMBED: %[[TEXT:.*]] = llvm.mlir.addressof @ff_device_ptx
// EMBED: llvm.insertvalue %[[TEXT]], %{{.*}}[0]
// EMBED: llvm.insertvalue %[[NULL]], %{{.*}}[2]
// EMBED: llvm.mlir.global private constant @ff_device_ptx("{{.*}}.target sm_80{{.*}}.visible .entry kernel_0{{.*}}\00")
// EMBED-NOT: ff_device_cubin
