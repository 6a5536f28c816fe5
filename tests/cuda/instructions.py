#!/usr/bin/env python3
"""What a score costs in the head's two passes over products, counted in this build's machine code.

  instructions.py BUILD TABLE [--write]

cuobjdump, a part of the package triton, disassembles the object files that nvcc wrote. A line of
TABLE is a GPU, a kernel and three numbers of its loop over products, which is the smallest loop
with eight loads or more from the GPU's memory: instructions a score (a turn of the loop has eight
scores), the loads of a turn before the first instruction that needs one of them, and the powers of
two a score. Of a branch that goes forward both sides count. Instructions and powers may only
shrink, loads only grow, and LIMITS are upper limits of the instructions that --write takes.

Kernels of parts and formulas have no line, because their scores are loops of any length. Other
releases of nvcc give other numbers: the table names the one it is of, and another skips the check
(exit status 77), as does a build for other GPUs alone, or a machine without cuobjdump.
"""
import importlib.util
import os
import re
import shutil
import subprocess
import sys

from ptxas import ARCHS, nvcc_release

OBJECT = "kernels/scores/cuda/head_kernels_float.o"
SCORES = 8  # of a turn
PASSES = ("running_kernel", "slopes_kernel")
WITHOUT_LINE = ("Mog", "ExprPair")
LIMITS = {"running_kernel<Lin>": 20, "slopes_kernel<Lin>": 32, "slopes_kernel<Lin,given>": 32}


def find_cuobjdump():
    if found := shutil.which("cuobjdump"):
        return found
    package = importlib.util.find_spec("triton")
    for folder in package.submodule_search_locations if package else []:
        path = os.path.join(folder, "backends", "nvidia", "bin", "cuobjdump")
        if os.access(path, os.X_OK):
            return path
    return None


def kernel_name(demangled):
    """void nine::cuda::(anonymous namespace)::slopes_kernel<nine::scores::Lin, float, true>(...) is
    slopes_kernel<Lin,given>; None of other kernels."""
    text = re.sub(r"\(anonymous namespace\)::|nine::\w+::|nine::", "", demangled)
    m = re.match(r"void (\w+)<(\w+), float(?:, \(?(?:bool\))?(\w+))?>\(", text)
    if not m or m[1] not in PASSES or m[2] in WITHOUT_LINE:
        return None
    return f"{m[1]}<{m[2]}{',given' if m[3] in ('true', '1') else ''}>"


def functions_of(listing):
    """{mangled name: [(address, instruction)]} of what cuobjdump -sass printed."""
    found, code = {}, None
    for line in listing.splitlines():
        if m := re.match(r"\s*Function : (\S+)", line):
            code = found.setdefault(m[1], [])
        elif m := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;", line):
            if code is not None:
                code.append((int(m[1], 16), m[2]))
    return found


def opcode(text):
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0]


def operands(text):
    """(registers that the instruction writes, registers that it reads), as numbers."""
    body = re.sub(r"^@!?U?P\w+\s+", "", text)
    name, _, rest = body.partition(" ")
    places = [p.strip() for p in rest.split(",")]
    registers = [[int(n) for n in re.findall(r"\bR(\d+)", p)] for p in places]
    stores = name.split(".")[0] in ("ST", "STG", "STS", "STL", "BRA", "RED", "BAR")
    if stores or not places or not re.match(r"R\d+", places[0]):
        return [], [n for some in registers for n in some]
    return registers[0], [n for some in registers[1:] for n in some]


def is_load(text):
    return opcode(text).split(".")[0] in ("LDG", "LD")


def turn_of(code):
    """The instructions of the smallest loop with enough loads; None if there is none."""
    best = None
    for address, text in code:
        m = re.search(r"\bBRA\S*\s+(?:\S+,\s*)?`?\(?(0x[0-9a-f]+)", text)
        if not m or int(m[1], 16) > address:
            continue
        turn = [t for a, t in code if int(m[1], 16) <= a <= address and opcode(t) != "NOP"]
        if sum(map(is_load, turn)) >= SCORES and (best is None or len(turn) < len(best)):
            best = turn
    return best


