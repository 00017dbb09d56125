"""Halide's autoschedulers: that of 2016, which decides by rules, and the beam searches of 2018 and 2019, which are
begun again and again with decisions left out at random; every schedule is compiled and measured, the best one counts.

As a program: python3 -m tuners.halide_tuner EXPRESSION.json SECONDS THREADS prints a line of JSON for each schedule
that is better than those before, so that a search that ends badly has given what it had."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

from .loop_nest import ARITHMETIC, Access, Input, LoopNest, NestError, Operations, nest_of

try:
    import halide as hl
except ImportError:
    hl = None

NAME = "Halide"
_LEAST_SECONDS = 0.03  # of measuring a schedule
Recipe = Dict[str, Any]  # which autoscheduler, with which parameters


def version() -> str:
    """Empty if it is not installed."""
    from importlib import metadata
    return metadata.version("halide") if hl is not None else ""


class _Halide(Operations):
    def __init__(self) -> None:
        self.functions = {
            **ARITHMETIC, "EQ": lambda a, b: a == b, "NE": lambda a, b: a != b, "AND": lambda a, b: a & b,
            "OR": lambda a, b: a | b, "NOT": lambda a: ~a, "SELECT": hl.select, "ABS": hl.abs, "SQRT": hl.sqrt,
            "EXP": hl.exp, "LOG": hl.log, "TANH": hl.tanh, "ERF": hl.erf, "MIN": hl.min, "MAX": hl.max,
            "FMIN": hl.min, "FMAX": hl.max, "POW": hl.pow, "FLOOR": hl.floor, "CEIL": hl.ceil, "ROUND": hl.round,
            "TRUNC": hl.trunc, "SIN": hl.sin, "COS": hl.cos,
        }

    def constant(self, value: Any, dtype: str) -> Any:
        return hl.cast(_type(dtype), value)

    def cast(self, value: Any, dtype: str) -> Any:
        return hl.cast(_type(dtype), value)


def _type(dtype: str) -> Any:
    return {"float32": hl.Float(32), "float64": hl.Float(64), "int32": hl.Int(32), "int64": hl.Int(64),
            "bool": hl.Bool()}[dtype]


def _readable(buffer: Any, given: Input) -> Any:
    """With what there is outside of it."""
    if given.boundary == "constant":
        return hl.BoundaryConditions.constant_exterior(buffer, hl.cast(_type(given.dtype), given.constant))
    return hl.BoundaryConditions.repeat_edge(buffer) if given.boundary == "clamp" else buffer


def pipeline_of(nest: LoopNest, buffers: List[Any]) -> Any:
    """Of Halide's buffers of the inputs; not scheduled yet."""
    operations = _Halide()
    sources = [_readable(buffer, given) for buffer, given in zip(buffers, nest.inputs)]
    variables = [hl.Var(f"i{d}") for d in nest.kept]
    indices: List[Any] = [0] * len(nest.sizes)
    for d, variable in zip(nest.kept, variables):
        indices[d] = variable
    if nest.reduced:
        box = hl.RDom([hl.Range(0, nest.sizes[d]) for d in nest.reduced])
        for n, d in enumerate(nest.reduced):
            indices[d] = box[n]

    def read(access: Access) -> Any:
        at = [affine.at(indices) for affine in access.indices]
        return sources[access.buffer][tuple(reversed(at))] if at else sources[access.buffer][()]

    arguments = tuple(reversed(variables))  # innermost first
    value = nest.function.value(read, indices, None, operations)
    if nest.operator:
        made = hl.Func("reduced")
        made[arguments] = _identity(nest)
        old = made[arguments]
        made[arguments] = {"add": lambda: old + value, "mul": lambda: old * value, "min": lambda: hl.min(old, value),
                           "max": lambda: hl.max(old, value)}[nest.operator]()
        if nest.store is None and nest.output_dtype == nest.function_dtype:
            return _finished(made, nest)
        value = made[arguments]
    if nest.store is not None:
        value = nest.store.value(read, indices, value, operations)
    result = hl.Func("result")
    result[arguments] = hl.cast(_type(nest.output_dtype), value)
    return _finished(result, nest)


