"""Kernels for CPUs that mdh kernel has written."""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass
from typing import Any, Tuple

from .client_modules import kernel_file


@dataclass(frozen=True)
class CpuKernelFile:
    """What mdh kernel has written for a CPU."""

    entry: str
    language: str
    source: str
    arguments: Tuple[Any, ...]
    compile_options: Tuple[str, ...]
    compiler: str
    stages: int
    threads: int


def read_cpu_kernel(path: pathlib.Path) -> CpuKernelFile:
    information = json.loads(path.read_text(encoding="utf-8"))
    arguments = tuple(
        kernel_file.KernelArgument(a["name"], a["type"], a["elements"], a["size_bytes"],
                                   a["is_output"], tuple(a.get("extents", ())),
                                   tuple(a.get("strides", ())))
        for a in information["arguments"])
    return CpuKernelFile(
        information["entry"], information["language"],
        (path.parent / information["source"]).read_text(encoding="utf-8"), arguments,
        tuple(information["compile_options"]), information.get("compiler", ""),
        information.get("stages", 0), information.get("threads", 0))
