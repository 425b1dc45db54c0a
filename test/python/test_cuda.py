"""The cuda device over the stand-in for the driver: device memory is host memory
and launches are recorded.

usage: test_cuda.py SOURCE_ROOT BUILD_ROOT
"""

import ctypes
import sys
import unittest
from array import array
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_uint32, c_void_p

from attn_mlir import AttnError, Bundle, Device, Kernel, Plan, Status, Table
from attn_mlir.abi import KernelParams, TableParam, read_plan

from dlpack import Producer
from problem import DIM, HEADS, KV_HEADS, Problem
from tiny_bundle import Tiny, description, specialisation

DRIVER = sys.argv.pop() + "/lib/fakecuda.so"
TINY = Tiny(sys.argv.pop())
PTX = {"kind": "PTX", "arch": "sm_80", "data": list(b".version 7.0 .target sm_80")}
PATH = TINY.bundle(description(specialisations=[specialisation(
    target="sm_80", threads=128, shared_bytes=1024, merge_threads=64, code=[PTX])]))


class Launch(Structure):
    _fields_ = [("entry", c_char_p), ("grid", c_uint32), ("threads", c_uint32),
                ("shared_bytes", c_uint32), ("params", c_void_p), ("stream", c_void_p)]


FAKE_KERNEL = CFUNCTYPE(None, POINTER(Launch), c_void_p)


class ForeignStream:
    def __init__(self, pointer):
        self.cuda_stream = pointer


class ProtocolStream:
    def __init__(self, pointer):
        self.pointer = pointer

    def __cuda_stream__(self):
        return (0, self.pointer)


