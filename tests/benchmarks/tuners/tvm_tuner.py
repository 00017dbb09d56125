"""TVM's MetaSchedule on the same loop nest: its search runs in a process of its own, which is ended when the time is
over; what it measured until then is in its database, whose best schedule counts.

As a program: python3 -m tuners.tvm_tuner EXPRESSION.json THREADS FOLDER searches until it is ended."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any, Callable, List

from .loop_nest import ARITHMETIC, Access, LoopNest, NestError, Operations, nest_of

try:
    import tvm
    from tvm import te, tirx as tir
    from tvm.s_tir import meta_schedule
except ImportError:
    tvm = None

NAME = "TVM"
_MOST_TRIALS = 1_000_000
_TRIALS_AT_ONCE = 16


def version() -> str:
    """Empty if it is not installed."""
    return str(tvm.__version__) if tvm is not None else ""


class _Tvm(Operations):
    def __init__(self) -> None:
        self.functions = {
            **ARITHMETIC, "EQ": lambda a, b: tir.EQ(a, b), "NE": lambda a, b: tir.NE(a, b), "AND": tir.And,
            "OR": tir.Or, "NOT": tir.Not, "SELECT": tir.Select, "ABS": tir.abs, "SQRT": tir.sqrt, "RSQRT": tir.rsqrt,
            "EXP": tir.exp, "LOG": tir.log, "LOG2": tir.log2, "TANH": tir.tanh, "ERF": tir.erf, "MIN": tir.Min,
            "MAX": tir.Max, "FMIN": tir.Min, "FMAX": tir.Max, "POW": tir.power, "FLOOR": tir.floor, "CEIL": tir.ceil,
            "ROUND": tir.nearbyint, "TRUNC": tir.trunc, "SIN": tir.sin, "COS": tir.cos,
        }

    def constant(self, value: Any, dtype: str) -> Any:
        return tir.const(value, dtype)

    def cast(self, value: Any, dtype: str) -> Any:
        return tir.Cast(dtype, value)


def _product() -> Any:
    return te.comm_reducer(lambda a, b: a * b, lambda dtype: tir.const(1, dtype), name="product")


def module_of(nest: LoopNest) -> Any:
    """Its arguments are the inputs, then the output."""
    operations = _Tvm()
    tensors = [te.placeholder(given.shape, given.dtype, name=given.name) for given in nest.inputs]

    def reads(indices: List[Any]) -> Callable[[Access], Any]:
        def read(access: Access) -> Any:
            tensor, given = tensors[access.buffer], nest.inputs[access.buffer]
            at = [affine.at(indices) for affine in access.indices]
            if given.boundary == "clamp":
                return tensor(*[tir.Max(0, tir.Min(index, extent - 1)) for index, extent in zip(at, given.shape)])
            if given.boundary != "constant":
                return tensor(*at)
            inside = tir.all(*[condition for index, extent in zip(at, given.shape)
                               for condition in (index >= 0, index < extent)])
            return tir.if_then_else(inside, tensor(*at), tir.const(given.constant, given.dtype))
        return read

    def at(kept: Any, reduced: List[Any]) -> List[Any]:
        indices: List[Any] = [0] * len(nest.sizes)
        for d, index in zip((*nest.kept, *nest.reduced), (*kept, *reduced)):
            indices[d] = index
        return indices

    def value(*kept: Any) -> Any:
        axes = [te.reduce_axis((0, nest.sizes[d]), name=f"r{d}") for d in nest.reduced]
        indices = at(kept, axes)
        inner = nest.function.value(reads(indices), indices, None, operations)
        if not nest.operator:
            return inner
        reduce = {"add": te.sum, "mul": _product(), "min": te.min, "max": te.max}[nest.operator]
        return reduce(inner, axis=axes)

    tensor = te.compute(nest.shape, value, name="reduced")
    if nest.store is not None or nest.output_dtype != nest.function_dtype:
        def stored(*kept: Any) -> Any:
            indices = at(kept, [0] * len(nest.reduced))
            result = tensor(*kept)
            if nest.store is not None:
                result = nest.store.value(reads(indices), indices, result, operations)
            return tir.Cast(nest.output_dtype, result)
        result = te.compute(nest.shape, stored, name="result")
    else:
        result = tensor
    return tvm.IRModule({"main": te.create_prim_func([*tensors, result])})


def _target(threads: int) -> Any:
    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target({"kind": "llvm", "mcpu": str(cpu), "num-cores": threads})


def kernel(nest: LoopNest, folder: pathlib.Path, threads: int, inputs: List[Any], output: Any) -> Callable[[], None]:
    """Of the best schedule in the folder's database. `output`: an array that read_back fills. Errors: NestError if
    there is none."""
    if not (folder / "database_tuning_record.json").exists():
        raise NestError("its search has measured no schedule")
    database = meta_schedule.database.JSONDatabase(work_dir=str(folder), allow_missing=False)
    module, target = module_of(nest), _target(threads)
    schedule = meta_schedule.tir_integration.compile_tir(database, module, target)
    if schedule is None:
        raise NestError("its search has measured no schedule")
    run = tvm.compile(schedule.mod, target=target)["main"]
    arguments = [*(tvm.runtime.tensor(array) for array in inputs), tvm.runtime.tensor(output)]

    def call() -> None:
        run(*arguments)
    call.read_back = lambda: output.__setitem__(..., arguments[-1].numpy())  # type: ignore[attr-defined]
    return call


def main() -> int:
    file, threads, folder = sys.argv[1:]
    try:
        nest = nest_of(json.loads(pathlib.Path(file).read_text(encoding="utf-8")))
        meta_schedule.tune_tir(module_of(nest), target=_target(int(threads)), work_dir=folder,
                               max_trials_global=_MOST_TRIALS, num_trials_per_iter=_TRIALS_AT_ONCE)
    except NestError as error:
        print(str(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
