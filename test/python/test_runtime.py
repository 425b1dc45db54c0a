"""Bundle, Device, Kernel, Plan: what they do when all is right, and lifetimes.

usage: test_runtime.py SOURCE_ROOT
"""

import gc
import math
import sys
import unittest
from array import array

import attn_mlir
from attn_mlir import AttnError, Bundle, Device, Kernel, Plan, Table, Tensor, merge_states
from attn_mlir.bundle import TensorMapInfo

from problem import DIM, HEADS, POISON, SCALE, Problem
from tiny_bundle import ARG, H, ICMP, K, LT, TABLE, Tiny, description, hook, specialisation

TINY = Tiny(sys.argv.pop())
PATH = TINY.bundle()


class Base(unittest.TestCase):
    def open(self, path=PATH, threads=2, **select):
        bundle, device = Bundle(path), Device("cpu", threads=threads)
        kernel = Kernel(device, bundle, **select)
        plan = Plan(kernel)
        for thing in (bundle, device, kernel, plan):
            self.addCleanup(thing.close)
        return kernel, plan


class Bundles(Base):
    def test_contents(self):
        with Bundle(PATH) as bundle:
            self.assertEqual((bundle.compiler, bundle.kernels), ("tiny", ["tiny"]))
            info = bundle.kernel("tiny")
            code = bundle.code("tiny", 0)
        self.assertEqual((info.heads, info.kv_heads, info.dim, info.dim_v), (4, 2, 8, 8))
        self.assertEqual((info.storage, info.normaliser, info.map_form), ("ragged", "softmax",
                                                                          "closed"))
        self.assertEqual((info.block_map, info.source_hash), ("#map", "abc123"))
        self.assertAlmostEqual(info.default_scale, SCALE, places=6)
        bias, window = info.params
        self.assertEqual((bias.name, bias.type, bias.default, bias.sample, bias.offset),
                         ("bias", "f32", 0.0, (-1.0, 2.0), 200))
        self.assertEqual((window.type, window.default, window.sample), ("i32", 1 << 30, (1, 9)))
        temp, = info.tables
        self.assertEqual((temp.name, temp.element, temp.index, temp.sample, temp.sorted),
                         ("temp", "f32", ("head",), (0.5, 2.0), False))
        self.assertEqual([hook.kind for hook in info.hooks], ["score", "mask"])
        self.assertEqual(info.hooks[1].code[:4], b"AHX1")
        spec, = info.specialisations
        self.assertEqual((spec.target, spec.element, spec.tile_q, spec.tile_k, spec.entry),
                         ("cpu", "f32", 8, 16, "tiny_attention"))
        self.assertIs(spec.scale_positive, False)
        self.assertEqual((code.kind, code.arch, code.data[:4]),
                         ("shared_object", "x86-64", b"\x7fELF"))

    def test_tensor_maps(self):
        tensor_map = {"tensor": "Q", "offset": 256, "dims": [0, 1, 2, 3, 4], "box": [8, 2, 4, 1, 1],
                      "element": "F32", "swizzle": 32, "promotion": 128}
        spec = specialisation(target="sm_90a", threads=128, merge_threads=64, pack=2,
                              params_bytes=384, base_align=16, dynamic=True,
                              tensor_maps=[tensor_map],
                              code=[{"kind": "PTX", "arch": "sm_90a", "data": [46]}])
        with Bundle(TINY.bundle(description(specialisations=[spec]))) as bundle:
            spec, = bundle.kernel("tiny").specialisations
        self.assertIs(spec.dynamic, True)
        tensor_map, = spec.tensor_maps
        self.assertEqual(tensor_map, TensorMapInfo(
            "q", 256, ("dim", "group", "token", "head", "batch"), (8, 2, 4, 1, 1), "f32", 32, 128))

    def test_from_bytes(self):
        with open(PATH, "rb") as file:
            data = bytearray(file.read())
        bundle = Bundle.from_bytes(data)
        data[:] = bytes(len(data))
        gc.collect()
        self.assertEqual(bundle.kernel("tiny").heads, 4)


