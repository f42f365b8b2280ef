// RUN: ff-opt %s --ff-verify-manifest --split-input-file --verify-diagnostics

// A full model with a buffer in two files, an adapter, a frozen one: right.
ff.component @net attributes {save = {files = ["m-1.safetensors", "m-2.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<0, "w">}
  ff.parameter @table : tensor<0xi64> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false, save = #ff.save<1, "table">}
}
ff.component @adapted attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_A.weight">}
  ff.parameter @w.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_B.weight">}
}
ff.component @ice attributes {module = "Net", train = #ff.train<frozen>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

// Something trained is not saved (an empty adapter),
ff.component @net attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>}
  // expected-error @below {{is not in the save table of component @net}}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true}
  ff.parameter @w.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_B.weight">}
}

// -----

// nor the buffer of a full model.
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<0, "w">}
  // expected-error @below {{is not in the save table of component @net}}
  ff.parameter @table : tensor<4xi64> init <constant, 0.0 : f64, 0.0 : f64> {buffer, trainable = false}
}

// -----

// Something frozen is saved.
ff.component @net attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<lora>} {
  // expected-error @below {{is frozen and in the save table of component @net}}
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>, save = #ff.save<0, "w">}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_A.weight">}
  ff.parameter @w.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_B.weight">}
}

// -----

ff.component @net attributes {module = "Net", train = #ff.train<frozen>} {
  // expected-error @below {{of frozen component @net is saved as "w"}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<0, "w">}
}

// -----

// Names.
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
  // expected-error @below {{is saved as "_orig_mod.w"; a load looks for "w"}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<0, "_orig_mod.w">}
}

// -----

ff.component @net attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_A.weight">}
  // expected-error @below {{is saved as "transformer.w.lora_B.weight"; a load looks for "base_model.model.w.lora_B.weight"}}
  ff.parameter @w.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "transformer.w.lora_B.weight">}
}

// -----

// Files: one that is not listed, an empty one, one twice, none.
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
  // expected-error @below {{is saved in file 1, but component @net has 1}}
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<1, "w">}
}

// -----

// expected-error @below {{saves the file "m-2.safetensors" without a tensor}}
ff.component @net attributes {save = {files = ["m-1.safetensors", "m-2.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64> {save = #ff.save<0, "w">}
}

// -----

// expected-error @below {{saves the file "m.safetensors" without a tensor}}
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
}

// -----

// expected-error @below {{saves the file "m.safetensors" twice}}
ff.component @net attributes {save = {files = ["m.safetensors", "m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<full>} {
}

// -----

// expected-error @below {{has a save table without files}}
ff.component @net attributes {save = {files = [], kind = "full"}, module = "Net", train = #ff.train<full>} {
}

// -----

// Kinds.
// expected-error @below {{with train = lora is saved as "full", not as "adapter"}}
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<lora>} {
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_A.weight">}
  ff.parameter @w.lora_B.weight : tensor<4x1xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_B.weight">}
}

// -----

// expected-error @below {{with train = full is saved as "adapter", not as "full"}}
ff.component @net attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<full>} {
}

// -----

// expected-error @below {{is frozen and has a save table}}
ff.component @net attributes {save = {files = ["m.safetensors"], kind = "full"}, module = "Net", train = #ff.train<frozen>} {
}

// -----

// expected-error @below {{has train = full and no save table}}
ff.component @net attributes {module = "Net", train = #ff.train<full>} {
  ff.parameter @w : tensor<4xf32> init <constant, 0.0 : f64, 0.0 : f64>
}

// -----

// What has no parameters is frozen and not saved: right.
ff.component @empty attributes {module = "Net", train = #ff.train<frozen>} {
}

// -----

// An adapter without a half that is saved.
ff.component @net attributes {save = {files = ["a.safetensors"], kind = "adapter"}, module = "Net", train = #ff.train<lora>} {
  // expected-error @below {{has the adapter 'w.lora_B.weight', which is not saved}}
  ff.parameter @w : tensor<4x4xbf16> init <constant, 0.0 : f64, 0.0 : f64> {merge = #ff.merge<"w.lora_A.weight", "w.lora_B.weight", 1.0 : f64>}
  ff.parameter @w.lora_A.weight : tensor<1x4xf32> init <constant, 0.0 : f64, 0.0 : f64> {trainable = true, save = #ff.save<0, "base_model.model.w.lora_A.weight">}
}
