"""resident.py PLAN.json LOG: the arena is that of the plan to the byte, the peak resident set of the process, beyond what it takes
before it reserves anything, within 5 % of the plan.
"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    plan = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    report = next(json.loads(line[line.index("{") :]) for line in file if "planned_arena_bytes" in line)
assert report["arena_bytes"] == plan["peak_device_bytes"], (report, plan["peak_device_bytes"])
taken = report["peak_rss"] - report["baseline_rss"]
ratio = taken / plan["peak_host_bytes"]
assert plan["peak_host_bytes"] > 100 << 20, "too small to tell"
assert 0.95 < ratio < 1.05, (ratio, taken, plan["peak_host_bytes"])
print(f"resident: {ratio:.4f} of the plan, {taken} bytes")
