"""Every refusal of the package, and that those of the runtime arrive.

usage: test_arguments.py SOURCE_ROOT
"""

import math
import sys
import unittest
from array import array

from attn_mlir import AttnError, Bundle, Device, Kernel, Plan, Status, Table, Tensor, merge_states

from problem import DIM, HEADS, KV_HEADS, POISON, Problem
from tiny_bundle import Tiny, description

TINY = Tiny(sys.argv.pop())
PATH = TINY.bundle()


class Base(unittest.TestCase):
    path = PATH

    def setUp(self):
        bundle, device = Bundle(self.path), Device("cpu")
        self.kernel = Kernel(device, bundle)
        self.plan = Plan(self.kernel)
        self.device = device
        for thing in (bundle, device, self.kernel, self.plan):
            self.addCleanup(thing.close)

    def fails(self, status, text, function, *arguments, **named):
        with self.assertRaises(AttnError) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.text, text)
        self.assertEqual(caught.exception.status, status)
        return caught.exception

    def refused(self, text, function, *arguments, **named):
        return self.fails(Status.INVALID_ARGUMENT, text, function, *arguments, **named)


class Opening(Base):
    def test_error_object(self):
        error = self.fails(Status.NOT_FOUND, "unknown device 'tpu' (known: cpu, cuda, cuda:N)",
                           Device, "tpu")
        self.assertEqual(str(error), f"not found: {error.text}")

    def test_bundle(self):
        with self.assertRaises(AttnError) as caught:
            Bundle("/no/such.attn")
        self.assertEqual(caught.exception.status, Status.IO_ERROR)
        self.assertIn("/no/such.attn", caught.exception.text)
        with open(PATH, "rb") as file:
            data = bytearray(file.read())
        data[-9] ^= 1
        with self.assertRaises(AttnError) as caught:
            Bundle.from_bytes(data)
        self.assertEqual(caught.exception.status, Status.BAD_BUNDLE)

    def test_kernel(self):
        with Bundle(TINY.bundle(description("a"), description("b"))) as two:
            self.refused("the bundle has 2 kernels (a, b): name one", Kernel, self.device, two)
            self.assertEqual(Kernel(self.device, two, "b").info.name, "b")
            with self.assertRaises(AttnError) as caught:
                Kernel(self.device, two, "c")
            self.assertEqual(caught.exception.status, Status.NOT_FOUND)
            with self.assertRaises(AttnError) as caught:
                Kernel(self.device, two, "a", element="bf16")
            self.assertEqual(caught.exception.status, Status.NOT_ADMISSIBLE)
            self.assertIn("#0 element type is f32", caught.exception.text)
            self.refused("element type 'f8' is unknown (known: f32, f16, bf16)", Kernel,
                         self.device, two, "a", element="f8")
            self.refused("q_len is 4294967296 but an i32 lies in [-2147483648, 2147483647]",
                         Kernel, self.device, two, "a", q_len=1 << 32)
            self.refused("specialisation 3 was asked for but kernel 'a' has 1", Kernel,
                         self.device, two, "a", specialisation=3)

    def test_closed(self):
        memory = self.device.alloc(16)
        for kind, thing, use in (
                ("plan", self.plan, lambda: self.plan.plan([1], [1])),
                ("kernel", self.kernel, lambda: self.kernel.code),
                ("device", self.device, lambda: self.device.info),
                ("device", self.device, lambda: self.device.alloc(1)),
                ("memory", memory, lambda: memory.fill(0))):
            thing.close()
            self.refused(f"{kind} is closed", use)
        bundle = Bundle(PATH)
        bundle.close()
        self.refused("bundle is closed", lambda: bundle.kernels)

    def test_memory(self):
        self.refused("memory of -1 bytes was asked for but the least is 0", self.device.alloc, -1)
        with self.device.alloc(8) as memory:
            self.refused("12 bytes are needed but the memory has 8", memory.copy_from,
                         array("f", [0.0] * 3))
            self.refused("12 bytes are needed but the memory has 8", memory.view, (3,), "f32")
            self.refused("the target of the copy is read-only", memory.copy_to, b"12345678")
            self.refused("the source has shape (2,) and strides (2,) but a copy needs packed memory",
                         memory.copy_from, memoryview(array("f", [0.0] * 4))[::2])
            self.refused("the source has element type f64, which is none of f32, f16, bf16, u16, "
                         "i32, i1, u8", memory.copy_from, array("d", [0.0]))

    def test_stream(self):
        self.refused("a str is not a stream", self.plan.plan, [1], [1], stream="main")


