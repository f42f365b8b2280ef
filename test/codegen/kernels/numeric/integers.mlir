// Integers in kernels next to floats: storage of fewer bits that the program
// decodes.
//
// RUN: ff-kernel-test --calls %s | FileCheck %s
// RUN: ff-kernel-test --calls --vector-bytes=32 --cpu=x86-64-v3 %s | FileCheck %s

// CHECK-NOT: calls
// CHECK: e4m3: ok

// e4m3 (of the finite kind) in i8: sign, four bits of exponent, three of
// mantissa. Put where f32 has them, the exponent is too small by 120.
func.func @e4m3(%a: tensor<16x47xi8>) -> (tensor<16x47xf32>, tensor<16x47xbf16>) attributes {test.range = [0.0, 255.0], test.tolerance = 0.0 : f64} {
  %c127 = arith.constant dense<127> : tensor<16x47xi32>
  %c128 = arith.constant dense<128> : tensor<16x47xi32>
  %c20 = arith.constant dense<20> : tensor<16x47xi32>
  %c24 = arith.constant dense<24> : tensor<16x47xi32>
  %scale = arith.constant dense<1.3292279957849159e+36> : tensor<16x47xf32>
  %nan = arith.constant dense<0x7FC00000> : tensor<16x47xf32>
  %0 = arith.extui %a : tensor<16x47xi8> to tensor<16x47xi32>
  %1 = arith.andi %0, %c127 : tensor<16x47xi32>
  %2 = arith.shli %1, %c20 : tensor<16x47xi32>
  %3 = arith.andi %0, %c128 : tensor<16x47xi32>
  %4 = arith.shli %3, %c24 : tensor<16x47xi32>
  %5 = arith.ori %2, %4 : tensor<16x47xi32>
  %6 = arith.bitcast %5 : tensor<16x47xi32> to tensor<16x47xf32>
  %7 = arith.mulf %6, %scale : tensor<16x47xf32>
  %8 = arith.cmpi eq, %1, %c127 : tensor<16x47xi32>
  %9 = arith.select %8, %nan, %7 : tensor<16x47xi1>, tensor<16x47xf32>
  %10 = arith.truncf %9 : tensor<16x47xf32> to tensor<16x47xbf16>
  return %9, %10 : tensor<16x47xf32>, tensor<16x47xbf16>
}

// e5m2 is the upper half of an f16.
func.func @e5m2(%a: tensor<16x47xi8>) -> tensor<16x47xf32> attributes {test.range = [0.0, 255.0], test.tolerance = 0.0 : f64} {
  %c8 = arith.constant dense<8> : tensor<16x47xi16>
  %0 = arith.extui %a : tensor<16x47xi8> to tensor<16x47xi16>
  %1 = arith.shli %0, %c8 : tensor<16x47xi16>
  %2 = arith.bitcast %1 : tensor<16x47xi16> to tensor<16x47xf16>
  %3 = arith.extf %2 : tensor<16x47xf16> to tensor<16x47xf32>
  return %3 : tensor<16x47xf32>
}

// int8 with a scale for each row, read by a reduction.
func.func @int8(%a: tensor<11x70xi8>, %s: tensor<11xbf16>) -> (tensor<11x70xbf16>, tensor<11xf32>) attributes {test.range = [0.0, 255.0]} {
  %0 = arith.sitofp %a : tensor<11x70xi8> to tensor<11x70xf32>
  %f = arith.extf %s : tensor<11xbf16> to tensor<11xf32>
  %b = ff.broadcast %f dims [0] : tensor<11xf32> to tensor<11x70xf32>
  %1 = arith.mulf %0, %b : tensor<11x70xf32>
  %2 = arith.truncf %1 : tensor<11x70xf32> to tensor<11x70xbf16>
  %3 = ff.reduce <max> %1 dims [1] : tensor<11x70xf32> to tensor<11xf32>
  return %2, %3 : tensor<11x70xbf16>, tensor<11xf32>
}

// Two values of four bits in a byte.
func.func @int4(%a: tensor<9x35xi8>) -> (tensor<9x35xi8>, tensor<9x35xf32>) attributes {test.range = [0.0, 255.0]} {
  %c15 = arith.constant dense<15> : tensor<9x35xi8>
  %c4 = arith.constant dense<4> : tensor<9x35xi8>
  %c8 = arith.constant dense<8> : tensor<9x35xi32>
  %low = arith.andi %a, %c15 : tensor<9x35xi8>
  %high = arith.shrui %a, %c4 : tensor<9x35xi8>
  %0 = arith.addi %low, %high : tensor<9x35xi8>
  %1 = arith.extui %high : tensor<9x35xi8> to tensor<9x35xi32>
  %2 = arith.subi %1, %c8 : tensor<9x35xi32>
  %3 = arith.sitofp %2 : tensor<9x35xi32> to tensor<9x35xf32>
  return %0, %3 : tensor<9x35xi8>, tensor<9x35xf32>
}

