"""Bundles: what a compiled file holds.

    with Bundle("llama3.attn") as bundle:
        bundle.kernels                        # ["prefill"]
        bundle.kernel("prefill").heads        # 32
        bundle.kernel("prefill").params       # [ParamInfo(name="window", ...)]

Invariant: everything returned is a copy in Python values, good after close().
"""

import ctypes
import os
import struct
from ctypes import byref, c_uint32
from dataclasses import dataclass
from typing import Any, List

from . import _c
from ._c import lib
from .handles import Handle, create


@dataclass(frozen=True)
class ParamInfo:
    """A runtime parameter.  `default` and the sample range are values of `type`."""
    name: str
    type: str
    default: Any  # None: has none, must be passed
    sample: tuple
    offset: int


@dataclass(frozen=True)
class TableInfo:
    """A table; `index` names the index space of each dimension, outermost first."""
    name: str
    element: str
    index: tuple
    sample: tuple
    sorted: bool
    offset: int


@dataclass(frozen=True)
class HookInfo:
    """A hook; `code` is its postfix encoding (HookExpr.h)."""
    kind: str
    code: bytes


@dataclass(frozen=True)
class CodeInfo:
    """Code of a specialisation for one architecture."""
    kind: str
    arch: str
    data: bytes


@dataclass(frozen=True)
class TensorMapInfo:
    """The recipe of a tensor map: `dims` and `box`, innermost first."""
    tensor: str
    offset: int
    dims: tuple
    box: tuple
    element: str
    swizzle: int
    promotion: int


@dataclass(frozen=True)
class SpecialisationInfo:
    """One compiled form of a kernel: target, tile, launch facts, requirements.

    dynamic   its CTAs take items from the plan's queue, in the plan's order
    cta_an_item  its launch has a CTA for each item
    """
    target: str
    element: str
    output: str
    tile_q: int
    tile_k: int
    pack: int
    entry: str
    merge_entry: str
    codes: int
    tensor_maps: List[TensorMapInfo]
    params_bytes: int
    threads: int
    shared_bytes: int
    merge_threads: int
    merge_shared_bytes: int
    registers: int
    scratch_bytes: int
    merge_scratch_bytes: int
    stride_multiple: int
    base_align: int
    scale_positive: bool
    cost_q: float
    cost_kv: float
    schedule: str
    dynamic: bool
    cta_an_item: bool


@dataclass(frozen=True)
class KernelInfo:
    """What a kernel computes, and its specialisations."""
    name: str
    heads: int
    kv_heads: int
    dim: int
    dim_v: int
    storage: str
    normaliser: str
    default_scale: float
    map_form: str
    block_map: str
    source_hash: str
    params: List[ParamInfo]
    tables: List[TableInfo]
    hooks: List[HookInfo]
    specialisations: List[SpecialisationInfo]


def word_to_value(scalar, bits):
    """The value of a 32-bit pattern: int, float or bool."""
    if scalar == _c.Scalar.F32:
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    if scalar == _c.Scalar.I1:
        return bits != 0
    return struct.unpack("<i", struct.pack("<I", bits))[0]


def name_of(enumeration, value):
    """The lower-case name of an enumerator."""
    return enumeration(value).name.lower()


def plain(info, **enumerations):
    """A structure's fields as Python values; `enumerations` are named by field."""
    values = {}
    for name, *_ in info._fields_:
        value = getattr(info, name)
        if isinstance(value, bytes):
            value = value.decode()
        elif name in enumerations:
            value = name_of(enumerations[name], value)
        values[name] = value
    return values


def _read(function, kind, *arguments):
    info = kind()
    function(*arguments, byref(info))
    return info


