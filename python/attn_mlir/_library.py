"""Finds and loads libattnrt.so.

    ATTN_MLIR_LIBRARY_PATH=/opt/attn/lib   only there (a file, or folders
                                           separated as in PATH)
    otherwise                              beside this package, then its lib
                                           folder, then the build folder of a
                                           source tree

Invariant: a library whose binary contract has another number is refused before
any structure is exchanged.  A path that was set is never silently ignored.
"""

import ctypes
import os
from pathlib import Path

NAME = "libattnrt.so"
VARIABLE = "ATTN_MLIR_LIBRARY_PATH"
ABI_VERSION = 3


def candidates(environment=os.environ, name=NAME, variable=VARIABLE):
    """The files that are tried, in order."""
    chosen = environment.get(variable, "")
    if chosen:
        entries = [Path(entry) for entry in chosen.split(os.pathsep) if entry]
        return [entry / name if entry.is_dir() else entry for entry in entries]
    package = Path(__file__).resolve().parent
    return [package / name, package / "lib" / name, package.parent.parent / "build" / "lib" / name]


def find(environment=os.environ, name=NAME, variable=VARIABLE):
    """The first candidate that exists; ImportError names all of them."""
    tried = candidates(environment, name, variable)
    for path in tried:
        if path.is_file():
            return path
    raise ImportError(f"{name} was not found; tried {', '.join(map(str, tried))}; "
                      f"set {variable} to the folder that holds it")


def load(path, version_function="attnrt_abi_version", abi_version=ABI_VERSION):
    """Loads the library and checks its contract number."""
    try:
        library = ctypes.CDLL(str(path))
        version = getattr(library, version_function)
        version.restype, version.argtypes = ctypes.c_uint32, []
        found = version()
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path} cannot be used: {error}") from error
    if found != abi_version:
        raise ImportError(f"{path} has binary contract {found} but this package needs "
                          f"{abi_version}")
    return library
