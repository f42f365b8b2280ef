"""same_memory.py PLAN.json LOG OUT: the trainer of LOG reserved, and wrote into OUT, what the plan says."""

import json
import os
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    report = next(json.loads(line[line.index("{") :]) for line in file if "planned_arena_bytes" in line)
assert report["planned_arena_bytes"] == plan["peak_device_bytes"], (report, plan["peak_device_bytes"])
assert report["arena_bytes"] == plan["peak_device_bytes"], (report, plan["peak_device_bytes"])
assert report["planned_host_bytes"] + report["arena_bytes"] == plan["peak_host_bytes"], report
# What the process itself takes grows a little while it runs: buffers of Gloo and oneDNN.
assert report["peak_rss"] < plan["peak_host_bytes"] + report["baseline_rss"] + (32 << 20), report
step = os.path.join(sys.argv[3], "step-00000001")
written = sum(
    os.path.getsize(os.path.join(folder, name))
    for folder, _, names in os.walk(step)
    for name in names
    if name != "manifest.json"
)
assert written == plan["checkpoint_bytes"]["total"], (written, plan["checkpoint_bytes"])
print("ok")
