"""The ctypes declarations against the C headers.

A C program built from the Python side prints sizes, offsets and enumerators; its
initialisers, one value a field, fail to compile if a field was added or removed.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from attn_mlir import _c, _library, abi

ROOT = Path(sys.argv.pop())
INCLUDES = [f"-I{ROOT}/include", f"-I{ROOT}/runtime/include"]
HEADERS = '#include "attnrt/attnrt.h"\n#include "attn/ABI/Version.h"\n#include <stdio.h>\n#include <string.h>\n'


def run_c(body):
    """Output of a program whose main has this body."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "a.c"), Path(folder, "a")
        source.write_text(f"{HEADERS}int main(void) {{\n{body}\nreturn 0;\n}}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Werror",
                        *INCLUDES, str(source), "-o", str(binary)], check=True)
        return subprocess.run([str(binary)], check=True, stdout=subprocess.PIPE,
                              universal_newlines=True).stdout


def header_text():
    text = (ROOT / "runtime/include/attnrt/attnrt.h").read_text()
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


class Layout(unittest.TestCase):
    def test_every_field(self):
        lines, expected = [], []
        for c_name, struct in _c.STRUCTS.items():
            lines.append(f'printf("{c_name} %zu\\n", sizeof({c_name}));')
            expected.append(f"{c_name} {ctypes.sizeof(struct)}")
            for name, kind in struct._fields_:
                lines.append(f'printf("{c_name}.{name} %zu %zu\\n", offsetof({c_name}, {name}), '
                             f"sizeof((({c_name} *)0)->{name}));")
                expected.append(f"{c_name}.{name} {getattr(struct, name).offset} "
                                f"{ctypes.sizeof(kind)}")
        self.assertEqual(run_c("\n".join(lines)).splitlines(), expected)

    def test_no_field_is_missing(self):
        lines = []
        for c_name, struct in _c.STRUCTS.items():
            values = ["{0}" if issubclass(kind, (ctypes.Structure, ctypes.Array)) else "0"
                      for _, kind in struct._fields_]
            lines.append(f"{{ {c_name} value = {{{', '.join(values)}}}; (void)value; }}")
        run_c("\n".join(lines))

    def test_every_struct_of_the_header(self):
        declared = set(re.findall(r"\}\s*(attnrt_\w+);", header_text()))
        enums = {name for name, _ in _c.ENUMS.values()}
        self.assertEqual(declared - enums, {name for name in _c.STRUCTS if "attnrt_" in name})

    def test_kind_of_every_field(self):
        """Sizes do not tell a float from an int: set in C, read in Python."""
        numbers = (ctypes.c_float, ctypes.c_double, ctypes.c_int32, ctypes.c_uint32,
                   ctypes.c_int64, ctypes.c_uint64)
        fields = [(c_name, struct, name, kind) for c_name, struct in _c.STRUCTS.items()
                  for name, kind in struct._fields_ if kind in numbers]
        lines = ["#define SHOW(type, field) do { type value; memset(&value, 0, sizeof(value)); "
                 "value.field = (__typeof__(value.field))2.5; "
                 "for (size_t i = 0; i < sizeof(value); ++i) "
                 'printf("%02x", ((unsigned char *)&value)[i]); printf("\\n"); } while (0)']
        lines += [f"SHOW({c_name}, {name});" for c_name, _, name, _ in fields]
        for text, (c_name, struct, name, kind) in zip(run_c("\n".join(lines)).splitlines(), fields):
            value = struct.from_buffer_copy(bytes.fromhex(text))
            expected = 2.5 if kind in (ctypes.c_float, ctypes.c_double) else 2
            self.assertEqual(getattr(value, name), expected, f"{c_name}.{name}")
        self.assertGreater(len(fields), 100)

    def test_constants(self):
        out = run_c('printf("%d %d %d %d %d", ATTN_TABLE_MAX_RANK, ATTN_MAP_MAX_RANK, '
                    "ATTN_MAX_SPLITS, ATTN_ABI_VERSION, ATTNRT_ANY_ELEMENT);")
        self.assertEqual(out, f"{abi.TABLE_MAX_RANK} {abi.MAP_MAX_RANK} {abi.MAX_SPLITS} "
                              f"{_library.ABI_VERSION} {_c.ANY_ELEMENT}")

    def test_item_flags(self):
        item = abi.WorkItem(flags=int(run_c('printf("%u", ATTN_ITEM_FLAGS(7, 4094, 4095));')))
        self.assertEqual((item.body, item.split, item.splits), (7, 4094, 4095))


class Enumerators(unittest.TestCase):
    def test_values(self):
        lines, expected = [], []
        for enum, (_, prefix) in _c.ENUMS.items():
            for member in enum:
                lines.append(f'printf("{prefix}{member.name} %d\\n", {prefix}{member.name});')
                expected.append(f"{prefix}{member.name} {int(member)}")
        self.assertEqual(run_c("\n".join(lines)).splitlines(), expected)

    def test_none_is_missing(self):
        text = header_text() + "".join((ROOT / "include/attn/ABI" / name).read_text()
                                       for name in ("HookExpr.h", "KernelParams.h"))
        for enum, (name, prefix) in _c.ENUMS.items():
            body = re.search(rf"enum {name} \{{(.*?)\}}", text, re.S).group(1)
            body = re.sub(r"/\*.*?\*/", " ", body, flags=re.S)
            found = {word[len(prefix):] for word in re.findall(r"(\w+)\s*=", body)}
            self.assertEqual(found - {"KINDS"}, {member.name for member in enum}, name)


class Functions(unittest.TestCase):
    def test_every_function(self):
        text = " ".join(header_text().split())
        found = {}
        for result, name, parameters in re.findall(
                r"ATTNRT_API ([\w ]+[ *]+)(attnrt_\w+)\(([^)]*)\);", text):
            count = 0 if parameters.strip() == "void" else parameters.count(",") + 1
            found[name] = (result.replace(" ", ""), count)
        results = {_c.Status: "attnrt_status", None: "void", ctypes.c_uint32: "uint32_t",
                   ctypes.c_char_p: "constchar*"}
        self.assertEqual(found, {name: (results[result], len(arguments))
                                 for name, (result, arguments) in _c.PROTOTYPES.items()})

    def test_status_names(self):
        for status in _c.Status:
            self.assertEqual(_c.lib.attnrt_status_name(status).decode(),
                             status.name.lower().replace("_", " "))


if __name__ == "__main__":
    unittest.main()