func.func @widths(%a: tensor<77xi8>, %b: tensor<77xi16>, %c: tensor<77xi32>, %d: tensor<77xi64>) -> (tensor<77xi64>, tensor<77xi8>, tensor<77xi32>, tensor<77xf32>) attributes {test.range = [0.0, 100000.0]} {
  %0 = arith.extsi %a : tensor<77xi8> to tensor<77xi64>
  %1 = arith.extsi %b : tensor<77xi16> to tensor<77xi64>
  %2 = arith.extui %c : tensor<77xi32> to tensor<77xi64>
  %3 = arith.addi %0, %1 : tensor<77xi64>
  %4 = arith.addi %2, %d : tensor<77xi64>
  %5 = arith.muli %3, %4 : tensor<77xi64>
  %6 = arith.trunci %5 : tensor<77xi64> to tensor<77xi8>
  %7 = arith.trunci %5 : tensor<77xi64> to tensor<77xi32>
  %8 = arith.uitofp %a : tensor<77xi8> to tensor<77xf32>
  return %5, %6, %7, %8 : tensor<77xi64>, tensor<77xi8>, tensor<77xi32>, tensor<77xf32>
}

func.func @signs(%a: tensor<77xi8>, %b: tensor<77xi8>) -> (tensor<77xi1>, tensor<77xi1>, tensor<77xi8>, tensor<77xi8>, tensor<77xi16>) attributes {test.range = [0.0, 255.0]} {
  %c3 = arith.constant dense<3> : tensor<77xi8>
  %0 = arith.cmpi slt, %a, %b : tensor<77xi8>
  %1 = arith.cmpi ult, %a, %b : tensor<77xi8>
  %2 = arith.select %1, %a, %b : tensor<77xi1>, tensor<77xi8>
  %3 = arith.shrsi %a, %c3 : tensor<77xi8>
  %4 = arith.extsi %0 : tensor<77xi1> to tensor<77xi16>
  return %0, %1, %2, %3, %4 : tensor<77xi1>, tensor<77xi1>, tensor<77xi8>, tensor<77xi8>, tensor<77xi16>
}

func.func @bits_of_floats(%a: tensor<50xf32>, %b: tensor<50xbf16>) -> (tensor<50xi32>, tensor<50xi16>, tensor<50xbf16>) {
  %sign = arith.constant dense<0x7fff> : tensor<50xi16>
  %0 = arith.bitcast %a : tensor<50xf32> to tensor<50xi32>
  %1 = arith.bitcast %b : tensor<50xbf16> to tensor<50xi16>
  %2 = arith.andi %1, %sign : tensor<50xi16>
  %3 = arith.bitcast %2 : tensor<50xi16> to tensor<50xbf16>
  return %0, %1, %3 : tensor<50xi32>, tensor<50xi16>, tensor<50xbf16>
}

func.func @moved(%a: tensor<4x3x7xi8>, %b: tensor<4x5x7xi8>) -> (tensor<4x8x7xi8>, tensor<7x4x3xi8>, tensor<6x4x3x7xi8>) attributes {test.range = [0.0, 255.0]} {
  %0 = ff.concat %a, %b dim 1 : tensor<4x3x7xi8>, tensor<4x5x7xi8> to tensor<4x8x7xi8>
  %1 = ff.transpose %a [2, 0, 1] : tensor<4x3x7xi8> to tensor<7x4x3xi8>
  %2 = ff.broadcast %a dims [1, 2, 3] : tensor<4x3x7xi8> to tensor<6x4x3x7xi8>
  return %0, %1, %2 : tensor<4x8x7xi8>, tensor<7x4x3xi8>, tensor<6x4x3x7xi8>
}

func.func @large_copy(%a: tensor<64x300xi8>) -> (tensor<300x64xi8>, tensor<64x300xi8>) attributes {test.range = [0.0, 255.0]} {
  %0 = ff.transpose %a [1, 0] : tensor<64x300xi8> to tensor<300x64xi8>
  return %0, %a : tensor<300x64xi8>, tensor<64x300xi8>
}
