"""Tensors from the buffer protocol, DLPack and bare addresses.

usage: test_tensors.py SOURCE_ROOT
"""

import ctypes
import gc
import sys
import unittest
from array import array
from ctypes import pythonapi

from attn_mlir import AttnError, Bundle, Device, Kernel, Plan, Tensor
from attn_mlir.tensors import element_strides

from dlpack import Producer
from problem import DIM, HEADS, KV_HEADS, Problem
from tiny_bundle import Tiny

TINY = Tiny(sys.argv.pop())


class Buffers(unittest.TestCase):
    def test_array(self):
        data = array("f", [1, 2, 3, 4, 5, 6])
        tensor = Tensor.of(data)
        self.assertEqual((tensor.pointer, tensor.shape, tensor.strides), (data.buffer_info()[0],
                                                                          (6,), (1,)))
        self.assertEqual((tensor.dtype, tensor.device, tensor.readonly, tensor.elements),
                         ("f32", "cpu", False, 6))
        self.assertIs(Tensor.of(tensor), tensor)

    def test_views(self):
        data = array("f", range(24))
        view = memoryview(data).cast("B").cast("f", (2, 3, 4))
        tensor = Tensor.of(view)
        self.assertEqual((tensor.shape, tensor.strides), ((2, 3, 4), (12, 4, 1)))
        part = Tensor.of(memoryview(data)[4:20:3])
        self.assertEqual((part.shape, part.strides, part.elements), ((6,), (3,), 16))
        self.assertEqual(part.pointer, data.buffer_info()[0] + 16)
        self.assertFalse(part.is_packed())
        self.assertTrue(Tensor(0, (99, 1), (1, 4)).is_packed())

    def test_types(self):
        for code, dtype in (("f", "f32"), ("i", "i32"), ("H", "u16"), ("B", "u8"), ("d", "f64")):
            self.assertEqual(Tensor.of(array(code, [0])).dtype, dtype)
        self.assertEqual(Tensor.of((ctypes.c_bool * 2)()).dtype, "i1")
        self.assertTrue(Tensor.of(b"abc").readonly)
        if array("l").itemsize == 8:
            self.assertEqual(Tensor.of(array("l", [0])).dtype, "i64")

    def test_export_is_held(self):
        data = array("f", [0.0])
        tensor = Tensor.of(data)
        with self.assertRaises(BufferError):
            data.append(1.0)  # would move the memory
        del tensor
        gc.collect()
        data.append(1.0)

    def test_reshape(self):
        tensor = Tensor.of(array("f", range(6)))
        shaped = tensor.reshape(3, 2)
        self.assertEqual((shaped.pointer, shaped.shape, shaped.strides),
                         (tensor.pointer, (3, 2), (2, 1)))
        with self.assertRaises(AttnError) as caught:
            tensor.reshape(4, 2)
        self.assertEqual(caught.exception.text,
                         "a tensor of shape (6,) and strides (1,) cannot have shape (4, 2)")

    def test_strides(self):
        self.assertEqual(element_strides((32, 8, -4), 4), (8, 2, -1))
        with self.assertRaises(AttnError) as caught:
            element_strides((6,), 4)
        self.assertEqual(caught.exception.text, "a stride is 6 bytes but an element has 4")
        with self.assertRaises(AttnError) as caught:
            Tensor(0, (1, 1), (4,))
        self.assertEqual(caught.exception.text, "a tensor has 1 extents but 2 strides")

    def test_pair(self):
        tensor = Tensor.of((4096, [8, 1]))
        self.assertEqual((tensor.pointer, tensor.strides, tensor.shape, tensor.elements),
                         (4096, (8, 1), None, None))


class DLPack(unittest.TestCase):
    def test_cpu(self):
        producer = Producer(4096, (2, 3), offset=8)
        tensor = Tensor.of(producer, 77)
        self.assertEqual((tensor.pointer, tensor.shape, tensor.strides), (4104, (2, 3), (3, 1)))
        self.assertEqual((tensor.dtype, tensor.device), ("f32", "cpu"))
        self.assertEqual(producer.streams, [None])

    def test_cuda(self):
        producer = Producer(4096, (2, 3), code=4, bits=16, strides=(1, 2), device=(2, 3))
        tensor = Tensor.of(producer, 77)
        self.assertEqual((tensor.strides, tensor.dtype, tensor.device), ((1, 2), "bf16", "cuda:3"))
        Tensor.of(producer)  # the default stream is written as 1
        self.assertEqual(producer.streams, [77, 1])

    def test_types_and_devices(self):
        for code, bits, dtype in ((2, 16, "f16"), (0, 32, "i32"), (6, 8, "i1"), (1, 8, "u8"),
                                  (2, 64, "DLPack type (2, 64)")):
            self.assertEqual(Tensor.of(Producer(64, (1,), code, bits)).dtype, dtype)
        self.assertEqual(Tensor.of(Producer(64, (1,), device=(3, 0))).device, "cpu")
        self.assertIsNone(Tensor.of(Producer(64, (1,), device=(13, 0))).device)

    def test_capsule_is_held(self):
        producer = Producer(4096, (2,))
        tensor = Tensor.of(producer)
        gc.collect()
        self.assertEqual((producer.made, producer.gone), (1, 0))
        del tensor
        gc.collect()
        self.assertEqual((producer.made, producer.gone), (1, 1))

    def test_bare_capsule(self):
        producer = Producer(4096, (5,))
        self.assertEqual(Tensor.of(producer.__dlpack__()).shape, (5,))

    def refused(self, text, value):
        with self.assertRaises(AttnError) as caught:
            Tensor.of(value)
        self.assertEqual(caught.exception.text, text)

    def test_refused(self):
        self.refused("a DLPack tensor has 4 lanes but 1 is needed", Producer(64, (1,), lanes=4))
        self.refused("a DLPack tensor is on device type 8 but only cpu and cuda are known",
                     Producer(64, (1,), device=(8, 0)))
        used = Producer(64, (1,)).__dlpack__()
        pythonapi.PyCapsule_SetName(used, b"used_dltensor")
        self.refused("a DLPack capsule is not named 'dltensor': it was consumed, or its version "
                     "is not known", used)

    def test_run(self):
        """All five tensors by DLPack: numbers are right and every capsule is given back."""
        problem = Problem([3], [5])

        def export(data, *shape):
            return Producer(data.buffer_info()[0], shape, owner=data)

        given = [export(problem.q, 3, HEADS, DIM), export(problem.k, 5, KV_HEADS, DIM),
                 export(problem.v, 5, KV_HEADS, DIM), export(problem.o, 3, HEADS, DIM),
                 export(problem.lse, 3, HEADS)]
        temp = export(problem.temp, HEADS)
        with Bundle(TINY.bundle()) as bundle, Device("cpu") as device, \
                Kernel(device, bundle) as kernel, Plan(kernel) as plan:
            plan.plan([3], [5])
            plan.run(*given, tables={"temp": temp})
        problem.check(self)
        gc.collect()
        for producer in given + [temp]:
            self.assertEqual((producer.made, producer.gone), (1, 1))


if __name__ == "__main__":
    unittest.main()
