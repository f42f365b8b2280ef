// The ways of a kernel that small shapes do not take: tiles of several places for each thread, rows of a block and rows that do not fit
// into registers, columns in parts, operands that are not aligned.
//
// RUN: %standin ff-device-test --verify-ptx %s | FileCheck %s
// RUN: %standin ff-device-test --chip=sm_80 --verify-ptx %s | FileCheck %s
// RUN: sed s/bf16/f16/g %s > %t.f16.mlir
// RUN: %standin ff-device-test --verify-ptx %t.f16.mlir | FileCheck %s

// CHECK: ptxas: {{ok|not found}}
// CHECK-NOT: WRONG
// CHECK: worst: {{[0-9.e-]+}} of the tolerance

func.func @tiles(%a: tensor<301000xf32>, %b: tensor<301000xf32>) -> tensor<301000xf32> {
  %0 = arith.mulf %a, %b : tensor<301000xf32>
  %1 = arith.addf %0, %a : tensor<301000xf32>
  return %1 : tensor<301000xf32>
}
func.func @tiles_and_a_piece(%a: tensor<300003xbf16>, %b: tensor<300003xbf16>) -> (tensor<300003xbf16>, tensor<300003xf32>) {
  %0 = arith.addf %a, %b : tensor<300003xbf16>
  %1 = arith.extf %a : tensor<300003xbf16> to tensor<300003xf32>
  return %0, %1 : tensor<300003xbf16>, tensor<300003xf32>
}
func.func @tiles_by_rows(%a: tensor<500x600xbf16>, %b: tensor<600xf32>) -> tensor<500x600xbf16> {
  %x = arith.extf %a : tensor<500x600xbf16> to tensor<500x600xf32>
  %s = ff.broadcast %b dims [1] : tensor<600xf32> to tensor<500x600xf32>
  %0 = arith.mulf %x, %s : tensor<500x600xf32>
  %1 = arith.truncf %0 : tensor<500x600xf32> to tensor<500x600xbf16>
  return %1 : tensor<500x600xbf16>
}
// A slice that begins at 4 bytes, one at 8 and one at 16: places of 16 bytes are read in pieces or whole.
func.func @unaligned(%a: tensor<4x64xf32>, %b: tensor<4x64xbf16>) -> (tensor<16xf32>, tensor<4x32xbf16>, tensor<16xf32>) {
  %f = ff.reshape %a : tensor<4x64xf32> to tensor<256xf32>
  %s = ff.slice %f dim 0 at 1 : tensor<256xf32> to tensor<16xf32>
  %0 = arith.negf %s : tensor<16xf32>
  %t = ff.slice %b dim 1 at 4 : tensor<4x64xbf16> to tensor<4x32xbf16>
  %1 = arith.negf %t : tensor<4x32xbf16>
  %u = ff.slice %f dim 0 at 4 : tensor<256xf32> to tensor<16xf32>
  %2 = arith.negf %u : tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<4x32xbf16>, tensor<16xf32>
}
func.func @rows_of_a_block(%a: tensor<5x4096xf32>) -> (tensor<5x4096xf32>, tensor<5x4096xf32>) {
  %0 = ff.softmax %a : tensor<5x4096xf32>
  %1 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<5x4096xf32>
  return %0, %1 : tensor<5x4096xf32>, tensor<5x4096xf32>
}
func.func @rows_of_a_block_narrow(%a: tensor<3x5120xbf16>, %g: tensor<3x5120xbf16>, %w: tensor<5120xbf16>) -> (tensor<3x5120xbf16>, tensor<3x5120xbf16>) {
  %x = arith.extf %a : tensor<3x5120xbf16> to tensor<3x5120xf32>
  %n = ff.rms_norm %x {eps = 1.0e-6 : f64} : tensor<3x5120xf32>
  %wf = arith.extf %w : tensor<5120xbf16> to tensor<5120xf32>
  %s = ff.broadcast %wf dims [1] : tensor<5120xf32> to tensor<3x5120xf32>
  %m = arith.mulf %n, %s : tensor<3x5120xf32>
  %0 = arith.truncf %m : tensor<3x5120xf32> to tensor<3x5120xbf16>
  %1 = ff.layer_norm_backward %a, %g {eps = 1.0e-6 : f64} : tensor<3x5120xbf16>
  return %0, %1 : tensor<3x5120xbf16>, tensor<3x5120xbf16>
}
func.func @rows_of_a_block_odd(%a: tensor<3x1501xf32>) -> tensor<3x1501xf32> {
  %0 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<3x1501xf32>
  return %0 : tensor<3x1501xf32>
}
func.func @long_rows(%a: tensor<2x40000xf32>, %b: tensor<2x40004xbf16>) -> (tensor<2x40000xf32>, tensor<2x40004xbf16>) {
  %0 = ff.layer_norm %a {eps = 1.0e-6 : f64} : tensor<2x40000xf32>
  %1 = ff.softmax %b : tensor<2x40004xbf16>
  return %0, %1 : tensor<2x40000xf32>, tensor<2x40004xbf16>
}
func.func @short_rows(%a: tensor<77x5xf32>, %b: tensor<33x16xbf16>) -> (tensor<77x5xf32>, tensor<33xbf16>) {
  %0 = ff.softmax %a : tensor<77x5xf32>
  %1 = ff.reduce <max> %b dims [1] : tensor<33x16xbf16> to tensor<33xbf16>
  return %0, %1 : tensor<77x5xf32>, tensor<33xbf16>
}
func.func @rows_of_f64(%a: tensor<5x700xf64>) -> tensor<5xf64> {
  %0 = ff.reduce <sum> %a dims [1] : tensor<5x700xf64> to tensor<5xf64>
  return %0 : tensor<5xf64>
}
func.func @columns_in_parts(%a: tensor<3000x96xbf16>, %g: tensor<3000x96xf32>) -> (tensor<96xbf16>, tensor<96xf32>) attributes {test.range = [-1.0, 1.0], test.tolerance = 1.0e-2 : f64} {
  %0 = ff.reduce <max> %a dims [0] : tensor<3000x96xbf16> to tensor<96xbf16>
  %x = arith.extf %a : tensor<3000x96xbf16> to tensor<3000x96xf32>
  %m = arith.mulf %x, %g : tensor<3000x96xf32>
  %1 = ff.reduce <sum> %m dims [0] : tensor<3000x96xf32> to tensor<96xf32>
  return %0, %1 : tensor<96xbf16>, tensor<96xf32>
}
func.func @columns_odd(%a: tensor<1001x37xf32>, %b: tensor<257x3xf32>) -> (tensor<37xf32>, tensor<3xf32>) attributes {test.tolerance = 1.0e-4 : f64} {
  %0 = ff.reduce <sum> %a dims [0] : tensor<1001x37xf32> to tensor<37xf32>
  %1 = ff.reduce <sum> %b dims [0] : tensor<257x3xf32> to tensor<3xf32>
  return %0, %1 : tensor<37xf32>, tensor<3xf32>
}
func.func @columns_of_f64(%a: tensor<100x40xf64>) -> tensor<40xf64> {
  %0 = ff.reduce <sum> %a dims [0] : tensor<100x40xf64> to tensor<40xf64>
  return %0 : tensor<40xf64>
}
func.func @columns_of_a_view(%a: tensor<40x6x50xf32>) -> tensor<6x40xf32> {
  %t = ff.transpose %a [2, 1, 0] : tensor<40x6x50xf32> to tensor<50x6x40xf32>
  %m = arith.mulf %t, %t : tensor<50x6x40xf32>
  %0 = ff.reduce <sum> %m dims [0] : tensor<50x6x40xf32> to tensor<6x40xf32>
  return %0 : tensor<6x40xf32>
}
func.func @powers_of_negative(%a: tensor<300xf32>) -> (tensor<300xf32>, tensor<300xf32>, tensor<300xf32>) {
  %two = arith.constant dense<2.0> : tensor<300xf32>
  %three = arith.constant dense<3.0> : tensor<300xf32>
  %half = arith.constant dense<0.5> : tensor<300xf32>
  %0 = math.powf %a, %two : tensor<300xf32>
  %1 = math.powf %a, %three : tensor<300xf32>
  %2 = math.powf %a, %half : tensor<300xf32>
  return %0, %1, %2 : tensor<300xf32>, tensor<300xf32>, tensor<300xf32>
}
func.func @powers_at_bounds() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %minus = arith.constant dense<-1.0> : tensor<3xf32>
  %two = arith.constant dense<2.0> : tensor<3xf32>
  %large = arith.constant dense<300.0> : tensor<3xf32>
  %0 = math.powf %zero, %minus : tensor<3xf32>
  %1 = math.powf %zero, %two : tensor<3xf32>
  %2 = math.powf %zero, %zero : tensor<3xf32>
  %3 = math.powf %large, %zero : tensor<3xf32>
  return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
// Large exponents, where the error of a logarithm of f32 would show.
func.func @large_powers(%a: tensor<300xf32>) -> tensor<300xf32> attributes {test.range = [1.0, 1.5]} {
  %e = arith.constant dense<100.5> : tensor<300xf32>
  %0 = math.powf %a, %e : tensor<300xf32>
  return %0 : tensor<300xf32>
}