class Planning(Base):
    def test_lengths(self):
        plan = self.plan.plan
        self.refused("no lengths are given", plan)
        self.refused("kv_lens holds 2 requests but q_lens holds 1", plan, [1], [1, 2])
        self.refused("kv_indptr holds 2 requests but q_lens holds 1", plan, [1],
                     kv_indptr=[0, 1, 2])
        self.refused("q_indptr has 0 entries but the least is 1", plan, q_indptr=[])
        self.refused("q_lens must be a sequence of integers", plan, [1.5], [1])
        self.refused("q_lens must be a sequence of integers", plan, 3, [1])
        self.refused("kv_lens has an entry outside [-2147483648, 2147483647]", plan, [1],
                     [1 << 31])
        self.refused("batch is 1 but neither kv lengths nor an indptr are given", plan, [1])
        self.refused("q indptr goes from 3 to 2 at request 1", plan, q_indptr=[0, 3, 2],
                     kv_lens=[1, 1])
        self.refused("split_keys is 4294967296 but an i32 lies in [-2147483648, 2147483647]", plan,
                     [1], [1], split_keys=1 << 32)

    def test_limit(self):
        self.fails(Status.LIMIT, "request 0 needs 5 splits of 16 keys but a tile has at most 1",
                   self.plan.plan, [2], [70], split_keys=16, max_splits=1)

    def test_workspace(self):
        needed = self.plan.workspace_bytes([3], [5])
        with self.device.alloc(64) as memory:
            self.fails(Status.TOO_SMALL, f"plan needs {needed} bytes but the workspace has 64",
                       self.plan.plan, [3], [5], workspace=memory)

    def test_params(self):
        def plan(value):
            self.plan.plan([1], [1], params=value)

        self.refused("param 'window' is 2147483648 but an i32 lies in [-2147483648, 2147483647]",
                     plan, {"window": 1 << 31})
        self.refused("param 'window' is i32 but 2.5 was passed", plan, {"window": 2.5})
        self.refused("param 'window' is i32 but True was passed", plan, {"window": True})
        self.refused("param 'bias' is f32 but 'x' was passed", plan, {"bias": "x"})
        self.refused("param 'bias' is 1e+300 but the largest f32 is 3.4028235e+38", plan,
                     {"bias": 1e300})
        self.fails(Status.NOT_FOUND, "kernel 'tiny' has no param 'alpha'", plan, {"alpha": 1})

    def test_tables(self):
        def plan(value):
            self.plan.plan([1], [1], tables={"temp": value})

        ones = array("f", [1.0] * 4)
        self.refused("table 'temp' has rank 2 but 1 was declared", plan,
                     Tensor.of(ones).reshape(2, 2))
        self.refused("table 'temp' has shape (2,) and strides (2,) but must be packed", plan,
                     memoryview(ones)[::2])
        self.refused("table 'temp' has element type i32 but f32 was declared", plan,
                     array("i", [1]))
        self.refused("table 'temp' is on cuda:0 but the kernel runs on cpu", plan,
                     Tensor(0, (1,), (4,), "f32", "cuda:0"))
        self.refused("the host copy of table 'temp' is on cuda:0 but the kernel runs on cpu", plan,
                     Table(ones, Tensor(0, (1,), (4,), "f32", "cuda:0")))
        self.refused("table 'temp' has shape (4,) but its host copy has (3,)", plan,
                     Table(ones, array("f", [1.0] * 3)))
        self.fails(Status.NOT_FOUND, "kernel 'tiny' has no table 'doc'", self.plan.plan, [1], [1],
                   tables={"doc": ones})


