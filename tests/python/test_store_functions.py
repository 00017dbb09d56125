"""Store functions: what they become, that all ways to write them are the same, and what kernels compute.

MDH_RANDOM_NESTS=1000 in the environment tries as many random nests of loops; 16 without it, in Python and in C.
"""

import importlib.util
import os
import shutil
import subprocess

import examples
import pytest

import mdh
from mdh import (
    Buffer, Record, add, bf16, cc, clamp, combine_ops, einsum, fp16, fp32, fp64, inp, inp_view, int32, int64,
    md_hom, mul, out, out_view, parse, ps, pw, store,
)
from mdh.canonical import passed_inputs

NESTS = int(os.environ.get("MDH_RANDOM_NESTS", "16"))
N, K = 6, 7

DENSE = """dense<T = fp32 | I = 64, J = 96, K = 50> :=
  out_view<T>( y: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +), store s<T,T>( bias: (i,j,k) -> (j), skip: (i,j,k) -> (i,j) ) ) o
  inp_view<T,T>( x: (i,j,k) -> (i,k), w: (i,j,k) -> (k,j) )
where f(x, w) -> (c: fp32) { c = fp32(x) * fp32(w) },
      s(c, bias, skip) -> y { y = T(max(c + fp32(bias), 0)) + skip }"""


@pytest.mark.parametrize("build", [examples.dense_dsl, examples.dense_loops])
@pytest.mark.parametrize("T", [fp32, bf16])
def test_python_and_the_text_form_are_the_same(client, build, T):
    expression = build(T, 4, 5, 6)
    text = parse(DENSE, T=T.name, I=4, J=5, K=6)
    checked = client.check(expression)
    assert expression.digest == checked.digest == client.check(text).digest
    assert client.check(parse(checked.text)).digest == expression.digest


def test_readme(tmp_path):
    from test_package import code_blocks

    blocks = [block for block in code_blocks() if "def dense" in block]
    module = module_of("readme", "\n\n".join(["from mdh import *", *blocks]), tmp_path)
    assert module.dense.digest == module.dense_of_parts.digest == examples.dense_dsl(fp16, 64, 96, 50).digest


def module_of(name, source, directory):
    """Loops are read from files."""
    file = directory / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(body, *declarations, **outputs):
    """Loops over x[i, k], or x[k], that make y[i]."""
    return mdh.mdh(out(**(outputs or dict(y=Buffer[fp32]))), inp(x=Buffer[fp32]), *declarations)(body)


def sum_of_rows():
    def total(y, x):
        for i in range(N):
            for k in range(K):
                y[i] += x[i, k]

    return rows(total)


def test_what_is_stored_as_it_is_needs_no_store_function():
    def with_start(y, x):
        for i in range(N):
            c = 0.0
            for k in range(K):
                c += x[i, k]
            y[i] = c

    def with_conversion(y, x):
        for i in range(N):
            c = fp64(0)
            for k in range(K):
                c = c + fp64(x[i, k])
            y[i] = fp32(c)

    def accumulated(y, x):
        for i in range(N):
            for k in range(K):
                y[i] += fp64(x[i, k])

    assert rows(with_start).digest == sum_of_rows().digest
    assert rows(with_conversion).digest == rows(accumulated).digest != sum_of_rows().digest


def test_a_start_that_is_not_neutral_is_combined_with_the_result(client):
    def with_start(y, x):
        for i in range(N):
            c = x[0, i]
            d = float("-inf")
            for k in range(K):
                c += x[i, k]
                d = max(d, x[i, k])
            y[i] = c + d

    expression = rows(with_start)
    text = parse(f"""e := out_view<fp32>( y: (i,k) -> (i) ) o
      md_hom<{N},{K}>( f, (++, (+, max)), store s<fp32>( x: (i,k) -> (0,i) ) ) o inp_view<fp32>( x: (i,k) -> (i,k) )
      where f(x) -> (c: fp32, d: fp32) {{ c = x; d = x }}, s(c, d, x) -> y {{ y = x + c + d }}""")
    assert expression.digest == client.check(expression).digest == client.check(text).digest


@pytest.mark.parametrize("epilogue, of_text", [
    ("max(out + bias[j], 0) + skip[i, j]", "max(out + bias[j], 0) + skip[i,j]"),
    ("tanh(out * alpha) + A[i, 0] * fp32(j + 1)",
     "tanh(out * alpha[]) + A[i,0] * fp32(j + 1)"),
    ("where(out > x[2 * i + 1], out, -out) * (1 / 4)", "(out > x[2*i+1] ? out : -out) * (1 / 4)"),
    ("math.exp(-out) + 2", "exp(-out) + 2"),
])
@pytest.mark.parametrize("types", [dict(), dict(dtype=fp16, accumulate=fp32)])
def test_an_epilogue_of_a_contraction(mdh, epilogue, of_text, types):
    expression = einsum("ik,kj->ij", i=4, j=5, k=6, epilogue=epilogue, **types)
    options = ["--type", "fp16", "--accumulate", "fp32"] if types else []
    found = subprocess.run([mdh, "check", "--einsum", "ik,kj->ij", "--size", "i=4,j=5,k=6", "--epilogue",
                            of_text, *options], capture_output=True, text=True)
    assert found.stdout.split()[-1] == expression.digest, found.stderr


