// RUN: ff-kernel-test %s
// RUN: ff-kernel-test --vector-bytes=32 %s
// What stands in a diffusion transformer: many operations in few kernels.

func.func @block(%x: tensor<4x16x128xf32>, %c: tensor<4x128xf32>, %wm: tensor<384x128xf32>, %bm: tensor<384xf32>, %w1: tensor<512x128xf32>, %b1: tensor<512xf32>, %w2: tensor<128x512xf32>, %b2: tensor<128xf32>) -> tensor<4x16x128xf32> attributes {test.range = [-0.3, 0.3]} {
  %act = ff.activation <silu> %c : tensor<4x128xf32>
  %mm = ff.matmul %act, %wm {transpose_rhs} : tensor<4x128xf32>, tensor<384x128xf32> to tensor<4x384xf32>
  %bmb = ff.broadcast %bm dims [1] : tensor<384xf32> to tensor<4x384xf32>
  %mod = arith.addf %mm, %bmb : tensor<4x384xf32>
  %s0 = ff.slice %mod dim 1 at 0 : tensor<4x384xf32> to tensor<4x128xf32>
  %t0 = ff.slice %mod dim 1 at 128 : tensor<4x384xf32> to tensor<4x128xf32>
  %g0 = ff.slice %mod dim 1 at 256 : tensor<4x384xf32> to tensor<4x128xf32>
  %one = arith.constant dense<1.0> : tensor<4x128xf32>
  %s1 = arith.addf %s0, %one : tensor<4x128xf32>
  %s = ff.broadcast %s1 dims [0, 2] : tensor<4x128xf32> to tensor<4x16x128xf32>
  %t = ff.broadcast %t0 dims [0, 2] : tensor<4x128xf32> to tensor<4x16x128xf32>
  %g = ff.broadcast %g0 dims [0, 2] : tensor<4x128xf32> to tensor<4x16x128xf32>
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<4x16x128xf32>
  %m = arith.mulf %n, %s : tensor<4x16x128xf32>
  %y = arith.addf %m, %t : tensor<4x16x128xf32>
  %yr = ff.reshape %y : tensor<4x16x128xf32> to tensor<64x128xf32>
  %h = ff.matmul %yr, %w1 {transpose_rhs} : tensor<64x128xf32>, tensor<512x128xf32> to tensor<64x512xf32>
  %hr = ff.reshape %h : tensor<64x512xf32> to tensor<4x16x512xf32>
  %b1b = ff.broadcast %b1 dims [2] : tensor<512xf32> to tensor<4x16x512xf32>
  %h1 = arith.addf %hr, %b1b : tensor<4x16x512xf32>
  %h2 = ff.activation <gelu_tanh> %h1 : tensor<4x16x512xf32>
  %h2r = ff.reshape %h2 : tensor<4x16x512xf32> to tensor<64x512xf32>
  %o = ff.matmul %h2r, %w2 {transpose_rhs} : tensor<64x512xf32>, tensor<128x512xf32> to tensor<64x128xf32>
  %or = ff.reshape %o : tensor<64x128xf32> to tensor<4x16x128xf32>
  %b2b = ff.broadcast %b2 dims [2] : tensor<128xf32> to tensor<4x16x128xf32>
  %o1 = arith.addf %or, %b2b : tensor<4x16x128xf32>
  %go = arith.mulf %g, %o1 : tensor<4x16x128xf32>
  %r = arith.addf %x, %go : tensor<4x16x128xf32>
  return %r : tensor<4x16x128xf32>
}

// Gradients of the modulation: rows and columns over the same values.
func.func @modulation_backward(%x: tensor<4x16x128xf32>, %dy: tensor<4x16x128xf32>, %s0: tensor<4x128xf32>) -> (tensor<4x16x128xf32>, tensor<4x384xf32>) {
  %s = ff.broadcast %s0 dims [0, 2] : tensor<4x128xf32> to tensor<4x16x128xf32>
  %n = ff.layer_norm %x {eps = 1.0e-6 : f64} : tensor<4x16x128xf32>
  %dn = arith.mulf %dy, %s : tensor<4x16x128xf32>
  %dsf = arith.mulf %dy, %n : tensor<4x16x128xf32>
  %ds = ff.reduce <sum> %dsf dims [1] : tensor<4x16x128xf32> to tensor<4x128xf32>
  %dt = ff.reduce <sum> %dy dims [1] : tensor<4x16x128xf32> to tensor<4x128xf32>
  %dx = ff.layer_norm_backward %x, %dn {eps = 1.0e-6 : f64} : tensor<4x16x128xf32>
  %z1 = arith.constant dense<0.0> : tensor<4x128xf32>
  %z2 = arith.constant dense<0.0> : tensor<4x256xf32>
  %p = ff.concat %ds, %z2 dim 1 : tensor<4x128xf32>, tensor<4x256xf32> to tensor<4x384xf32>
  %q = ff.concat %z1, %dt, %z1 dim 1 : tensor<4x128xf32>, tensor<4x128xf32>, tensor<4x128xf32> to tensor<4x384xf32>
  %dm = arith.addf %p, %q : tensor<4x384xf32>
  return %dx, %dm : tensor<4x16x128xf32>, tensor<4x384xf32>
}

