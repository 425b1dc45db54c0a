"""Compiling kernels from Python.

    from attn_mlir import Bundle, compile_file
    data = compile_file("llama3.mlir", targets=["cpu", "sm_90a"], cache="~/.cache/attn")
    with Bundle.from_bytes(data) as bundle: ...

The compiler is libattnc.so (build target attnc-shared), loaded at the first call;
loading, planning and running bundles never needs it.  It is looked for like
libattnrt.so, under ATTN_MLIR_COMPILER_PATH.
"""

import ctypes
import os
import warnings
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_void_p
from pathlib import Path

from . import _library

NAME = "libattnc.so"
VARIABLE = "ATTN_MLIR_COMPILER_PATH"


class CompileError(Exception):
    """A compile that failed.  `messages`: what the compiler said, one line each."""

    def __init__(self, messages):
        super().__init__("\n".join(line for line in messages if ": remark: " not in line))
        self.messages = messages


class Options(Structure):
    """attnc_options of include/attn-c/Compiler.h."""
    _fields_ = [("targets", c_char_p), ("schedule", c_char_p), ("cpu_types", c_char_p),
                ("ptxas", c_char_p), ("cache", c_char_p), ("no_cubin", c_int32)]


PROTOTYPES = {
    "attnc_compile": (c_int, [c_char_p, c_size_t, c_char_p, POINTER(Options), POINTER(c_void_p)]),
    "attnc_result_data": (c_void_p, [c_void_p]),
    "attnc_result_size": (c_size_t, [c_void_p]),
    "attnc_result_messages": (c_char_p, [c_void_p]),
    "attnc_result_free": (None, [c_void_p]),
    "attnc_version": (c_char_p, []),
    "attnc_abi_version": (c_uint32, []),
}

_loaded = None


def _compiler():
    global _loaded
    if _loaded is None:
        path = _library.find(os.environ, NAME, VARIABLE)
        library = _library.load(path, "attnc_abi_version")
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        _loaded = library
    return _loaded


def _joined(values):
    if isinstance(values, str):
        values = [values]
    return ",".join(values).encode()


def compile_text(text, *, targets, name="kernel", schedule="", cpu_types=("f32",), ptxas="",
                 cache=None, cubin=True):
    """Compiles every kernel of an `.mlir` text; returns the bundle as bytes.

    targets    names, e.g. ["cpu", "sm_80"]
    name       stands for the text in messages
    schedule   "field=value,..." overrides, e.g. "tile_k=128"
    cpu_types  element types for which the cpu gets code besides the declared one
    ptxas      path of the assembler; "": searched
    cache      folder of compiled bundles; None: the environment's ATTN_CACHE, else none
    cubin      False: PTX only

    Other threads run meanwhile.  Raises CompileError with all messages; a warning of
    the compiler becomes a Python warning.
    """
    lib = _compiler()
    cache = os.environ.get("ATTN_CACHE", "") if cache is None else os.path.expanduser(cache)
    options = Options(_joined(targets), schedule.encode(), _joined(cpu_types),
                      os.fsencode(ptxas), os.fsencode(cache), not cubin)
    data = text.encode()
    result = c_void_p()
    failed = lib.attnc_compile(data, len(data), name.encode(), byref(options), byref(result))
    try:
        messages = lib.attnc_result_messages(result).decode(errors="replace").splitlines()
        if failed:
            raise CompileError(messages)
        for line in messages:
            if "warning: " in line:
                warnings.warn(line, stacklevel=2)
        return ctypes.string_at(lib.attnc_result_data(result), lib.attnc_result_size(result))
    finally:
        lib.attnc_result_free(result)


def compile_file(path, *, targets, output=None, **options):
    """Compiles a `.mlir` file; returns the bundle as bytes.

    output   a file that gets the bundle, whole or not at all; None: no file
    Other arguments are those of `compile_text`.
    """
    path = Path(path)
    data = compile_text(path.read_text(), targets=targets, name=str(path), **options)
    if output is not None:
        output = Path(output)
        part = output.with_name(f"{output.name}.{os.getpid()}.tmp")
        try:
            part.write_bytes(data)
            os.replace(part, output)
        finally:
            part.unlink(missing_ok=True)
    return data
