"""Loading kernels, planning batches, running attention.

    with Bundle("llama3.attn") as bundle, Device("cpu") as device:
        with Kernel(device, bundle, "prefill", element="f32") as kernel, Plan(kernel) as plan:
            plan.plan(q_lens=[3], kv_lens=[5])      # once a batch
            plan.run(q, k, v, o, lse)               # once a layer

Tensors are anything that Tensor.of takes.  Shapes, outermost first:

    storage   q, o                        k, v                           lse
    ragged    [tokens, heads, dim]        [tokens, kv_heads, dim]        [tokens, heads]
    dense     [batch, tokens, heads, dim] [batch, tokens, kv_heads, dim] [batch, tokens, heads]

(dim of v and o is the kernel's dim_v.)  Strides are free except that the dim
stride is 1 and the specialisation's requirements hold; lse is f32, natural log,
-inf for a row that sees no key.

Every failure raises AttnError with `status` and `text`.  Different objects may be
used from different threads, one plan from one thread at a time.
"""

import ctypes
from ctypes import byref, c_float, c_size_t, c_uint32
from dataclasses import dataclass

from . import _c
from ._c import AttnError, Element, Status, lib
from .abi import read_plan
from .bundle import Bundle
from .device import Device, Memory, stream_pointer
from .handles import Handle, create, invalid
from .tensors import Tensor
from .values import (Table, bind_params, bind_tables, check_device, int32, lengths,
                     pointer_to)

__all__ = ["AttnError", "Bundle", "Device", "Kernel", "Launch", "Plan", "PlanInfo", "Status", "Table",
           "merge_states"]


def _element(name):
    if name is None:
        return _c.ANY_ELEMENT
    try:
        return Element[name.upper()]
    except KeyError:
        raise invalid(f"element type '{name}' is unknown (known: f32, f16, bf16)") from None


class Kernel(Handle):
    """One specialisation of a kernel, loaded on a device.

    device, bundle   may be closed afterwards
    name             of the kernel; None if the bundle has only one
    element, output  "f32", "f16", "bf16" of q, k, v and of o; None: any
    target           e.g. "cpu", "sm_80"; None: any that the device runs
    specialisation   index to force one; None: the cheapest admissible one
    stride_multiple, base_align   what the tensors to come are multiples of
                     (elements, bytes); 0: of everything
    scale_not_positive   True if the scale may be <= 0
    q_len, kv_len    typical request, for the choice; 0: 4096

    Raises AttnError: NOT_FOUND for an unknown name, NOT_ADMISSIBLE with the reason
    for each specialisation, LOAD_ERROR if its code does not load.
    """

    _kind = "kernel"
    _release = "attnrt_kernel_unload"

    def __init__(self, device, bundle, name=None, *, element=None, output=None, target=None,
                 specialisation=None, stride_multiple=0, base_align=0, scale_not_positive=False,
                 q_len=0, kv_len=0):
        if name is None:
            names = bundle.kernels
            if len(names) != 1:
                raise invalid(f"the bundle has {len(names)} kernels ({', '.join(names)}): name one")
            name = names[0]
        forced = 0 if specialisation is None else int32("specialisation", specialisation) + 1
        select = _c.Select(_element(element), _element(output),
                           target.encode() if target else None, forced,
                           int32("stride_multiple", stride_multiple),
                           int32("base_align", base_align), scale_not_positive,
                           int32("q_len", q_len), int32("kv_len", kv_len))
        super().__init__(create(lib.attnrt_kernel_load, device.handle, bundle.handle,
                                name.encode(), byref(select)), device.owner)
        index, chosen = c_uint32(), c_uint32()
        lib.attnrt_kernel_chosen(self.handle, byref(index), byref(chosen))
        #: KernelInfo of the kernel.
        self.info = bundle.kernel(name)
        #: Index of the chosen specialisation, and its SpecialisationInfo.
        self.chosen = chosen.value
        self.specialisation = self.info.specialisations[self.chosen]
        #: Name of the device, e.g. "cuda:0".
        self.device = device.name

    @property
    def code(self):
        """What was loaded, e.g. "x86-64-v4 shared object"."""
        return lib.attnrt_kernel_code(self.handle).decode()


@dataclass(frozen=True)
class PlanInfo:
    """Counts and costs of a plan.  split_keys is 0 if nothing was split."""
    items: int
    merges: int
    slots: int
    requests: int
    split_keys: int
    workers: int
    workspace_bytes: int
    total_cost: float
    longest_cost: float