def test_an_output_may_be_the_accumulator(client):
    @mdh.mdh(out(total=Buffer[fp32], mean=Buffer[fp32]), inp(x=Buffer[fp16]), accumulate={"total": fp32})
    def statistics(total, mean, x):
        for i in range(N):
            for k in range(K):
                total[i] += x[i, k]
            mean[i] = total[i] / K

    text = parse(f"""e := out_view<fp32,fp32>( total: (i,k) -> (i), mean: (i,k) -> (i) ) o
      md_hom<{N},{K}>( f, (++, +), store s ) o inp_view<fp16>( x: (i,k) -> (i,k) )
      where f(x) -> (c: fp32) {{ c = fp32(x) }}, s(c) -> (total, mean) {{ total = c; mean = c / {K} }}""")
    assert statistics.digest == client.check(statistics).digest == client.check(text).digest


def test_an_output_is_read_as_its_type_holds_it():
    @mdh.mdh(out(y=Buffer[fp16]), inp(x=Buffer[fp16]), accumulate={"y": fp32})
    def doubled(y, x):
        for i in range(N):
            for k in range(K):
                y[i] += x[i, k]
            y[i] *= 2

    function = doubled.to_proto().store.function
    assert [r.type for r in function.results] == [fp16.code]
    assert [p.type for p in function.parameters] == [fp32.code]


def test_what_stands_before_loops_is_read_where_it_is_used():
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32], a=Buffer[fp32], b=Buffer[fp32]))
    def scaled(y, x, a, b):
        for i in range(N):
            inside = a[i]
            behind = b[i]
            row = i + 1
            c = 0
            for k in range(K):
                c += x[row, k] * inside
            y[i] = c * behind * fp32(row)

    proto = scaled.to_proto()
    assert [b.name for b in proto.inputs] == ["x", "a"]
    assert [b.name for b in proto.store.inputs] == ["b"]
    assert list(proto.store.index_dimensions) == [0] and not proto.index_dimensions
    assert [b.name for b in passed_inputs(proto)] == ["x", "a", "b"]


def test_variables_of_one_iteration_may_have_one_name():
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def squares(y, x):
        for i in range(N):
            t = x[i, 0]
            c = t
            for k in range(K):
                t = x[i, k] * x[i, k]
                t = t + 1
                c += t
            t = c * 2
            t += 1
            y[i] = t

    assert squares.to_proto().store.inputs


def test_the_whole_may_be_one_value(client):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))
    def norm(y, x):
        squares = 0
        for i in range(N):
            squares += x[i] * x[i]
        y = mdh.sqrt(squares)

    text = parse(f"""e := out_view<fp32>( y: (i) -> () ) o md_hom<{N}>( f, (+), store s ) o
      inp_view<fp32>( x: (i) -> (i) ) where f(x) -> (c: fp32) {{ c = x * x }}, s(c) -> y {{ y = sqrt(c) }}""")
    assert norm.digest == client.check(text).digest


Best = Record(at=int64, weight=fp32)


def better(res, lhs, rhs):
    left, right = lhs['best'], rhs['best']
    is_left = (left.weight > right.weight) | ((left.weight == right.weight) & (left.at < right.at))
    res['best'] = mdh.where(is_left, left, right)


def test_records_and_functions_that_combine(client):
    def position(y, x):
        for i in range(N):
            for k in range(K):
                best = Best(k, x[i, k])
            y[i] = best.at

    loops = rows(position, combine_ops(cc, pw(better, identity=dict(best=dict(at=0, weight=float("-inf"))))),
                 y=Buffer[int64])

    @mdh.mdh
    def build():
        def f(out, inp, index):
            out['best'] = Best(index.k, inp['x'])

        def s(out, res):
            out['y'] = res['best'].at

        identity = dict(best=dict(at=0, weight=float("-inf")))
        return (out_view[int64](y=[lambda i, k: (i)]),
                md_hom[N, K](f, (cc, pw(better, identity=identity)), s), inp_view[fp32](x=[lambda i, k: (i, k)]))

    checked = client.check(build)
    assert loops.digest == build.digest == checked.digest == client.check(parse(checked.text)).digest


