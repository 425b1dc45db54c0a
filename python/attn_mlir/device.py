"""Devices, their memory, streams and events.

    with Device("cuda:0") as device, device.alloc(4096) as memory:
        memory.copy_from(array)         # host to device
        memory.view((8, 128), "f32")    # a Tensor for Plan.run

On "cpu" device memory is host memory, every call is synchronous and streams are
None.

Invariant: memory and streams keep the C device open, so they are never released
into a closed one, in whatever order the Python objects go.
"""

import ctypes
from dataclasses import dataclass

from . import _c
from ._c import CopyKind, lib
from .bundle import plain
from .handles import Handle, create, invalid
from .tensors import ITEM_BYTES, Tensor, packed_strides
from .values import int32


@dataclass(frozen=True)
class DeviceInfo:
    """Facts of a device; numbers that the cpu does not have are 0."""
    name: str
    arch: str
    is_cuda: bool
    processors: int
    memory_bytes: int
    l2_bytes: int
    shared_bytes: int
    clock_khz: int
    driver_version: int


def stream_pointer(stream):
    """The CUstream as an int, or None for the default stream.

    Takes None, an int, a Stream, or a foreign stream object with
    __cuda_stream__() or a `cuda_stream` attribute.
    """
    if stream is None or isinstance(stream, int):
        return stream or None
    if isinstance(stream, Stream):
        return stream.pointer
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1] or None
    if hasattr(stream, "cuda_stream"):
        return stream.cuda_stream or None
    raise invalid(f"a {type(stream).__name__} is not a stream")


def _bytes_of(tensor, what):
    if not tensor.is_packed() or tensor.dtype is None:
        raise invalid(f"{what} has shape {tensor.shape} and strides {tensor.strides} but a copy "
                      "needs packed memory")
    item = ITEM_BYTES.get(tensor.dtype, 0)
    if not item:
        raise invalid(f"{what} has element type {tensor.dtype}, which is none of "
                      f"{', '.join(ITEM_BYTES)}")
    return tensor.elements * item


class DeviceOwner:
    """The C device: open until the last Python object that needs it is gone."""

    def __init__(self, handle):
        self.handle = handle
        self._free = lib.attnrt_device_close

    def __del__(self):
        self._free(self.handle)


class Device(Handle):
    """The cpu, or a cuda device.  Memory, streams and kernels of it outlive close().

    name       "cpu", "cuda" (= "cuda:0") or "cuda:N"
    threads    cpu: worker threads; 0: all processors
    max_arch   cpu: highest level to use, e.g. "x86-64-v3"
    driver     path of the driver library instead of libcuda.so.1

    Raises AttnError: NOT_FOUND for an unknown name or number, NO_DRIVER without a
    usable driver.
    """

    _kind = "device"

    def __init__(self, name="cpu", *, threads=0, max_arch=None, driver=None):
        options = _c.DeviceOptions(driver.encode() if driver else None, int32("threads", threads),
                                   max_arch.encode() if max_arch else None)
        super().__init__(create(lib.attnrt_device_open, name.encode(), ctypes.byref(options)))
        self._owner = DeviceOwner(self._handle)
        # One name for one device, as tensors name it.
        self.name = f"cuda:{int(name[5:] or 0)}" if name.startswith("cuda") else name

    @property
    def info(self):
        """DeviceInfo."""
        raw = _c.DeviceInfo()
        lib.attnrt_device_query(self.handle, ctypes.byref(raw))
        values = plain(raw)
        values["is_cuda"] = bool(raw.is_cuda)
        return DeviceInfo(**values)

    def alloc(self, size):
        """Memory of `size` bytes, 256-byte aligned.  Raises AttnError OUT_OF_MEMORY."""
        return Memory(self.owner, self.name, size)

    def stream(self):
        """A new Stream."""
        return Stream(self)

    def event(self):
        """A new Event, for timing."""
        return Event(self)

    def synchronize(self, stream=None):
        """Waits for everything on the stream."""
        lib.attnrt_stream_synchronize(self.handle, stream_pointer(stream))


class Memory(Handle):
    """Memory of a device.  `pointer` is None if it has no bytes."""

    _kind = "memory"

    def __init__(self, owner, name, size):
        if size < 0:
            raise invalid(f"memory of {size} bytes was asked for but the least is 0")
        super().__init__(create(lib.attnrt_mem_alloc, owner.handle, size), owner)
        self.size = size
        self._name = name
        self._free = lambda pointer: lib.attnrt_mem_free(owner.handle, pointer)

    @property
    def pointer(self):
        return self._handle

    def copy_from(self, source, stream=None):
        """Copies a packed host tensor to the begin of this memory."""
        tensor = Tensor.of(source)
        size = self._fits(_bytes_of(tensor, "the source"))
        lib.attnrt_mem_copy(self.owner.handle, self.pointer, tensor.pointer, size,
                            CopyKind.HOST_TO_DEVICE, stream_pointer(stream))

    def copy_to(self, target, stream=None):
        """Fills a packed host tensor from the begin of this memory."""
        tensor = Tensor.of(target)
        if tensor.readonly:
            raise invalid("the target of the copy is read-only")
        size = self._fits(_bytes_of(tensor, "the target"))
        lib.attnrt_mem_copy(self.owner.handle, tensor.pointer, self.pointer, size,
                            CopyKind.DEVICE_TO_HOST, stream_pointer(stream))

    def fill(self, value, stream=None):
        """Sets every byte."""
        lib.attnrt_mem_set(self.owner.handle, self.pointer, value, self.size,
                           stream_pointer(stream))

    def view(self, shape, dtype):
        """A packed Tensor on this memory."""
        tensor = Tensor(self.pointer, packed_strides(shape), shape, dtype, self._name,
                        keep=self)
        self._fits(_bytes_of(tensor, "the view"))
        return tensor

    def _fits(self, size):
        if size > self.size:
            raise invalid(f"{size} bytes are needed but the memory has {self.size}")
        return size


class Stream(Handle):
    """A stream of a device; `pointer` is the CUstream, None on cpu."""

    _kind = "stream"

    def __init__(self, device):
        owner = device.owner
        super().__init__(create(lib.attnrt_stream_create, owner.handle), owner)
        self._free = lambda pointer: lib.attnrt_stream_destroy(owner.handle, pointer)

    @property
    def pointer(self):
        return self._handle

    def synchronize(self):
        lib.attnrt_stream_synchronize(self.owner.handle, self.pointer)


class Event(Handle):
    """A point in a stream."""

    _kind = "event"
    _release = "attnrt_event_destroy"

    def __init__(self, device):
        super().__init__(create(lib.attnrt_event_create, device.handle))

    def record(self, stream=None):
        lib.attnrt_event_record(self.handle, stream_pointer(stream))

    def elapsed(self, end):
        """Milliseconds from this event to `end`; waits for `end`."""
        result = ctypes.c_float()
        lib.attnrt_event_elapsed(self.handle, end.handle, ctypes.byref(result))
        return result.value
