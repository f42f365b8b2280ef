// RUN: ff-kernel-test %s
// RUN: ff-kernel-test --vector-bytes=32 %s

func.func @dit(%qkv: tensor<2x16x384xf32>, %do: tensor<2x16x4x32xf32>) -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>) {
  %q0 = ff.slice %qkv dim 2 at 0 : tensor<2x16x384xf32> to tensor<2x16x128xf32>
  %q = ff.reshape %q0 : tensor<2x16x128xf32> to tensor<2x16x4x32xf32>
  %k0 = ff.slice %qkv dim 2 at 128 : tensor<2x16x384xf32> to tensor<2x16x128xf32>
  %k = ff.reshape %k0 : tensor<2x16x128xf32> to tensor<2x16x4x32xf32>
  %v0 = ff.slice %qkv dim 2 at 256 : tensor<2x16x384xf32> to tensor<2x16x128xf32>
  %v = ff.reshape %v0 : tensor<2x16x128xf32> to tensor<2x16x4x32xf32>
  %o, %l = ff.attention %q, %k, %v {scale = 0.17677669529663687 : f64} : (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>) -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.17677669529663687 : f64} : (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x4x16xf32>, tensor<2x16x4x32xf32>) -> (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>)
  return %o, %l, %dq, %dk, %dv : tensor<2x16x4x32xf32>, tensor<2x4x16xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>
}

func.func @odd(%q: tensor<1x5x3x7xf32>, %k: tensor<1x11x3x7xf32>, %v: tensor<1x11x3x7xf32>, %do: tensor<1x5x3x7xf32>) -> (tensor<1x5x3x7xf32>, tensor<1x3x5xf32>, tensor<1x5x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x11x3x7xf32>) {
  %o, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<1x5x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x11x3x7xf32>) -> (tensor<1x5x3x7xf32>, tensor<1x3x5xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.5 : f64} : (tensor<1x5x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x5x3x7xf32>, tensor<1x3x5xf32>, tensor<1x5x3x7xf32>) -> (tensor<1x5x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x11x3x7xf32>)
  return %o, %l, %dq, %dk, %dv : tensor<1x5x3x7xf32>, tensor<1x3x5xf32>, tensor<1x5x3x7xf32>, tensor<1x11x3x7xf32>, tensor<1x11x3x7xf32>
}

func.func @causal(%q: tensor<2x37x2x40xf32>, %k: tensor<2x45x2x40xf32>, %v: tensor<2x45x2x40xf32>, %do: tensor<2x37x2x40xf32>) -> (tensor<2x37x2x40xf32>, tensor<2x2x37xf32>, tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>) attributes {test.range = [-1.0, 1.0]} {
  %o, %l = ff.attention %q, %k, %v {scale = 0.5 : f64, causal} : (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>) -> (tensor<2x37x2x40xf32>, tensor<2x2x37xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.5 : f64, causal} : (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x37x2x40xf32>, tensor<2x2x37xf32>, tensor<2x37x2x40xf32>) -> (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>)
  return %o, %l, %dq, %dk, %dv : tensor<2x37x2x40xf32>, tensor<2x2x37xf32>, tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>
}

func.func @one_query_f64(%q: tensor<2x1x2x3xf64>, %k: tensor<2x4x2x3xf64>, %v: tensor<2x4x2x3xf64>, %do: tensor<2x1x2x3xf64>) -> (tensor<2x1x2x3xf64>, tensor<2x2x1xf64>, tensor<2x1x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>) {
  %o, %l = ff.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x1x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>) -> (tensor<2x1x2x3xf64>, tensor<2x2x1xf64>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do {scale = 0.5 : f64} : (tensor<2x1x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x1x2x3xf64>, tensor<2x2x1xf64>, tensor<2x1x2x3xf64>) -> (tensor<2x1x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>)
  return %o, %l, %dq, %dk, %dv : tensor<2x1x2x3xf64>, tensor<2x2x1xf64>, tensor<2x1x2x3xf64>, tensor<2x4x2x3xf64>, tensor<2x4x2x3xf64>
}

