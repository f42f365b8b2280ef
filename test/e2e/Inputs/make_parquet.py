"""The samples of make_samples.py as Parquet, in the order in which their folder is read.

usage: make_parquet.py FOLDER

FOLDER/all.parquet          one file, with row groups of 4
FOLDER/parts/*.parquet      two files
FOLDER/bad-NAME.parquet     each with a fault in row 5
"""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import tensor_files

NAMES = {"F32": "float32", "F64": "float64", "I64": "int64"}


def columns(samples):
    table = {"caption": [f"sample {i}" for i in range(len(samples))]}
    for name in ("image", "text"):
        table[f"{name}_bytes"] = [sample[name][2] for sample in samples]
        table[f"{name}_shape"] = [sample[name][1] for sample in samples]
        table[f"{name}_dtype"] = [NAMES[sample[name][0]] for sample in samples]
    table["weight"] = [memoryview(sample["weight"][2]).cast("d")[0] for sample in samples]
    return table


def main():
    folder = pathlib.Path(sys.argv[1])
    paths = sorted(str(path) for path in (folder / "samples").rglob("*.safetensors"))
    samples = [tensor_files.read(path) for path in paths]

    def write(name, samples, change=lambda table: None):
        table = columns(samples)
        change(table)
        pq.write_table(pa.table(table), folder / name, row_group_size=4)

    (folder / "parts").mkdir(exist_ok=True)
    write("all.parquet", samples)
    write("parts/0.parquet", samples[:9])
    write("parts/1.parquet", samples[9:])
    write("bad-bytes.parquet", samples, lambda t: t["image_bytes"].__setitem__(5, b"1234"))
    write("bad-dtype.parquet", samples, lambda t: t["image_dtype"].__setitem__(5, "float31"))
    write("bad-null.parquet", samples, lambda t: t["image_shape"].__setitem__(5, None))
    (folder / "bad-cut.parquet").write_bytes((folder / "all.parquet").read_bytes()[:-100])


main()
