"""Every model at the size it is published in: its config file is understood, its names and shapes are those of the NumPy model, which
has them from the published code, and its parameters are as many as the checkpoint has.

usage: counts.py DIR [MODEL...]

The weights are a header over a hole: the compiler compares names and shapes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import bert
import flux
import gpt2
import qwen3
import qwen_image
import sd3
import t5
import wan
import z_image


def sized(model, **sizes):
    """A model of another size; `dim` is often a product."""
    for name, value in sizes.items():
        setattr(model, name, value)
    if "dim" not in sizes:
        model.head_dim = sizes.get("head_dim", getattr(model, "head_dim", 0))
        model.dim = model.heads * model.head_dim
    return model


def wan_config(heads, ffn, layers, channels=16, out=16, **more):
    model = wan.Wan(channels, out, more.get("image_dim") or 0)
    config = {"_class_name": "WanTransformer3DModel", "_diffusers_version": "0.33.0.dev0", "added_kv_proj_dim": None, "attention_head_dim": 128,
              "cross_attn_norm": True, "eps": 1e-06, "ffn_dim": ffn, "freq_dim": 256, "image_dim": None, "in_channels": channels,
              "num_attention_heads": heads, "num_layers": layers, "out_channels": out, "patch_size": [1, 2, 2], "pos_embed_seq_len": None,
              "qk_norm": "rms_norm_across_heads", "rope_max_seq_len": 1024, "text_dim": 4096}
    return sized(model, heads=heads, head_dim=128, ffn=ffn, layers=layers, text_dim=4096, freq=256), config | more


VIDEO = {"x": [16, 1, 4, 4], "t": [], "text": [8, 4096]}
TRANSFORMERS = {"torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": True}


def wan_case(total, *sizes, image=None, **more):
    model, config = wan_config(*sizes, **more)
    inputs = VIDEO | {"x": [model.channels, 1, 4, 4]} | ({"image": [257, image]} if image else {})
    spare = {f"blocks.{i}.attn2.norm_added_q.weight": (model.dim,) for i in range(model.layers)} if image else {}
    return "wan", "Wan", model, config, total, inputs, "net(x, t, text, image)" if image else "net(x, t, text)", spare


def sd3_case(total, heads, layers, dual, size):
    model = sized(sd3.SD3(dual), heads=heads, head_dim=64, layers=layers, text_dim=4096, pooled_dim=2048, size=size, channels=16)
    config = {"_class_name": "SD3Transformer2DModel", "attention_head_dim": 64, "caption_projection_dim": 64 * heads,
              "dual_attention_layers": list(dual), "in_channels": 16, "joint_attention_dim": 4096, "num_attention_heads": heads,
              "num_layers": layers, "out_channels": 16, "patch_size": 2, "pooled_projection_dim": 2048, "pos_embed_max_size": size,
              "qk_norm": "rms_norm", "sample_size": 128}
    return ("sd3", "SD3", model, config, total + size * size * model.dim, {"x": [16, 4, 4], "t": [], "text": [8, 4096], "pooled": [2048]},
            "net(x, t, text, pooled)")


def bert_case(total, dim, layers, hidden):
    model = sized(bert.Bert("none"), vocab=30522, places=512, dim=dim, layers=layers, heads=12, hidden=hidden)
    config = {"architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "classifier_dropout": None, "gradient_checkpointing": False,
              "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": dim, "initializer_range": 0.02, "intermediate_size": hidden,
              "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12,
              "num_hidden_layers": layers, "pad_token_id": 0, "position_embedding_type": "absolute", "transformers_version": "4.8.2",
              "type_vocab_size": 2, "use_cache": True, "vocab_size": 30522}
    return "bert", "Bert", model, config, total, {"ids": [8]}, "net(ids)", {"pooler.dense.weight": (dim, dim), "pooler.dense.bias": (dim,)}


def gpt2_case(total, dim, layers, heads):
    model = sized(gpt2.GPT2(), vocab=50257, places=1024, dim=dim, layers=layers, heads=heads)
    config = {"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
              "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
              "n_ctx": 1024, "n_embd": dim, "n_head": heads, "n_layer": layers, "n_positions": 1024, "resid_pdrop": 0.1,
              "summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True, "summary_type": "cls_index",
              "summary_use_proj": True, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
              "vocab_size": 50257}
    masks = {f"h.{i}.attn.bias": (1, 1, 1024, 1024) for i in range(layers)}
    return "gpt2", "GPT2", model, config, total, {"ids": [8]}, "net(ids)", masks


def qwen3_case(total, dim, hidden, layers, heads):
    model = sized(qwen3.Qwen3(), vocab=151936, dim=dim, heads=heads, kv_heads=8, head_dim=128, hidden=hidden, layers=layers)
    config = {"architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 151643,
              "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": dim, "initializer_range": 0.02,
              "intermediate_size": hidden, "max_position_embeddings": 40960, "max_window_layers": layers, "model_type": "qwen3",
              "num_attention_heads": heads, "num_hidden_layers": layers, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
              "rope_scaling": None, "rope_theta": 1000000, "sliding_window": None, "tie_word_embeddings": True, "use_sliding_window": False,
              "vocab_size": 151936} | TRANSFORMERS
    return "qwen3", "Qwen3", model, config, total, {"ids": [8]}, "net(ids)"


def t5_case(total, kind, vocab, own):
    model = sized(t5.T5(own=own), vocab=vocab, dim=4096, head_dim=64, heads=64, hidden=10240, layers=24, buckets=32)
    config = {"architectures": [f"{kind}EncoderModel"], "classifier_dropout": 0.0, "d_ff": 10240, "d_kv": 64, "d_model": 4096,
              "decoder_start_token_id": 0, "dense_act_fn": "gelu_new", "dropout_rate": 0.1, "eos_token_id": 1, "feed_forward_proj": "gated-gelu",
              "initializer_factor": 1.0, "is_encoder_decoder": True, "is_gated_act": True, "layer_norm_epsilon": 1e-06,
              "model_type": kind.lower(), "num_decoder_layers": 24, "num_heads": 64, "num_layers": 24, "output_past": True, "pad_token_id": 0,
              "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32, "tie_word_embeddings": False,
              "vocab_size": vocab} | TRANSFORMERS
    return "t5", "T5Encoder", model, config, total, {"ids": [8]}, "net(ids)", {"encoder.embed_tokens.weight": (vocab, 4096)}


def flux_case(total):
    model = sized(flux.Flux(True), heads=24, head_dim=128, axes=(16, 56, 56), layers=19, single=38, text_dim=4096, pooled_dim=768, channels=64)
    config = {"_class_name": "FluxTransformer2DModel", "attention_head_dim": 128, "guidance_embeds": True, "in_channels": 64,
              "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 19, "num_single_layers": 38, "patch_size": 1,
              "pooled_projection_dim": 768}
    inputs = {"x": [16, 4, 4], "t": [], "text": [8, 4096], "pooled": [768], "guidance": []}
    return "flux", "Flux", model, config, total, inputs, "net(x, t, text, pooled, guidance)"


def qwen_image_case(total):
    model = sized(qwen_image.QwenImage(False), heads=24, head_dim=128, axes=(16, 56, 56), layers=60, text_dim=3584, channels=64, out=16)
    config = {"_class_name": "QwenImageTransformer2DModel", "attention_head_dim": 128, "axes_dims_rope": [16, 56, 56],
              "guidance_embeds": False, "in_channels": 64, "joint_attention_dim": 3584, "num_attention_heads": 24, "num_layers": 60,
              "out_channels": 16, "patch_size": 2}
    return "qwen-image", "QwenImage", model, config, total, {"x": [16, 4, 4], "t": [], "text": [8, 3584]}, "net(x, t, text)"


def z_image_case(total):
    model = sized(z_image.ZImage((4, 4), 8), heads=30, head_dim=128, axes=(32, 48, 48), layers=30, refiners=2, text_dim=2560, channels=16)
    config = {"_class_name": "ZImageTransformer2DModel", "all_f_patch_size": [1], "all_patch_size": [2], "axes_dims": [32, 48, 48],
              "axes_lens": [1536, 512, 512], "cap_feat_dim": 2560, "dim": 3840, "in_channels": 16, "n_heads": 30, "n_kv_heads": 30,
              "n_layers": 30, "n_refiner_layers": 2, "norm_eps": 1e-05, "qk_norm": True, "rope_theta": 256.0, "t_scale": 1000.0}
    return "z-image", "ZImage", model, config, total, {"x": [16, 4, 4], "t": [], "text": [8, 2560]}, "net(x, t, text)"


CASES = {
    "wan2.1-t2v-1.3b": lambda: wan_case(1_418_996_800, 12, 8960, 30),
    "wan2.1-t2v-14b": lambda: wan_case(14_288_491_584, 40, 13824, 40),
    "wan2.2-i2v-a14b": lambda: wan_case(14_288_901_184, 40, 13824, 40, 36),
    "wan2.1-i2v-14b": lambda: wan_case(16_394_878_784, 40, 13824, 40, 36, image=1280, image_dim=1280, added_kv_proj_dim=5120),
    "wan2.2-ti2v-5b": lambda: wan_case(4_999_787_712, 24, 14336, 30, 48, 48),
    "sd3.5-medium": lambda: sd3_case(2_243_171_520, 24, 24, tuple(range(13)), 384),
    "sd3.5-large": lambda: sd3_case(8_056_627_520, 38, 38, (), 192),
    "flux.1-dev": lambda: flux_case(11_901_408_320),
    "qwen-image": lambda: qwen_image_case(20_430_401_088),
    "z-image": lambda: z_image_case(6_154_908_736),
    "gpt2": lambda: gpt2_case(124_439_808, 768, 12, 12),
    "gpt2-xl": lambda: gpt2_case(1_557_611_200, 1600, 48, 25),
    "bert-base": lambda: bert_case(108_891_648, 768, 12, 3072),
    "minilm-l6": lambda: bert_case(22_565_376, 384, 6, 1536),
    "t5-v1_1-xxl": lambda: t5_case(4_762_310_656, "T5", 32128, False),
    "umt5-xxl": lambda: t5_case(5_680_910_336, "UMT5", 256384, True),
    "qwen3-0.6b": lambda: qwen3_case(596_049_920, 1024, 3072, 28, 16),
    "qwen3-4b": lambda: qwen3_case(4_022_468_096, 2560, 9728, 36, 32),
}

SPEC = """[pipeline]
name    = "{name}"
imports = ["{library}.toml", "probe.toml"]
[bundle.net]
module  = "{module}"
config  = "config.json"
weights = "weights.safetensors"
train   = "frozen"
[bundle.probe]
module = "Probe"
config = {{ batch = 1, size = {size} }}
[data]
files = "data.safetensors"
[train]
steps        = 1
global_batch = 1
[program.train]
inputs  = [{inputs}]
forward = "return probe({call})"
"""


def hole(path, tensors):
    header, offset = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = {"BF16": 2, "F32": 4, "I64": 8}[dtype]
        for n in shape:
            size *= n
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)


def output_size(library, model, inputs):
    if library in ("wan", "sd3", "flux", "z-image", "qwen-image"):
        size = getattr(model, "out", None) or inputs["x"][0]
        for n in inputs["x"][1:]:
            size *= n
        return size
    return 8 * (model.vocab if library in ("gpt2", "qwen3") else model.dim)


def check(name, folder):
    library, module, model, config, total, inputs, call, *rest = CASES[name]()
    shapes, spare = model.shapes(), rest[0] if rest else {}
    count = lambda shape: shape[0] * count(shape[1:]) if shape else 1
    size = sum(count(shape) for shape in shapes.values())
    if library == "sd3":
        shapes = shapes | {"pos_embed.pos_embed": (1, model.size**2, model.dim)}
        size += model.size**2 * model.dim
    os.makedirs(folder, exist_ok=True)
    path = lambda file: os.path.join(folder, file)
    hole(path("weights.safetensors"), {n: ("BF16", s) for n, s in (shapes | spare).items()})
    hole(path("data.safetensors"), {n: ("I64" if n == "ids" else "F32", [1, *s]) for n, s in inputs.items()})
    with open(path("config.json"), "w") as file:
        json.dump(config, file)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Inputs", "probe.toml")) as file, open(path("probe.toml"), "w") as to:
        to.write(file.read())
    dims = lambda n, s: ", ".join(["B", *(f"{n.upper()}{i}" for i in range(len(s)))])
    declared = ", ".join(f'"{n}: [{dims(n, s)}]{" i64" if n == "ids" else ""}"' for n, s in inputs.items())
    with open(path("spec.toml"), "w") as file:
        file.write(SPEC.format(name=name, library=library, module=module, inputs=declared, call=call, size=output_size(library, model, inputs)))
    # Dtypes meet in other places in bf16.
    for dtype in ("bf16", "fp32"):
        command = ["ff-compile", path("spec.toml"), "--plan=json", "--set", f"precision.compute_dtype={dtype}"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            print(f"FAIL {name}: {' '.join(command)}:\n{run.stderr}")
            return False
    plan = next(c["params"] for c in json.loads(run.stdout)["components"] if c["name"] == "net")
    print(f"{'ok' if size == plan == total else 'FAIL'} {name}: {plan:,} parameters in {len(shapes)} tensors; "
          f"the NumPy model {size:,}, published {total:,}{'; ' + run.stderr if run.stderr else ''}", flush=True)
    return size == plan == total and not run.stderr


def main():
    names = sys.argv[2:] or list(CASES)
    bad = [name for name in names if not check(name, os.path.join(sys.argv[1], name))]
    print(f"FAIL: {', '.join(bad)}" if bad else f"PASS: {len(names)} models")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
