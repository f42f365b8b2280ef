"""Reads rows of 1 MB from Parquet by libff_parquet.so and by pyarrow, in order and shuffled: see bench/parquet.sh."""

import ctypes
import os
import random
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

library, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
MB = 1 << 20


class Value(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char * 16), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8)]


P, I32, I64, S = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_char_p


class Api(ctypes.Structure):
    _fields_ = [
        ("version", I32),
        ("open", ctypes.CFUNCTYPE(P, S, S)),
        ("close", ctypes.CFUNCTYPE(None, P)),
        ("rows", ctypes.CFUNCTYPE(I64, P)),
        ("fields", ctypes.CFUNCTYPE(I32, P)),
        ("field_name", ctypes.CFUNCTYPE(S, P, I32)),
        ("describe", ctypes.CFUNCTYPE(I32, P, I32, I64, I64, P, S)),
        ("read", ctypes.CFUNCTYPE(I32, P, I32, I64, P, I64, S)),
    ]


get = ctypes.CDLL(library).ff_parquet_get
get.restype = ctypes.POINTER(Api)
api = get().contents
error = ctypes.create_string_buffer(512)


def opened(path):
    file = api.open(path.encode(), error)
    assert file, error.value
    return file


def ours(path, order):
    file = opened(path)
    out = np.empty(MB, np.uint8)
    start = time.perf_counter()
    for row in order:
        assert api.read(file, 0, row, out.ctypes.data, MB, error) == 0, error.value
    seconds = time.perf_counter() - start
    api.close(file)
    return len(order) / seconds


def theirs(path, order):
    """The row group of each row, as pyarrow reads it; the last one is kept."""
    file = pq.ParquetFile(path)
    starts = np.cumsum([0] + [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)])
    last, column = -1, None
    out = np.empty(MB, np.uint8)
    start = time.perf_counter()
    for row in order:
        group = int(np.searchsorted(starts, row, "right")) - 1
        if group != last:
            column, last = file.read_row_group(group, columns=["x_bytes"], use_threads=False).column(0), group
        out[:] = np.frombuffer(column[row - starts[group]].as_buffer(), np.uint8)
    return len(order) / (time.perf_counter() - start)


rng = np.random.default_rng(1)
# bf16 of a normal distribution, as latents are: their bytes hardly compress
data = (rng.standard_normal(rows * MB // 2, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
values = [data[i * MB // 2 : (i + 1) * MB // 2].tobytes() for i in range(rows)]
table = pa.table({
    "x_bytes": pa.array(values, pa.binary()),
    "x_shape": pa.array([[16, 32, 32, 32]] * rows),
    "x_dtype": pa.array(["bfloat16"] * rows),
})
del data, values

print(f"rows of 1 MB per second, of {rows}; ours (pyarrow)")
print(f"{'compression':<14}{'dictionary':<12}{'rows/group':>10}{'in order':>20}{'shuffled':>20}")
for compression in ("none", "snappy", "zstd"):
    for dictionary in (False, True):
        for group in (1, 16, 256):
            path = os.path.join(folder, "bench.parquet")
            pq.write_table(table, path, row_group_size=group, compression=compression,
                           use_dictionary=dictionary or ["x_dtype"])
            order = list(range(rows))
            shuffled = random.Random(0).sample(order, rows)
            # a row costs up to a row group of 256 MB: fewer of those will do
            few = shuffled if group <= 16 or compression == "none" else shuffled[:16]
            theirs_few = shuffled if group == 1 else shuffled[: 64 if group == 16 else 8]
            theirs(path, order[:8])  # the file is in the page cache then
            print(f"{compression:<14}{'yes' if dictionary else 'no':<12}{group:>10}"
                  f"{ours(path, order):>10.0f} ({theirs(path, order):>6.0f})"
                  f"{ours(path, few):>11.0f} ({theirs(path, theirs_few):>6.0f})", flush=True)
            os.remove(path)

count = 100_000
table = pa.table({
    "x_bytes": pa.array([b"0123"] * count, pa.binary()),
    "x_shape": pa.array([[1 + i % 2, 2, 1, 1] for i in range(count)]),
    "x_dtype": pa.array(["uint8"] * count),
})
for group in (16, 1000, count):
    path = os.path.join(folder, "bench.parquet")
    pq.write_table(table, path, row_group_size=group)
    described = (Value * count)()
    start = time.perf_counter()
    file = opened(path)
    assert api.describe(file, 0, 0, count, described, error) == 0, error.value
    print(f"describe {count} rows in groups of {group}: {1000 * (time.perf_counter() - start):.0f} ms")
    api.close(file)
