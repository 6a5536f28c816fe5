#!/usr/bin/env python3
"""instructions.py with stubs of cuobjdump and nvcc: it counts what they print, and fails where a
kernel has become worse than the table, has lost its line, or exceeds a limit.

  instructions_check.py FOLDER_FOR_FILES
"""
import os
import pathlib
import subprocess
import sys

import instructions

HERE = pathlib.Path(__file__).parent
RUNNING = (
    "_ZN4nine4cuda12_GLOBAL__N_114running_kernelINS_6scores3LinEfEEvT_NS0_12ComponentRunIT0_EEPS6_"
)


def listing(loads_first=8, more=0):
    """A kernel with a loop of one load, and one of eight loads with `more` further instructions."""
    before = ["IADD3 R1, R2, R3, RZ", "LDG.E R4, desc[UR6][R2.64]", "@P0 BRA 0x10"]
    turn = [f"LDG.E R{20 + i}, desc[UR6][R2.64]" for i in range(8)]
    turn.insert(loads_first, "FADD R40, R20, R40")
    turn += ["MUFU.EX2 R41, R41"] * 8 + ["@!P1 FMUL R42, R42, R43"] * more + ["NOP"]
    code = before + turn + ["@!P1 BRA 0x30", "EXIT", "BRA 0x170"]
    lines = [f"\t\tFunction : {RUNNING}"]
    lines += [f"        /*{16 * i:04x}*/   {text} ;   /* 0x0 */" for i, text in enumerate(code)]
    return "\n".join(lines) + "\n"


def main():
    root = pathlib.Path(sys.argv[1])
    build, tools = root / "build", root / "tools"
    (build / instructions.OBJECT).parent.mkdir(parents=True, exist_ok=True)
    tools.mkdir(exist_ok=True)
    (build / instructions.OBJECT).write_text("")
    (build / "CMakeCache.txt").write_text(f"NINE_NVCC:FILEPATH={tools}/nvcc\n")
    for name, text in (("nvcc", "echo release 13.0"), ("cuobjdump", f"cat {root}/listing")):
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    table = root / "table.txt"

    def run(*arguments, **what):
        (root / "listing").write_text(listing(**what))
        return subprocess.run(
            [sys.executable, HERE / "instructions.py", build, table, *arguments],
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
        )

    def expect(ran, status, said):
        text = ran.stdout + ran.stderr
        assert ran.returncode == status and said in text, (status, said, ran.returncode, text)

    table.write_text("# nvcc 13.0:\n")
    expect(run(), 1, "running_kernel<Lin>: no line in the table")
    expect(run("--write", more=8), 0, "")
    # 8 loads, 1 sum, 8 powers, 8 more and the branch of 8 scores; the NOP does not count.
    assert "sm_90 running_kernel<Lin> 3.250 8 1.000" in table.read_text(), table.read_text()
    expect(run(more=8), 0, "2 loops over products are within the table")
    expect(run(more=7), 0, "within the table")
    expect(run(more=9), 1, "3.375 instructions a score, table 3.25")
    expect(run(loads_first=3, more=8), 1, "3 loads before the first use, table 8")
    expect(run("--write", more=150), 1, "instructions a score, limit 20")
    with table.open("a") as out:
        out.write("sm_90 slopes_kernel<Lin> 1.00 8 1.00\n")
    expect(run(more=8), 1, "slopes_kernel<Lin>: not in this build")
    table.write_text("# nvcc 12.0:\n")
    expect(run(), 77, "the table is of nvcc 12.0")
    (build / instructions.OBJECT).unlink()
    expect(run(), 77, "a build without CUDA")


if __name__ == "__main__":
    main()
