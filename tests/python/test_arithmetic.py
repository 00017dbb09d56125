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


def loops(of, to):
    """@mdh for y[i] = ... x[i] ... of these types."""
    return mdh.mdh(out(y=Buffer[to, [N]]), inp(x=Buffer[of, [N]]))


def numbers(dtype):
    return np.array([-7, -6, -1, 0, 1, 5, 7, 8], dtype)


def result_of(run, expression, x, dtype):
    y = np.full(N, 99, dtype)
    run(expression, x, y)
    return y


def test_remainders_and_quotients_of_negative_numbers(run):
    @loops(int32, int32)
    def bucket(y, x):
        for i in range(N):
            y[i] = x[i] % 3

    @loops(int32, int32)
    def below(y, x):
        for i in range(N):
            y[i] = x[i] // -3

    @loops(int32, fp32)
    def half(y, x):
        for i in range(N):
            y[i] = x[i] / 2

    @loops(int32, int32)
    def whole_half(y, x):
        for i in range(N):
            y[i] = x[i] / 2  # stored as numpy does: truncated

    x = numbers(np.int32)
    assert (result_of(run, bucket, x, np.int32) == x % 3).all()
    assert (result_of(run, below, x, np.int32) == x // -3).all()
    assert (result_of(run, half, x, np.float32) == x / 2).all()
    assert (result_of(run, whole_half, x, np.int32) == (x / 2).astype(np.int32)).all()


def test_loop_variables_are_pythons_integers(run):
    @loops(int64, int64)
    def wrap(y, x):
        for i in range(-4, 4):
            y[i + 4] = i % 3 + 10 * (i // 3) + 100 * (-7 // 2) + x[i + 4] * 0

    @loops(int64, fp64)
    def quotients(y, x):
        for i in range(-4, 4):
            y[i + 4] = i / 3 + fp64(x[i + 4] * 0)

    zeros = np.zeros(N, np.int64)
    expected = [i % 3 + 10 * (i // 3) + 100 * (-7 // 2) for i in range(-4, 4)]
    assert result_of(run, wrap, zeros, np.int64).tolist() == expected
    assert result_of(run, quotients, zeros, np.float64).tolist() == [i / 3 for i in range(-4, 4)]


def test_lists_are_indexed_from_the_end_by_negative_numbers(run):
    weights = [1, 2, 3, 4]

    @loops(int8, int64)
    def picked(y, x):
        for i in range(-4, 4):
            y[i + 4] = 10 * weights[i] + weights[x[i + 4]]

    x = np.array([-4, -3, -2, -1, 0, 1, 2, 3], np.int8)
    expected = [10 * weights[i] + weights[n] for i, n in zip(range(-4, 4), x)]
    assert result_of(run, picked, x, np.int64).tolist() == expected


def test_whole_numbers_of_reals_and_functions_of_math_and_numpy(run):
    @loops(fp64, fp64)
    def functions(y, x):
        for i in range(N):
            y[i] = math.floor(x[i] / 2) + math.ceil(x[i] / 2) * 100 + round(x[i] / 2) * 1e4 + math.fmod(
                x[i], 3) * 1e6 + np.remainder(x[i], 3) * 1e8 + math.trunc(x[i] / 2) * 1e10

    @loops(fp32, fp32)
    def exponentials(y, x):
        for i in range(N):
            y[i] = np.exp(x[i]) + np.float32(2) * np.where(x[i] > 0, x[i], 0.5)

    x = numbers(np.float64)
    expected = [math.floor(v / 2) + math.ceil(v / 2) * 100 + round(v / 2) * 1e4 + math.fmod(v, 3) * 1e6
                + v % 3 * 1e8 + math.trunc(v / 2) * 1e10 for v in x.tolist()]
    assert result_of(run, functions, x, np.float64).tolist() == expected
    x = numbers(np.float32)
    np.testing.assert_allclose(result_of(run, exponentials, x, np.float32),
                               np.exp(x) + 2 * np.where(x > 0, x, np.float32(0.5)), rtol=1e-6)


def test_numpys_functions_in_a_scalar_function():
    def of(function):
        def build():
            def f(out, inp):
                out['y'] = function(inp['x'])

            return (mdh.out_view[fp32](y=[lambda i: (i)]), mdh.md_hom[N](f, (mdh.cc,)),
                    mdh.inp_view[fp32](x=[lambda i: (i)]))

        return mdh.mdh(build)

    assert of(np.exp).digest == of(mdh.exp).digest
    assert of(lambda x: np.float32(2) * x).digest == of(lambda x: 2 * x).digest
    assert of(lambda x: np.where(x > 0, x, 1)).digest == of(lambda x: mdh.where(x > 0, x, 1)).digest
    for function, message in (
            (np.arctan, "numpy's arctan is no function of scalar functions; these are: absolute, add"),
            (np.median, "numpy's median is no function of scalar functions"),
            (np.add.reduce, "numpy's reduce is no function"),
            (lambda x: np.exp(x, dtype=np.float64), "numpy's exp has no argument 'dtype'"),
            (lambda x: np.exp(mdh.int32(x)), "'exp' is for floating-point values, not for int32")):
        with pytest.raises(mdh.ExpressionError, match=message):
            of(function)


def test_what_a_division_that_rounds_down_becomes():
    """Indices are never negative, nor are remainders of them: no selection is needed."""
    def operations(body):
        @mdh.mdh
        def build():
            def f(out, inp, index):
                out['y'] = body(inp['x'], index.i)

            return (mdh.out_view[int64](y=[lambda i: (i)]), mdh.md_hom[N](f, (mdh.cc,)),
                    mdh.inp_view[int64](x=[lambda i: (i)]))

        return sum(i.op == mdh.canonical.pb.SCALAR_OP_SELECT
                   for i in build.to_proto().function.instructions)

    assert operations(lambda x, i: i % 3 + (2 * i + 1) // 4 % 2) == 0
    assert operations(lambda x, i: mdh.int64(mdh.uint8(x) % 3)) == 0
    assert operations(lambda x, i: (i - 1) % 3) == 1
    assert operations(lambda x, i: x % 3) == 1


def test_every_operator_of_python_is_the_same_for_the_interpreter(client):
    """The tuner compares kernels with the interpreter's results."""
    @mdh.mdh(out(y=Buffer[fp32], n=Buffer[int32], b=Buffer[uint8]),
             inp(x=Buffer[fp32], k=Buffer[int32], u=Buffer[uint8]))
    def operators(y, n, b, x, k, u):
        for i in range(N):
            y[i] = x[i] % 2.5 + x[i] // -0.75 + math.fmod(x[i], 3.0)
            n[i] = k[i] % -3 + k[i] // 5 + (k[i] >> 2) + (k[i] << 3) + k[i] ** 9
            b[i] = u[i] % 3 + u[i] // 5 + (u[i] >> 2)

    tuned = client.tune(operators, max_trials=2)
    assert tuned.trials >= 1 and tuned.failed_trials == 0
