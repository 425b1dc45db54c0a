"""Bundles for tests, made without the compiler.

The kernel is test/unit/Runtime/TinyKernel.c: f32, head dim 8, score
s * temp[h] + bias, mask q >= k and q - k < window.  A JSON description becomes a
FlatBuffer by flatc; a few lines of C put length and hash into the file header.
"""

import atexit
import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path

# Of HookExpr.h.
ARG, PARAM, TABLE, ISUB, ICMP, AND, FADD, FMUL, END = (0x01, 0x02, 0x05, 0x11, 0x20, 0x30, 0x40,
                                                       0x42, 0xff)
S, H, Q, K = 0, 2, 3, 4
LT, GE = 2, 5

SEAL = r"""
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include "attn/ABI/Version.h"
static unsigned char bytes[1 << 24];
int main(int argc, char **argv) {
  FILE *f = fopen(argv[1], "rb");
  uint64_t n = fread(bytes + 64, 1, sizeof(bytes) - 64, f);
  fclose(f);
  XXH128_hash_t hash = XXH3_128bits(bytes + 64, n);
  uint64_t low = hash.low64, high = hash.high64;
  memcpy(bytes, "ATTNBNDL", 8);
  bytes[8] = ATTN_ABI_VERSION;
  memcpy(bytes + 16, &n, 8);
  memcpy(bytes + 24, &low, 8);
  memcpy(bytes + 32, &high, 8);
  f = fopen(argv[2], "wb");
  fwrite(bytes, 1, n + 64, f);
  return fclose(f);
}
"""


def hook(kind, *instructions):
    """The encoded form, without a constant pool."""
    code = b"".join(struct.pack("<BBh", op, index, 0) for op, index in instructions + ((END, 0),))
    return {"kind": kind, "code": list(struct.pack("<4sHBBHH", b"AHX1", 1, kind, 0,
                                                   len(code) // 4, 0) + code)}


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def specialisation(**changes):
    spec = {"target": "cpu", "element": "F32", "output": "F32", "tile_q": 8, "tile_k": 16,
            "pack": 1, "entry": "tiny_attention", "merge_entry": "tiny_merge", "params_bytes": 232,
            "scratch_bytes": 64, "stride_multiple": 4, "base_align": 4, "cost_q": 1, "cost_kv": 1,
            "schedule": "#schedule"}
    spec.update(changes)
    return spec


def description(name="tiny", storage="Ragged", specialisations=None):
    """One kernel as the schema's JSON; `code` is filled in by Tiny."""
    return {
        "name": name, "heads": 4, "kv_heads": 2, "dim": 8, "dim_v": 8, "storage": storage,
        "normaliser": "Softmax", "default_scale": 0.35355339, "map_form": "Closed",
        "block_map": "#map", "source_hash": "abc123",
        "params": [{"name": "bias", "type": "F32", "default_bits": bits(0.0), "has_default": True,
                    "sample_lo": bits(-1.0), "sample_hi": bits(2.0), "offset": 200},
                   {"name": "window", "type": "I32", "default_bits": 1 << 30, "has_default": True,
                    "sample_lo": 1, "sample_hi": 9, "offset": 204}],
        "tables": [{"name": "temp", "element": "F32", "index": [0], "sample_lo": bits(0.5),
                    "sample_hi": bits(2.0), "sorted": False, "offset": 208}],
        "hooks": [hook(0, (ARG, S), (ARG, H), (TABLE, 0), (FMUL, 0), (PARAM, 0), (FADD, 0)),
                  hook(1, (ARG, Q), (ARG, K), (ICMP, GE), (ARG, Q), (ARG, K), (ISUB, 0), (PARAM, 1),
                       (ICMP, LT), (AND, 0))],
        "specialisations": specialisations or [specialisation()],
    }


class Tiny:
    """Makes bundles in a temporary folder that goes at exit."""

    def __init__(self, root):
        self.root = Path(root)
        folder = tempfile.TemporaryDirectory()
        atexit.register(folder.cleanup)
        self.path = Path(folder.name)
        self.count = 0
        (self.path / "seal.c").write_text(SEAL)
        self._cc("-O1", str(self.path / "seal.c"), "-o", str(self.path / "seal"))
        self._cc("-O2", "-shared", "-fPIC", str(self.root / "test/unit/Runtime/TinyKernel.c"),
                 "-o", str(self.path / "tiny.so"), "-lm")

    def _cc(self, *arguments):
        subprocess.run([os.environ.get("CC", "cc"), f"-I{self.root}/include", *arguments],
                       check=True)

    def bundle(self, *kernels):
        """Path of a bundle of these kernels (default: the tiny one)."""
        shared_object = list((self.path / "tiny.so").read_bytes())
        kernels = list(kernels or [description()])
        for kernel in kernels:
            for spec in kernel["specialisations"]:
                spec.setdefault("code", [{"kind": "SharedObject", "arch": "x86-64",
                                          "data": shared_object}])
        self.count += 1
        stem = self.path / f"bundle{self.count}"
        stem.with_suffix(".json").write_text(json.dumps({"compiler": "tiny", "kernels": kernels}))
        subprocess.run(["flatc", "-b", "-o", str(self.path),
                        str(self.root / "include/attn/ABI/Bundle.fbs"),
                        str(stem.with_suffix(".json"))], check=True)
        subprocess.run([str(self.path / "seal"), str(stem.with_suffix(".bin")),
                        str(stem.with_suffix(".attn"))], check=True)
        return str(stem.with_suffix(".attn"))
