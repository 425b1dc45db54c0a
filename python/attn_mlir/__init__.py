"""attn-mlir: compile, load, plan and run attention kernels.

Standard library only.  The classes are described in `attn_mlir.runtime`, tensors
in `attn_mlir.tensors`, the records of a plan in `attn_mlir.abi`.
"""

from .compiler import CompileError, compile_file, compile_text
from .device import DeviceInfo, Event, Memory, Stream
from .runtime import (AttnError, Bundle, Device, Kernel, Launch, Plan, PlanInfo, Status, Table,
                      merge_states)
from .tensors import Tensor

__all__ = ["AttnError", "Bundle", "CompileError", "Device", "DeviceInfo", "Event", "Kernel",
           "Launch", "Memory", "Plan", "PlanInfo", "Status", "Stream", "Table", "Tensor",
           "compile_file", "compile_text", "merge_states"]
