"""Tensors of any library, as an address and strides.

    Tensor.of(array.array("f", ...))       buffer protocol: cpu memory
    Tensor.of(torch_tensor)                DLPack: cpu or cuda memory
    Tensor.of((address, (1024, 128, 1)))   an address with strides in elements

Nothing is copied.  A type that the buffer protocol cannot name (bf16, or f16 in
a plain array) may be passed as its 16-bit words (format "H").

Invariant: `keep` holds what owns the memory for as long as the Tensor lives.
"""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16
from ctypes import c_ssize_t, c_uint64, c_void_p, py_object, pythonapi

from .handles import invalid

ITEM_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "u16": 2, "i32": 4, "i1": 1, "u8": 1}


def element_strides(byte_strides, item_bytes):
    """Strides in elements; refuses those that lie between two elements."""
    for stride in byte_strides:
        if stride % item_bytes:
            raise invalid(f"a stride is {stride} bytes but an element has {item_bytes}")
    return tuple(stride // item_bytes for stride in byte_strides)


def packed_strides(shape):
    """Row-major strides without gaps."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class Tensor:
    """Memory with a layout.

    pointer   address of the first element
    strides   elements from one index to the next, outermost first
    shape     extents, or None if unknown: then bounds are not checked
    dtype     "f32", "f16", "bf16", "i32", "i1", "u8", "u16", or None if unknown
    device    "cpu", "cuda:N", or None if unknown or reachable from everywhere
    """

    def __init__(self, pointer, strides, shape=None, dtype=None, device=None, readonly=False,
                 keep=None):
        self.pointer = pointer
        self.strides = tuple(strides)
        self.shape = None if shape is None else tuple(shape)
        self.dtype = dtype
        self.device = device
        self.readonly = readonly
        self.keep = keep
        if self.shape is not None and len(self.shape) != len(self.strides):
            raise invalid(f"a tensor has {len(self.shape)} extents but {len(self.strides)} strides")

    @classmethod
    def of(cls, value, stream=None):
        """A view of `value`.  `stream` is what a cuda producer synchronises with.

        Raises AttnError for an object that is no tensor; what a producer's own
        __dlpack__ raises is passed on.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], int):
            return cls(value[0], value[1])
        view = _from_buffer(value)
        if view is None:
            view = _from_dlpack(value, stream)
        if view is None:
            raise invalid(f"a {type(value).__name__} is not a tensor: it has neither the buffer "
                          "protocol nor __dlpack__ and is no pair (pointer, strides)")
        return view

    def reshape(self, *shape):
        """The same packed memory with another shape, e.g. of a flat array."""
        count, wanted = 1, 1
        for extent in self.shape or ():
            count *= extent
        for extent in shape:
            wanted *= extent
        if self.shape is None or not self.is_packed() or count != wanted:
            raise invalid(f"a tensor of shape {self.shape} and strides {self.strides} cannot have "
                          f"shape {shape}")
        return Tensor(self.pointer, packed_strides(shape), shape, self.dtype, self.device,
                      self.readonly, self)

    def is_packed(self):
        """Row-major without gaps; strides of extents 1 do not count."""
        return self.shape is not None and all(
            extent == 1 or stride == packed
            for extent, stride, packed in zip(self.shape, self.strides, packed_strides(self.shape)))

    @property
    def elements(self):
        """Elements from the first to the last one, gaps included; None if unknown."""
        if self.shape is None:
            return None
        if 0 in self.shape:
            return 0
        return 1 + sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides))


# --- buffer protocol ---------------------------------------------------------------

_FORMATS = {"f": "f32", "e": "f16", "i": "i32", "?": "i1", "B": "u8", "b": "i8", "H": "u16",
            "d": "f64", "h": "i16", "I": "u32", "q": "i64", "Q": "u64", "c": "char"}
_PYBUF_RECORDS_RO = 0x1c  # strides and format, read-only is enough