class Bundle(Handle):
    """A verified .attn file.

    Raises AttnError: IO_ERROR if the file cannot be read, BAD_BUNDLE if any part
    of it fails verification.
    """

    _kind = "bundle"
    _release = "attnrt_bundle_close"

    def __init__(self, path):
        super().__init__(create(lib.attnrt_bundle_open, os.fsencode(path)))

    @classmethod
    def from_bytes(cls, data):
        """Verifies and copies a bundle that lies in memory."""
        data = bytes(data)
        bundle = cls.__new__(cls)
        Handle.__init__(bundle, create(lib.attnrt_bundle_open_memory, data, len(data)))
        return bundle

    @property
    def compiler(self):
        """The compiler that wrote the bundle."""
        return lib.attnrt_bundle_compiler(self.handle).decode()

    @property
    def kernels(self):
        """Names of the kernels, in the bundle's order."""
        count = lib.attnrt_bundle_kernels(self.handle)
        return [_read(lib.attnrt_bundle_kernel, _c.KernelInfo, self.handle, i).name.decode()
                for i in range(count)]

    def index(self, name):
        """Index of a kernel; AttnError NOT_FOUND lists what there is."""
        return _read(lib.attnrt_bundle_find, c_uint32, self.handle, name.encode()).value

    def kernel(self, name):
        """KernelInfo of the kernel of that name."""
        index = self.index(name)
        raw = _read(lib.attnrt_bundle_kernel, _c.KernelInfo, self.handle, index)
        values = plain(raw, storage=_c.Storage, normaliser=_c.Normaliser)
        values["params"] = [self._param(index, i) for i in range(raw.params)]
        values["tables"] = [self._table(index, i) for i in range(raw.tables)]
        values["hooks"] = [self._hook(index, i) for i in range(raw.hooks)]
        values["specialisations"] = [self._specialisation(index, i)
                                     for i in range(raw.specialisations)]
        return KernelInfo(**values)

    def code(self, name, specialisation, index=0):
        """CodeInfo number `index` of a specialisation; the bytes are copied."""
        raw = _read(lib.attnrt_bundle_code, _c.CodeInfo, self.handle, self.index(name),
                    specialisation, index)
        return CodeInfo(name_of(_c.CodeKind, raw.kind), raw.arch.decode(),
                        ctypes.string_at(raw.data, raw.size))

    def _param(self, kernel, index):
        raw = _read(lib.attnrt_bundle_param, _c.ParamInfo, self.handle, kernel, index)
        default = word_to_value(raw.type, raw.default_bits) if raw.has_default else None
        sample = (word_to_value(raw.type, raw.sample_lo), word_to_value(raw.type, raw.sample_hi))
        return ParamInfo(raw.name.decode(), name_of(_c.Scalar, raw.type), default, sample,
                         raw.offset)

    def _table(self, kernel, index):
        raw = _read(lib.attnrt_bundle_table, _c.TableInfo, self.handle, kernel, index)
        spaces = tuple(name_of(_c.IndexSpace, raw.index[d]) for d in range(raw.rank))
        sample = (word_to_value(raw.element, raw.sample_lo),
                  word_to_value(raw.element, raw.sample_hi))
        return TableInfo(raw.name.decode(), name_of(_c.Scalar, raw.element), spaces, sample,
                         bool(raw.sorted), raw.offset)

    def _hook(self, kernel, index):
        raw = _read(lib.attnrt_bundle_hook, _c.HookInfo, self.handle, kernel, index)
        return HookInfo(name_of(_c.HookKind, raw.kind), ctypes.string_at(raw.code, raw.size))

    def _specialisation(self, kernel, index):
        raw = _read(lib.attnrt_bundle_specialisation, _c.SpecialisationInfo, self.handle, kernel,
                    index)
        values = plain(raw, element=_c.Element, output=_c.Element)
        values["scale_positive"] = bool(raw.scale_positive)
        values["dynamic"] = bool(raw.dynamic)
        values["cta_an_item"] = bool(raw.cta_an_item)
        values["tensor_maps"] = [self._tensor_map(kernel, index, i)
                                 for i in range(raw.tensor_maps)]
        return SpecialisationInfo(**values)

    def _tensor_map(self, kernel, specialisation, index):
        raw = _read(lib.attnrt_bundle_tensor_map, _c.TensorMapInfo, self.handle, kernel,
                    specialisation, index)
        return TensorMapInfo(name_of(_c.MapTensor, raw.tensor), raw.offset,
                             tuple(name_of(_c.MapDim, dim) for dim in raw.dims[:raw.rank]),
                             tuple(raw.box[:raw.rank]), name_of(_c.Element, raw.element),
                             raw.swizzle, raw.promotion)
