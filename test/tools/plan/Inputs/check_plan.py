"""check_plan.py PLAN.json CONDITION...: the plan has just the keys that docs/plan.md lists, and each condition holds.

In a condition `p` is the plan and `q`, `r`, ... are the other files named by q=FILE.
"""

import json
import sys

NUMBER = (int, float)
BYTES = int
PHASE = {"parameters": BYTES, "gradients": BYTES, "optimizer": BYTES, "activations": BYTES, "gather": BYTES, "host": BYTES}
KEYS = {
    "name": str,
    "spec": str,
    "mesh": {"replicate": int, "shard": int, "ranks": int},
    "fits": bool,
    "peak_device_bytes": BYTES,
    "peak_host_bytes": BYTES,
    "device_memory": (int, type(None)),
    "host_memory": (int, type(None)),
    "trained_bytes_per_rank": BYTES,
    "frozen_bytes_per_rank": BYTES,
    "largest_buffer": {"bytes": BYTES, "what": str},
    "memory": {"load": PHASE, "forward_backward": PHASE, "optimizer": PHASE, "save": PHASE},
    "components": [
        {
            "name": str,
            "module": str,
            "train": str,
            "params": int,
            "trainable_params": int,
            "bytes": BYTES,
            "bytes_per_rank": BYTES,
            "file_bytes": BYTES,
            "adapters": ({"layers": int, "of_layers": int, "params": int, "adapted_params": int}, None),
        }
    ],
    "units": [{"name": str, "component": str, "groups": [int]}],
    "groups": [
        {
            "component": str,
            "unit": str,
            "dtype": str,
            "gather_dtype": str,
            "master_dtype": str,
            "trainable": bool,
            "reduce_dtype": (str, type(None)),
            "tensors": int,
            "params": int,
            "bytes": BYTES,
        }
    ],
    "collectives": [{"kind": str, "axis": str, "unit": str, "count": int, "bytes_per_rank": BYTES, "total_bytes": BYTES}],
    "buckets": [{"inputs": str, "micro": int, "accumulation": int, "flops_per_step": float}],
    "batch": {"micro": int, "accumulation": int, "data_parallel": int, "global": int, "idle_micro_batches": int},
    "schedule": {
        "kind": str,
        "steps": int,
        "warmup_steps": int,
        "lr_first": NUMBER,
        "lr_after_warmup": NUMBER,
        "lr_last": NUMBER,
        "samples": (int, type(None)),
        "samples_read": int,
        "samples_dropped": int,
        "samples_repeated": int,
    },
    "save": [{"component": str, "kind": str, "files": [{"name": str, "tensors": int, "bytes": BYTES}]}],
    "checkpoint_bytes": {
        "model": BYTES,
        "state": BYTES,
        "merged": BYTES,
        "total": BYTES,
        "keep": int,
        "kept": BYTES,
        "peak": BYTES,
    },
    "flops_per_step": NUMBER,
    "flops_per_rank": NUMBER,
    "recompute": [str],
}


def check(value, want, path):
    if isinstance(want, tuple) and isinstance(want[0], dict):
        if value is None:
            return
        want = want[0]
    if isinstance(want, dict):
        assert isinstance(value, dict), f"{path} is {value!r}"
        assert list(value) == list(want), f"{path} has the keys {list(value)}, not {list(want)}"
        for key in want:
            check(value[key], want[key], f"{path}.{key}")
    elif isinstance(want, list):
        for i, item in enumerate(value):
            check(item, want[0], f"{path}[{i}]")
    else:
        assert isinstance(value, want), f"{path} is {value!r}"


plans, conditions = {}, []
for i, text in enumerate(sys.argv[1:]):
    name, _, file = text.partition("=")
    if i == 0:
        name, file = "p", text
    if i == 0 or (len(name) == 1 and file.endswith(".json")):
        with open(file, encoding="utf-8") as stream:
            plans[name] = json.load(stream)
    else:
        conditions.append(text)
for name, plan in plans.items():
    check(plan, KEYS, name)
plans["total"] = lambda p, *path: sum(item[path[-1]] for item in p[path[0]])
for condition in conditions:
    if not eval(condition, dict(plans)):
        sys.exit(f"does not hold: {condition}")
print("ok")
