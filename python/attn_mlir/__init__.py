"""attn-mlir: load, plan and run compiled attention kernels.

Standard library only.  The classes are described in `attn_mlir.runtime`, tensors
in `attn_mlir.tensors`, the records of a plan in `attn_mlir.abi`.
"""

from .device import DeviceInfo, Event, Memory, Stream
from .runtime import (AttnError, Bundle, Device, Kernel, Plan, PlanInfo, Status, Table,
                      merge_states)
from .tensors import Tensor

__all__ = ["AttnError", "Bundle", "Device", "DeviceInfo", "Event", "Kernel", "Memory", "Plan",
           "PlanInfo", "Status", "Stream", "Table", "Tensor", "merge_states"]