def test_scans_named_functions_and_buffers_that_are_read_twice(client):
    @mdh.mdh(inp(x=Buffer(fp32, [N], boundary=clamp)))
    def smoothed():
        def s(out, res, inp, index):
            out['y'] = res['y'] + inp['x'][0] * inp['x'][1] / fp32(index.i + 1)

        return (out_view[fp32](y=[lambda i: (i)]),
                md_hom[N](mul, ps(add), store(s, x=[lambda i: (i - 1), lambda i: (i + 1)])),
                inp_view(x=[lambda i: (i)]))

    proto = smoothed.to_proto()
    assert [b.name for b in passed_inputs(proto)] == ["x"]
    checked = client.check(smoothed)
    assert smoothed.digest == checked.digest == client.check(parse(checked.text)).digest


@pytest.mark.parametrize("extents, read_extents", [("", ""), ("[9]", ""), ("[9]", "[9]"), ("", "[9]")])
def test_extents_of_a_buffer_that_both_read_cover_both(client, extents, read_extents):
    @mdh.mdh
    def build():
        return (out_view[fp32](y=[lambda i: (i)]),
                md_hom[4](mdh.identity, cc, store[fp32](lambda out, res, inp: out.__setitem__(
                    'y', res['x'] + inp['x']), x=[lambda i: (i + 2)])),
                inp_view[fp32](x=[lambda i: (i)]))

    proto = build.to_proto()
    proto.inputs[0].extents.extend([9] if extents else [])
    proto.store.inputs[0].extents.extend([9] if read_extents else [])
    expression = mdh.Expression(proto)
    text = parse(f"""e := out_view<fp32>( y: (i) -> (i) ) o
      md_hom<4>( f, (++), store s<fp32>( x{read_extents}: (i) -> (i + 2) ) ) o
      inp_view<fp32>( x{extents}: (i) -> (i) )
      where f(x) -> (c: fp32) {{ c = x }}, s(c, x) -> y {{ y = c + x }}""")
    assert expression.digest == client.check(expression).digest == client.check(text).digest


@pytest.fixture
def run(client, tmp_path):
    """Runs the kernel of an expression on arrays."""
    def run(expression, *arrays):
        best = client.best_kernel(expression, measured=False, numerics="exact_order")
        mdh.CpuKernel(best.kernel, cache_directory=tmp_path / "cache")(*arrays)

    return run


def test_a_tuned_kernel_takes_what_the_store_function_reads_behind_the_inputs(client, tmp_path):
    np = pytest.importorskip("numpy")
    expression = examples.dense_loops(fp32, 8, 9, 10)
    tuned = client.tune(expression, max_trials=3)
    assert tuned.trials >= 1 and tuned.failed_trials == 0
    numbers = np.random.default_rng(1)
    x, w, bias, skip = (numbers.integers(-4, 5, shape).astype("f4")
                        for shape in ((8, 10), (10, 9), (9,), (8, 9)))
    y = np.zeros((8, 9), "f4")
    mdh.CpuKernel(client.kernel(tuned), cache_directory=tmp_path / "cache")(x, w, bias, skip, y)
    np.testing.assert_array_equal(y, np.maximum(x @ w + bias, 0) + skip)


def expression_of(nest, directory):
    module = module_of("nest", f"from mdh import *\nfrom builtins import *\n\n{nest.source}", directory)
    return mdh.mdh(out(**{name: Buffer[getattr(mdh, type_)] for name, type_ in nest.outputs.items()}),
                   inp(**{name: Buffer[getattr(mdh, type_)] for name, (type_, _) in nest.inputs.items()})
                   )(module.nest)


@pytest.mark.parametrize("seed", range(NESTS))
def test_random_nests_equal_pythons_own_execution(client, run, tmp_path, seed):
    np = pytest.importorskip("numpy")
    from random_nests import Nests

    nest = Nests(seed)
    expression = expression_of(nest, tmp_path)
    checked = client.check(expression)
    assert expression.digest == checked.digest == client.check(parse(checked.text)).digest, nest.source
    arrays = nest.arrays()
    expected = nest.executed(arrays)
    found = [np.zeros_like(array) for array in expected]
    passed = [arrays[buffer.name] for buffer in passed_inputs(expression.to_proto())]
    run(expression, *passed, *found)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other, err_msg=nest.source)


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no compiler to compare with")
@pytest.mark.parametrize("seed", range(NESTS))
def test_random_nests_in_c_equal_the_compilers_execution(client, mdh, run, tmp_path, seed):
    np = pytest.importorskip("numpy")
    from random_nests import NestsInC

    nest = NestsInC(seed)
    file = tmp_path / "nest.c"
    file.write_text(nest.source)
    printed = subprocess.run([mdh, "print", str(file)], capture_output=True, text=True)
    assert printed.returncode == 0, nest.source + printed.stderr
    expression = parse(printed.stdout)
    arrays = nest.arrays()
    expected = nest.executed(arrays, tmp_path)
    found = [np.zeros_like(array) for array in expected]
    kernel = client.best_kernel(expression, measured=False, numerics="exact_order").kernel
    passed = [arrays[argument.name] for argument in kernel.arguments if not argument.is_output]
    run(expression, *passed, *found)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other, err_msg=nest.source)
