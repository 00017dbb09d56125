"""Pipelines: functions traced under @mdh.pipeline, and those that are shipped, against numpy."""

import math
import os
import pathlib
import subprocess

import examples
import pytest

import mdh
from conftest import EXPRESSIONS
from mdh import Buffer, einsum, fp32, fp64, inp, inp_view, md_hom, out, out_view

numpy = pytest.importorskip("numpy")
PIPELINES = EXPRESSIONS / "pipelines"


def softmax(x):
    e = numpy.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, scale, shift):
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + 1e-5) * scale + shift


def rms_norm(x, scale):
    return x / numpy.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * scale


def interp(A, u):
    return numpy.einsum("il,jm,kn,elmn->eijk", A, A, A, u)


def inverse_helmholtz(A, B, C, D, u):
    scaled = D * numpy.einsum("li,mj,nk,elmn->eijk", A, B, C, u)
    return numpy.einsum("il,jm,kn,elmn->eijk", A, B, C, scaled)


def jacobi3d_4(x):
    for _ in range(4):
        x = (0.161 * x[1:-1, 1:-1, :-2] + 0.162 * x[1:-1, 1:-1, 2:] + 0.163 * x[1:-1, :-2, 1:-1]
             + 0.164 * x[1:-1, 2:, 1:-1] + 0.165 * x[:-2, 1:-1, 1:-1] + 0.166 * x[2:, 1:-1, 1:-1]
             - 1.67 * x[1:-1, 1:-1, 1:-1])
    return x


def attention(Q, K, V, is_causal=False):
    scores = numpy.einsum("bhie,bhje->bhij", Q, K) / numpy.sqrt(Q.shape[-1])
    if is_causal:
        scores = numpy.where(numpy.tri(*scores.shape[-2:], dtype=bool), scores, -numpy.inf)
    e = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
    return numpy.einsum("bhij,bhje->bhie", e / e.sum(axis=-1, keepdims=True), V)


ROWS = dict(A="fp64", I=5, J=9)
# What numpy makes of the inputs, and values of the parameters.
CASES = {
    "softmax": (softmax, ROWS),
    "log_softmax": (lambda x: numpy.log(softmax(x)), ROWS),
    "layer_norm": (layer_norm, ROWS),
    "rms_norm": (rms_norm, ROWS),
    "interp": (interp, dict(E=3, M=4, N=5)),
    "inverse_helmholtz": (inverse_helmholtz, dict(E=3, N=4)),
    "jacobi3d_4": (jacobi3d_4, dict(I1=3, I2=4, I3=5)),
    "causal_attention": (lambda *a: attention(*a, is_causal=True),
                         dict(A="fp64", B=2, H=3, I=4, J=5, E=6)),
    "attention": (attention, dict(A="fp64", B=2, H=3, I=4, J=5, E=6)),
}


@pytest.mark.parametrize("name", CASES)
def test_shipped_pipeline(client, tmp_path, name):
    function, parameters = CASES[name]
    pipeline = mdh.parse((PIPELINES / f"{name}.mdh").read_text(), T="fp64", **parameters)
    checked = client.check(pipeline)
    assert client.check(mdh.parse(checked.text)).digest == checked.digest
    kernel = client.best_kernel(pipeline, measured=False).kernel
    random = numpy.random.default_rng(1)
    arrays = [random.standard_normal(argument.extents) for argument in kernel.arguments]
    mdh.CpuKernel(kernel, cache_directory=tmp_path)(*arrays)
    *inputs, output = arrays
    numpy.testing.assert_allclose(output, function(*inputs), rtol=1e-11, atol=1e-12)


def test_every_shipped_pipeline_has_a_case():
    assert {path.stem for path in PIPELINES.glob("*.mdh")} == set(CASES)


def matmul(I, J, K):
    return examples.matmul_loops(I, J, K)


def gelu(I, J):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32], b=Buffer[fp32]))
    def gelu(y, x, b):
        for i in range(I):
            for j in range(J):
                z = x[i, j] + b[j]
                y[i, j] = 0.5 * z * (1 + mdh.erf(z * 0.7071067811865476))
    return gelu


