"""Records of the binary contract, as in include/attn/ABI.

A plan is one buffer: header, items, merges, requests.  `read_plan` copies it
into Python:

    records = read_plan(address_of_header)
    records.items[0].kv_end, records.items[0].splits

Invariant: sizes and offsets equal the C ones; this module checks the sizes that
the C headers promise, test/python/test_abi.py checks every field with the C
compiler.
"""

import ctypes
from ctypes import c_float, c_int32, c_int64, c_uint32, c_uint64
from typing import NamedTuple

TABLE_MAX_RANK = 3
MAP_MAX_RANK = 5
MAX_SPLITS = 4095


class _Record(ctypes.Structure):
    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name, *_ in self._fields_
                           if name != "reserved")
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other):
        return type(self) is type(other) and bytes(self) == bytes(other)

    __hash__ = None


class WorkItem(_Record):
    """One tile of packed rows times one slice [kv_begin, kv_end) of keys."""
    _fields_ = [("request", c_int32), ("head", c_int32), ("row0", c_int32), ("rows", c_int32),
                ("kv_begin", c_int32), ("kv_end", c_int32), ("slot", c_int32), ("flags", c_uint32)]

    @property
    def body(self):
        """What the plan knows of the blocks that all rows see; 0: nothing (WorkItem.h)."""
        return self.flags & 0xff

    @property
    def split(self):
        """Number of this split among `splits`."""
        return self.flags >> 8 & 0xfff

    @property
    def splits(self):
        """Splits of the tile."""
        return self.flags >> 20 & 0xfff


class MergeItem(_Record):
    """Slots first_slot .. first_slot + count - 1 become one tile of output."""
    _fields_ = [("request", c_int32), ("head", c_int32), ("row0", c_int32), ("rows", c_int32),
                ("first_slot", c_int32), ("count", c_int32), ("reserved", c_int32 * 2)]


class RequestRecord(_Record):
    """Where a request's tokens lie."""
    _fields_ = [("q_begin", c_int32), ("q_len", c_int32), ("kv_begin", c_int32),
                ("kv_len", c_int32)]


class PlanHeader(_Record):
    """Counts, and offsets in bytes from the header's begin."""
    _fields_ = [("abi", c_uint32), ("items", c_uint32), ("merges", c_uint32),
                ("requests", c_uint32), ("item_capacity", c_uint32),
                ("merge_capacity", c_uint32), ("request_capacity", c_uint32),
                ("slots", c_uint32), ("items_offset", c_uint32), ("merges_offset", c_uint32),
                ("requests_offset", c_uint32), ("bytes", c_uint32), ("queue_next", c_uint32),
                ("queue_done", c_uint32), ("reserved", c_uint32 * 2)]


class Strides(_Record):
    """Element strides; the innermost stride is 1."""
    _fields_ = [("batch", c_int64), ("token", c_int64), ("head", c_int64)]


class KernelParams(_Record):
    """The fixed part of the parameter struct of every kernel."""
    _fields_ = [("q", c_uint64), ("k", c_uint64), ("v", c_uint64), ("o", c_uint64),
                ("lse", c_uint64), ("plan", c_uint64), ("partial_o", c_uint64),
                ("partial_rows", c_uint64), ("q_strides", Strides), ("k_strides", Strides),
                ("v_strides", Strides), ("o_strides", Strides), ("lse_strides", Strides),
                ("heads", c_int32), ("kv_heads", c_int32), ("scale", c_float),
                ("reserved", c_int32)]


class TableParam(_Record):
    """A table in the parameter struct; row-major, unused extents are 1."""
    _fields_ = [("data", c_uint64), ("extent", c_uint32 * TABLE_MAX_RANK), ("version", c_uint32)]


STRUCTS = {
    "attn_work_item": WorkItem,
    "attn_merge_item": MergeItem,
    "attn_request_record": RequestRecord,
    "attn_plan_header": PlanHeader,
    "attn_strides": Strides,
    "attn_kernel_params": KernelParams,
    "attn_table_param": TableParam,
}

for _type, _bytes in ((WorkItem, 32), (MergeItem, 32), (RequestRecord, 16), (PlanHeader, 64),
                      (Strides, 24), (KernelParams, 200), (TableParam, 24)):
    if ctypes.sizeof(_type) != _bytes:
        raise ImportError(f"{_type.__name__} has {ctypes.sizeof(_type)} bytes "
                          f"but the binary contract has {_bytes}")


class PlanRecords(NamedTuple):
    """A plan buffer, copied."""
    header: PlanHeader
    items: list
    merges: list
    requests: list


def read_plan(address):
    """Copies the plan buffer at a host address."""
    header = PlanHeader.from_buffer_copy(PlanHeader.from_address(address))

    def records(kind, offset, count):
        array = (kind * count).from_address(address + offset)
        return [kind.from_buffer_copy(record) for record in array]

    return PlanRecords(header,
                       records(WorkItem, header.items_offset, header.items),
                       records(MergeItem, header.merges_offset, header.merges),
                       records(RequestRecord, header.requests_offset, header.requests))
