"""What PyTorch is told of every computation of deploy/bench gpu, judged by kernels of ours: same
buffers, same results, in PyTorch's definition and in all peers. Small sizes, on the CPU."""

import ctypes
import json
import pathlib
import subprocess
import sys

import pytest

import mdh  # noqa: F401 - the benchmark's modules then use this package

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))

from gpu import operation  # noqa: E402
from gpu.cases import Case  # noqa: E402
from gpu.operations import OPERATIONS, operation_of  # noqa: E402

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from gpu.buffers import Sets  # noqa: E402
from gpu.measure import error_of  # noqa: E402

SIZES = {
    "dot": {"K": 37}, "matvec": {"I": 5, "K": 9}, "matmul": {"I": 5, "J": 6, "K": 7},
    "matmul_t": {"I": 5, "J": 6, "K": 7}, "bmatmul": {"B": 2, "I": 3, "J": 4, "K": 5},
    "jacobi3d": {"I1": 4, "I2": 5, "I3": 6}, "conv2d": {"P": 6, "Q": 7, "R": 5, "S": 5},
    "mcc": {"N": 2, "P": 3, "Q": 4, "K": 5, "R": 3, "S": 2, "C": 3, "SH": 2, "SW": 1},
    "mcc_capsule": {"N": 2, "P": 3, "Q": 4, "K": 5, "R": 3, "S": 2, "C": 3, "SH": 2, "SW": 1,
                    "MI": 2, "MJ": 3, "MK": 4},
    "prl": {"I": 300, "J": 200}, "scan": {"I": 50}, "histo": {"E": 400, "B": 16},
    "argmax": {"I": 5, "K": 30}, "softmax_stats": {"I": 5, "K": 30},
    "dense_gelu": {"I": 5, "J": 6, "K": 7}, "log_sum_exp": {"I": 5, "K": 30},
    "conv_bn_relu": {"N": 2, "P": 4, "Q": 5, "K": 3, "R": 3, "S": 3, "C": 2},
    **{f"pipelines/{name}": {"I": 5, "J": 30}
       for name in ("softmax", "log_softmax", "layer_norm", "rms_norm")},
    "pipelines/attention": {"B": 2, "H": 3, "I": 4, "J": 5, "E": 6},
    "pipelines/interp": {"E": 3, "M": 4, "N": 5}, "pipelines/inverse_helmholtz": {"E": 3, "N": 4},
    "pipelines/jacobi3d_4": {"I1": 3, "I2": 4, "I3": 5}}
CCSDT = {"A": 3, "B": 2, "C": 4, "D": 2, "E": 3, "F": 2, "G": 5}


def case_of(name):
    return Case(name, f"{name}.mdh", SIZES.get(name, CCSDT), 0, 0)


@pytest.fixture
def entry(daemon_program, daemon, tmp_path):
    """The function of a kernel from rules for the CPU, made by gcc."""

    def make(case):
        words = [f"{name}={value}" for name, value in case.bindings.items()]
        sets = [word for w in words for word in ("--set", w)]
        subprocess.run(
            [daemon_program.parent / "mdh", "--server", daemon.address, "kernel", case.path, *sets,
             "--unmeasured", "--output", tmp_path, "--name", "k"], check=True,
            stdout=subprocess.DEVNULL)
        information = json.loads((tmp_path / "k.json").read_text())
        library = tmp_path / "k.so"
        subprocess.run(["gcc", "-march=native", "-fopenmp", "-shared", "-fPIC",
                        *information["compile_options"], "k.c", "-o", library, "-lm"],
                       cwd=tmp_path, check=True)
        return getattr(ctypes.CDLL(str(library)), information["entry"])

    return make


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_pytorch_agrees_with_our_kernel(name, entry):
    case = case_of(name)
    made = operation_of(case)
    sets = Sets(made, 1000, "cpu")
    sets.poison()
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in (*sets.inputs[0], *sets.outputs[0])]
    assert entry(case)(*pointers, None) == 0
    references = sets.references()
    assert error_of(made, sets.outputs[0], references) < 1e-6


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_peers_agree_with_the_definition(name, monkeypatch):
    monkeypatch.setattr(operation.torch, "compile", lambda f, **options: f, raising=False)
    made = operation_of(case_of(name))
    sets = Sets(made, 1000, "cpu")
    references = sets.references()
    for peer in made.peers:
        if peer.name == "histc":  # not for integers on the CPU
            continue
        sets.poison()
        arguments = (*sets.inputs[0], *sets.outputs[0]) if peer.takes_outputs else sets.inputs[0]
        result = peer.function(*arguments)
        if peer.takes_outputs:
            result = tuple(sets.outputs[0])
        if peer.is_counted or "layout" not in " ".join(made.notes):
            result = result if isinstance(result, tuple) else (result,)
            assert error_of(made, result, references) < 1e-6, peer.name


def test_sets_exceed_the_cache_and_are_equal():
    made = operation_of(case_of("matmul"))
    sets = Sets(made, 10_000, "cpu")
    assert sets.count * made.size_bytes >= 3 * 10_000
    assert all(torch.equal(sets.inputs[0][0], inputs[0]) for inputs in sets.inputs)
    assert all(tensor.data_ptr() % 64 == 0 for inputs in sets.inputs for tensor in inputs)
    sets.poison()
    assert all(outputs[0].isnan().all() for outputs in sets.outputs)


def test_wrong_results_are_noticed():
    made = operation_of(case_of("matmul"))
    sets = Sets(made, 1000, "cpu")
    references = sets.references()
    good = references[0].float()
    assert error_of(made, (good,), references) < 1e-6
    wrong = good.clone()
    wrong[0, 0] += 1
    assert error_of(made, (wrong,), references) > 1e-2
    wrong[0, 0] = float("nan")
    assert not error_of(made, (wrong,), references) <= 1e-2
    # One candidate of PRL too far.
    made = operation_of(case_of("prl"))
    sets = Sets(made, 1000, "cpu")
    references = sets.references()
    assert error_of(made, references, references) == 0
    changed = references[0].clone()
    changed[7, 0] += 1
    assert error_of(made, (changed,), references) == pytest.approx(1 / 300)
