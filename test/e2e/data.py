"""Checks what trainers read.

usage: data.py buckets|alone|arena|other-shape|nan|sources ARGUMENTS
"""

import json
import pathlib
import re
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
import tensor_files  # noqa: E402


def steps_of(log):
    """The samples of each step, over all ranks, in the order of their positions where ranks take turns."""
    steps = {}
    for line in open(log):
        match = re.fullmatch(r"samples step (\d+) rank (\d+):((?: \d+)+)\n", line)
        if match:
            steps.setdefault(int(match[1]), []).append([int(x) for x in match[3].split()])
    return [[sample for batch in steps[i] for sample in batch] for i in sorted(steps)]


# Numbers of samples go by the sorted paths: files of the folder first, then those of deeper/.
NUMBERS = sorted(range(15), key=lambda i: ("deeper/" if i % 4 == 3 else "") + f"{i:02}")
SHAPE = [0 if NUMBERS[n] < 7 else 1 if NUMBERS[n] < 12 else 2 for n in range(15)]


def buckets(log):
    steps = steps_of(log)
    read = {0: [], 1: [], 2: []}
    counts = [0, 0, 0]
    for step in steps:
        assert len(step) == 4, step
        shapes = {SHAPE[s] for s in step}
        assert len(shapes) == 1, (step, shapes)
        read[shapes.pop()] += step
        counts[SHAPE[step[0]]] += 1
    for shape, size in ((0, 7), (1, 5), (2, 3)):
        assert abs(counts[shape] - len(steps) * size / 15) <= 1, counts
        for first in range(0, len(read[shape]) // size * size, size):
            epoch = read[shape][first : first + size]
            assert len(set(epoch)) == size, epoch
        assert len(read[shape]) > size


def losses(path):
    return [json.loads(line)["loss"] for line in open(path)]


def alone(log, metrics, *single):
    steps, all_losses = steps_of(log), losses(metrics)
    expected = [losses(path) for path in single]
    seen = [0, 0, 0]
    for step, loss in zip(steps, all_losses, strict=True):
        shape = SHAPE[step[0]]
        want = expected[shape][seen[shape]]
        seen[shape] += 1
        assert abs(loss - want) <= 1e-6 * abs(want), (step, loss, want)
    assert min(seen) >= 5, seen


def arena(plan, single):
    plan, single = json.load(open(plan)), json.load(open(single))
    memory = plan["memory"]["forward_backward"], single["memory"]["forward_backward"]
    assert memory[0] == memory[1], memory
    assert len(plan["buckets"]) == 3 and not single["buckets"], plan["buckets"]
    assert plan["buckets"][0]["inputs"].startswith("image [2, 2, 8, 4]"), plan["buckets"]


def other_shape(path):
    tensors = tensor_files.read(path)
    tensors["image"] = ("F32", [2, 3, 3], bytes(72))
    tensor_files.write(pathlib.Path(path), tensors)


def nan(path):
    tensors = tensor_files.read(path)
    dtype, shape, data = tensors["text"]
    tensors["text"] = (dtype, shape, data[:12] + struct.pack("<f", float("nan")) + data[16:])
    tensor_files.write(pathlib.Path(path), tensors)


def replaced(trainer, sample, out):
    """Runs a trainer, and moves a file over one of its samples after the first steps."""
    path = pathlib.Path(sample)
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    run = subprocess.Popen([trainer, "--steps", "1000000", "--threads", "1", "--out", out, "--resume", "none"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in run.stdout:
        if line.startswith("step ") and other.exists():
            other.rename(path)
        elif not line.startswith("step "):
            print(line, end="")
    run.wait()


def sources(log):
    read = [sample for step in steps_of(log) for sample in step]
    photos, drawings = [s for s in read if s < 6], [s for s in read if s >= 6]
    assert len(read) == 240 and len(drawings) == 180, (len(read), len(drawings))
    for of, size in ((photos, 6), (drawings, 3)):
        times = [of.count(s) for s in set(of)]
        assert len(times) == size and max(times) == min(times), times


globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
