"""The C API of the runtime (attnrt.h) as ctypes declarations.

    attnrt_status attnrt_plan_create(attnrt_kernel *, attnrt_plan **);
    ->  "attnrt_plan_create": (c_int, [c_void_p, POINTER(c_void_p)])

Handles are plain c_void_p; runtime.py owns them.  Functions that return a status
raise AttnError through `_check`, so no caller can forget to look.

Invariant: one entry a struct, enumerator and function of the header;
test/python/test_abi.py compares all three with the header.
"""

import ctypes
from ctypes import (POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32,
                    c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)
from enum import IntEnum

from . import _library
from .abi import STRUCTS as ABI_STRUCTS
from .abi import MAP_MAX_RANK, TABLE_MAX_RANK, PlanHeader, Strides


class Status(IntEnum):
    """Why a call failed."""
    OK = 0
    INVALID_ARGUMENT = 1
    IO_ERROR = 2
    BAD_BUNDLE = 3
    NOT_FOUND = 4
    NOT_ADMISSIBLE = 5
    TOO_SMALL = 6
    OUT_OF_MEMORY = 7
    NO_DRIVER = 8
    DRIVER_ERROR = 9
    LOAD_ERROR = 10
    LIMIT = 11


class Element(IntEnum):
    F32 = 0
    F16 = 1
    BF16 = 2


class Storage(IntEnum):
    DENSE = 0
    RAGGED = 1


class Normaliser(IntEnum):
    SOFTMAX = 0
    NO_NORMALISER = 1


class CodeKind(IntEnum):
    SHARED_OBJECT = 0
    PTX = 1
    CUBIN = 2


class CopyKind(IntEnum):
    HOST_TO_DEVICE = 0
    DEVICE_TO_HOST = 1
    DEVICE_TO_DEVICE = 2


class Scalar(IntEnum):
    I32 = 0
    F32 = 1
    I1 = 2


class HookKind(IntEnum):
    SCORE = 0
    MASK = 1
    SINK = 2
    QUERY = 3
    KEY = 4
    VALUE = 5
    OUTPUT = 6


class IndexSpace(IntEnum):
    HEAD = 0
    BATCH = 1
    POSITION = 2
    FREE = 3


class MapTensor(IntEnum):
    Q = 0
    K = 1
    V = 2


class MapDim(IntEnum):
    DIM = 0
    GROUP = 1
    TOKEN = 2
    HEAD = 3
    BATCH = 4


ANY_ELEMENT = -1

# Python enumeration -> C enumeration and the prefix of its enumerators.
ENUMS = {Status: ("attnrt_status", "ATTNRT_"), Element: ("attnrt_element", "ATTNRT_"),
         Storage: ("attnrt_storage", "ATTNRT_"), Normaliser: ("attnrt_normaliser", "ATTNRT_"),
         CodeKind: ("attnrt_code_kind", "ATTNRT_CODE_"), CopyKind: ("attnrt_copy_kind", "ATTNRT_"),
         Scalar: ("attn_scalar", "ATTN_"), HookKind: ("attn_hook_kind", "ATTN_HOOK_"),
         IndexSpace: ("attn_index_space", "ATTN_INDEX_"),
         MapTensor: ("attn_map_tensor", "ATTN_MAP_"), MapDim: ("attn_map_dim", "ATTN_MAP_")}


class AttnError(Exception):
    """A call that failed: `status` (a Status) and `text` (what and the numbers)."""

    def __init__(self, status, text):
        super().__init__(f"{Status(status).name.lower().replace('_', ' ')}: {text}")
        self.status = Status(status)
        self.text = text


class KernelInfo(Structure):
    _fields_ = [("name", c_char_p), ("heads", c_int32), ("kv_heads", c_int32), ("dim", c_int32),
                ("dim_v", c_int32), ("storage", c_int), ("normaliser", c_int),
                ("default_scale", c_float), ("params", c_uint32), ("tables", c_uint32),
                ("hooks", c_uint32), ("specialisations", c_uint32), ("map_form", c_char_p),
                ("block_map", c_char_p), ("source_hash", c_char_p)]


class ParamInfo(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("has_default", c_int32),
                ("default_bits", c_uint32), ("sample_lo", c_uint32), ("sample_hi", c_uint32),
                ("offset", c_uint32)]


class TableInfo(Structure):
    _fields_ = [("name", c_char_p), ("element", c_int), ("rank", c_uint32),
                ("index", c_int * TABLE_MAX_RANK), ("sample_lo", c_uint32),
                ("sample_hi", c_uint32), ("sorted", c_int32), ("offset", c_uint32)]


class HookInfo(Structure):
    _fields_ = [("kind", c_int), ("code", c_void_p), ("size", c_size_t)]


