"""compile_text and compile_file: bundles, messages, the cache.

usage: test_compiler.py EXAMPLES
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

from attn_mlir import Bundle, CompileError, compile_file, compile_text

EXAMPLE = Path(sys.argv.pop()) / "softcap.mlir"
CHILD = """
import sys
from attn_mlir import compile_file
print("ready", flush=True)
compile_file(sys.argv[1], targets="sm_80", cubin=False, cache=sys.argv[2])
"""


def names(data):
    with Bundle.from_bytes(data) as bundle:
        return bundle.kernels, [s.target for s in bundle.kernel("prefill").specialisations]


def quick(**options):
    return compile_file(EXAMPLE, targets="sm_80", cubin=False, **options)


class Compile(unittest.TestCase):
    def setUp(self):
        os.environ.pop("ATTN_CACHE", None)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_bundle(self):
        data = compile_file(EXAMPLE, targets=["cpu", "sm_80"], cubin=False)
        self.assertEqual(names(data), (["prefill"], ["cpu", "cpu", "sm_80", "sm_80"]))

    def test_output(self):
        path = self.folder / "out.attn"
        data = compile_file(EXAMPLE, targets="cpu", cpu_types=["bf16"], output=path)
        self.assertEqual(path.read_bytes(), data)
        self.assertEqual(list(self.folder.iterdir()), [path])
        with self.assertRaises(CompileError):
            compile_file(EXAMPLE, targets="cpu", schedule="tile_q=30", output=path)
        self.assertEqual(path.read_bytes(), data)

    def test_errors(self):
        for arguments, message in [
                ({"targets": []}, "error: no target is given"),
                ({"targets": "sm_1"}, "error: unknown target 'sm_1'"),
                ({"targets": "cpu", "cpu_types": "f64"},
                 "error: unknown element type f64 (known: f32, f16, bf16)"),
                ({"targets": "cpu", "schedule": "tile_q=30"},
                 "tile_q is 30 but must be a multiple of 8")]:
            with self.assertRaises(CompileError) as caught:
                compile_file(EXAMPLE, **arguments)
            self.assertIn(message, str(caught.exception))
        for text, message in [("module {}", "error: module has 0 kernels"),
                              ("attn.nothing", "here.mlir:1:1: error: ")]:
            with self.assertRaises(CompileError) as caught:
                compile_text(text, targets="cpu", name="here.mlir")
            self.assertIn(message, str(caught.exception))

    def test_threads(self):
        results = []
        threads = [threading.Thread(target=lambda: results.append(
            compile_file(EXAMPLE, targets="cpu", cpu_types=["bf16"]))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 2)
        self.assertEqual(len(set(results)), 1)

    def test_cache(self):
        cache = self.folder / "made" / "cache"
        data = quick(cache=str(cache))
        entry, = cache.iterdir()
        self.assertEqual(entry.read_bytes(), data)
        # A hit gives what the file holds: one that another run wrote.
        other = quick(schedule="tile_k=16")
        self.assertNotEqual(other, data)
        entry.write_bytes(other)
        self.assertEqual(quick(cache=str(cache)), other)
        # Options are part of the key.
        quick(cache=str(cache), schedule="tile_k=32")
        self.assertEqual(len(list(cache.iterdir())), 2)

    def test_damaged_entries_are_replaced(self):
        cache = self.folder
        data = quick(cache=str(cache))
        entry, = cache.iterdir()
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        for damage in (b"", data[:40], data[:-1], data + b"x", bytes(flipped)):
            entry.write_bytes(damage)
            self.assertEqual(quick(cache=str(cache)), data)
            self.assertEqual(entry.read_bytes(), data)

    def test_cache_that_cannot_be_written(self):
        file = self.folder / "file"
        file.write_text("")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = quick(cache=str(file / "below"))
        self.assertTrue(names(data))
        self.assertIn("is not written: ", str(caught[0].message))

    def test_two_processes_one_key_one_killed(self):
        """Whatever is killed and when: an entry that exists is whole."""
        command = [sys.executable, "-c", CHILD, str(EXAMPLE), str(self.folder)]
        wanted = quick()
        for delay in (0.0, 0.1, 0.3):
            for entry in self.folder.glob("*.attn"):
                entry.unlink()
            children = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
            for child in children:
                child.stdout.readline()
            time.sleep(delay)
            children[0].send_signal(signal.SIGKILL)
            for child in children:
                child.communicate()
            self.assertEqual(children[1].returncode, 0)
            entry, = self.folder.glob("*.attn")
            self.assertEqual(entry.read_bytes(), wanted)


if __name__ == "__main__":
    unittest.main()
