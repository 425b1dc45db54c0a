# The lit suite: text tests (.mlir, .test) here, GoogleTest binaries in unit/.
#
# Feature   ptxas        ptxas was found: PATH, $CUDA_HOME/bin, /usr/local/cuda/bin
# Feature   compiler     the compiler's tools are part of this build
# Feature   matplotlib   the Python of the build has it
# Parameter roundtrip=1  attn-opt also prints and re-reads every input

import os
import shutil
import subprocess

import lit.formats

config.name = "attn"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.attn_obj_root, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.attn_obj_root, "bin"), config.llvm_tools_dir, os.environ["PATH"]])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input-filter=error"
# glibc fills what is allocated and what is freed, so that reading either is not
# right by luck: an entry of a map held across its growth was, 19 times of 20.
config.environment["MALLOC_PERTURB_"] = "165"
for name in ("HOME", "CUDA_HOME", "ATTN_PTXAS", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions += [
    ("%attn_src", config.attn_src_root),
    ("%attn_obj", config.attn_obj_root),
    ("%python", config.python),
    ("%cxx", config.cxx),
    ("%cc", config.cc),
]
if lit_config.params.get("roundtrip", "0") not in ("", "0"):
    config.substitutions.append((r"(?<![\w/.-])attn-opt(?![\w.-])",
                                 "attn-opt --verify-roundtrip"))

if config.enable_compiler:
    config.available_features.add("compiler")
else:
    # Only the rules that need no compiler are left.
    config.suffixes = [".test"]

cuda = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")
ptxas = os.environ.get("ATTN_PTXAS") or shutil.which("ptxas") or shutil.which(
    "ptxas", path=os.pathsep.join([cuda, "/usr/local/cuda/bin"]))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
if subprocess.run([config.python, "-c", "import matplotlib"], capture_output=True).returncode == 0:
    config.available_features.add("matplotlib")