def mlp(I, J, K):
    product, activation = matmul(I, J, K), gelu(I, J)

    @mdh.pipeline
    def mlp(x, w, b):
        h = product(x, w)
        return activation(h, b)
    return mlp


MLP = """
mlp := pipeline(x, w, b) -> y { h = product(x, w); y = gelu(h, b) }
product := out_view<fp32>( C: (i,j,k) -> (i,j) ) o md_hom<12,10,8>( f, (++, ++, +) ) o
  inp_view<fp32,fp32>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
gelu := out_view<fp32>( y: (i,j) -> (i,j) ) o md_hom<12,10>( f, (++, ++) ) o
  inp_view<fp32,fp32>( x: (i,j) -> (i,j), b: (i,j) -> (j) )
where f(x, b) -> y { let z = x + b; y = 0.5 * z * (1 + erf(z * 0.7071067811865476)) }
"""


def test_a_traced_function_is_the_pipeline_of_the_text(client):
    traced = mlp(12, 10, 8)
    checked = client.check(traced)
    assert checked.digest == traced.digest == client.check(mdh.parse(MLP)).digest
    assert "h = matmul(x, w)" in checked.text and checked.text.startswith("mlp := pipeline(x, w, b) -> y")
    assert client.check(mdh.parse(checked.text)).digest == traced.digest
    assert repr(traced) == "<mdh.Pipeline mlp: 2 steps>"
    assert traced.serialize() == mlp(12, 10, 8).serialize()
    assert traced.to_proto().name == traced.name == "mlp"


def test_what_a_caller_passes_and_what_it_means(client):
    traced = mlp(12, 10, 8)
    assert traced.canonical_form == client.check(traced).canonical_form
    inputs, outputs = traced.passed()
    assert [(b.name, b.extents) for b in inputs] == [("x", [12, 8]), ("w", [8, 10]), ("b", [10])]
    assert [(b.name, b.extents) for b in outputs] == [("y", [12, 10])]
    inputs, outputs = gelu(3, 4).passed()
    assert [(b.name, b.extents) for b in inputs + outputs] == [("x", [3, 4]), ("b", [4]), ("y", [3, 4])]


def test_a_bundle_has_its_kernel(client, daemon, tmp_path):
    tuned = client.tune(mlp(12, 10, 8), max_trials=1, budget_seconds=1)
    program = pathlib.Path(os.environ["MDH_BIN"]) / "mdh"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    path = tmp_path / "kernels.mdhb"
    subprocess.run([str(program), "--server", daemon.address, "admin", "export", str(path)], check=True)
    with mdh.Bundle(path) as bundle:
        entry = bundle.find(bundle.query(mlp(12, 10, 8)))
        assert [argument.name for argument in entry.kernel().arguments] == ["x", "w", "b", "y"]
        with pytest.raises(mdh.NotFoundError):
            bundle.find(bundle.query(mlp(12, 10, 9)))


def test_it_is_tuned_and_run_as_one_kernel(client, tmp_path):
    traced = mlp(12, 10, 8)
    client.tune(traced, max_trials=2, budget_seconds=30)
    run = mdh.CpuKernel(client.best_kernel(traced).kernel, cache_directory=tmp_path)
    random = numpy.random.default_rng(2)
    x, w, b = (random.standard_normal(shape).astype("f4") for shape in ((12, 8), (8, 10), 10))
    y = numpy.empty((12, 10), "f4")
    run(x, w, b, y)
    z = x @ w + b
    expected = 0.5 * z * (1 + numpy.vectorize(math.erf)(z * 0.7071067811865476))
    numpy.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def rows(I, J):
    """Sum and largest element of every row."""
    return examples.sum_and_max(I, J)


def scaled(n):
    @mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32], s=Buffer[fp32]))
    def scaled(y, x, s):
        for i in range(n):
            y[i] = x[i] * s[i]
    return scaled


