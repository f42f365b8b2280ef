"""Small models of the published classes, and how ff is asked for the same.

A case makes a model with random weights (`build`), inputs (`data`), and calls the published class on them (`run`). `imports`, `module`,
`inputs` and `call` are what a spec of ff says of it. Latents are packed and taken apart by the published pipelines' own functions. Times
are small, and dyadic where the published code rounds them to the compute dtype: at a phase of 1000 the rounding of fp32 alone is 6e-5.
"""

from __future__ import annotations

import pathlib
import shutil
import zlib

from common import save_file, torch  # before what it sets the environment for
from diffusers import (FluxTransformer2DModel, QwenImageTransformer2DModel, SD3Transformer2DModel, WanTransformer3DModel,
                       ZImageTransformer2DModel)
from diffusers.pipelines.flux.pipeline_flux import FluxPipeline
from diffusers.pipelines.qwenimage.pipeline_qwenimage import QwenImagePipeline
from transformers import (BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, Qwen3Config, Qwen3ForCausalLM, T5Config, T5EncoderModel,
                          UMT5Config, UMT5EncoderModel)


def randomise(model) -> None:
    """Gives every tensor of a checkpoint a value of its own: those that start as zeros or ones, and the norms, too."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(zlib.crc32(name.encode())))
            is_table = any(part in name for part in ("table", "token", "wte", "wpe", "embeddings.weight", "shared", "pos_embed.pos_embed"))
            if value.ndim >= 2 and not is_table:
                value.copy_(noise / value[0].numel() ** 0.5)
            else:
                is_scale = value.ndim == 1 and name.endswith("weight")
                value.copy_(0.3 * noise + (1 if is_scale else 0))


class Case:
    keys: list[dict] = []
    extra: dict = {}  # config values that no published file has
    precision = ""  # further keys of [precision] in bf16

    def make(self):
        model = self.cls(**self.config) if isinstance(self.config, dict) else self.cls(self.config)
        return model.eval()

    def build(self):
        model = self.make()
        randomise(model)
        return model

    def load(self, folder, dtype):
        return self.cls.from_pretrained(folder, torch_dtype=dtype, local_files_only=True).eval()

    def name_in_ff(self, name: str) -> str | None:
        """The parameter of ff that a parameter of the published class is; None where nothing trains it."""
        return name


def normal(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Wan(Case):
    cls, imports, module = WanTransformer3DModel, "wan.toml", "Wan"
    # As diffusers keeps them.
    precision = 'keep = { "norm?" = "fp32", "scale_shift_table" = "fp32", "time_embedder" = "fp32" }'

    def __init__(self, channels=4, out=4, image=False, per_token=False, cross_attn_norm=True):
        self.config = dict(num_attention_heads=2, attention_head_dim=24, in_channels=channels, out_channels=out, text_dim=20, freq_dim=16,
                           ffn_dim=64, num_layers=2, cross_attn_norm=cross_attn_norm)
        if not cross_attn_norm:
            self.precision = self.precision.replace('"norm?" = "fp32", ', "")
        if image:
            self.config |= dict(image_dim=28, added_kv_proj_dim=48)
        self.image, self.per_token = image, per_token
        times = "[B, N]" if per_token else "[B]"
        self.inputs = ["x: [B, C, T, H, W]", f"t: {times}", "text: [B, L, E]"] + (["image: [B, I, F]"] if image else [])
        self.call = "transformer(x, t, text, image=image)" if image else "transformer(x, t, text)"

    def data(self):
        t = torch.tensor([12.0, 37.0])
        if self.per_token:  # as TI2V has them: 0 for the first frame, which is given
            t = torch.tensor([12.0, 37.0])[:, None] * torch.tensor([0.0] * 6 + [1.0] * 12)
        data = {"x": normal(1, 2, self.config["in_channels"], 3, 4, 6), "t": t, "text": normal(2, 2, 7, 20)}
        # 257 is what CLIP gives; diffusers takes all but the last 512 keys for those of the image.
        if self.image:
            data |= {"image": normal(3, 2, 5, 28), "text": normal(2, 2, 512, 20)}
        return data

    def run(self, model, data):
        cast = lambda name: data[name].to(model.dtype)
        return model(cast("x"), data["t"], cast("text"), cast("image") if self.image else None, return_dict=False)[0]


class ZImage(Case):
    cls, imports, module = ZImageTransformer2DModel, "z-image.toml", "ZImage"
    inputs = ["x: [B, C, H, W]", "t: [B]", "text: [B, L, E]", "length: [B] i64"]
    call = "transformer(x, t, text, length)"

    def __init__(self, lengths, height=6, width=8):
        self.config = dict(in_channels=4, dim=48, n_layers=2, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=20,
                           axes_dims=[8, 8, 8], axes_lens=[128, 32, 32])
        self.lengths, self.size = lengths, (height, width)

    def data(self):
        return {"x": normal(1, 2, 4, *self.size), "t": torch.tensor([1 / 64, 1 / 32]), "text": normal(2, 2, max(self.lengths), 20),
                "length": torch.tensor(self.lengths)}

    def run(self, model, data):
        dtype = next(model.parameters()).dtype
        texts = [text[:length].to(dtype) for text, length in zip(data["text"], self.lengths)]
        out = model(list(data["x"].to(dtype)[:, :, None]), data["t"], texts, return_dict=False)[0]
        return torch.stack(list(out))[:, :, 0]


class SD3(Case):
    cls, imports, module = SD3Transformer2DModel, "sd3.toml", "SD3"
    inputs = ["x: [B, C, H, W]", "t: [B]", "text: [B, L, E]", "pooled: [B, P]"]
    call = "transformer(x, t, text, pooled)"

    def __init__(self, dual=(), qk_norm="rms_norm"):
        self.config = dict(sample_size=16, in_channels=4, out_channels=4, num_layers=3, attention_head_dim=16, num_attention_heads=2,
                           joint_attention_dim=20, caption_projection_dim=32, pooled_projection_dim=12, pos_embed_max_size=8,
                           dual_attention_layers=dual, qk_norm=qk_norm)

    def data(self):
        return {"x": normal(1, 2, 4, 6, 10), "t": torch.tensor([12.0, 37.0]), "text": normal(2, 2, 7, 20), "pooled": normal(3, 2, 12)}

    def run(self, model, data):
        cast = lambda name: data[name].to(model.dtype)
        return model(cast("x"), cast("text"), cast("pooled"), data["t"], return_dict=False)[0]


class Flux(Case):
    cls, imports, module = FluxTransformer2DModel, "flux.toml", "Flux"

    def __init__(self, guidance):
        self.config = dict(in_channels=16, num_layers=2, num_single_layers=2, attention_head_dim=24, num_attention_heads=2,
                           joint_attention_dim=20, pooled_projection_dim=12, guidance_embeds=guidance, axes_dims_rope=(8, 8, 8))
        self.guidance = guidance
        self.inputs = ["x: [B, C, H, W]", "t: [B]", "text: [B, L, E]", "pooled: [B, P]"] + (["guidance: [B]"] if guidance else [])
        self.call = "transformer(x, t, text, pooled, guidance)" if guidance else "transformer(x, t, text, pooled)"

    def data(self):
        data = {"x": normal(1, 2, 4, 6, 8), "t": torch.tensor([1 / 64, 1 / 32]), "text": normal(2, 2, 7, 20), "pooled": normal(3, 2, 12)}
        return data | ({"guidance": torch.tensor([1 / 32, 1 / 128])} if self.guidance else {})

    def run(self, model, data):
        cast = lambda name: data[name].to(model.dtype)
        b, c, h, w = data["x"].shape
        out = model(FluxPipeline._pack_latents(cast("x"), b, c, h, w), cast("text"), cast("pooled"), data["t"],
                    FluxPipeline._prepare_latent_image_ids(b, h // 2, w // 2, "cpu", model.dtype), torch.zeros(7, 3, dtype=model.dtype),
                    data["guidance"] if self.guidance else None, return_dict=False)[0]
        return FluxPipeline._unpack_latents(out, h, w, 1)


class QwenImage(Case):
    cls, imports, module = QwenImageTransformer2DModel, "qwen-image.toml", "QwenImage"

    def __init__(self, lengths=None, height=6, width=8):
        self.config = dict(in_channels=16, out_channels=4, num_layers=2, attention_head_dim=24, num_attention_heads=2,
                           joint_attention_dim=20, axes_dims_rope=(8, 8, 8))
        self.lengths, self.size = lengths, (height, width)
        self.inputs = ["x: [B, C, H, W]", "t: [B]", "text: [B, L, E]"] + (["mask: [B, L] i64"] if lengths else [])
        self.call = "transformer(x, t, text, mask != 0)" if lengths else "transformer(x, t, text)"

    def data(self):
        data = {"x": normal(1, 2, 4, *self.size), "t": torch.tensor([1 / 64, 1 / 32]), "text": normal(2, 2, 7, 20)}
        return data | ({"mask": (torch.arange(7)[None] < torch.tensor(self.lengths)[:, None]).long()} if self.lengths else {})

    def run(self, model, data):
        cast = lambda name: data[name].to(model.dtype)
        b, c, h, w = data["x"].shape
        out = model(QwenImagePipeline._pack_latents(cast("x"), b, c, h, w), cast("text"), data["mask"].bool() if self.lengths else None,
                    data["t"], [[(1, h // 2, w // 2)]] * b, return_dict=False)[0]
        return QwenImagePipeline._unpack_latents(out, h, w, 1)[:, :, 0]


def tokens(seed: int, vocabulary: int, lengths: list[int]) -> dict[str, torch.Tensor]:
    ids = torch.randint(0, vocabulary, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    mask = torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
    return {"ids": ids, "mask": mask.long()}


class GPT2(Case):
    cls, imports, module = GPT2LMHeadModel, "gpt2.toml", "GPT2"
    inputs, call = ["ids: [B, S] i64", "mask: [B, S] i64"], "transformer(ids, mask != 0)"
    keys = [{"from": "transformer.*", "to": "*"}]

    def __init__(self):
        self.config = GPT2Config(vocab_size=29, n_positions=16, n_embd=48, n_layer=2, n_head=3)

    def data(self):
        return tokens(1, 29, [11, 7])

    def run(self, model, data):
        return model(input_ids=data["ids"], attention_mask=data["mask"]).logits

    def name_in_ff(self, name):
        return name.removeprefix("transformer.")


class Bert(Case):
    cls, imports, module = BertModel, "bert.toml", "Bert"

    def __init__(self, pooling="none", normalize=False):
        self.config = BertConfig(vocab_size=29, hidden_size=48, num_hidden_layers=2, num_attention_heads=3, intermediate_size=64,
                                 max_position_embeddings=16)
        self.pooling, self.normalize = pooling, normalize
        self.extra = {} if pooling == "none" else {"pooling": pooling, "normalize": normalize}
        self.inputs = ["ids: [B, S] i64", "mask: [B, S] i64", "types: [B, S] i64"]
        self.call = "transformer(ids, mask != 0, types)"

    def data(self):
        data = tokens(1, 29, [11, 7])
        return data | {"types": (torch.arange(11)[None] > torch.tensor([[4], [3]])).long()}

    def run(self, model, data):
        out = model(input_ids=data["ids"], attention_mask=data["mask"], token_type_ids=data["types"])
        if self.pooling == "cls":
            return out.pooler_output
        out = out.last_hidden_state
        if self.pooling == "mean":  # sentence-transformers' Pooling and Normalize
            mask = data["mask"][..., None].float()
            out = (out * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
            if self.normalize:
                out = torch.nn.functional.normalize(out, p=2, dim=1)
        return out

    def name_in_ff(self, name):
        return None if name.startswith("pooler.") and self.pooling != "cls" else name


class T5(Case):
    imports, module = "t5.toml", "T5Encoder"
    inputs, call = ["ids: [B, S] i64", "mask: [B, S] i64"], "transformer(ids, mask != 0)"

    def __init__(self, cls, config, **more):
        self.cls = cls
        self.config = config(vocab_size=29, d_model=48, d_kv=12, d_ff=64, num_layers=2, num_heads=3, relative_attention_num_buckets=8,
                             relative_attention_max_distance=12, **more)

    def data(self):
        return tokens(1, 29, [23, 15])

    def run(self, model, data):
        return model(input_ids=data["ids"], attention_mask=data["mask"]).last_hidden_state


class Qwen3(Case):
    cls, imports, module = Qwen3ForCausalLM, "qwen3.toml", "Qwen3"
    inputs, call = ["ids: [B, S] i64", "mask: [B, S] i64"], "transformer(ids, mask != 0)"

    def __init__(self, tied=True, features=0):
        self.config = Qwen3Config(vocab_size=29, hidden_size=48, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
                                  num_key_value_heads=2, head_dim=16, max_position_embeddings=32, tie_word_embeddings=tied,
                                  rope_parameters={"rope_type": "default", "rope_theta": 5000.0})
        self.features = features
        # Not from the object of the file: a table has the names of ff.
        self.extra = {"features": features, "rope_theta": 5000.0} if features else {}

    def data(self):
        return tokens(1, 29, [11, 7])

    def run(self, model, data):
        out = model(input_ids=data["ids"], attention_mask=data["mask"], output_hidden_states=True)
        return out.hidden_states[self.features] if self.features else out.logits

    def name_in_ff(self, name):
        unread = ["model.norm.", "lm_head."] + [f"model.layers.{i}." for i in range(self.features, 3)]
        return None if self.features and name.startswith(tuple(unread)) else name


CASES = {
    "wan-t2v": Wan(),
    "wan-i2v": Wan(channels=9, image=True),
    "wan-ti2v": Wan(per_token=True),
    "wan-no-norm": Wan(cross_attn_norm=False),
    "z-image": ZImage([7, 40]),
    "z-image-whole": ZImage([32, 32], height=8, width=16),
    "sd3": SD3(qk_norm=None),
    "sd3.5-medium": SD3(dual=(0, 1)),
    "sd3.5-large": SD3(),
    "flux-dev": Flux(guidance=True),
    "flux-schnell": Flux(guidance=False),
    "qwen-image": QwenImage(),
    "qwen-image-masked": QwenImage(lengths=[7, 4], height=10, width=6),
    "gpt2": GPT2(),
    "bert": Bert(),
    "bert-mean": Bert("mean", normalize=True),
    "bert-cls": Bert("cls"),
    "t5": T5(T5EncoderModel, T5Config, feed_forward_proj="gated-gelu"),
    "t5-relu": T5(T5EncoderModel, T5Config, feed_forward_proj="relu"),
    "umt5": T5(UMT5EncoderModel, UMT5Config),
    "qwen3": Qwen3(),
    "qwen3-untied": Qwen3(tied=False),
    "qwen3-features": Qwen3(features=2),
}


def prepare(case: Case, folder: pathlib.Path) -> torch.Size:
    """Writes the files of a case, and returns the shape of its output."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = case.build()
    # In several files with an index.
    model.save_pretrained(folder / "model", max_shard_size="100KB")
    data = case.data()
    with torch.no_grad():
        shape = case.run(model, data).shape
    data["target"] = normal(11, *shape)
    save_file({name: value.contiguous() for name, value in data.items()}, folder / "data.safetensors")
    save_file({"value": normal(12, shape[0], shape[1:].numel())}, folder / "probe.safetensors")
    shutil.copy(pathlib.Path(__file__).parent.parent / "library" / "Inputs" / "probe.toml", folder)
    return shape