class Devices(Base):
    def test_cpu(self):
        with Device("cpu", threads=2, max_arch="x86-64-v3") as device:
            info = device.info
        self.assertEqual((info.name, info.is_cuda, info.processors), ("cpu", False, 2))
        self.assertEqual(info.arch, "x86-64-v3")

    def test_memory(self):
        values, back = array("f", [1.5, -2.0, 3.25]), array("f", [0.0] * 3)
        with Device("cpu") as device, device.alloc(16) as memory:
            self.assertEqual(memory.pointer % 256, 0)
            memory.fill(0)
            memory.copy_from(values)
            memory.copy_to(back)
            self.assertEqual(back, values)
            view = memory.view((2, 2), "f32")
            self.assertEqual((view.shape, view.strides, view.device), ((2, 2), (2, 1), "cpu"))
            whole = array("f", [9.0] * 4)
            memory.copy_to(whole)
            self.assertEqual(whole, array("f", [1.5, -2.0, 3.25, 0.0]))
            self.assertIsNone(device.alloc(0).pointer)

    def test_memory_outlives_the_device(self):
        device = Device("cpu")
        memory = device.alloc(4)
        device.close()
        memory.fill(1)
        word = array("i", [0])
        memory.copy_to(word)
        self.assertEqual(word[0], 0x01010101)
        memory.close()

    def test_streams_and_events(self):
        with Device("cpu") as device, device.stream() as stream:
            self.assertIsNone(stream.pointer)
            stream.synchronize()
            with device.event() as begin, device.event() as end:
                begin.record(stream)
                end.record(stream)
                self.assertGreaterEqual(begin.elapsed(end), 0.0)


