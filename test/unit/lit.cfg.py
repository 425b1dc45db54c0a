# GoogleTest binaries of build/unittests, counted test by test.

import os

import lit.formats

config.name = "attn-unit"
config.suffixes = []
config.test_source_root = os.path.join(config.attn_obj_root, "unittests")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "Test")
# glibc fills what is allocated and what is freed, so that reading either is not
# right by luck: an entry of a map held across its growth was, 19 times of 20.
config.environment["MALLOC_PERTURB_"] = "165"
for name in ("HOME", "CUDA_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
