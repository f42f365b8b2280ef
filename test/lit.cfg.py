"""lit: how tests are found and run. `lit.site.cfg.py` in the build folder sets the paths."""

import os
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
