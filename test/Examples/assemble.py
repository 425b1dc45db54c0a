"""Compiles problems to PTX and assembles every specialisation of each: no spill, no stack,
no C75xx note; with the default schedules and with softmax = exact and lazy.

usage: assemble.py PTXAS OUT TARGET PROBLEM...

Prints a line a specialisation.
"""

import re
import subprocess
import sys

from specialisations import field, specialisations

ptxas, out, target, problems = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
failed = False
for problem, softmax in [(p, s) for p in problems for s in ("", "softmax=exact", "softmax=lazy")]:
    if softmax and "sigmoid" in problem:
        continue  # has none
    if softmax and target == "sm_80":
        softmax += ",tile_q=128,roles=all:8,tile_k=32"  # with 32 rows a warp it spills more
    for schedule, text in specialisations(problem, target, out, softmax):
        ptx = out + ".ptx"
        with open(ptx, "w") as file:
            file.write(text)
        run = subprocess.run([ptxas, "-v", "-arch=" + target, ptx, "-o", out + ".cubin"],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        spills = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
                            r"(\d+) bytes spill loads", run.stdout)
        registers = [int(n) for n in re.findall(r"Used (\d+) registers", run.stdout)]
        # The kernel and its merge kernel.
        bad = run.returncode != 0 or len(spills) != 2 or len(registers) != 2
        bad = bad or "(C75" in run.stdout or max(registers) > 255
        # A few words of an item may lie on the stack where roles do not set registers.
        most = 32 if target == "sm_80" else 0
        bad = bad or any(int(entry[0]) > most for entry in spills)
        bad = bad or any(int(n) > 4 * most for entry in spills for n in entry)
        print(problem, field(schedule, "tile_q"), "x", field(schedule, "tile_k"),
              field(schedule, "softmax"), "registers", registers, "stack and spills", spills)
        if bad:
            print(run.stdout)
            failed = True
sys.exit(failed)
