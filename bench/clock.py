"""Clocks of the SMs that a launch takes, by stamps in front of and behind it.

A kernel of one instruction writes each SM's %clock64; it runs in front of and behind a
series of launches on the same stream, and the median difference over the SMs, divided by
the number of launches, is what one takes.  Times of a power-limited card drift by 3 percent
with its clock; clocks do not (less than 0.5 percent).

The series must be long: between two launches of a series there are some 1,000 clocks.
"""

import ctypes
import statistics

PTX = """\
.version 7.0
.target sm_70
.address_size 64
.visible .entry stamp(.param .u64 out)
{
    .reg .b32 %sm;
    .reg .b64 %at, %now;
    ld.param.u64 %at, [out];
    cvta.to.global.u64 %at, %at;
    mov.u32 %sm, %smid;
    mad.wide.u32 %at, %sm, 8, %at;
    mov.u64 %now, %clock64;
    st.global.u64 [%at], %now;
    ret;
}
"""


class Clock:
    """Stamps on the current context; `sms` is the number of SMs."""

    def __init__(self, sms, library="libcuda.so.1"):
        self.cuda, self.sms = ctypes.CDLL(library), sms
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), PTX.encode())
        self.check("cuModuleGetFunction", ctypes.byref(self.function), module, b"stamp")

    def check(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name} gives {status}")

    def stamp(self, address, stream):
        """Writes a 64-bit clock for each SM at `address` (device memory, one word an SM)."""
        pointer = ctypes.c_uint64(address)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
        # Several CTAs an SM, so that none is left out; the last one's stamp stays.
        self.check("cuLaunchKernel", self.function, 8 * self.sms, 1, 1, 1, 1, 1, 0,
                   ctypes.c_void_p(stream), arguments, None)


def clocks_between(before, behind, launches):
    """Clocks of a launch from the stamps of each SM; 0 is an SM without one."""
    spans = [b - a for a, b in zip(before, behind) if a and b]
    if not spans:
        raise RuntimeError("no SM has both stamps")
    return statistics.median(spans) / launches