def early_loads(turn):
    """Loads before the first instruction that reads what one of them has loaded."""
    loaded, count = set(), 0
    for text in turn:
        written, read = operands(text)
        if loaded & set(read):
            return count
        if is_load(text):
            wide = 2 if ".64" in opcode(text) else 4 if ".128" in opcode(text) else 1
            loaded |= {n + i for n in written for i in range(wide)}
            count += 1
    return count


def measured(build, cuobjdump):
    """{(GPU, kernel): (instructions a score, early loads, powers of two a score)}"""
    found, without = {}, []
    for arch in ARCHS:
        said = subprocess.run(
            [cuobjdump, "-sass", "-arch", arch, f"{build}/{OBJECT}"], capture_output=True, text=True
        )
        functions = functions_of(said.stdout)
        names = subprocess.run(
            ["c++filt"], input="\n".join(functions), capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for name, code in zip(names, functions.values()):
            kernel = kernel_name(name)
            if kernel is None:
                continue
            turn = turn_of(code)
            if turn is None:
                without.append(f"{arch} {kernel}")
                continue
            powers = sum(opcode(t).startswith("MUFU.EX2") for t in turn)
            found[arch, kernel] = (len(turn) / SCORES, early_loads(turn), powers / SCORES)
    if without:
        sys.exit(f"no loop with {SCORES} loads: {without}")
    return found


def read_table(path):
    release, table = "", {}
    for line in open(path) if os.path.exists(path) else []:
        if m := re.match(r"# nvcc ([0-9.]+)", line):
            release = m[1]
        elif line.strip() and not line.startswith("#"):
            arch, kernel, instructions, loads, powers = line.split()
            table[arch, kernel] = (float(instructions), int(loads), float(powers))
    return release, table


def wrong_of(now, table):
    """What is worse than the table, or beyond a limit, in lines."""
    bad = []
    for (arch, kernel), (instructions, loads, powers) in sorted(now.items()):
        most = LIMITS.get(kernel)
        if most is not None and instructions > most:
            bad.append(f"{arch} {kernel}: {instructions:.3f} instructions a score, limit {most}")
        if (arch, kernel) not in table:
            bad.append(f"{arch} {kernel}: no line in the table (--write)")
            continue
        old = table[arch, kernel]
        if instructions > old[0]:
            bad.append(f"{arch} {kernel}: {instructions:.3f} instructions a score, table {old[0]}")
        if loads < old[1]:
            bad.append(f"{arch} {kernel}: {loads} loads before the first use, table {old[1]}")
        if powers > old[2]:
            bad.append(f"{arch} {kernel}: {powers:.3f} powers of two a score, table {old[2]}")
    # A kernel that has lost its line, or its name, would be counted no more.
    archs = {arch for arch, _ in now}
    return bad + [
        f"{a} {k}: not in this build" for a, k in table if a in archs and (a, k) not in now
    ]


def main():
    build, path = sys.argv[1:3]
    cuobjdump = find_cuobjdump()
    if not os.path.exists(f"{build}/{OBJECT}"):
        print(f"skipped: a build without CUDA ({OBJECT} is missing)")
        return 77
    if cuobjdump is None:
        print("skipped: cuobjdump is missing (pip install triton)")
        return 77
    release, (of, table) = nvcc_release(build), read_table(path)
    if of != release and "--write" not in sys.argv:
        print(f"skipped: the table is of nvcc {of}, this is {release}: nothing is checked")
        return 77
    now = measured(build, cuobjdump)
    if not now:
        print(f"skipped: this build has no kernels for {' or '.join(ARCHS)}: nothing is checked")
        return 77
    if "--write" in sys.argv:
        if bad := [line for line in wrong_of(now, now)]:
            sys.exit("\n".join(bad))
        built = {arch for arch, _ in now}
        kept = {k: v for k, v in table.items() if of == release and k[0] not in built}
        with open(path, "w") as out:
            out.write(
                f"# nvcc {release}: GPU, kernel, instructions a score, loads before the first use, "
                "powers of two a score (tests/cuda/instructions.py)\n"
            )
            for (arch, kernel), (instructions, loads, powers) in sorted((now | kept).items()):
                out.write(f"{arch} {kernel} {instructions:.3f} {loads} {powers:.3f}\n")
        return 0
    bad = wrong_of(now, table)
    print("\n".join(bad) or f"{len(now)} loops over products are within the table")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
