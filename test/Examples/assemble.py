"""Compiles examples to PTX and assembles them: no spill, no stack, no C75xx note;
with the default schedule and with softmax = exact.

usage: assemble.py PTXAS OUT TARGET EXAMPLE...
"""

import re
import subprocess
import sys

ptxas, out, target, examples = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
failed = False
for example, softmax in [(e, s) for e in examples for s in ("", "exact")]:
    if softmax and "sigmoid" in example:
        continue  # has none
    ptx = out + ".ptx"
    schedule = ["--schedule=softmax=" + softmax] if softmax else []
    if softmax and target == "sm_80":
        schedule[0] += ",roles=all:8,tile_k=32"  # the default rows and keys spill a word
    subprocess.run(["attnc", example, "--target=" + target, "--emit=ptx", "-o", ptx] + schedule,
                   check=True)
    run = subprocess.run([ptxas, "-v", "-arch=" + target, ptx, "-o", out + ".cubin"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads",
                        run.stdout)
    registers = [int(n) for n in re.findall(r"Used (\d+) registers", run.stdout)]
    bad = run.returncode != 0 or len(spills) != 2 or len(registers) != 2 or "(C75" in run.stdout
    bad = bad or any(int(n) for entry in spills for n in entry) or max(registers, default=256) > 255
    print(example, softmax, "registers", registers, "stack and spills", spills)
    if bad:
        print(run.stdout)
        failed = True
sys.exit(failed)
