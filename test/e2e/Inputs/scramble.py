"""Writes the weights of a DiT under other names, with tensors in pieces and joined, over two files.

usage: scramble.py model.safetensors folder
"""

import json
import pathlib
import sys

from tensor_files import read, write


def main():
    tensors = read(sys.argv[1])
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    files = [{}, {}]
    for i, (name, (dtype, shape, data)) in enumerate(tensors.items()):
        if ".attn.qkv." in name:
            for j, part in enumerate("qkv"):
                size = len(data) // 3
                new = name.replace("blocks.", "layers.").replace("qkv", part)
                files[j % 2][new] = (dtype, [shape[0] // 3, *shape[1:]], data[j * size : (j + 1) * size])
        elif name.startswith("time.linear_1.") or name.startswith("time.linear_2.weight"):
            files[i % 2]["t_embedder." + name[5:]] = (dtype, shape, data)
        elif name.endswith("attn.proj.bias"):
            # With the bias of the second linear layer behind it.
            other = tensors[name.replace("attn.proj", "mlp.fc2")]
            files[0][name.replace("blocks.", "layers.").replace("attn.proj.bias", "biases")] = (
                dtype,
                [shape[0] + other[1][0]],
                data + other[2],
            )
        elif not name.endswith("mlp.fc2.bias"):
            files[i % 2][name.replace("blocks.", "layers.")] = (dtype, shape, data)
    write(folder / "model-00001-of-00002.safetensors", files[0])
    write(folder / "model-00002-of-00002.safetensors", files[1])
    places = {name: f"model-0000{i + 1}-of-00002.safetensors" for i in (0, 1) for name in files[i]}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


main()
