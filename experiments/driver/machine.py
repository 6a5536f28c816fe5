"""Describes the machine, and the environment that sets the precision of its programs' products
(docs/matmul-precision.md)."""
import os
import pathlib
import platform
import re

# of /proc/cpuinfo, by instruction set
FLAGS = {"high": {"amx": "amx_bf16"}, "medium": {"amx": "amx_bf16", "avx512_bf16": "avx512_bf16"}}
TOLD = ("NINE_ISA", "NINE_BF16_TILES")


def cpuinfo():
    try:
        return pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def described(environment):
    """The class of the machine, no name of its own, and what makes programs compute otherwise on
    it."""
    found = re.search(r"^model name\s*: (.*)$", cpuinfo(), re.M)
    model = found.group(1).strip() if found else platform.machine()
    return f"{model}, {os.cpu_count()} cores" + "".join(
        f", {name}={environment[name]}" for name in TOLD if environment.get(name)
    )


def environment(program, arguments, device="cpu"):
    """What a program is started with. NINE_BF16_TILES is for `high` and `medium` alone: `highest`,
    and what names no precision, is float32 on a CPU without tiles. SystemExit: without
    NINE_BF16_TILES those two would be float32 as well."""
    precision = re.search(r"--matmul-precision (high|medium)(?!\S)", " ".join(map(str, arguments)))
    if not precision:
        return {name: value for name, value in os.environ.items() if name != "NINE_BF16_TILES"}
    told = os.environ.get("NINE_ISA")
    able = any(
        flag in cpuinfo() for isa, flag in FLAGS[precision[1]].items() if told in (None, "", isa)
    )
    if device == "cpu" and not able and not os.environ.get("NINE_BF16_TILES"):
        raise SystemExit(
            f"{program}: {f'NINE_ISA={told}' if told else 'this CPU'} has no bfloat16"
            f" {'tiles' if precision[1] == 'high' else 'products'}; NINE_BF16_TILES=pairs before"
            f" the command computes `{precision[1]}` by pairs of bfloat16"
        )
    return dict(os.environ)