def _options(split_keys, max_splits, max_workers, narrow):
    """The options of attnrt_plan_params, in its order."""
    return {"split_keys": split_keys, "max_splits": max_splits, "max_workers": max_workers,
            "no_narrowing": int(not narrow)}


class _Batch:
    """The lengths and options of one batch, as C sees them."""

    def __init__(self, kernel, q_lens, kv_lens, q_indptr, kv_indptr, options, params, tables,
                 stream):
        lists = {"q_lens": lengths("q_lens", q_lens), "kv_lens": lengths("kv_lens", kv_lens),
                 "q_indptr": lengths("q_indptr", q_indptr),
                 "kv_indptr": lengths("kv_indptr", kv_indptr)}
        for name, value in options.items():
            int32(name, value)
        self.size = self._size(lists)
        self.params = dict(params or {})
        self.tables = dict(tables or {})
        param_list, param_count = bind_params(kernel.info, self.params)
        table_list, table_count, self._keep = bind_tables(kernel.info, kernel.device, self.tables,
                                                          stream)
        self.raw = _c.PlanParams(
            self.size, *(pointer_to(values) for values in lists.values()), *options.values(),
            param_list, param_count, table_list, table_count)
        self._keep.append(lists)
        ragged = kernel.info.storage == "ragged"
        q_ends = self._ends(ragged, lists["q_lens"], lists["q_indptr"])
        kv_ends = self._ends(ragged, lists["kv_lens"], lists["kv_indptr"])
        # Keys of a request without rows are never read.
        self.q_tokens = max((end for end, rows in q_ends if rows > 0), default=0)
        self.kv_tokens = max((end for (end, keys), (_, rows) in zip(kv_ends, q_ends)
                              if keys > 0 and rows > 0), default=0)

    @staticmethod
    def _size(lists):
        size, first = None, None
        for name, values in lists.items():
            if values is None:
                continue
            if name.endswith("indptr"):
                if not values:
                    raise invalid(f"{name} has 0 entries but the least is 1")
                count = len(values) - 1
            else:
                count = len(values)
            if size is None:
                size, first = count, name
            elif count != size:
                raise invalid(f"{name} holds {count} requests but {first} holds {size}")
        if size is None:
            raise invalid("no lengths are given")
        return size

    @staticmethod
    def _ends(ragged, lens, indptr):
        """(one past the last token in the storage, tokens) of each request."""
        if indptr is not None:
            counts = lens if lens is not None else [b - a for a, b in zip(indptr, indptr[1:])]
            return [(begin + count, count) for begin, count in zip(indptr, counts)]
        ends, begin = [], 0
        for count in lens or ():
            ends.append((begin + count, count))
            begin += count if ragged else 0
        return ends


class Launch:
    """A kernel, a plan and their arguments, ready to run; from Plan.bind.

    Calling it enqueues the kernel and returns; nothing is checked but that the plan
    is still the one that it was bound for.
    """

    def __init__(self, plan, args, stream, keep):
        self._plan, self._args, self._stream, self._keep = plan, args, stream, keep
        self._batch = plan._batch

    def __call__(self):
        plan = self._plan
        if plan._batch is not self._batch:
            raise invalid("the plan was built anew after the launch was bound")
        plan._stream = self._stream
        lib.attnrt_run(plan.kernel.handle, plan.handle, byref(self._args), self._stream)