// With a mask: of about half of the keys; of none, where the result and the gradients are 0; and where it and `causal` leave a query none.
func.func @mask(%q: tensor<2x37x2x40xf32>, %k: tensor<2x45x2x40xf32>, %v: tensor<2x45x2x40xf32>, %do: tensor<2x37x2x40xf32>, %n: tensor<2x45xf32>) -> (tensor<2x37x2x40xf32>, tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>) attributes {test.range = [-1.0, 1.0]} {
  %z = arith.constant dense<0.0> : tensor<2x45xf32>
  %m = arith.cmpf ogt, %n, %z : tensor<2x45xf32>
  %o, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45xi1>) -> (tensor<2x37x2x40xf32>, tensor<2x2x37xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do mask %m {scale = 0.5 : f64} : (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x37x2x40xf32>, tensor<2x2x37xf32>, tensor<2x37x2x40xf32>, tensor<2x45xi1>) -> (tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>)
  return %o, %dq, %dk, %dv : tensor<2x37x2x40xf32>, tensor<2x37x2x40xf32>, tensor<2x45x2x40xf32>, tensor<2x45x2x40xf32>
}

func.func @mask_of_none(%q: tensor<2x5x3x7xf32>, %k: tensor<2x11x3x7xf32>, %v: tensor<2x11x3x7xf32>, %do: tensor<2x5x3x7xf32>, %n: tensor<2x11xf32>) -> (tensor<2x5x3x7xf32>, tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>) attributes {test.range = [-1.0, 1.0]} {
  %z = arith.constant dense<2.0> : tensor<2x11xf32>
  %m = arith.cmpf ogt, %n, %z : tensor<2x11xf32>
  %o, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11xi1>) -> (tensor<2x5x3x7xf32>, tensor<2x3x5xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do mask %m {scale = 0.5 : f64} : (tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x5x3x7xf32>, tensor<2x3x5xf32>, tensor<2x5x3x7xf32>, tensor<2x11xi1>) -> (tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>)
  return %o, %dq, %dk, %dv : tensor<2x5x3x7xf32>, tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>
}

func.func @mask_causal(%q: tensor<2x16x4x32xf32>, %k: tensor<2x16x4x32xf32>, %v: tensor<2x16x4x32xf32>, %do: tensor<2x16x4x32xf32>, %n: tensor<2x16xf32>) -> (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>) attributes {test.range = [-1.0, 1.0]} {
  %z = arith.constant dense<0.0> : tensor<2x16xf32>
  %m = arith.cmpf ogt, %n, %z : tensor<2x16xf32>
  %o, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64, causal} : (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16xi1>) -> (tensor<2x16x4x32xf32>, tensor<2x4x16xf32>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do mask %m {scale = 0.5 : f64, causal} : (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x4x16xf32>, tensor<2x16x4x32xf32>, tensor<2x16xi1>) -> (tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>)
  return %o, %dq, %dk, %dv : tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>, tensor<2x16x4x32xf32>
}

func.func @mask_f64(%q: tensor<1x5x3x7xf64>, %k: tensor<1x11x3x7xf64>, %v: tensor<1x11x3x7xf64>, %do: tensor<1x5x3x7xf64>, %n: tensor<1x11xf32>) -> (tensor<1x5x3x7xf64>, tensor<1x5x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11x3x7xf64>) attributes {test.range = [-1.0, 1.0]} {
  %z = arith.constant dense<0.0> : tensor<1x11xf32>
  %m = arith.cmpf ogt, %n, %z : tensor<1x11xf32>
  %o, %l = ff.attention %q, %k, %v mask %m {scale = 0.5 : f64} : (tensor<1x5x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11xi1>) -> (tensor<1x5x3x7xf64>, tensor<1x3x5xf64>)
  %dq, %dk, %dv = ff.attention_backward %q, %k, %v, %o, %l, %do mask %m {scale = 0.5 : f64} : (tensor<1x5x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x5x3x7xf64>, tensor<1x3x5xf64>, tensor<1x5x3x7xf64>, tensor<1x11xi1>) -> (tensor<1x5x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11x3x7xf64>)
  return %o, %dq, %dk, %dv : tensor<1x5x3x7xf64>, tensor<1x5x3x7xf64>, tensor<1x11x3x7xf64>, tensor<1x11x3x7xf64>
}
