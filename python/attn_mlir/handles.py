"""Ownership of C objects.

    with Bundle("a.attn") as bundle:    # closed at the end of the block, or by
        ...                             # close(), or with the last reference

Invariant: a handle is released once, and a closed object is refused by name
instead of being passed on as null.  Objects of the runtime keep what they were
made from alive, so the order of closing does not matter.
"""

import ctypes

from ._c import AttnError, Status, lib


class Handle:
    """Base of all objects that own a C handle."""

    _kind = "object"
    _release = None  # name of the C function

    def __init__(self, handle, owner=None):
        self._handle = handle
        self._owner = owner
        self._free = getattr(lib, self._release) if self._release else None

    @property
    def handle(self):
        """The C handle; AttnError if this object is closed."""
        if not getattr(self, "_handle", None):
            raise AttnError(Status.INVALID_ARGUMENT, f"{self._kind} is closed")
        return self._handle

    @property
    def owner(self):
        """What keeps the C device open; AttnError if this object is closed."""
        if not getattr(self, "_owner", None):
            raise AttnError(Status.INVALID_ARGUMENT, f"{self._kind} is closed")
        return self._owner

    def close(self):
        """Releases the object.  Closing twice is allowed."""
        handle, self._handle = getattr(self, "_handle", None), None
        if handle and self._free:
            self._free(handle)
        self._free = self._owner = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


def create(function, *arguments):
    """Calls a function whose last parameter is the handle that it makes."""
    handle = ctypes.c_void_p()
    function(*arguments, ctypes.byref(handle))
    return handle.value


def invalid(text):
    """The error of a value that this package refuses itself."""
    return AttnError(Status.INVALID_ARGUMENT, text)
