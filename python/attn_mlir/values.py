"""Runtime parameters, tables and lengths on their way to C.

    {"window": 512}            -> attnrt_param {"window", i32, 512}
    {"doc": Table(ids)}        -> attnrt_table {"doc", data, host, extents}
    q_lens=[5, 1]              -> int32_t[2]

Names, duplicates and missing values are judged by the runtime; here only what C
cannot see is checked: Python types, ranges and shapes.
"""

import operator
import struct
from array import array
from ctypes import c_int32
from typing import Any, NamedTuple

from . import _c
from .handles import invalid
from .tensors import Tensor


class Table(NamedTuple):
    """The contents of a table.

    data      tensor in device memory, packed, of the declared rank
    host      the same contents on the host, or None: then the planner does not
              narrow by a mask that reads the table (on cpu, data serves as both)
    version   to be changed with the contents: a plan is bound to it
    """
    data: Any
    host: Any = None
    version: int = 0


def int32(name, value):
    """`value` as an int that fits; ctypes would cut it."""
    number = operator.index(value)
    if not -2**31 <= number < 2**31:
        raise invalid(f"{name} is {number} but an i32 lies in [{-2**31}, {2**31 - 1}]")
    return number


def param_bits(name, scalar, value):
    """The 32-bit pattern of a value of a declared type."""
    try:
        if scalar == "f32":
            return struct.unpack("<I", struct.pack("<f", value))[0]
        if scalar == "i1" and isinstance(value, bool):
            return int(value)
        if scalar == "i32" and not isinstance(value, bool):
            return int32(f"param '{name}'", value) & 0xffffffff
    except OverflowError:
        raise invalid(f"param '{name}' is {value} but the largest f32 is 3.4028235e+38") from None
    except (TypeError, struct.error):
        pass
    raise invalid(f"param '{name}' is {scalar} but {value!r} was passed")


def bind_params(info, params):
    """(attnrt_param array or None, count) for a dict of values by name."""
    declared = {param.name: param.type for param in info.params}
    result = (_c.Param * len(params))()
    for slot, (name, value) in zip(result, params.items()):
        # The runtime refuses an unknown name; its type does not matter.
        scalar = declared.get(name)
        slot.name = name.encode()
        slot.type = _c.Scalar[scalar.upper()] if scalar else _c.Scalar.I32
        slot.bits = param_bits(name, scalar, value) if scalar else 0
    return result if params else None, len(params)


def _table_tensor(declared, value, stream):
    tensor = Tensor.of(value, stream)
    name = declared.name
    if len(tensor.strides) != len(declared.index):
        raise invalid(f"table '{name}' has rank {len(tensor.strides)} but {len(declared.index)} "
                      "was declared")
    if not tensor.is_packed():
        raise invalid(f"table '{name}' has shape {tensor.shape} and strides {tensor.strides} but "
                      "must be packed")
    if tensor.dtype != declared.element and (declared.element, tensor.dtype) != ("i1", "u8"):
        raise invalid(f"table '{name}' has element type {tensor.dtype} but {declared.element} was "
                      "declared")
    return tensor


def bind_tables(info, device, tables, stream):
    """(attnrt_table array or None, count, tensors to keep) for tables by name."""
    declared = {table.name: table for table in info.tables}
    result = (_c.Table * len(tables))()
    keep = []
    for slot, (name, value) in zip(result, tables.items()):
        slot.name = name.encode()
        if name not in declared:
            continue  # refused by the runtime
        given = value if isinstance(value, Table) else Table(value)
        data = _table_tensor(declared[name], given.data, stream)
        check_device(f"table '{name}'", data, device)
        host = data if given.host is None and device == "cpu" else None
        if given.host is not None:
            host = _table_tensor(declared[name], given.host, None)
            check_device(f"the host copy of table '{name}'", host, "cpu")
            if host.shape != data.shape:
                raise invalid(f"table '{name}' has shape {data.shape} but its host copy has "
                              f"{host.shape}")
        for d, extent in enumerate(data.shape):
            slot.extent[d] = min(extent, 2**32 - 1)
        slot.data = data.pointer
        slot.host = host.pointer if host else None
        slot.version = given.version
        keep += [data, host]
    return result if tables else None, len(tables), keep


def check_device(name, tensor, device):
    """Refuses memory that the kernel's device cannot reach."""
    if tensor.device not in (None, device):
        raise invalid(f"{name} is on {tensor.device} but the kernel runs on {device}")


def lengths(name, values):
    """int32 values of a list or buffer; None stays None."""
    if values is None:
        return None
    try:
        return array("i", [operator.index(value) for value in values])
    except TypeError:
        raise invalid(f"{name} must be a sequence of integers") from None
    except OverflowError:
        raise invalid(f"{name} has an entry outside [{-2**31}, {2**31 - 1}]") from None


def pointer_to(values):
    """A C array on the memory of an array of int32."""
    return (c_int32 * len(values)).from_buffer(values) if values else None
