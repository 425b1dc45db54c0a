#!/usr/bin/env python3
"""Rules of the repository that a compiler does not check.

usage: check_repository.py RULE ROOT

Rules:
  sizes     no source file has more than 800 lines
  includes  who may include what (the dependency rule)
  arch      no comparison of architecture numbers outside lib/Target
  nvvm      NVVM ops and PTX text in lib/Conversion/FragToNVVM and lib/Emit only
  errors    every error text of the compiler and the runtime occurs in a test
  mirror    one pass, one file: every pass has a source and a test of its name

Prints one line a violation and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

SOURCES = ("*.cpp", "*.h", "*.td", "*.py")
PLAIN = ["include/attn/ABI", "include/attn/Layout", "include/attn/Target", "include/attn/Mask",
         "include/attn/Oracle", "include/attn/Plan", "include/attn/Workload", "lib/Layout",
         "lib/Target", "lib/Mask", "lib/Oracle", "lib/Plan", "lib/Workload", "runtime",
         "tools/attn-run", "tools/attn-plan", "tools/attn-layout"]
# folder -> include prefixes that it must not name
FORBIDDEN = {folder: ["mlir/", "llvm/", "attn/Dialect", "attn/Conversion", "cuda"] for folder in PLAIN}
FORBIDDEN["runtime"] = FORBIDDEN["runtime"] + ["attn/Layout", "attn/Emit"]
FORBIDDEN["lib/Dialect/Pipe"] = ["attn/Dialect/Attn", "attn/Dialect/Frag", "mlir/Dialect/LLVMIR"]
FORBIDDEN["include/attn/Dialect/Pipe"] = FORBIDDEN["lib/Dialect/Pipe"]
FORBIDDEN["lib/Dialect/Frag"] = ["attn/Dialect/Attn", "attn/Dialect/Pipe", "mlir/Dialect/LLVMIR"]
FORBIDDEN["include/attn/Dialect/Frag"] = FORBIDDEN["lib/Dialect/Frag"]
FORBIDDEN["lib/Dialect/Attn"] = ["attn/Dialect/Frag", "mlir/Dialect/LLVMIR"]
FORBIDDEN["lib/Conversion/FragToNVVM"] = ["attn/Dialect/Attn", "attn/Dialect/Pipe"]
FORBIDDEN["lib/Conversion/PipeToFrag"] = ["mlir/Dialect/LLVMIR"]
FORBIDDEN["lib/Sim"] = ["mlir/Dialect/LLVMIR"]


def files(root, *folders):
    for folder in folders or ("include", "lib", "tools", "runtime", "dialects", "python", "test"):
        for pattern in SOURCES:
            yield from sorted((root / folder).rglob(pattern))


def sizes(root):
    for f in files(root):
        lines = len(f.read_text().splitlines())
        if lines > 800:
            yield f"{f.relative_to(root)}: {lines} lines, the limit is 800"


def includes(root):
    for folder, prefixes in FORBIDDEN.items():
        for f in files(root, folder):
            for included in re.findall(r'#include [<"]([^">]+)', f.read_text()):
                if any(included.startswith(p) for p in prefixes):
                    yield f"{f.relative_to(root)}: must not include {included}"


def arch(root):
    number = r"(?:80|86|89|90|100|103|120)\b"
    pattern = re.compile(r"(?:\bsm\w*|\barch\w*|\bcapab\w*)\s*(?:>=|<=|==|<|>)\s*" + number, re.I)
    for f in files(root, "include", "lib", "tools", "runtime"):
        if "Target" in f.parts:
            continue
        for i, line in enumerate(f.read_text().splitlines(), 1):
            if pattern.search(line):
                yield f"{f.relative_to(root)}:{i}: compares an architecture number"


def nvvm(root):
    allowed = ("lib/Conversion/FragToNVVM/", "lib/Emit/", "include/attn/InitAll.h")
    for f in files(root, "include", "lib", "tools"):
        name = str(f.relative_to(root))
        if name.startswith(allowed):
            continue
        if re.search(r"NVVM::(?!NVVMDialect)|InlineAsm", f.read_text()):
            yield f"{name}: names an NVVM op or inline assembly"


def longest_literal(call):
    """The longest quoted piece of a call's text, adjacent literals joined."""
    joined = re.sub(r'(?<!\\)"\s*"', "", call)
    pieces = re.findall(r'"((?:[^"\\]|\\.)*)"', joined)
    pieces = [piece for p in pieces for piece in re.split(r"%[-+0-9.]*[a-z]+|\\n|\\\"", p)]
    return max(pieces, key=len, default="").strip()


def errors(root):
    tests = "\n".join(f.read_text(errors="replace") for f in sorted((root / "test").rglob("*"))
                      if f.is_file() and f.suffix in {".mlir", ".cpp", ".test", ".py", ".h", ".txt"})
    tests = re.sub(r'"\s*\n\s*"', "", tests)
    starts = re.compile(r"(?:emitError|emitOpError|emitRemark|setError|failWith|\bfail|refuse\w*)\(")
    for f in files(root, "lib", "runtime/lib", "tools"):
        text = f.read_text()
        for match in starts.finditer(text):
            end = text.find(";", match.end())
            literal = longest_literal(text[match.end():end])
            if len(literal) >= 12 and literal not in tests:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{f.relative_to(root)}:{line}: no test has \"{literal}\""


def mirror(root):
    everything = {f.stem: f for f in (root / "lib").rglob("*.cpp")}
    tests = {f.stem for f in (root / "test").rglob("*.mlir")}
    for td in sorted((root / "dialects").rglob("*Passes.td")):
        for name, flag in re.findall(r'def (\w+) : Pass<"([\w-]+)"', td.read_text()):
            short = re.sub(r"^(Attn|Pipe|Frag)", "", name)
            if short not in everything and name not in everything:
                yield f"{td.name}: pass {flag} has no source file {short}.cpp or {name}.cpp"
            stem = flag.split("-", 1)[1]
            if stem not in tests and flag not in tests:
                yield f"{td.name}: pass {flag} has no test {stem}.mlir or {flag}.mlir"


def main():
    rule, root = sys.argv[1], Path(sys.argv[2])
    rules = {f.__name__: f for f in (sizes, includes, arch, nvvm, errors, mirror)}
    violations = list(rules[rule](root))
    print("\n".join(violations))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
