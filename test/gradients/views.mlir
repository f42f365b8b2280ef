// RUN: ff-grad-check %s | FileCheck %s
// CHECK-NOT: error
// CHECK: functions agree

func.func @broadcast_scalar_to_3(%x: tensor<f64>) -> (tensor<3xf64>) {
  %y = ff.broadcast %x dims [] : tensor<f64> to tensor<3xf64>
  return %y : tensor<3xf64>
}

func.func @broadcast_3_to_2x3(%x: tensor<3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.broadcast %x dims [1] : tensor<3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @broadcast_3_to_3x2(%x: tensor<3xf64>) -> (tensor<3x2xf64>) {
  %y = ff.broadcast %x dims [0] : tensor<3xf64> to tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @broadcast_2x3_to_2x4x3(%x: tensor<2x3xf64>) -> (tensor<2x4x3xf64>) {
  %y = ff.broadcast %x dims [0, 2] : tensor<2x3xf64> to tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @broadcast_2x3_to_4x2x3(%x: tensor<2x3xf64>) -> (tensor<4x2x3xf64>) {
  %y = ff.broadcast %x dims [1, 2] : tensor<2x3xf64> to tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}

func.func @broadcast_2_to_3x2x2(%x: tensor<2xf64>) -> (tensor<3x2x2xf64>) {
  %y = ff.broadcast %x dims [1] : tensor<2xf64> to tensor<3x2x2xf64>
  return %y : tensor<3x2x2xf64>
}

func.func @reshape_2x3_to_6(%x: tensor<2x3xf64>) -> (tensor<6xf64>) {
  %y = ff.reshape %x : tensor<2x3xf64> to tensor<6xf64>
  return %y : tensor<6xf64>
}

func.func @reshape_6_to_2x3(%x: tensor<6xf64>) -> (tensor<2x3xf64>) {
  %y = ff.reshape %x : tensor<6xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @reshape_2x3x4_to_6x4(%x: tensor<2x3x4xf64>) -> (tensor<6x4xf64>) {
  %y = ff.reshape %x : tensor<2x3x4xf64> to tensor<6x4xf64>
  return %y : tensor<6x4xf64>
}

func.func @reshape_2x6_to_4x3(%x: tensor<2x6xf64>) -> (tensor<4x3xf64>) {
  %y = ff.reshape %x : tensor<2x6xf64> to tensor<4x3xf64>
  return %y : tensor<4x3xf64>
}

func.func @reshape_1x4_to_4x1(%x: tensor<1x4xf64>) -> (tensor<4x1xf64>) {
  %y = ff.reshape %x : tensor<1x4xf64> to tensor<4x1xf64>
  return %y : tensor<4x1xf64>
}

func.func @reshape_scalar_to_1x1(%x: tensor<f64>) -> (tensor<1x1xf64>) {
  %y = ff.reshape %x : tensor<f64> to tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}

func.func @reshape_1_to_scalar(%x: tensor<1xf64>) -> (tensor<f64>) {
  %y = ff.reshape %x : tensor<1xf64> to tensor<f64>
  return %y : tensor<f64>
}

func.func @transpose_2x3_10(%x: tensor<2x3xf64>) -> (tensor<3x2xf64>) {
  %y = ff.transpose %x [1, 0] : tensor<2x3xf64> to tensor<3x2xf64>
  return %y : tensor<3x2xf64>
}

func.func @transpose_2x3x4_201(%x: tensor<2x3x4xf64>) -> (tensor<4x2x3xf64>) {
  %y = ff.transpose %x [2, 0, 1] : tensor<2x3x4xf64> to tensor<4x2x3xf64>
  return %y : tensor<4x2x3xf64>
}

func.func @transpose_2x3x4_021(%x: tensor<2x3x4xf64>) -> (tensor<2x4x3xf64>) {
  %y = ff.transpose %x [0, 2, 1] : tensor<2x3x4xf64> to tensor<2x4x3xf64>
  return %y : tensor<2x4x3xf64>
}

func.func @transpose_2x1x3x2_3102(%x: tensor<2x1x3x2xf64>) -> (tensor<2x1x2x3xf64>) {
  %y = ff.transpose %x [3, 1, 0, 2] : tensor<2x1x3x2xf64> to tensor<2x1x2x3xf64>
  return %y : tensor<2x1x2x3xf64>
}

func.func @slice_5_dim0_at0_2(%x: tensor<5xf64>) -> (tensor<2xf64>) {
  %y = ff.slice %x dim 0 at 0 : tensor<5xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @slice_5_dim0_at3_2(%x: tensor<5xf64>) -> (tensor<2xf64>) {
  %y = ff.slice %x dim 0 at 3 : tensor<5xf64> to tensor<2xf64>
  return %y : tensor<2xf64>
}

func.func @slice_2x5_dim1_at1_3(%x: tensor<2x5xf64>) -> (tensor<2x3xf64>) {
  %y = ff.slice %x dim 1 at 1 : tensor<2x5xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @slice_4x2x3_dim0_at1_2(%x: tensor<4x2x3xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.slice %x dim 0 at 1 : tensor<4x2x3xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @slice_2x3_dim1_at0_3(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.slice %x dim 1 at 0 : tensor<2x3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @split_in_three(%x: tensor<2x6xf64>) -> (tensor<2x2xf64>) {
  %a = ff.slice %x dim 1 at 0 : tensor<2x6xf64> to tensor<2x2xf64>
  %b = ff.slice %x dim 1 at 2 : tensor<2x6xf64> to tensor<2x2xf64>
  %c = ff.slice %x dim 1 at 4 : tensor<2x6xf64> to tensor<2x2xf64>
  %d = arith.mulf %a, %b : tensor<2x2xf64>
  %e = arith.mulf %d, %c : tensor<2x2xf64>
  return %e : tensor<2x2xf64>
}

func.func @split_with_gap(%x: tensor<2x6xf64>) -> (tensor<2x2xf64>) {
  %a = ff.slice %x dim 1 at 0 : tensor<2x6xf64> to tensor<2x2xf64>
  %c = ff.slice %x dim 1 at 3 : tensor<2x6xf64> to tensor<2x2xf64>
  %e = arith.mulf %a, %c : tensor<2x2xf64>
  return %e : tensor<2x2xf64>
}

func.func @overlapping_slices(%x: tensor<2x6xf64>) -> (tensor<2x3xf64>) {
  %a = ff.slice %x dim 1 at 0 : tensor<2x6xf64> to tensor<2x3xf64>
  %c = ff.slice %x dim 1 at 2 : tensor<2x6xf64> to tensor<2x3xf64>
  %e = arith.mulf %a, %c : tensor<2x3xf64>
  return %e : tensor<2x3xf64>
}

func.func @slices_of_two_dims(%x: tensor<4x4xf64>) -> (tensor<2x2xf64>) {
  %a0 = ff.slice %x dim 0 at 1 : tensor<4x4xf64> to tensor<2x4xf64>
  %a = ff.slice %a0 dim 1 at 0 : tensor<2x4xf64> to tensor<2x2xf64>
  %c0 = ff.slice %x dim 1 at 2 : tensor<4x4xf64> to tensor<4x2xf64>
  %c = ff.slice %c0 dim 0 at 0 : tensor<4x2xf64> to tensor<2x2xf64>
  %e = arith.mulf %a, %c : tensor<2x2xf64>
  return %e : tensor<2x2xf64>
}

func.func @concat_2_3_dim0(%x0: tensor<2xf64>, %x1: tensor<3xf64>) -> (tensor<5xf64>) {
  %y = ff.concat %x0, %x1 dim 0 : tensor<2xf64>, tensor<3xf64> to tensor<5xf64>
  return %y : tensor<5xf64>
}

func.func @concat_2x1_2x3_2x2_dim1(%x0: tensor<2x1xf64>, %x1: tensor<2x3xf64>, %x2: tensor<2x2xf64>) -> (tensor<2x6xf64>) {
  %y = ff.concat %x0, %x1, %x2 dim 1 : tensor<2x1xf64>, tensor<2x3xf64>, tensor<2x2xf64> to tensor<2x6xf64>
  return %y : tensor<2x6xf64>
}

func.func @concat_1x3_2x3_dim0(%x0: tensor<1x3xf64>, %x1: tensor<2x3xf64>) -> (tensor<3x3xf64>) {
  %y = ff.concat %x0, %x1 dim 0 : tensor<1x3xf64>, tensor<2x3xf64> to tensor<3x3xf64>
  return %y : tensor<3x3xf64>
}

func.func @embedding_4x3_5(%table: tensor<4x3xf64>, %ids: tensor<5xi64> {test.range = [0.0, 4.0]}) -> (tensor<5x3xf64>) {
  %y = ff.embedding %table[%ids] : tensor<4x3xf64>, tensor<5xi64> to tensor<5x3xf64>
  return %y : tensor<5x3xf64>
}

func.func @embedding_3x2_2x3(%table: tensor<3x2xf64>, %ids: tensor<2x3xi64> {test.range = [0.0, 3.0]}) -> (tensor<2x3x2xf64>) {
  %y = ff.embedding %table[%ids] : tensor<3x2xf64>, tensor<2x3xi64> to tensor<2x3x2xf64>
  return %y : tensor<2x3x2xf64>
}

func.func @embedding_1x4_3(%table: tensor<1x4xf64>, %ids: tensor<3xi64> {test.range = [0.0, 1.0]}) -> (tensor<3x4xf64>) {
  %y = ff.embedding %table[%ids] : tensor<1x4xf64>, tensor<3xi64> to tensor<3x4xf64>
  return %y : tensor<3x4xf64>
}

func.func @stop_gradient(%x: tensor<3xf64>) -> (tensor<3xf64>) {
  %s = ff.stop_gradient %x : tensor<3xf64>
  %o = arith.constant dense<0.0> : tensor<3xf64>
  %z = arith.mulf %s, %o : tensor<3xf64>
  %y = arith.addf %z, %x : tensor<3xf64>
  return %y : tensor<3xf64>
}