def test_several_outputs_and_steps_that_are_used_twice(client, tmp_path):
    both, times = rows(4, 5), scaled(4)

    @mdh.pipeline
    def products(M, s):
        total, largest = both(M)
        a = times(total, s=s)
        b = times(x=largest, s=a)
        return b, a

    proto = products.to_proto()
    assert [(b.name, b.role) for b in proto.buffers] == [
        ("M", 1), ("s", 1), ("y", 2), ("a", 2), ("total", 3), ("largest", 3)]
    assert [list(step.inputs) for step in proto.steps] == [[0], [4, 1], [5, 3]]
    assert client.check(products).digest == products.digest
    kernel = client.best_kernel(products, measured=False).kernel
    M, s = numpy.arange(20, dtype="f4").reshape(4, 5) - 7, numpy.arange(4, dtype="f4")
    b, a = numpy.empty(4, "f4"), numpy.empty(4, "f4")
    mdh.CpuKernel(kernel, cache_directory=tmp_path)(M, s, b, a)
    assert (a == M.sum(axis=1) * s).all() and (b == M.max(axis=1) * a).all()


def test_pipelines_within_pipelines(client):
    layer = mlp(12, 12, 12)

    @mdh.pipeline
    def two(x, w1, b1, w2, b2, repeat=2):
        return layer(layer(x, w1, b1), w2, b=b2)

    product, activation = matmul(12, 12, 12), gelu(12, 12)

    @mdh.pipeline
    def flat(x, v, c, w, b):
        for weights, bias in ((v, c), (w, b)):
            x = activation(product(x, weights), bias)
        return x

    assert len(two.to_proto().steps) == 4
    assert client.check(two).digest == two.digest == flat.digest


def test_parts_of_buffers_are_read(client):
    """Without extents of its own a step may read less than there is."""
    def total(n):
        @mdh.mdh()
        def total():
            return (out_view[fp32](s=[lambda k: ()]), md_hom[n](mdh.identity, mdh.pw(mdh.add)),
                    inp_view[fp32](x=[lambda k: (k)]))
        return total

    @mdh.pipeline
    def parts(x):
        return total(5)(x), total(8)(x), total(3)(x)

    assert client.check(parts).digest == parts.digest
    assert list(client.check(parts).pipeline.buffers[0].extents) == [8]


def test_a_pipeline_of_one_step_is_the_expression(client):
    @mdh.pipeline
    def one(A, B):
        return matmul(4, 5, 6)(A, B)

    @mdh.pipeline
    def other_order(B, A):
        return matmul(4, 5, 6)(A, B)

    assert one.digest == matmul(4, 5, 6).digest == client.check(one).digest
    assert client.check(other_order).digest == other_order.digest != one.digest


def test_store_functions_read_buffers_of_the_pipeline(client):
    dense = einsum("ik,kj->ij", i=4, j=5, k=6, epilogue="max(out + bias[j], 0) + A[i, 0]")

    @mdh.pipeline
    def layers(x, w, b):
        h = dense(x, w, b)
        return einsum("ij,ij->i", i=4, j=5)(h, h)

    assert client.check(layers).digest == layers.digest


def test_outside_of_a_pipeline():
    with pytest.raises(mdh.ExpressionError, match="'matmul' is called outside of a pipeline"):
        matmul(4, 5, 6)(numpy.zeros((4, 6)), numpy.zeros((6, 5)))
    kept = []

    @mdh.pipeline
    def keeps(A, B):
        kept.append(A)
        return matmul(4, 5, 6)(A, B)

    def uses(A, B):
        return matmul(4, 5, 6)(kept[0], B)

    with pytest.raises(mdh.ExpressionError, match="'A' of 'matmul' is a buffer of the pipeline 'keeps'"):
        mdh.pipeline(uses)
    with pytest.raises(mdh.ExpressionError, match="@mdh.pipeline is for a function"):
        mdh.pipeline(3)


def doubled(T=fp32, n=4):
    @mdh.mdh(out(y=Buffer[T, [n]]), inp(x=Buffer[T, [n]]))
    def doubled(y, x):
        for i in range(n):
            y[i] = x[i] + x[i]
    return doubled


def branches(x):
    y = doubled()(x)
    if y > 0:
        return y
    return x


def loops(x):
    for element in x:
        pass
    return doubled()(x)


def computes(x):
    return doubled()(x + 1)