class Plan(Handle):
    """Work lists of a kernel for one batch shape, built anew by every `plan`.

    A plan owns a workspace unless one is passed to `plan`: device memory that
    grows when a batch needs more and is reused otherwise.  One workspace serves
    one launch in flight.
    """

    _kind = "plan"
    _release = "attnrt_plan_destroy"

    def __init__(self, kernel):
        super().__init__(create(lib.attnrt_plan_create, kernel.handle), kernel.owner)
        self.kernel = kernel
        self._workspace = None
        self._batch = None
        self._stream = None

    def close(self):
        super().close()
        workspace, self._workspace = getattr(self, "_workspace", None), None
        if workspace:
            workspace.close()

    def workspace_bytes(self, q_lens=None, kv_lens=None, *, q_indptr=None, kv_indptr=None,
                        split_keys=0, max_splits=0, max_workers=0):
        """Bytes of workspace that `plan` needs for these lengths and options."""
        batch = _Batch(self.kernel, q_lens, kv_lens, q_indptr, kv_indptr,
                       _options(split_keys, max_splits, max_workers, True), None, None, None)
        return self._bytes(batch)

    def plan(self, q_lens=None, kv_lens=None, *, q_indptr=None, kv_indptr=None, split_keys=0,
             max_splits=0, max_workers=0, narrow=True, params=None, tables=None, workspace=None,
             stream=None):
        """Builds the plan for a batch; returns PlanInfo.

        q_lens, kv_lens       tokens of each request
        q_indptr, kv_indptr   ragged storage: batch + 1 begins; a length list besides
                              shortens requests, a length list alone means that
                              requests follow each other without gaps
        split_keys            keys of a split; 0: chosen for balance, the last tiles too
        max_splits            1: never split; 0: no limit.  With 1 or split_keys a request's
                              rows are the same bit for bit in any batch
        max_workers           0: the whole device
        narrow                False: slices of keys are not narrowed by the mask
        params, tables        values by name; `run` uses the same unless told otherwise
        workspace             Memory, or a pair (pointer, bytes)

        Raises AttnError: INVALID_ARGUMENT for lists that disagree or a value that the
        mask needs and lacks, NOT_FOUND for an unknown name, TOO_SMALL with the bytes,
        LIMIT if a count does not fit its field.
        """
        pointer = stream_pointer(stream)
        self._batch = None
        batch = _Batch(self.kernel, q_lens, kv_lens, q_indptr, kv_indptr,
                       _options(split_keys, max_splits, max_workers, narrow), params, tables,
                       pointer)
        address, size = self._space(batch, workspace)
        lib.attnrt_plan_build(self.handle, byref(batch.raw), address, size, pointer)
        batch.workspace = workspace  # kept alive for the launches to come
        self._batch = batch
        self._stream = pointer
        return self.info

    def _bytes(self, batch):
        size = c_size_t()
        lib.attnrt_plan_workspace(self.handle, byref(batch.raw), byref(size))
        return size.value

    def _space(self, batch, workspace):
        if isinstance(workspace, Memory):
            return workspace.pointer, workspace.size
        if workspace is not None:
            return workspace
        needed = self._bytes(batch)
        if self._workspace is None or self._workspace.size < needed:
            if self._workspace is not None:
                # The last launch may still read it.
                lib.attnrt_stream_synchronize(self.owner.handle, self._stream)
                self._workspace.close()
                self._workspace = None
            self._workspace = Memory(self.owner, self.kernel.device, needed)
        return self._workspace.pointer, self._workspace.size

    @property
    def info(self):
        """PlanInfo of the built plan."""
        raw = self._query()
        return PlanInfo(**{name: getattr(raw, name) for name in PlanInfo.__dataclass_fields__})

    def records(self):
        """The plan buffer (abi.PlanRecords): header, items, merges, requests; a copy."""
        return read_plan(ctypes.addressof(self._query().header.contents))

    def _query(self):
        if self._batch is None:
            raise invalid("plan was not built")
        raw = _c.PlanInfo()
        lib.attnrt_plan_query(self.handle, byref(raw))
        return raw

    def run(self, q, k, v, o, lse=None, *, scale=None, params=None, tables=None, stream=None):
        """Computes attention into `o` and, unless None, `lse`: `bind`, and one call.

        scale    None: the kernel's default, 1 / sqrt(dim)
        params, tables   None: those of `plan`
        stream   cuda: None (default stream), an int, or a stream object; the call
                 returns before the kernel ends and the tensors must live until then

        Shapes are those of the module's table.  Raises AttnError INVALID_ARGUMENT for
        a tensor of another rank, shape, element type or device, one that is read-only
        where it is written, strides or addresses that the specialisation does not take,
        a missing param or table, and values other than those that the plan was narrowed
        with.
        """
        self.bind(q, k, v, o, lse, scale=scale, params=params, tables=tables, stream=stream)()

    def bind(self, q, k, v, o, lse=None, *, scale=None, params=None, tables=None, stream=None):
        """Checks the arguments of `run` once; returns a Launch to be called often.

        Arguments and errors are those of `run`.  The Launch keeps the tensors and is good
        until the plan is built anew or closed.
        """
        if self._batch is None:
            raise invalid("plan was not built")
        pointer = stream_pointer(stream)
        info, chosen = self.kernel.info, self.kernel.specialisation
        batch = self._batch
        given = [  # name, tensor, heads, width, tokens, element type, is written
            ("q", q, info.heads, info.dim, batch.q_tokens, chosen.element, False),
            ("k", k, info.kv_heads, info.dim, batch.kv_tokens, chosen.element, False),
            ("v", v, info.kv_heads, info.dim_v, batch.kv_tokens, chosen.element, False),
            ("o", o, info.heads, info.dim_v, batch.q_tokens, chosen.output, True),
            ("lse", lse, info.heads, None, batch.q_tokens, "f32", True)]
        args = _c.Args()
        keep = []
        for name, value, *facts in given:
            if value is None and name == "lse":
                continue
            tensor = Tensor.of(value, pointer)
            keep.append(tensor)
            setattr(args, name, self._argument(name, tensor, *facts))
        if scale is not None:
            args.scale = ctypes.pointer(c_float(scale))
        params = batch.params if params is None else params
        args.params, args.param_count = bind_params(info, params)
        args.tables, args.table_count, tensors = bind_tables(
            info, self.kernel.device, batch.tables if tables is None else tables, pointer)
        keep += tensors
        return Launch(self, args, pointer, keep)

    def _argument(self, name, tensor, heads, width, tokens, element, written):
        """Checks a tensor against the kernel and the plan; what C cannot see."""
        storage = self.kernel.info.storage
        dense = storage == "dense"
        rank = 2 + dense + (width is not None)
        if len(tensor.strides) != rank:
            raise invalid(f"{name} has rank {len(tensor.strides)} but {storage} storage needs "
                          f"{rank}")
        if tensor.dtype not in (None, element) and not (
                tensor.dtype == "u16" and element in ("f16", "bf16")):
            raise invalid(f"{name} has element type {tensor.dtype} but the kernel has {element}")
        check_device(name, tensor, self.kernel.device)
        if written and tensor.readonly:
            raise invalid(f"{name} is read-only")
        if width is not None and width > 1 and tensor.strides[-1] != 1:
            raise invalid(f"{name} dim stride is {tensor.strides[-1]} but the kernel needs 1")
        if tensor.shape is not None:
            shape = tensor.shape
            wanted = [("heads", shape[1 + dense], heads)]
            if width is not None:
                wanted.append(("dims a head", shape[-1], width))
            for what, has, needs in wanted:
                if has != needs:
                    raise invalid(f"{name} has {has} {what} but the kernel has {needs}")
            if dense and shape[0] < self._batch.size:
                raise invalid(f"{name} holds {shape[0]} requests but the plan has "
                              f"{self._batch.size}")
            if shape[int(dense)] < tokens:
                raise invalid(f"{name} holds {shape[int(dense)]} tokens but the plan needs "
                              f"{tokens}")
        outer = tensor.strides if width is None else tensor.strides[:-1]
        strides = _c.Strides(outer[0] if dense else 0, *outer[-2:])
        # A negative stride is refused by the runtime, which has no sign here.
        return _c.TensorArg(tensor.pointer, strides, max(tensor.elements or 0, 0))