class Running(Base):
    def run_problem(self, plan, problem, **values):
        plan.run(*problem.tensors(), tables={"temp": problem.temp}, **values)

    def test_one_request(self):
        kernel, plan = self.open()
        self.assertEqual((kernel.info.name, kernel.chosen, kernel.device), ("tiny", 0, "cpu"))
        self.assertEqual(kernel.code, "x86-64 shared object")
        problem = Problem([3], [5])
        info = plan.plan([3], [5])
        self.assertEqual((info.requests, info.merges, info.split_keys), (1, 0, 0))
        self.assertGreaterEqual(info.items, HEADS)
        self.run_problem(plan, problem)
        problem.check(self)

    def test_batch_by_indptr_with_params(self):
        _, plan = self.open()
        problem = Problem([5, 0, 1, 17], [7, 3, 0, 40], room=2)
        values = {"bias": 0.25, "window": 9}
        # memoryviews and arrays as lengths
        plan.plan(q_indptr=memoryview(array("i", [0, 5, 5, 6, 23])),
                  kv_indptr=array("i", [0, 7, 10, 10, 50]), params=values)
        self.run_problem(plan, problem)  # the plan's params
        problem.check(self, bias=0.25, window=9)

    def test_lengths_shorten_indptr(self):
        _, plan = self.open()
        problem = Problem([3], [5], room=4)
        plan.plan([3], [5], q_indptr=[0, 7], kv_indptr=[0, 9])
        self.run_problem(plan, problem)
        problem.check(self)

    def test_scale_and_no_lse(self):
        _, plan = self.open()
        problem = Problem([3], [5])
        plan.plan([3], [5])
        tensors = problem.tensors()[:4]
        plan.run(*tensors, scale=-0.75, params={"bias": 1.0}, tables={"temp": problem.temp})
        problem.check(self, scale=-0.75, bias=1.0, lse=False)

    def test_splits(self):
        _, plan = self.open()
        problem = Problem([2], [70])
        info = plan.plan([2], [70], split_keys=16, max_workers=1)
        self.assertEqual((info.split_keys, info.slots, info.merges), (16, 5 * HEADS, HEADS))
        records = plan.records()
        self.assertEqual((records.header.items, records.header.merges), (info.items, info.merges))
        self.assertEqual((len(records.items), len(records.merges)), (info.items, info.merges))
        for item in records.items:
            self.assertEqual((item.splits, item.split), (5, item.kv_begin // 16))
            self.assertEqual(item.kv_end, min(70, item.kv_begin + 16))
        self.assertEqual({merge.count for merge in records.merges}, {5})
        self.assertEqual((records.requests[0].q_len, records.requests[0].kv_len), (2, 70))
        self.run_problem(plan, problem)
        problem.check(self)
        self.assertEqual(plan.plan([2], [900], max_splits=1).slots, 0)

    def test_last_tiles_are_split(self):
        # A tile of each of 4 heads on 3 workers: the last one is split.
        self.assertEqual(HEADS, 4)
        _, plan = self.open(threads=3)
        problem = Problem([2], [300])
        info = plan.plan([2], [300])
        self.assertEqual((info.items, info.merges, info.slots), (6, 1, 3))
        items = plan.records().items
        self.assertEqual([item.slot for item in items[:3]], [-1] * 3)
        self.assertEqual({item.slot for item in items[3:]}, {0, 1, 2})
        self.run_problem(plan, problem)
        problem.check(self)
        self.assertEqual(plan.plan([2], [300], max_splits=1).merges, 0)
        self.run_problem(plan, problem)
        problem.check(self)

    def test_narrowing(self):
        _, plan = self.open()
        wide = plan.plan([1], [400], params={"window": 8}, narrow=False, max_splits=1)
        begins = {item.kv_begin for item in plan.records().items}
        self.assertEqual(begins, {0})
        near = plan.plan([1], [400], params={"window": 8})
        self.assertLess(near.total_cost, wide.total_cost)
        self.assertTrue(all(item.kv_begin >= 384 for item in plan.records().items))

    def test_workspaces(self):
        kernel, plan = self.open()
        problem = Problem([3, 1], [5, 9])
        needed = plan.workspace_bytes([3, 1], [5, 9])
        self.assertGreater(needed, 0)
        with Device("cpu") as device, device.alloc(needed) as memory:
            for workspace in (memory, (memory.pointer, memory.size)):
                problem.o[:] = array("f", [POISON]) * len(problem.o)
                plan.plan([3, 1], [5, 9], workspace=workspace)
                self.run_problem(plan, problem)
                problem.check(self)
        plan.plan([3, 1], [5, 9], workspace=Device("cpu").alloc(needed))
        gc.collect()  # the plan is the only one that knows this memory
        problem.o[:] = array("f", [POISON]) * len(problem.o)
        self.run_problem(plan, problem)
        problem.check(self)
        # Its own workspace, small, then grown.
        for keys in (5, 5000, 9):
            plan.plan([3, 1], [keys, 9], split_keys=16)
        problem.o[:] = array("f", [POISON]) * len(problem.o)
        plan.plan([3, 1], [5, 9])
        self.run_problem(plan, problem)
        problem.check(self)

    def test_dense(self):
        path = TINY.bundle(description(storage="Dense"))
        _, plan = self.open(path)
        problem = Problem([3, 1], [5, 9], dense=True, room=1)
        plan.plan([3, 1], [5, 9])
        self.run_problem(plan, problem)
        problem.check(self)

    def test_head_major_strides(self):
        """[heads][tokens][dim] in memory, by a pair and by a strided Tensor."""
        _, plan = self.open()
        problem = Problem([3], [5])
        q, k, v, o, lse = problem.tensors()
        tokens = 3
        moved = array("f", [0.0] * len(problem.q))
        for i in range(tokens):
            for h in range(HEADS):
                begin = (i * HEADS + h) * DIM
                moved[(h * tokens + i) * DIM:(h * tokens + i + 1) * DIM] = \
                    problem.q[begin:begin + DIM]
        address = moved.buffer_info()[0]
        strides = (DIM, tokens * DIM, 1)
        plan.plan([3], [5], tables={"temp": problem.temp})
        for given in ((address, strides),
                      Tensor(address, strides, (tokens, HEADS, DIM), "f32", "cpu")):
            problem.o[:] = array("f", [POISON]) * len(problem.o)
            plan.run(given, k, v, o, lse)
            problem.check(self)

    def test_empty_batch(self):
        _, plan = self.open()
        problem = Problem([], [])
        self.assertEqual(plan.plan([], []).items, 0)
        self.run_problem(plan, problem)
        self.assertEqual(plan.plan([0, 0], [4, 0]).items, 0)
        self.run_problem(plan, Problem([0, 0], [4, 0]))

    def test_table_with_host_copy_and_version(self):
        _, plan = self.open()
        problem = Problem([3], [5])
        host = array("f", problem.temp)
        plan.plan([3], [5], tables={"temp": Table(problem.temp, host, 3)})
        plan.run(*problem.tensors(), tables={"temp": Table(problem.temp, version=3)})
        problem.check(self)

    def test_keys_without_rows_are_not_needed(self):
        _, plan = self.open()
        problem = Problem([3], [5])
        plan.plan([3, 0], [5, 9])
        self.run_problem(plan, problem)
        problem.check(self)

    def test_host_copy_narrows(self):
        """mask k < limit[h]: on cpu the table itself is the host copy."""
        kernel = description(specialisations=[specialisation(params_bytes=256)])
        kernel["tables"].append({"name": "limit", "element": "I32", "index": [0], "sample_lo": 0,
                                 "sample_hi": 9, "sorted": False, "offset": 232})
        kernel["hooks"] = [hook(1, (ARG, K), (ARG, H), (TABLE, 1), (ICMP, LT))]
        _, plan = self.open(TINY.bundle(kernel))
        limit = array("i", [7, 70, 7, 7])
        plan.plan([1], [400], max_splits=1)
        self.assertEqual({item.kv_end for item in plan.records().items}, {400})
        plan.plan([1], [400], max_splits=1, tables={"limit": limit})
        ends = {item.head: item.kv_end for item in plan.records().items}
        self.assertEqual(ends, {0: 16, 1: 80, 2: 16, 3: 16})
        problem = Problem([1], [400])
        with self.assertRaises(AttnError) as caught:
            plan.run(*problem.tensors(),
                     tables={"temp": problem.temp, "limit": Table(limit, version=1)})
        self.assertEqual(caught.exception.text,
                         "plan was made with version 0 of table 'limit' but version 1 was passed")

    def test_bound_launches(self):
        _, plan = self.open()
        first, second = Problem([3], [5]), Problem([3], [5])
        plan.plan([3], [5])
        launches = [plan.bind(*p.tensors(), tables={"temp": p.temp}) for p in (first, second)]
        for launch in launches * 2:
            launch()
        first.check(self)
        second.check(self)
        plan.plan([3], [5])
        with self.assertRaises(AttnError) as caught:
            launches[0]()
        self.assertEqual(caught.exception.text,
                         "the plan was built anew after the launch was bound")

    def test_closing_in_any_order(self):
        bundle, device = Bundle(PATH), Device("cpu")
        kernel = Kernel(device, bundle, "tiny", element="f32", output="f32", target="cpu")
        plan = Plan(kernel)
        device.close()
        bundle.close()
        problem = Problem([3], [5])
        plan.plan([3], [5])
        self.run_problem(plan, problem)
        problem.check(self)
        plan.plan([3], [900], split_keys=16)  # grows: the device is still there
        kernel.close()
        plan.close()
        plan.close()

    def test_choice(self):
        path = TINY.bundle(description(specialisations=[
            specialisation(cost_kv=2), specialisation(cost_kv=1, stride_multiple=8)]))
        with Bundle(path) as bundle, Device("cpu") as device:
            self.assertEqual(Kernel(device, bundle).chosen, 1)
            self.assertEqual(Kernel(device, bundle, specialisation=0).chosen, 0)
            self.assertEqual(Kernel(device, bundle, stride_multiple=4).chosen, 0)


class Merging(unittest.TestCase):
    def test_two_states_and_an_empty_one(self):
        def state(o, lse):
            return (Tensor.of(array("f", o)).reshape(2, 3), array("f", lse))

        a = state([1, 2, 3, 4, 5, 6], [0.0, -math.inf])
        b = state([3, 2, 1, 0, 0, 0], [math.log(3.0), -math.inf])
        o, lse = array("f", [9.0] * 6), array("f", [9.0] * 2)
        merge_states([a, b], Tensor.of(o).reshape(2, 3), lse)
        for found, expected in zip(o, [2.5, 2.0, 1.5, 0.0, 0.0, 0.0]):
            self.assertAlmostEqual(found, expected, places=6)
        self.assertAlmostEqual(lse[0], math.log(4.0), places=6)
        self.assertEqual(lse[1], -math.inf)
        merge_states([], Tensor.of(o).reshape(2, 3), lse)
        self.assertEqual((list(o), list(lse)), ([0.0] * 6, [-math.inf] * 2))


class Package(unittest.TestCase):
    def test_needs_the_standard_library_only(self):
        for name in ("numpy", "torch"):
            self.assertNotIn(name, sys.modules)

    def test_exports(self):
        for name in attn_mlir.__all__:
            self.assertTrue(getattr(attn_mlir, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
