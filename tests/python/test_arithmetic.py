"""Python's operators on elements and loop variables mean in kernels what they mean in Python.

MDH_RANDOM_BODIES=2000 in the environment tries as many random bodies; 60 without it.
"""

import importlib.util
import math
import os

import pytest

import mdh
from mdh import Buffer, bool_, fp32, fp64, inp, int8, int32, int64, out, uint8

np = pytest.importorskip("numpy")
import random_bodies  # noqa: E402

BODIES = int(os.environ.get("MDH_RANDOM_BODIES", "60"))
PER_KERNEL = 30
N = 8


@pytest.fixture
def run(client, tmp_path):
    """Runs the kernel of an expression on arrays."""
    def run(expression, *arrays):
        best = client.best_kernel(expression, measured=False, numerics="exact_order")
        mdh.CpuKernel(best.kernel, cache_directory=tmp_path / "cache")(*arrays)

    return run


def expression_of(source, results, inputs, in_loops, directory):
    """What @mdh makes of the source of random bodies."""
    file = directory / "bodies.py"
    file.write_text("import math\nimport numpy as np\nfrom mdh import *\nfrom builtins import *\n"
                    f"N, THREE = 5, -3\n\n{source}")
    spec = importlib.util.spec_from_file_location("bodies", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types = {name: getattr(mdh, name) for name in random_bodies.DTYPES}
    of_inputs = {name: types.get(name[2:]) or bool_ for name in inputs}
    of_outputs = {f"y{number}": types[type_] for number, type_ in enumerate(results)}
    if in_loops:
        shape = [random_bodies.ROWS, random_bodies.COLUMNS]
        return mdh.mdh(out(**{name: Buffer[type_, shape] for name, type_ in of_outputs.items()}),
                       inp(**{name: Buffer[type_, shape] for name, type_ in of_inputs.items()}))(
                           module.bodies)

    def view(kind, buffers):
        return kind[tuple(buffers.values())](**{name: [lambda i, j: (i, j)] for name in buffers})

    def random_function():
        return (view(mdh.out_view, of_outputs),
                mdh.md_hom[random_bodies.ROWS, random_bodies.COLUMNS](module.bodies, (mdh.cc, mdh.cc)),
                view(mdh.inp_view, of_inputs))

    return mdh.mdh(random_function)


@pytest.mark.parametrize("seed", range(math.ceil(BODIES / PER_KERNEL)))
def test_random_bodies_equal_pythons_own_execution(run, tmp_path, seed):
    in_loops = seed % 3 != 1
    source, results = random_bodies.Bodies(seed, in_loops).source(PER_KERNEL, depth=3)
    inputs = random_bodies.values(seed)
    used = {name: array for name, array in inputs.items() if name in source.split(":", 1)[1]}
    if in_loops:
        names = ", ".join([f"y{n}" for n in range(len(results))] + list(used))
        source = f"def bodies({names}):" + source.split(":", 1)[1]
    expected = random_bodies.executed(source, results, used, in_loops)
    found = [np.zeros_like(array) for array in expected]
    run(expression_of(source, results, used, in_loops, tmp_path), *used.values(), *found)
    for number, (one, other) in enumerate(zip(found, expected)):
        for i, j in random_bodies.differences(one, other):
            line = [line for line in source.splitlines() if f"y{number}[" in line or f"'y{number}'" in line
                    or f" t{number} " in line]
            elements = {name: array[i, j] for name, array in used.items() if name in "".join(line)}
            pytest.fail(f"{line}\nat i={i + random_bodies.FIRST}, j={j} is {one[i, j]!r}, for Python "
                        f"{other[i, j]!r}: {elements}")