class _PyBuffer(Structure):
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t),
                ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", POINTER(c_ssize_t)),
                ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)),
                ("internal", c_void_p)]


pythonapi.PyObject_GetBuffer.argtypes = [py_object, POINTER(_PyBuffer), c_int]
pythonapi.PyObject_GetBuffer.restype = c_int
pythonapi.PyBuffer_Release.argtypes = [POINTER(_PyBuffer)]
pythonapi.PyBuffer_Release.restype = None
pythonapi.PyCapsule_GetPointer.argtypes = [py_object, c_char_p]
pythonapi.PyCapsule_GetPointer.restype = c_void_p
pythonapi.PyCapsule_IsValid.argtypes = [py_object, c_char_p]
pythonapi.PyCapsule_IsValid.restype = c_int


class _Export:
    """A buffer export: the exporter must not move its memory while this lives."""

    def __init__(self, value):
        self.view = _PyBuffer()
        self.held = False
        pythonapi.PyObject_GetBuffer(value, self.view, _PYBUF_RECORDS_RO)
        self.held = True

    def __del__(self):
        if self.held:
            pythonapi.PyBuffer_Release(self.view)


def _from_buffer(value):
    try:
        export = _Export(value)
    except (TypeError, BufferError):
        return None
    view = export.view
    text = (view.format or b"B").decode().lstrip("@=<")
    if text in ("l", "L") and view.itemsize in (4, 8):
        text = {("l", 4): "i", ("L", 4): "I", ("l", 8): "q", ("L", 8): "Q"}[text, view.itemsize]
    shape = tuple(view.shape[i] for i in range(view.ndim))
    strides = (element_strides([view.strides[i] for i in range(view.ndim)], view.itemsize)
               if view.strides else packed_strides(shape))
    return Tensor(view.buf or 0, strides, shape, _FORMATS.get(text, f"format '{text}'"), "cpu",
                  bool(view.readonly), export)


# --- DLPack ------------------------------------------------------------------------

_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED = 1, 2, 3, 13
_DL_TYPES = {(2, 32): "f32", (2, 16): "f16", (4, 16): "bf16", (0, 32): "i32", (6, 8): "i1",
             (1, 8): "u8", (1, 16): "u16"}


class DLTensor(Structure):
    """The layout that all DLPack producers share."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


def _from_dlpack(value, stream):
    capsule = value
    if hasattr(value, "__dlpack__"):
        kind = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else _DL_CPU
        # DLPack writes the default stream as 1; the CPU has no stream.
        capsule = value.__dlpack__(stream=stream or 1) if kind == _DL_CUDA else value.__dlpack__()
    elif type(value).__name__ != "PyCapsule":
        return None
    if not pythonapi.PyCapsule_IsValid(capsule, b"dltensor"):
        raise invalid("a DLPack capsule is not named 'dltensor': it was consumed, or its version "
                      "is not known")
    # The capsule stays the owner; its destructor gives the memory back.
    tensor = DLTensor.from_address(pythonapi.PyCapsule_GetPointer(capsule, b"dltensor"))
    if tensor.lanes != 1:
        raise invalid(f"a DLPack tensor has {tensor.lanes} lanes but 1 is needed")
    devices = {_DL_CPU: "cpu", _DL_CUDA: f"cuda:{tensor.device_id}", _DL_CUDA_HOST: "cpu",
               _DL_CUDA_MANAGED: None}
    if tensor.device_type not in devices:
        raise invalid(f"a DLPack tensor is on device type {tensor.device_type} but only cpu and "
                      "cuda are known")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides
               else packed_strides(shape))
    dtype = _DL_TYPES.get((tensor.code, tensor.bits), f"DLPack type ({tensor.code}, {tensor.bits})")
    return Tensor((tensor.data or 0) + tensor.byte_offset, strides, shape, dtype,
                  devices[tensor.device_type], False, (value, capsule))
