"""A DLPack producer in pure Python, in the place of an array library."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_int64, c_void_p, py_object, pythonapi

from attn_mlir.tensors import DLTensor

NAME = b"dltensor"
DELETER = CFUNCTYPE(None, c_void_p)

pythonapi.PyCapsule_New.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
pythonapi.PyCapsule_New.restype = py_object
pythonapi.PyCapsule_SetName.argtypes = [py_object, ctypes.c_char_p]


class Managed(Structure):
    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


class Producer:
    """Exports `pointer` and counts capsules that were made and that died."""

    def __init__(self, pointer, shape, code=2, bits=32, strides=None, device=(1, 0), offset=0,
                 lanes=1, owner=None):
        self.device, self.owner, self.streams = device, owner, []
        self.made = self.gone = 0
        self._shape = (c_int64 * len(shape))(*shape)
        self._strides = (c_int64 * len(shape))(*strides) if strides else None
        self._managed = Managed(DLTensor(
            pointer, *device, len(shape), code, bits, lanes,
            ctypes.cast(self._shape, POINTER(c_int64)),
            ctypes.cast(self._strides, POINTER(c_int64)) if strides else None, offset), None, None)
        # Called by the interpreter while a capsule dies: no capsule object here.
        self._destructor = ctypes.PYFUNCTYPE(None, c_void_p)(self._died)

    def _died(self, _):
        self.gone += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.made += 1
        self.streams.append(stream)
        return pythonapi.PyCapsule_New(ctypes.addressof(self._managed), NAME,
                                       ctypes.cast(self._destructor, c_void_p))
