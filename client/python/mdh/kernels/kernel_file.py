"""Kernels as `mdh kernel` writes them: NAME.json and the source beside it."""

from __future__ import annotations

import json
import os
import pathlib
from dataclasses import dataclass
from typing import Any, Dict, Protocol, Tuple, Union

from ..errors import wrong

# Languages that this package compiles, as the service and files name them.
OPENMP_C, CUDA_CXX = "OpenMP C", "CUDA C++"


@dataclass(frozen=True)
class KernelArgument:
    """One argument of a kernel's entry function."""

    name: str
    type: str  # of the elements, e.g. "fp32"; empty for records
    elements: int
    size_bytes: int
    is_output: bool
    # Of the expression's buffer; empty: one element, or a kernel of an earlier version
    extents: Tuple[int, ...] = ()
    strides: Tuple[int, ...] = ()  # in elements; empty: row-major without gaps
    record: Tuple[Tuple[str, str], ...] = ()  # names and types of the fields of records


class SourceKernel(Protocol):
    """What every kernel has, whatever runs it."""

    @property
    def entry(self) -> str: ...

    @property
    def language(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def arguments(self) -> Tuple[KernelArgument, ...]: ...

    @property
    def compile_options(self) -> Tuple[str, ...]: ...


@dataclass(frozen=True)
class TensorMap:
    """A map of an array for the tensor copy engine (CUtensorMap), which launches pass by value."""

    argument: int  # number of the pointer to the array among inputs, outputs and scratch memory
    offset_bytes: int  # of the first element behind it
    element_bytes: int
    extents: Tuple[int, ...]  # elements of each dimension, the contiguous one first
    strides_bytes: Tuple[int, ...]  # of all dimensions but the first
    box: Tuple[int, ...]  # elements of each dimension that a copy brings
    swizzle_bytes: int = 128


@dataclass(frozen=True)
class KernelLaunch:
    """How one function of a kernel of blocks of threads is launched."""

    function: str
    grid: Tuple[int, ...]  # blocks in x, y, z
    block: Tuple[int, ...]  # threads of a block
    dynamic_shared_bytes: int
    # CUDA: may be launched while those before it run, with programmatic stream serialization: it
    # waits for them itself
    starts_early: bool = False
    tensor_maps: Tuple[TensorMap, ...] = ()  # CUDA: behind the pointers


@dataclass(frozen=True)
class KernelFile:
    """A kernel of launches, read from files."""

    entry: str
    language: str  # "OpenCL C", CUDA_CXX, ...
    source: str
    arguments: Tuple[KernelArgument, ...]  # inputs, then outputs
    compile_options: Tuple[str, ...]
    launches: Tuple[KernelLaunch, ...]  # one after the other
    scratch_bytes: int  # of the launches' last argument; 0: there is none
    information: Dict[str, Any]  # everything in NAME.json


def read_kernel(path: Union[str, "os.PathLike[str]"]) -> KernelFile:
    """The kernel of NAME.json. Errors: ExpressionError, naming file and entry, if a file cannot be
    read, is not what `mdh kernel` writes, or describes a kernel without launches."""
    path = pathlib.Path(path)
    try:
        information = json.loads(path.read_text(encoding="utf-8"))
        source = (path.parent / information["source"]).read_text(encoding="utf-8")
        return _kernel(information, source)
    except OSError as error:
        raise wrong(f"cannot read {error.filename}: {error.strerror}") from error
    except KeyError as error:
        raise wrong(f"{path} has no entry {error}: it must describe a kernel for a GPU, as "
                    f"`mdh kernel` writes it") from error
    except (TypeError, ValueError) as error:
        raise wrong(f"{path} is not what `mdh kernel` writes: {error}") from error


def _kernel(information: Dict[str, Any], source: str) -> KernelFile:
    return KernelFile(
        entry=information["entry"],
        language=information["language"],
        source=source,
        arguments=tuple(_argument(a) for a in information["arguments"]),
        compile_options=tuple(information["compile_options"]),
        launches=tuple(
            KernelLaunch(launch["function"], tuple(launch["grid"]), tuple(launch["block"]),
                         launch["dynamic_shared_bytes"], launch.get("starts_early", False),
                         tuple(map(_tensor_map, launch.get("tensor_maps", ()))))
            for launch in information["launches"]),
        scratch_bytes=information["scratch"]["bytes"],
        information=information)


def _tensor_map(tensor: Dict[str, Any]) -> TensorMap:
    return TensorMap(tensor["argument"], tensor["offset_bytes"], tensor["element_bytes"],
                     tuple(tensor["extents"]), tuple(tensor["strides_bytes"]),
                     tuple(tensor["box"]), tensor["swizzle_bytes"])


def _argument(argument: Dict[str, Any]) -> KernelArgument:
    type_name = "" if argument["type"] == "record" else argument["type"]
    return KernelArgument(argument["name"], type_name, argument["elements"],
                          argument["size_bytes"], argument["is_output"],
                          tuple(argument.get("extents", ())), tuple(argument.get("strides", ())),
                          tuple((f["name"], f["type"]) for f in argument.get("fields", ())))