def _identity(nest: LoopNest) -> Any:
    value_type = _type(nest.function_dtype)
    if nest.operator in ("min", "max"):
        return value_type.max() if nest.operator == "min" else value_type.min()
    return hl.cast(value_type, nest.identity)


def _finished(func: Any, nest: LoopNest) -> Any:
    if nest.shape:
        func.set_estimates([hl.Range(0, extent) for extent in reversed(nest.shape)])
    return hl.Pipeline(func)


def _recipes(threads: int) -> Iterator[Recipe]:
    """First each as it is, then with random decisions left out, as their authors' own searches do."""
    parallelism = {"parallelism": str(threads)}
    yield {"scheduler": "Mullapudi2016", "parameters": parallelism}
    yield {"scheduler": "Adams2019", "parameters": parallelism}
    yield {"scheduler": "Li2018", "parameters": parallelism}
    for seed in itertools.count(1):
        yield {"scheduler": "Adams2019",
               "parameters": {**parallelism, "random_dropout": str((95, 80, 60)[seed % 3]),
                              "random_dropout_seed": str(seed)}}


def load_autoschedulers() -> None:
    folder = pathlib.Path(hl.__file__).parent
    for name in ("mullapudi2016", "adams2019", "li2018"):
        found = next(folder.glob(f"**/libautoschedule_{name}.so"), None)
        if found is not None:
            hl.load_plugin(str(found))


def compiled(nest: LoopNest, buffers: List[Any], recipe: Recipe) -> Any:
    """Errors: Halide's, where a scheduler cannot do it."""
    target = hl.get_jit_target_from_environment()
    pipeline = pipeline_of(nest, buffers)
    pipeline.apply_autoscheduler(target, hl.AutoschedulerParams(recipe["scheduler"], recipe["parameters"]))
    pipeline.compile_jit(target)
    return pipeline


def buffers_of(arrays: List[Any]) -> List[Any]:
    return [hl.Buffer(array) for array in arrays]


def kernel(nest: LoopNest, recipe: Recipe, inputs: List[Any], output: Any) -> Callable[[], None]:
    """What computes the output of the inputs, which are arrays of numpy."""
    load_autoschedulers()
    pipeline, result = compiled(nest, buffers_of(inputs), recipe), hl.Buffer(output)
    return lambda: pipeline.realize(result)


def _seconds_of(run: Callable[[], None], best: float) -> float:
    begin = time.perf_counter()
    run()
    first = time.perf_counter() - begin
    if first > 2 * best:
        return first
    times: List[float] = []
    while len(times) < 3 or sum(times) < _LEAST_SECONDS:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]


def search(nest: LoopNest, seconds: float, threads: int) -> Iterator[Tuple[Recipe, float]]:
    """Each schedule that is better than those before, with its seconds."""
    import numpy
    from .data import arrays_of
    inputs = arrays_of(nest)
    output = hl.Buffer(numpy.zeros(nest.shape, nest.output_dtype))
    load_autoschedulers()
    buffers = buffers_of(inputs)
    end, best = time.monotonic() + seconds, float("inf")
    for recipe in _recipes(threads):
        if time.monotonic() > end:
            return
        try:
            pipeline = compiled(nest, buffers, recipe)
            took = _seconds_of(lambda: pipeline.realize(output), best)
        except Exception as error:  # a scheduler that cannot do it
            print(f"{recipe['scheduler']}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
            continue
        if took < best:
            best = took
            yield recipe, took


def main() -> int:
    file, seconds, threads = sys.argv[1:]
    os.environ["HL_NUM_THREADS"] = threads
    try:
        nest = nest_of(json.loads(pathlib.Path(file).read_text(encoding="utf-8")))
        for recipe, took in search(nest, float(seconds), int(threads)):
            print(json.dumps({"recipe": recipe, "seconds": took}), flush=True)
    except NestError as error:
        print(str(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