class Running(Base):
    def setUp(self):
        super().setUp()
        self.problem = Problem([3], [5])
        self.tables = {"temp": self.problem.temp}
        self.plan.plan([3], [5], tables=self.tables)

    def run_with(self, **changes):
        named = dict(zip(("q", "k", "v", "o", "lse"), self.problem.tensors()))
        named.update(changes)
        self.plan.run(**named)

    def tearDown(self):
        # Whatever was refused wrote nothing.
        self.assertEqual(set(self.problem.o), {POISON})

    def test_no_plan(self):
        plan = Plan(self.kernel)
        self.refused("plan was not built", plan.run, *self.problem.tensors())
        self.refused("plan was not built", lambda: plan.info)
        with self.assertRaises(AttnError):
            self.plan.plan([3], [5], params={"alpha": 1})
        # A failed plan leaves none, not the one before.
        self.refused("plan was not built", self.run_with)
        self.refused("plan was not built", self.plan.records)

    def test_tensors(self):
        q, k, v, o, lse = self.problem.tensors()
        floats = array("f", [0.0] * 1000)

        def shaped(*shape):
            return Tensor(floats.buffer_info()[0], [math.prod(shape[i + 1:])
                                                    for i in range(len(shape))],
                          shape, "f32", "cpu", keep=floats)

        self.refused("q has rank 1 but ragged storage needs 3", self.run_with, q=self.problem.q)
        self.refused("lse has rank 3 but ragged storage needs 2", self.run_with, lse=o)
        self.refused("q has 5 heads but the kernel has 4", self.run_with, q=shaped(3, 5, DIM))
        self.refused("k has 4 heads but the kernel has 2", self.run_with, k=shaped(5, 4, DIM))
        self.refused("lse has 5 heads but the kernel has 4", self.run_with, lse=shaped(3, 5))
        self.refused("v has 7 dims a head but the kernel has 8", self.run_with,
                     v=shaped(5, KV_HEADS, 7))
        self.refused("o holds 2 tokens but the plan needs 3", self.run_with,
                     o=shaped(2, HEADS, DIM))
        self.refused("k holds 4 tokens but the plan needs 5", self.run_with,
                     k=shaped(4, KV_HEADS, DIM))
        self.plan.plan([3, 1], [5, 9])
        self.refused("q holds 3 tokens but the plan needs 4", self.run_with)
        self.plan.plan([3, 0], [5, 9], q_indptr=[0, 3, 3], kv_indptr=[2, 7, 16])
        self.refused("k holds 5 tokens but the plan needs 7", self.run_with)
        self.plan.plan([3], [5])
        self.refused("lse holds 0 tokens but the plan needs 3", self.run_with,
                     lse=shaped(0, HEADS))
        self.refused("q has element type i32 but the kernel has f32", self.run_with,
                     q=Tensor.of(array("i", [0] * 96)).reshape(3, HEADS, DIM))
        self.refused("q has element type u16 but the kernel has f32", self.run_with,
                     q=Tensor.of(array("H", [0] * 96)).reshape(3, HEADS, DIM))
        self.refused("q is on cuda:1 but the kernel runs on cpu", self.run_with,
                     q=Tensor(64, (32, 8, 1), (3, HEADS, DIM), "f32", "cuda:1"))
        frozen = Tensor.of(bytes(self.problem.o)).reshape(384)
        self.refused("o is read-only", self.run_with,
                     o=Tensor.of(memoryview(bytes(384)).cast("f", (3, HEADS, DIM))))
        self.assertTrue(frozen.readonly)
        self.refused("q dim stride is 2 but the kernel needs 1", self.run_with,
                     q=(floats.buffer_info()[0], (64, 16, 2)))
        self.refused("a dict is not a tensor: it has neither the buffer protocol nor __dlpack__ "
                     "and is no pair (pointer, strides)", self.run_with, q={})

    def test_what_the_runtime_refuses(self):
        address = self.problem.q.buffer_info()[0]
        self.refused("q token stride is 34 but the kernel needs a multiple of 4", self.run_with,
                     q=(address, (34, 8, 1)))
        self.refused("q begins 2 bytes past a multiple of 4", self.run_with,
                     q=(address + 2, (32, 8, 1)))
        self.refused("q has a null pointer", self.run_with, q=(0, (32, 8, 1)))
        self.refused("k token stride is -16 but the least is 0", self.run_with,
                     k=Tensor(address, (-16, 8, 1), (5, KV_HEADS, DIM), "f32", "cpu"))
        self.refused("scale inf is not finite", self.run_with, scale=math.inf)
        self.refused("table 'temp' was not passed", self.run_with, tables={})
        self.refused("plan was made with param 'window' = 0x40000000 but 0x00000002 was passed",
                     self.run_with, params={"window": 2})


class DenseRunning(Base):
    path = TINY.bundle(description(storage="Dense"))

    def test_shapes(self):
        problem = Problem([3, 1], [5, 2], dense=True)
        self.plan.plan([3, 1], [5, 2], tables={"temp": problem.temp})
        q, k, v, o, lse = problem.tensors()
        one = Problem([3], [5], dense=True).tensors()
        self.refused("q holds 1 requests but the plan has 2", self.plan.run, one[0], k, v, o, lse)
        self.refused("q has rank 3 but dense storage needs 4", self.plan.run, (64, (32, 8, 1)), k,
                     v, o, lse)
        short = Problem([2, 2], [5, 2], dense=True).tensors()
        self.refused("q holds 2 tokens but the plan needs 3", self.plan.run, short[0], k, v, o, lse)
        with self.assertRaises(AttnError) as caught:
            self.plan.plan(q_indptr=[0, 3], kv_indptr=[0, 5])
        self.assertIn("it takes q lengths, not an indptr", caught.exception.text)


class Merging(Base):
    def test_shapes(self):
        flat = array("f", [0.0] * 6)
        o, lse = Tensor.of(flat).reshape(2, 3), array("f", [0.0] * 2)
        self.refused("o has rank 1 but a state needs 2", merge_states, [], flat, lse)
        self.refused("a state needs packed f32 (2,) on cpu but has f32 (3,) on cpu", merge_states,
                     [], o, array("f", [0.0] * 3))
        self.refused("a state needs packed f32 (2, 3) on cpu but has f32 (3, 2) on cpu",
                     merge_states, [(Tensor.of(flat).reshape(3, 2), lse)], o, lse)
        self.refused("a state needs packed f32 (2,) on cpu but has i32 (2,) on cpu", merge_states,
                     [(o, array("i", [0, 0]))], o, lse)
        self.refused("the merged state is read-only", merge_states, [], o,
                     memoryview(bytes(8)).cast("f"))


if __name__ == "__main__":
    unittest.main()