def assigns(x):
    y = doubled()(x)
    y[0] = 1
    return y


def adds(x):
    y = doubled()(x)
    y += doubled()(x)
    return y


def other_type(x):
    return doubled(fp64)(doubled()(x))


def other_shape(x):
    return doubled(n=5)(doubled()(x))


def inputs_differ(x):
    return doubled()(x), doubled(n=3)(x)


def other_rank(x):
    y = doubled()(x)
    return matmul(4, 4, 4)(y, y)


def unused(x):
    y = doubled()(x)
    doubled()(y)
    return y


def unread(x, w):
    return doubled()(x)


def returns_nothing(x):
    doubled()(x)


def returns_its_input(x):
    doubled()(x)
    return x


def returns_a_number(x):
    return doubled()(x), 3


def returns_twice(x):
    y = doubled()(x)
    return y, y


def too_few(x):
    return matmul(4, 4, 4)(x)


def too_many(x):
    return doubled()(x, x)


def unknown(x):
    return doubled()(z=x)


def twice(x):
    return doubled()(x, x=x)


def a_number(x):
    return doubled()(3)


def many_steps(x):
    for _ in range(70):
        x = doubled()(x)
    return x


def any_buffers(*x):
    return doubled()(x[0])


@pytest.mark.parametrize("function, line, message", [
    (branches, 2, "'y' is a buffer of a pipeline, which has no values yet: Python cannot decide by them"),
    (loops, 1, "'x' is a buffer of a pipeline, with which expressions compute"),
    (computes, 1, "'x' is a buffer of a pipeline, with which expressions compute"),
    (assigns, 2, "'y' is written by one step"),
    (adds, 2, "'y' is written by one step"),
    (other_type, 1, "'doubled' reads 'y' as fp64, but 'doubled' gives it as fp32"),
    (other_shape, 1, r"'doubled' reads 'y' with the extents \(5\), but 'doubled' gives it with \(4\)"),
    (inputs_differ, 1, r"'doubled' reads 'x' with the extents \(3\), but 'doubled' reads it with \(4\)"),
    (other_rank, 2, "'matmul' reads 'y' with 2 dimensions, but 'doubled' gives it with 1"),
    (unused, 2, "'unused' does not use 'y', which 'doubled' gives; return it, or leave it out"),
    (unread, 0, "no step of 'unread' reads 'w'; leave it out"),
    (returns_nothing, 0, "'returns_nothing' must return what it gives"),
    (returns_its_input, 0, "'returns_its_input' returns its input 'x', which no step writes"),
    (returns_a_number, 0, "'returns_a_number' returns of type int, but a pipeline gives what its steps"),
    (returns_twice, 0, "'returns_twice' returns 'y' twice"),
    (too_few, 1, r"'matmul' takes 2 buffers \(A, B\); there is none for B"),
    (too_many, 1, r"'doubled' takes 1 buffer \(x\), not 2"),
    (unknown, 1, r"'doubled' takes 1 buffer \(x\), none called 'z'"),
    (twice, 1, "'doubled' is given 'x' twice|takes 1 buffer"),
    (a_number, 1, "'x' of 'doubled' is of type int, but steps of a pipeline read and give buffers"),
    (many_steps, 2, "the pipeline 'many_steps' has more than 64 steps"),
    (any_buffers, 0, "'any_buffers' must name its buffers"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_errors_are_about_the_line(function, line, message):
    with pytest.raises(mdh.ExpressionError, match=message) as error:
        mdh.pipeline(function)
    assert error.value.location.file == __file__
    assert error.value.location.line == function.__code__.co_firstlineno + line


def test_a_pipeline_that_failed_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError):
        mdh.pipeline(lambda x: 1 / 0)
    with pytest.raises(mdh.ExpressionError, match="outside of a pipeline"):
        doubled()(3)


def test_what_the_daemon_finds_wrong_is_at_the_definition(client):
    def f(x):
        return doubled()(x)

    f.__name__ = "nöthing"
    traced = mdh.pipeline(f)
    with pytest.raises(mdh.ExpressionError, match="is no name for a pipeline") as error:
        client.check(traced)
    assert error.value.location == traced.location