class SpecialisationInfo(Structure):
    _fields_ = [("target", c_char_p), ("element", c_int), ("output", c_int), ("tile_q", c_int32),
                ("tile_k", c_int32), ("pack", c_int32), ("entry", c_char_p),
                ("merge_entry", c_char_p), ("codes", c_uint32), ("tensor_maps", c_uint32),
                ("params_bytes", c_uint32), ("threads", c_uint32), ("shared_bytes", c_uint32), ("merge_threads", c_uint32),
                ("merge_shared_bytes", c_uint32), ("registers", c_uint32),
                ("scratch_bytes", c_uint32), ("merge_scratch_bytes", c_uint32),
                ("stride_multiple", c_uint32), ("base_align", c_uint32),
                ("scale_positive", c_int32), ("cost_q", c_float), ("cost_kv", c_float),
                ("schedule", c_char_p), ("dynamic", c_int32),
                ("cta_an_item", c_int32)]


class TensorMapInfo(Structure):
    _fields_ = [("tensor", c_int), ("offset", c_uint32), ("rank", c_uint32),
                ("dims", c_int * MAP_MAX_RANK), ("box", c_uint32 * MAP_MAX_RANK),
                ("element", c_int), ("swizzle", c_uint32), ("promotion", c_uint32)]


class CodeInfo(Structure):
    _fields_ = [("kind", c_int), ("arch", c_char_p), ("data", c_void_p), ("size", c_size_t)]


class DeviceOptions(Structure):
    _fields_ = [("driver", c_char_p), ("threads", c_int32), ("max_arch", c_char_p)]


class DeviceInfo(Structure):
    _fields_ = [("name", c_char * 128), ("arch", c_char * 32), ("is_cuda", c_int32),
                ("processors", c_int32), ("memory_bytes", c_uint64), ("l2_bytes", c_uint64),
                ("shared_bytes", c_uint32), ("clock_khz", c_int32), ("driver_version", c_int32)]


class Select(Structure):
    _fields_ = [("element", c_int32), ("output", c_int32), ("target", c_char_p),
                ("specialisation", c_int32), ("stride_multiple", c_uint32),
                ("base_align", c_uint32), ("scale_not_positive", c_int32), ("q_len", c_int32),
                ("kv_len", c_int32)]


class Param(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("bits", c_uint32)]


class Table(Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("host", c_void_p),
                ("extent", c_uint32 * TABLE_MAX_RANK), ("version", c_uint32)]


class PlanParams(Structure):
    _fields_ = [("batch", c_int32), ("q_lens", POINTER(c_int32)), ("kv_lens", POINTER(c_int32)),
                ("q_indptr", POINTER(c_int32)), ("kv_indptr", POINTER(c_int32)),
                ("split_keys", c_int32), ("max_splits", c_int32), ("max_workers", c_int32),
                ("no_narrowing", c_int32), ("params", POINTER(Param)), ("param_count", c_uint32),
                ("tables", POINTER(Table)), ("table_count", c_uint32)]


class PlanInfo(Structure):
    _fields_ = [("items", c_uint32), ("merges", c_uint32), ("slots", c_uint32),
                ("requests", c_uint32), ("split_keys", c_uint32), ("workers", c_uint32),
                ("workspace_bytes", c_uint64), ("total_cost", c_double),
                ("longest_cost", c_double), ("header", POINTER(PlanHeader))]


class TensorArg(Structure):
    _fields_ = [("data", c_void_p), ("strides", Strides), ("elements", c_uint64)]


class Args(Structure):
    _fields_ = [("q", TensorArg), ("k", TensorArg), ("v", TensorArg), ("o", TensorArg),
                ("lse", TensorArg), ("scale", POINTER(c_float)), ("params", POINTER(Param)),
                ("param_count", c_uint32), ("tables", POINTER(Table)), ("table_count", c_uint32)]


STRUCTS = {
    **ABI_STRUCTS,
    "attnrt_kernel_info": KernelInfo,
    "attnrt_param_info": ParamInfo,
    "attnrt_table_info": TableInfo,
    "attnrt_hook_info": HookInfo,
    "attnrt_specialisation_info": SpecialisationInfo,
    "attnrt_tensor_map_info": TensorMapInfo,
    "attnrt_code_info": CodeInfo,
    "attnrt_device_options": DeviceOptions,
    "attnrt_device_info": DeviceInfo,
    "attnrt_select": Select,
    "attnrt_param": Param,
    "attnrt_table": Table,
    "attnrt_plan_params": PlanParams,
    "attnrt_plan_info": PlanInfo,
    "attnrt_tensor": TensorArg,
    "attnrt_args": Args,
}

_HANDLE = c_void_p
_OUT = POINTER(c_void_p)
_U32 = POINTER(c_uint32)
# A result of this type is checked; other results are returned as they are.
_STATUS = Status

