"""Finding the library, and refusing what is not it."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from attn_mlir import _library

NAME, VARIABLE = _library.NAME, _library.VARIABLE


class Finding(unittest.TestCase):
    def test_order(self):
        package = Path(_library.__file__).resolve().parent
        self.assertEqual(_library.candidates({}),
                         [package / NAME, package / "lib" / NAME,
                          package.parent.parent / "build" / "lib" / NAME])

    def test_variable(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            environment = {VARIABLE: os.pathsep.join([one, two])}
            with self.assertRaises(ImportError) as caught:
                _library.find(environment)
            self.assertEqual(str(caught.exception),
                             f"{NAME} was not found; tried {one}/{NAME}, {two}/{NAME}; "
                             f"set {VARIABLE} to the folder that holds it")
            Path(two, NAME).touch()
            self.assertEqual(_library.find(environment), Path(two, NAME))
            self.assertEqual(_library.find({VARIABLE: f"{two}/{NAME}"}), Path(two, NAME))

    def test_import_fails_when_it_is_not_there(self):
        """A path that is set is not ignored, also where another library would be found."""
        with tempfile.TemporaryDirectory() as empty:
            result = subprocess.run([sys.executable, "-c", "import attn_mlir"],
                                    env={**os.environ, VARIABLE: empty}, stderr=subprocess.PIPE,
                                    universal_newlines=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"{NAME} was not found; tried {empty}/{NAME};", result.stderr)


class Loading(unittest.TestCase):
    def build(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        source, library = Path(folder.name, "a.c"), Path(folder.name, NAME)
        source.write_text(text)
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", str(source), "-o",
                        str(library)], check=True)
        return library

    def refused(self, library, text):
        with self.assertRaises(ImportError) as caught:
            _library.load(library)
        self.assertIn(text, str(caught.exception))

    def test_other_contract(self):
        library = self.build("unsigned attnrt_abi_version(void) { return 99; }\n")
        self.refused(library, f"{library} has binary contract 99 but this package needs {_library.ABI_VERSION}")

    def test_other_library(self):
        library = self.build("int other;\n")
        self.refused(library, f"{library} cannot be used: ")

    def test_no_library(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, NAME)
            path.write_text("not a library")
            self.refused(path, f"{path} cannot be used: ")


if __name__ == "__main__":
    unittest.main()
