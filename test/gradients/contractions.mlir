// RUN: ff-grad-check %s | FileCheck %s
// CHECK-NOT: error
// CHECK: functions agree

func.func @matmul_scalar(%a: tensor<2x4xf64>, %b: tensor<4x3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.matmul %a, %b : tensor<2x4xf64>, tensor<4x3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @matmul_scalar_tr(%a: tensor<2x4xf64>, %b: tensor<3x4xf64>) -> (tensor<2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_rhs} : tensor<2x4xf64>, tensor<3x4xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @matmul_scalar_tl(%a: tensor<4x2xf64>, %b: tensor<4x3xf64>) -> (tensor<2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs} : tensor<4x2xf64>, tensor<4x3xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @matmul_scalar_tl_tr(%a: tensor<4x2xf64>, %b: tensor<3x4xf64>) -> (tensor<2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<4x2xf64>, tensor<3x4xf64> to tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}

func.func @matmul_2(%a: tensor<2x2x4xf64>, %b: tensor<2x4x3xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b : tensor<2x2x4xf64>, tensor<2x4x3xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_shared(%a: tensor<2x2x4xf64>, %b: tensor<4x3xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b : tensor<2x2x4xf64>, tensor<4x3xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tr(%a: tensor<2x2x4xf64>, %b: tensor<2x3x4xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_rhs} : tensor<2x2x4xf64>, tensor<2x3x4xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tr_shared(%a: tensor<2x2x4xf64>, %b: tensor<3x4xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_rhs} : tensor<2x2x4xf64>, tensor<3x4xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tl(%a: tensor<2x4x2xf64>, %b: tensor<2x4x3xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs} : tensor<2x4x2xf64>, tensor<2x4x3xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tl_shared(%a: tensor<2x4x2xf64>, %b: tensor<4x3xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs} : tensor<2x4x2xf64>, tensor<4x3xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tl_tr(%a: tensor<2x4x2xf64>, %b: tensor<2x3x4xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<2x4x2xf64>, tensor<2x3x4xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2_tl_tr_shared(%a: tensor<2x4x2xf64>, %b: tensor<3x4xf64>) -> (tensor<2x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<2x4x2xf64>, tensor<3x4xf64> to tensor<2x2x3xf64>
  return %y : tensor<2x2x3xf64>
}

func.func @matmul_2x3(%a: tensor<2x3x2x4xf64>, %b: tensor<2x3x4x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b : tensor<2x3x2x4xf64>, tensor<2x3x4x3xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_shared(%a: tensor<2x3x2x4xf64>, %b: tensor<4x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b : tensor<2x3x2x4xf64>, tensor<4x3xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tr(%a: tensor<2x3x2x4xf64>, %b: tensor<2x3x3x4xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_rhs} : tensor<2x3x2x4xf64>, tensor<2x3x3x4xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tr_shared(%a: tensor<2x3x2x4xf64>, %b: tensor<3x4xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_rhs} : tensor<2x3x2x4xf64>, tensor<3x4xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tl(%a: tensor<2x3x4x2xf64>, %b: tensor<2x3x4x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs} : tensor<2x3x4x2xf64>, tensor<2x3x4x3xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tl_shared(%a: tensor<2x3x4x2xf64>, %b: tensor<4x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs} : tensor<2x3x4x2xf64>, tensor<4x3xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tl_tr(%a: tensor<2x3x4x2xf64>, %b: tensor<2x3x3x4xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<2x3x4x2xf64>, tensor<2x3x3x4xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_2x3_tl_tr_shared(%a: tensor<2x3x4x2xf64>, %b: tensor<3x4xf64>) -> (tensor<2x3x2x3xf64>) {
  %y = ff.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<2x3x4x2xf64>, tensor<3x4xf64> to tensor<2x3x2x3xf64>
  return %y : tensor<2x3x2x3xf64>
}

func.func @matmul_1x1(%a: tensor<1x1xf64>, %b: tensor<1x1xf64>) -> (tensor<1x1xf64>) {
  %y = ff.matmul %a, %b : tensor<1x1xf64>, tensor<1x1xf64> to tensor<1x1xf64>
  return %y : tensor<1x1xf64>
}

func.func @attention_1_3_3_1_2(%q: tensor<1x3x1x2xf64>, %k: tensor<1x3x1x2xf64>, %v: tensor<1x3x1x2xf64>) -> (tensor<1x3x1x2xf64>) {
  %y, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>) -> (tensor<1x3x1x2xf64>, tensor<1x1x3xf64>)
  return %y : tensor<1x3x1x2xf64>
}

func.func @attention_1_3_3_1_2_inline(%q: tensor<1x3x1x2xf64>, %k: tensor<1x3x1x2xf64>, %v: tensor<1x3x1x2xf64>) -> (tensor<1x3x1x2xf64>) attributes {test.inline} {
  %y, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>, tensor<1x3x1x2xf64>) -> (tensor<1x3x1x2xf64>, tensor<1x1x3xf64>)
  return %y : tensor<1x3x1x2xf64>
}

func.func @attention_2_3_5_2_3(%q: tensor<2x3x2x3xf64>, %k: tensor<2x5x2x3xf64>, %v: tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %y, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x3x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3xf64>)
  return %y : tensor<2x3x2x3xf64>
}

func.func @attention_2_3_5_2_3_inline(%q: tensor<2x3x2x3xf64>, %k: tensor<2x5x2x3xf64>, %v: tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>) attributes {test.inline} {
  %y, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x3x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3xf64>)
  return %y : tensor<2x3x2x3xf64>
}

func.func @attention_1_4_4_2_2_causal(%q: tensor<1x4x2x2xf64>, %k: tensor<1x4x2x2xf64>, %v: tensor<1x4x2x2xf64>) -> (tensor<1x4x2x2xf64>) {
  %y, %l = ff.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>) -> (tensor<1x4x2x2xf64>, tensor<1x2x4xf64>)
  return %y : tensor<1x4x2x2xf64>
}

func.func @attention_1_4_4_2_2_causal_inline(%q: tensor<1x4x2x2xf64>, %k: tensor<1x4x2x2xf64>, %v: tensor<1x4x2x2xf64>) -> (tensor<1x4x2x2xf64>) attributes {test.inline} {
  %y, %l = ff.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>, tensor<1x4x2x2xf64>) -> (tensor<1x4x2x2xf64>, tensor<1x2x4xf64>)
  return %y : tensor<1x4x2x2xf64>
}

func.func @attention_2_2_5_1_4_causal(%q: tensor<2x2x1x4xf64>, %k: tensor<2x5x1x4xf64>, %v: tensor<2x5x1x4xf64>) -> (tensor<2x2x1x4xf64>) {
  %y, %l = ff.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x2x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>) -> (tensor<2x2x1x4xf64>, tensor<2x1x2xf64>)
  return %y : tensor<2x2x1x4xf64>
}