class Cuda(unittest.TestCase):
    def setUp(self):
        self.fake = ctypes.CDLL(DRIVER)
        self.fake.attn_fake_set_kernel.argtypes = [FAKE_KERNEL, c_void_p]
        self.fake.attn_fake_reset()
        self.launches = []
        self.callback = FAKE_KERNEL(self.launched)
        self.fake.attn_fake_set_kernel(self.callback, None)

    def launched(self, launch, _):
        record = launch.contents
        self.launches.append({
            "entry": record.entry.decode(), "threads": record.threads, "stream": record.stream,
            "fixed": KernelParams.from_buffer_copy(ctypes.string_at(record.params, 200)),
            "temp": TableParam.from_buffer_copy(ctypes.string_at(record.params + 208, 24)),
            "words": ctypes.string_at(record.params + 200, 8)})

    def test_no_driver(self):
        with self.assertRaises(AttnError) as caught:
            Device("cuda:0", driver="/no/such/libcuda.so.1")
        self.assertEqual(caught.exception.status, Status.NO_DRIVER)
        self.assertIn("/no/such/libcuda.so.1", caught.exception.text)

    def test_device(self):
        with Device("cuda", driver=DRIVER) as device:
            self.assertEqual(device.name, "cuda:0")
            info = device.info
            self.assertEqual((info.is_cuda, info.processors, info.arch), (True, 132, "sm_90"))
            values, back = array("f", [1.0, 2.0]), array("f", [0.0, 0.0])
            with device.alloc(8) as memory, device.stream() as stream:
                self.assertTrue(stream.pointer)
                memory.copy_from(values, stream)
                memory.copy_to(back, stream)
                stream.synchronize()
                device.synchronize(stream)
                self.assertEqual(memory.view((2,), "f32").device, "cuda:0")
            self.assertEqual(back, values)

    def test_run(self):
        problem = Problem([3], [5])
        lists = {"q": (problem.q, 3, HEADS), "k": (problem.k, 5, KV_HEADS),
                 "v": (problem.v, 5, KV_HEADS), "o": (problem.o, 3, HEADS)}
        given = {name: Producer(data.buffer_info()[0], (tokens, heads, DIM), device=(2, 0))
                 for name, (data, tokens, heads) in lists.items()}
        with Bundle(PATH) as bundle, Device("cuda:0", driver=DRIVER) as device, \
                device.alloc(16) as temp, device.stream() as stream:
            temp.copy_from(problem.temp)
            table = Table(temp.view((HEADS,), "f32"), problem.temp, 7)
            kernel = Kernel(device, bundle)
            plan = Plan(kernel)
            self.assertEqual(kernel.code, "sm_80 ptx")
            plan.plan([3], [5], params={"window": 4}, tables={"temp": table}, stream=stream)
            for handle in (stream, stream.pointer, ForeignStream(stream.pointer),
                           ProtocolStream(stream.pointer)):
                plan.run(given["q"], given["k"], given["v"], given["o"], scale=0.5, stream=handle)
            self.assertEqual([launch["entry"] for launch in self.launches], ["tiny_attention"] * 4)
            first = self.launches[0]
            fixed = first["fixed"]
            self.assertEqual((fixed.q, fixed.o, fixed.lse), (problem.q.buffer_info()[0],
                                                             problem.o.buffer_info()[0], 0))
            self.assertEqual((fixed.q_strides.token, fixed.k_strides.token, fixed.k_strides.head),
                             (HEADS * DIM, KV_HEADS * DIM, DIM))
            self.assertEqual((fixed.heads, fixed.kv_heads, fixed.scale), (4, 2, 0.5))
            self.assertEqual(first["words"], bytes(4) + (4).to_bytes(4, "little"))
            self.assertEqual((first["temp"].data, first["temp"].extent[0], first["temp"].version),
                             (temp.pointer, HEADS, 7))
            # The plan that was uploaded is the one that is reported.
            self.assertEqual(read_plan(fixed.plan), plan.records())
            self.assertEqual({launch["stream"] for launch in self.launches}, {stream.pointer})
            self.assertEqual(given["q"].streams, [stream.pointer] * 4)
            with self.assertRaises(AttnError) as caught:
                plan.run(problem.tensors()[0], given["k"], given["v"], given["o"])
            self.assertEqual(caught.exception.text, "q is on cpu but the kernel runs on cuda:0")
            plan.close()
            kernel.close()
        self.assertEqual(self.fake.attn_fake_live(), 0)

    def test_sixteen_bit_types(self):
        """bf16 in, f16 out: by name, by DLPack code, or as 16-bit words."""
        path = TINY.bundle(description(specialisations=[specialisation(
            target="sm_80", element="BF16", output="F16", threads=128, merge_threads=64,
            code=[PTX])]))
        with Bundle(path) as bundle, Device("cuda:0", driver=DRIVER) as device, \
                device.alloc(4096) as memory, device.alloc(16) as temp:
            kernel = Kernel(device, bundle, element="bf16", output="f16")
            plan = Plan(kernel)
            plan.plan([3], [5], tables={"temp": Table(temp.view((4,), "f32"))})
            shape = (5, KV_HEADS, DIM)
            v, o = memory.view(shape, "u16"), memory.view((3, HEADS, DIM), "f16")
            for code, bits, named in ((4, 16, "bf16"), (1, 16, "u16")):
                plan.run(memory.view((3, HEADS, DIM), named),
                         Producer(memory.pointer, shape, code, bits, device=(2, 0)), v, o)
            self.assertEqual(len(self.launches), 2)
            q = memory.view((3, HEADS, DIM), "bf16")
            for text, given in (("q has element type f16 but the kernel has bf16", (o, v, v, o)),
                                ("o has element type bf16 but the kernel has f16", (q, v, v, q))):
                with self.assertRaises(AttnError) as caught:
                    plan.run(*given)
                self.assertEqual(caught.exception.text, text)

    def test_failing_driver(self):
        with Device("cuda:0", driver=DRIVER) as device:
            self.fake.attn_fake_fail(b"cuMemAlloc", 1, 2)
            with self.assertRaises(AttnError) as caught:
                device.alloc(1 << 20)
            self.assertEqual(caught.exception.status, Status.OUT_OF_MEMORY)
            self.assertIn("cuMemAlloc failed", caught.exception.text)
        self.assertEqual(self.fake.attn_fake_live(), 0)


if __name__ == "__main__":
    unittest.main()
