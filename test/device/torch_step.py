"""The step of transformer.toml in PyTorch: prints `eager MS` and `compile MS`, medians of a step in milliseconds.

usage: torch_step.py [--size 64] [--dim 768] [--depth 12] [--heads 12] [--batch 16] [--steps 20] [--cpu]

The same shapes, conditions, loss and optimizer: bf16 by autocast over fp32 parameters, fused AdamW, attention by
scaled_dot_product_attention. A step draws its noise, as the trainer does, and reads its loss at the end.
"""

import argparse
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.modulation = nn.Linear(dim, 6 * dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.fc1, self.fc2 = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, c):
        b, s, dim = x.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(F.silu(c))[:, None, :].chunk(6, -1)
        y = F.layer_norm(x, (dim,), eps=1e-6) * (1 + scale1) + shift1
        q, k, v = self.qkv(y).view(b, s, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, dim)
        x = x + gate1 * self.proj(y)
        y = F.layer_norm(x, (dim,), eps=1e-6) * (1 + scale2) + shift2
        return x + gate2 * self.fc2(F.gelu(self.fc1(y), approximate="tanh"))


class DiT(nn.Module):
    def __init__(self, size, dim, depth, heads):
        super().__init__()
        self.embed = nn.Linear(16, dim)
        self.position = nn.Parameter(0.02 * torch.randn((size // 2) ** 2, dim))
        self.label_table = nn.Embedding(10, dim)
        self.time1, self.time2 = nn.Linear(256, dim), nn.Linear(dim, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.modulation, self.final = nn.Linear(dim, 2 * dim), nn.Linear(dim, 16)
        for layer in [block.modulation for block in self.blocks] + [self.modulation, self.final]:
            nn.init.zeros_(layer.weight)

    def forward(self, x, t, label):
        b, _, height, width = x.shape
        h, w = height // 2, width // 2
        x = x.view(b, 4, h, 2, w, 2).permute(0, 2, 4, 1, 3, 5).reshape(b, h * w, 16)
        x = self.embed(x) + self.position
        phase = 1000 * t[:, None] * torch.exp(torch.arange(128, device=x.device) * (-math.log(10000) / 128))
        wave = torch.cat([torch.cos(phase), torch.sin(phase)], -1)
        c = self.time2(F.silu(self.time1(wave))) + self.label_table(label)
        for block in self.blocks:
            x = block(x, c)
        shift, scale = self.modulation(F.silu(c))[:, None, :].chunk(2, -1)
        x = self.final(F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift)
        return x.view(b, h, w, 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, 4, height, width)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("size", 64), ("dim", 768), ("depth", 12), ("heads", 12), ("batch", 16), ("steps", 20)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    device = "cpu" if args.cpu else "cuda"
    torch.manual_seed(1)
    image = torch.randn(args.batch, 4, args.size, args.size, device=device)
    label = torch.arange(args.batch, device=device) % 10

    for mode in ("eager", "compile"):
        model = DiT(args.size, args.dim, args.depth, args.heads).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=not args.cpu)

        def loss_of(image, label):
            t = torch.rand(args.batch, device=device)
            tt = t[:, None, None, None]
            noise = torch.randn_like(image)
            with torch.autocast(device, dtype=torch.bfloat16):
                v = model((1 - tt) * image + tt * noise, t, label)
            return F.mse_loss(v.float(), noise - image)

        if mode == "compile":
            loss_of = torch.compile(loss_of)
        times = []
        for step in range(args.steps + 3):
            start = time.perf_counter()
            loss = loss_of(image, label)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()
            if not args.cpu:
                torch.cuda.synchronize()
            if step >= 3:
                times.append(time.perf_counter() - start)
        print(f"{mode} {1e3 * statistics.median(times):.3f}", flush=True)
        del model, optimizer, loss


main()