PROTOTYPES = {
    "attnrt_status_name": (c_char_p, [c_int]),
    "attnrt_last_error": (c_char_p, []),
    "attnrt_abi_version": (c_uint32, []),
    "attnrt_bundle_open": (_STATUS, [c_char_p, _OUT]),
    "attnrt_bundle_open_memory": (_STATUS, [c_char_p, c_size_t, _OUT]),
    "attnrt_bundle_close": (None, [_HANDLE]),
    "attnrt_bundle_compiler": (c_char_p, [_HANDLE]),
    "attnrt_bundle_kernels": (c_uint32, [_HANDLE]),
    "attnrt_bundle_find": (_STATUS, [_HANDLE, c_char_p, _U32]),
    "attnrt_bundle_kernel": (_STATUS, [_HANDLE, c_uint32, POINTER(KernelInfo)]),
    "attnrt_bundle_param": (_STATUS, [_HANDLE, c_uint32, c_uint32, POINTER(ParamInfo)]),
    "attnrt_bundle_table": (_STATUS, [_HANDLE, c_uint32, c_uint32, POINTER(TableInfo)]),
    "attnrt_bundle_hook": (_STATUS, [_HANDLE, c_uint32, c_uint32, POINTER(HookInfo)]),
    "attnrt_bundle_specialisation": (_STATUS, [_HANDLE, c_uint32, c_uint32,
                                               POINTER(SpecialisationInfo)]),
    "attnrt_bundle_code": (_STATUS, [_HANDLE, c_uint32, c_uint32, c_uint32, POINTER(CodeInfo)]),
    "attnrt_bundle_tensor_map": (_STATUS, [_HANDLE, c_uint32, c_uint32, c_uint32,
                                           POINTER(TensorMapInfo)]),
    "attnrt_device_open": (_STATUS, [c_char_p, POINTER(DeviceOptions), _OUT]),
    "attnrt_device_close": (None, [_HANDLE]),
    "attnrt_device_query": (_STATUS, [_HANDLE, POINTER(DeviceInfo)]),
    "attnrt_mem_alloc": (_STATUS, [_HANDLE, c_size_t, _OUT]),
    "attnrt_mem_free": (_STATUS, [_HANDLE, c_void_p]),
    "attnrt_mem_copy": (_STATUS, [_HANDLE, c_void_p, c_void_p, c_size_t, c_int, c_void_p]),
    "attnrt_mem_set": (_STATUS, [_HANDLE, c_void_p, c_uint8, c_size_t, c_void_p]),
    "attnrt_stream_create": (_STATUS, [_HANDLE, _OUT]),
    "attnrt_stream_destroy": (_STATUS, [_HANDLE, c_void_p]),
    "attnrt_stream_synchronize": (_STATUS, [_HANDLE, c_void_p]),
    "attnrt_event_create": (_STATUS, [_HANDLE, _OUT]),
    "attnrt_event_destroy": (None, [_HANDLE]),
    "attnrt_event_record": (_STATUS, [_HANDLE, c_void_p]),
    "attnrt_event_elapsed": (_STATUS, [_HANDLE, _HANDLE, POINTER(c_float)]),
    "attnrt_kernel_load": (_STATUS, [_HANDLE, _HANDLE, c_char_p, POINTER(Select), _OUT]),
    "attnrt_kernel_unload": (None, [_HANDLE]),
    "attnrt_kernel_chosen": (_STATUS, [_HANDLE, _U32, _U32]),
    "attnrt_kernel_code": (c_char_p, [_HANDLE]),
    "attnrt_plan_create": (_STATUS, [_HANDLE, _OUT]),
    "attnrt_plan_destroy": (None, [_HANDLE]),
    "attnrt_plan_workspace": (_STATUS, [_HANDLE, POINTER(PlanParams), POINTER(c_size_t)]),
    "attnrt_plan_build": (_STATUS, [_HANDLE, POINTER(PlanParams), c_void_p, c_size_t, c_void_p]),
    "attnrt_plan_query": (_STATUS, [_HANDLE, POINTER(PlanInfo)]),
    "attnrt_run": (_STATUS, [_HANDLE, _HANDLE, POINTER(Args), c_void_p]),
    "attnrt_merge_states": (_STATUS, [c_uint32, POINTER(c_void_p), POINTER(c_void_p), c_uint64,
                                      c_uint32, c_void_p, c_void_p]),
}


def _check(status, function, arguments):
    if status != Status.OK:
        # The text belongs to this thread, and no other call has been made on it.
        raise AttnError(status, lib.attnrt_last_error().decode(errors="replace"))
    return status


def _declare(library):
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        if result is _STATUS:
            function.restype = c_int
            function.errcheck = _check
        else:
            function.restype = result
    return library


#: The runtime.
lib = _declare(_library.load(_library.find()))

