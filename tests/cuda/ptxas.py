#!/usr/bin/env python3
"""What ptxas says of the kernels of this build: none has a stack or spills beyond a table, nor more
registers.

  ptxas.py BUILD TABLE [--write]

The build keeps what `ptxas -v` printed (cmake/nvcc.sh), so that nothing is compiled for this. A
line of TABLE is a GPU, a source, a kernel (of a template all of its instances), the most registers
of one, and the most bytes of stack and of spills. Other releases of nvcc give other numbers: the
table names the one it is of, and another skips the check (exit status 77), as does a build for
other GPUs alone. --write writes the lines of this build's GPUs anew: bytes of stack and spills may
shrink in it, and not grow.
"""
import collections
import glob
import os
import re
import subprocess
import sys

ARCHS = ("sm_80", "sm_90")


def kernels_of(log):
    """(GPU, mangled name, registers, stack, spilled) for each kernel in a log, of the GPUs in
    ARCHS."""
    found, function, arch, stack, spilled = [], None, None, {}, {}
    properties = None
    for line in open(log):
        if m := re.search(r"Compiling entry function '(\S+)' for '(\S+)'", line):
            function, arch = m[1] if m[2] in ARCHS else None, m[2]
        elif m := re.search(r"Function properties for (\S+)", line):
            properties = m[1]
        elif m := re.search(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line
        ):
            stack[properties], spilled[properties] = int(m[1]), int(m[2]) + int(m[3])
        elif (m := re.search(r"Used (\d+) registers", line)) and function:
            found.append(
                (arch, function, int(m[1]), stack.get(function, 0), spilled.get(function, 0))
            )
            function = None
    return found


def base_name(demangled):
    """void nine::cuda::(anonymous namespace)::slopes_kernel<float, ...>(...) is slopes_kernel; of
    elementwise kernels, the functor too."""
    text = (
        demangled.replace("(anonymous namespace)::", "")
        .replace("nine::cuda::", "")
        .replace("nine::", "")
    )
    name = re.match(r"(?:void )?([\w:]+)", text)[1]
    if name == "each_kernel" and (functor := re.match(r"(?:void )?each_kernel<([\w:]+)", text)):
        name += ":" + functor[1]
    return name


def measured(build):
    found = collections.defaultdict(lambda: [0, 0, 0])
    for log in sorted(
        glob.glob(f"{build}/cuda/*.ptxas")
        + glob.glob(f"{build}/kernels/**/cuda/*.ptxas", recursive=True)
    ):
        rows = kernels_of(log)
        if not rows:
            continue
        names = subprocess.run(
            ["c++filt"],
            input="\n".join(r[1] for r in rows),
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        source = os.path.relpath(log, build).removesuffix(".o.ptxas")
        for name, (arch, _, *numbers) in zip(names, rows):
            key = (arch, source, base_name(name))
            found[key] = [max(a, b) for a, b in zip(found[key], numbers)]
    return found


def read_table(path):
    release, table = "", {}
    for line in open(path):
        if m := re.match(r"# nvcc ([0-9.]+)", line):
            release = m[1]
        elif line.strip() and not line.startswith("#"):
            arch, source, kernel, *numbers = line.split()
            table[arch, source, kernel] = [int(n) for n in numbers]
    return release, table


def nvcc_release(build):
    cache = open(f"{build}/CMakeCache.txt").read()
    nvcc = re.search(r"^NINE_NVCC:\w+=(.*)$", cache, re.M)
    said = subprocess.run([nvcc[1], "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release ([0-9.]+)", said)[1]


def main():
    build, path = sys.argv[1:3]
    now, release = measured(build), nvcc_release(build)
    if not now:
        print(f"skipped: this build has no kernels for {' or '.join(ARCHS)}: nothing is checked")
        return 77
    of, table = read_table(path) if os.path.exists(path) else ("", {})
    if "--write" in sys.argv:
        grown = [
            k for k, v in now.items() if k in table and (v[1] > table[k][1] or v[2] > table[k][2])
        ]
        if grown and of == release:
            sys.exit(
                f"these have more stack or spills than before, which the table does not take: {grown}"
            )
        built = {arch for arch, *_ in now}
        kept = {k: v for k, v in table.items() if of == release and k[0] not in built}
        with open(path, "w") as out:
            out.write(
                f"# nvcc {release}: GPU, source, kernel, registers, bytes of stack, bytes spilled (tests/cuda/ptxas.py)\n"
            )
            out.writelines(
                " ".join(map(str, [*key, *numbers])) + "\n"
                for key, numbers in sorted((now | kept).items())
            )
        return 0
    if of != release:
        print(f"skipped: the table is of nvcc {of}, this is {release}: nothing is checked")
        return 77
    bad = []
    for key, numbers in sorted(now.items()):
        # a kernel without a line: two blocks of 256 threads fit
        allowed = table.get(key, [128, 0, 0])
        bad += [
            f"{' '.join(key)}: {n} {what}, {most} in the table"
            for what, n, most in zip(
                ("registers", "bytes of stack", "bytes spilled"), numbers, allowed
            )
            if n > most
        ]
        if any(n < most for n, most in zip(numbers[1:], allowed[1:])):
            print(
                f"{' '.join(key)}: {numbers[1]} bytes of stack and {numbers[2]} spilled, the table can shrink (--write)"
            )
    print(
        "\n".join(bad)
        or f"{len(now)} kernels of {', '.join(sorted({k[0] for k in now}))} are within the table"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
