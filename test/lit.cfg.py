"""lit: how tests are found and run. `lit.site.cfg.py` in the build folder sets the paths."""

import os
import shutil
import subprocess
import lit.formats

config.name = "ff"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".toml", ".test"]
config.excludes = ["Inputs", "seeds", "CMakeLists.txt", "unit", "lint"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ff_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.ff_build, "bin"), config.llvm_tools, config.environment["PATH"]]
)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --dump-input-filter=error"
# Tests do not compete for the two cores of a small machine.
config.environment["OMP_NUM_THREADS"] = "2"
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%root", config.ff_source))
config.substitutions.append(("%standin_dir", os.path.join(config.ff_build, "standin")))
config.substitutions.append(("%standin", os.path.join(config.ff_build, "standin", "ff-standin")))
# The published implementations, where they are installed and can be imported: test/reference/setup.sh. torch takes seconds to import,
# so that it is there has to do.
venv = os.environ.get("FF_REFERENCE_VENV", config.ff_reference_venv)
reference_python = os.path.join(venv, "bin", "python")
config.substitutions.append(("%reference", reference_python + " " + os.path.join(config.test_source_root, "reference")))
probe = "import diffusers, peft, safetensors, tokenizers, transformers, importlib.util as u; assert u.find_spec('torch')"
if os.path.exists(reference_python) and subprocess.run([reference_python, "-c", probe], capture_output=True).returncode == 0:
    config.available_features.add("reference")
    config.environment["HF_HUB_OFFLINE"] = "1"
# A library with the address sanitizer cannot be loaded into a program without.
if config.ff_sanitize != "ON":
    config.available_features.add("no-sanitizer")
# The assembler of a CUDA toolkit, where ff-compile finds one.
homes = [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin"), "/usr/local/cuda/bin"]
if shutil.which("ptxas", path=os.pathsep.join([config.environment["PATH"]] + homes)):
    config.available_features.add("ptxas")
if "CUDA_HOME" in os.environ:
    config.environment["CUDA_HOME"] = os.environ["CUDA_HOME"]
# What trainers for a GPU are linked with.
if os.path.exists(os.path.join(config.ff_build, "runtime", "link-cuda.txt")):
    config.available_features.add("cuda-runtime")
# Where Arrow was found, for trainers and for the scripts that write Parquet.
config.substitutions.append(("%arrow", os.path.join(config.ff_source, "build", "arrow")))
if os.path.exists(os.path.join(config.ff_build, "runtime", "libff_parquet.so")) and os.path.isdir(
    os.path.join(config.ff_source, "build", "arrow", "pyarrow")
):
    config.available_features.add("parquet")
