"""Pipelines: those that are shipped, against numpy."""

import pytest

import mdh
from conftest import EXPRESSIONS

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


def attention(Q, K, V):
    scores = numpy.einsum("bhie,bhje->bhij", Q, K) / numpy.sqrt(Q.shape[-1])
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