// The two sides of a view that strides cannot express.
func.func @heads(%x: tensor<2x6x4x8xf32>) -> (tensor<2x24x8xf32>, tensor<2x6x32xf32>) {
  %a = math.exp %x : tensor<2x6x4x8xf32>
  %t = ff.transpose %a [0, 2, 1, 3] : tensor<2x6x4x8xf32> to tensor<2x4x6x8xf32>
  %r = ff.reshape %t : tensor<2x4x6x8xf32> to tensor<2x24x8xf32>
  %y = arith.negf %r : tensor<2x24x8xf32>
  %u = ff.reshape %a : tensor<2x6x4x8xf32> to tensor<2x6x32xf32>
  %z = arith.mulf %u, %u : tensor<2x6x32xf32>
  return %y, %z : tensor<2x24x8xf32>, tensor<2x6x32xf32>
}

// A value leaves its row and comes back: no cycle between kernels.
func.func @no_cycle(%x: tensor<12x12xf32>) -> tensor<12x12xf32> {
  %a = math.exp %x : tensor<12x12xf32>
  %t = ff.transpose %a [1, 0] : tensor<12x12xf32> to tensor<12x12xf32>
  %s = ff.reduce <sum> %t dims [1] : tensor<12x12xf32> to tensor<12xf32>
  %b = ff.broadcast %s dims [0] : tensor<12xf32> to tensor<12x12xf32>
  %y = arith.divf %a, %b : tensor<12x12xf32>
  return %y : tensor<12x12xf32>
}

// A column reduction in the middle of rows.
func.func @column_inside(%x: tensor<12x20xf32>) -> tensor<12x20xf32> {
  %a = math.exp %x : tensor<12x20xf32>
  %s = ff.reduce <sum> %a dims [0] : tensor<12x20xf32> to tensor<20xf32>
  %b = ff.broadcast %s dims [1] : tensor<20xf32> to tensor<12x20xf32>
  %y = arith.divf %a, %b : tensor<12x20xf32>
  %r = ff.reduce <max> %y dims [1] : tensor<12x20xf32> to tensor<12xf32>
  %rb = ff.broadcast %r dims [0] : tensor<12xf32> to tensor<12x20xf32>
  %z = arith.subf %y, %rb : tensor<12x20xf32>
  return %z : tensor<12x20xf32>
}

// The embedding of a time: iota, constants, sine and cosine, joined. The angle
// itself, up to 1000, is rounded to 3e-5.
func.func @time_embedding(%t: tensor<6xf32>) -> tensor<6x64xf32> attributes {test.range = [0.0, 1000.0], test.tolerance = 4.0e-5 : f64} {
  %i = ff.iota dim 0 : tensor<32xf32>
  %c = arith.constant dense<-0.28782313662425572> : tensor<32xf32>
  %e = arith.mulf %i, %c : tensor<32xf32>
  %f = math.exp %e : tensor<32xf32>
  %fb = ff.broadcast %f dims [1] : tensor<32xf32> to tensor<6x32xf32>
  %tb = ff.broadcast %t dims [0] : tensor<6xf32> to tensor<6x32xf32>
  %a = arith.mulf %tb, %fb : tensor<6x32xf32>
  %s = math.sin %a : tensor<6x32xf32>
  %o = math.cos %a : tensor<6x32xf32>
  %y = ff.concat %s, %o dim 1 : tensor<6x32xf32>, tensor<6x32xf32> to tensor<6x64xf32>
  return %y : tensor<6x64xf32>
}

// Losses with a weight for each sample.
func.func @loss(%v: tensor<8x1x8x8xf32>, %n: tensor<8x1x8x8xf32>, %x: tensor<8x1x8x8xf32>, %t: tensor<8xf32>) -> (tensor<f32>, tensor<8x1x8x8xf32>) {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %u = arith.subf %one, %t : tensor<8xf32>
  %ub = ff.broadcast %u dims [0] : tensor<8xf32> to tensor<8x1x8x8xf32>
  %tb = ff.broadcast %t dims [0] : tensor<8xf32> to tensor<8x1x8x8xf32>
  %a = arith.mulf %ub, %x : tensor<8x1x8x8xf32>
  %b = arith.mulf %tb, %n : tensor<8x1x8x8xf32>
  %xt = arith.addf %a, %b : tensor<8x1x8x8xf32>
  %d0 = arith.subf %n, %x : tensor<8x1x8x8xf32>
  %d = arith.subf %v, %d0 : tensor<8x1x8x8xf32>
  %q = arith.mulf %d, %d : tensor<8x1x8x8xf32>
  %s = ff.reduce <sum> %q dims [0, 1, 2, 3] : tensor<8x1x8x8xf32> to tensor<f32>
  %c = arith.constant dense<1.953125e-3> : tensor<f32>
  %l = arith.mulf %s, %c : tensor<f32>
  return %l, %xt : tensor<f32>, tensor<8x1x8x8xf32>
}