def merge_states(parts, o, lse):
    """Merges attention states on the host: o, lse = merge of `parts`, in order.

    parts   sequence of pairs (o, lse): f32 [rows, dim], f32 [rows], packed, on cpu
    o, lse  the result, of the same shapes; may be the memory of a part

    lse is the natural log, -inf for an empty state; merging no state or only empty
    ones gives the empty state (o = 0).  Raises AttnError INVALID_ARGUMENT for shapes
    or types that do not fit.
    """
    result = (Tensor.of(o), Tensor.of(lse))
    states = [(Tensor.of(part), Tensor.of(part_lse)) for part, part_lse in parts]
    if len(result[0].strides) != 2:
        raise invalid(f"o has rank {len(result[0].strides)} but a state needs 2")
    shape = result[0].shape
    for tensors in [result] + states:
        for tensor, expected in zip(tensors, (shape, shape and shape[:1])):
            if (tensor.shape != expected or tensor.dtype != "f32" or not tensor.is_packed()
                    or tensor.device != "cpu"):
                raise invalid(f"a state needs packed f32 {expected} on cpu but has {tensor.dtype} "
                              f"{tensor.shape} on {tensor.device}")
    if result[0].readonly or result[1].readonly:
        raise invalid("the merged state is read-only")
    count = len(states)
    o_list = (ctypes.c_void_p * count)(*(part.pointer for part, _ in states))
    lse_list = (ctypes.c_void_p * count)(*(part_lse.pointer for _, part_lse in states))
    lib.attnrt_merge_states(count, o_list, lse_list, shape[0], shape[1], result[0].pointer,
                            result[1].pointer)
