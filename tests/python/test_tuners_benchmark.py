"""The benchmark of tuners: what expressions are to other tuners."""

import json
import math
import subprocess
import sys

import mdh  # noqa: F401 - the benchmark's modules then use this package
import pytest

numpy = pytest.importorskip("numpy", reason="numpy is not installed")

from conftest import EXPRESSIONS, SOURCE  # noqa: E402

sys.path.insert(0, str(SOURCE / "tests" / "benchmarks"))
from gpu.operations import operation_of  # noqa: E402
from tuners import data, halide_tuner, tvm_tuner  # noqa: E402
from tuners.loop_nest import ARITHMETIC, NestError, Operations, nest_of  # noqa: E402

from test_sample import drawn  # noqa: E402


class Numpy(Operations):
    functions = {**ARITHMETIC, "MIN": numpy.minimum, "MAX": numpy.maximum, "FMIN": numpy.fmin, "FMAX": numpy.fmax,
                 "ABS": numpy.abs, "EXP": numpy.exp, "TANH": numpy.tanh, "ERF": numpy.vectorize(math.erf),
                 "SQRT": numpy.sqrt, "SELECT": numpy.where, "ROUND": numpy.round}

    def constant(self, value, dtype):
        return numpy.asarray(value, dtype)

    def cast(self, value, dtype):
        return numpy.asarray(value).astype(dtype)


def computed(nest, inputs):
    """The nest at all of its points at once."""
    indices = numpy.indices(nest.sizes)

    def reads(at):
        def read(access):
            given, array = nest.inputs[access.buffer], inputs[access.buffer]
            wanted = [numpy.asarray(affine.at(at)) for affine in access.indices]
            clamped = tuple(numpy.clip(index, 0, extent - 1) for index, extent in zip(wanted, array.shape))
            value = array[clamped]
            if given.boundary == "constant":
                for index, extent in zip(wanted, array.shape):
                    value = numpy.where((index >= 0) & (index < extent), value, given.constant)
            return value
        return read

    operations = Numpy()
    value = numpy.broadcast_to(nest.function.value(reads(indices), indices, None, operations), nest.sizes)
    combine = {"add": numpy.sum, "mul": numpy.prod, "min": numpy.min, "max": numpy.max}
    if nest.operator:
        value = combine[nest.operator](value, axis=nest.reduced, keepdims=True)
    if nest.store is not None:
        at = indices[(slice(None), *(slice(0, 1) if d in nest.reduced else slice(None)
                                     for d in range(len(nest.sizes))))]
        value = numpy.broadcast_to(nest.store.value(reads(at), at, value, operations), value.shape)
    return value.squeeze(nest.reduced).transpose(numpy.argsort(numpy.argsort(nest.kept)).argsort())


def structure_of(program, *words):
    return json.loads(subprocess.run([program, "print", *words, "--format", "json"], check=True,
                                     capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def nests(mdh_of_build, tmp_path_factory):
    """Small cases of all families, each with its nest; and why others have none."""
    folder, found, refused = tmp_path_factory.mktemp("nests"), [], []
    for case in drawn():
        (folder / "x.mdh").write_text(case.text)
        words = [word for n, size in case.bindings.items() for word in ("--set", f"{n}={size}")]
        try:
            found.append((case, nest_of(structure_of(mdh_of_build, folder / "x.mdh", *words))))
        except NestError as error:
            refused.append(str(error))
    return found, refused


@pytest.fixture(scope="module")
def mdh_of_build(daemon_program):
    return daemon_program.parent / "mdh"


def test_nests_compute_what_the_expressions_do(nests):
    for case, nest in nests[0]:
        inputs = data.arrays_of(nest)
        expected = operation_of(case).reference(*(array.astype("float64") for array in inputs))[0]
        error = data.error_of(nest, computed(nest, [array.astype("float64") for array in inputs]), expected)
        assert error < 1e-6, f"{case.id} {case.bindings}\n{case.text}"


def test_what_cannot_be_said_has_a_reason(nests):
    found, refused = nests
    assert len(found) > len(refused)
    for reason in refused:
        assert reason.startswith(("prefix sums", "type ", "it has several", "its combine operator", "its output")), reason


def test_functions_of_results_and_boundaries(mdh_of_build):
    file = EXPRESSIONS / "conv_bn_relu.mdh"
    nest = nest_of(structure_of(mdh_of_build, file, *(f"{n}={size}" for n, size in (
        ("N", 2), ("P", 5), ("Q", 6), ("K", 3), ("R", 3), ("S", 3), ("C", 4)))))
    x, w, scale, shift, skip = inputs = data.arrays_of(nest)
    padded = numpy.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    sums = sum(numpy.einsum("npqc,kc->npqk", padded[:, r:r + 5, s:s + 6], w[:, r, s]) for r in range(3)
               for s in range(3))
    assert data.error_of(nest, computed(nest, inputs), numpy.maximum(sums * scale + shift + skip, 0)) < 1e-5


@pytest.mark.parametrize("words, reason", [
    (["scan.mdh"], "prefix sums are not compared"),
    (["argmax.mdh"], "several outputs"),
    (["pipelines/softmax.mdh"], "pipelines are not compared"),
    (["matmul_fp16.mdh"], "type float16 is not compared"),
])
def test_reasons(mdh_of_build, words, reason):
    with pytest.raises(NestError, match=reason):
        nest_of(structure_of(mdh_of_build, EXPRESSIONS / words[0]))


@pytest.mark.skipif(not halide_tuner.version(), reason="Halide is not installed")
def test_halide_computes_the_same(nests):
    for case, nest in nests[0]:
        inputs, output = data.arrays_of(nest), numpy.zeros(nest.shape, nest.output_dtype)
        halide_tuner.kernel(nest, {"scheduler": "Mullapudi2016", "parameters": {"parallelism": "2"}}, inputs, output)()
        assert data.error_of(nest, output, computed(nest, inputs)) < 1e-5, case.text


@pytest.mark.skipif(not tvm_tuner.version(), reason="TVM is not installed")
def test_tvm_computes_the_same(nests):
    import tvm

    for case, nest in nests[0]:
        inputs, output = data.arrays_of(nest), numpy.zeros(nest.shape, nest.output_dtype)
        arguments = [tvm.runtime.tensor(array) for array in (*inputs, output)]
        tvm.compile(tvm_tuner.module_of(nest), target="llvm")["main"](*arguments)
        assert data.error_of(nest, arguments[-1].numpy(), computed(nest, inputs)) < 1e-5, case.text