func.func @attention_2_2_5_1_4_causal_inline(%q: tensor<2x2x1x4xf64>, %k: tensor<2x5x1x4xf64>, %v: tensor<2x5x1x4xf64>) -> (tensor<2x2x1x4xf64>) attributes {test.inline} {
  %y, %l = ff.attention %q, %k, %v {causal, scale = 0.5 : f64} : (tensor<2x2x1x4xf64>, tensor<2x5x1x4xf64>, tensor<2x5x1x4xf64>) -> (tensor<2x2x1x4xf64>, tensor<2x1x2xf64>)
  return %y : tensor<2x2x1x4xf64>
}

func.func @attention_2_3_5_2_3_mask(%q: tensor<2x3x2x3xf64>, %k: tensor<2x5x2x3xf64>, %v: tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>) {
  %m = arith.constant dense<[[true, false, true, true, false], [true, true, true, true, true]]> : tensor<2x5xi1>
  %y, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x3x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5xi1>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3xf64>)
  return %y : tensor<2x3x2x3xf64>
}

func.func @attention_2_3_5_2_3_mask_inline(%q: tensor<2x3x2x3xf64>, %k: tensor<2x5x2x3xf64>, %v: tensor<2x5x2x3xf64>) -> (tensor<2x3x2x3xf64>) attributes {test.inline} {
  %m = arith.constant dense<[[true, false, true, true, false], [true, true, true, true, true]]> : tensor<2x5xi1>
  %y, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x3x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5x2x3xf64>, tensor<2x5xi1>) -> (tensor<2x3x2x3xf64>, tensor<2x2x3xf64>)
  return %y : tensor<2x3x2x3xf64>
}

func.func @attention_2_4_4_1_2_mask_causal(%q: tensor<2x4x1x2xf64>, %k: tensor<2x4x1x2xf64>, %v: tensor<2x4x1x2xf64>) -> (tensor<2x4x1x2xf64>) {
  %m = arith.constant dense<[[false, true, true, false], [false, false, false, false]]> : tensor<2x4xi1>
  %y, %l = ff.attention %q, %k, %v mask %m {causal, scale = 0.5 : f64} : (tensor<2x4x1x2xf64>, tensor<2x4x1x2xf64>, tensor<2x4x1x2xf64>, tensor<2x4xi1>) -> (tensor<2x4x1x2xf64>, tensor<2x1x4xf64>)
  return %y : tensor<2x4x1x2xf64>
}

func.func @attention_2_4_4_1_2_mask_causal_inline(%q: tensor<2x4x1x2xf64>, %k: tensor<2x4x1x2xf64>, %v: tensor<2x4x1x2xf64>) -> (tensor<2x4x1x2xf64>) attributes {test.inline} {
  %m = arith.constant dense<[[false, true, true, false], [false, false, false, false]]> : tensor<2x4xi1>
  %y, %l = ff.attention %q, %k, %v mask %m {causal, scale = 0.5 : f64} : (tensor<2x4x1x2xf64>, tensor<2x4x1x2xf64>, tensor<2x4x1x2xf64>, tensor<2x4xi1>) -> (tensor<2x4x1x2xf64>, tensor<2x1x4xf64>)
  return %y : tensor<2x4x1x2xf64>
}
