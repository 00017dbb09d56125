"""Cases that deploy/bench draws: what they are is decided by the seed, and the text of an expression
means what numpy is told, judged by our kernels of small sizes."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys

import pytest

import mdh  # noqa: F401 - the benchmark's modules then use this package

numpy = pytest.importorskip("numpy", reason="numpy is not installed")
BENCHMARKS = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden" / "sample.txt"
sys.path.insert(0, str(BENCHMARKS))

from gpu.cases import Case, CaseError  # noqa: E402
from gpu.operations import operation_of  # noqa: E402
from sample.draws import Draws  # noqa: E402
from sample.elementwise import FUNCTIONS, Elementwise  # noqa: E402
from sample.families import (  # noqa: E402
    CLASSES, CPU_LIMITS, FAMILIES, case_of, cases_of, definition_of, fresh_seed, sample_of,
    size_class, with_small_sizes,
)

# Of each family in a test; enough of them together that every form comes up in a week of CI.
DRAWS_OF_A_FAMILY = 3


def listed(seed, hash_seed="0"):
    """As another process prints it."""
    done = subprocess.run(
        [sys.executable, "-m", "sample", "--sample", "20", "--seed", str(seed), "--texts"],
        env={**os.environ, "PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1",
             "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True)
    return done.stdout


def test_seeds_give_what_they_gave():
    text = listed(1) + listed(2)
    if os.environ.get("MDH_UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    assert listed(2, "12345") == listed(2, "54321")


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    assert cases_of(sample_of(5, 4)) == cases_of(sample_of(5, 9))[:4]
    assert cases_of(sample_of(5, 4)) != cases_of(sample_of(6, 4))
    assert fresh_seed() != fresh_seed()


@pytest.mark.parametrize("name", CLASSES)
def test_classes_families_and_limits(name):
    for case in cases_of(sample_of(3, 60, size_class=name, limits=CPU_LIMITS)):
        assert case.size_class == name == size_class(case.flops, case.compulsory_bytes)
        assert case.flops <= CPU_LIMITS.flops and case.compulsory_bytes <= CPU_LIMITS.bytes
        assert case.compulsory_bytes == operation_of(case).size_bytes
        assert definition_of(json.loads(json.dumps(case.definition))) == definition_of(
            case.definition)
        assert Case.from_json(json.loads(json.dumps(case.to_json()))).bindings == case.bindings
    some = cases_of(sample_of(4, 30, "gram,scans", name))
    assert {case.family for case in some} == {"gram", "scans"}
    assert len({case.id for case in some}) == 30


def test_every_case_has_peers_that_count():
    for case in cases_of(sample_of(7, 100)):
        peers = operation_of(case).peers
        assert any(p.is_counted and not p.is_compiled for p in peers)
        assert any(p.is_compiled for p in peers)
        assert len({p.name for p in peers}) == len(peers)


def test_sums_of_squares_fit_their_type():
    halves = [case for case in cases_of(sample_of(7, 200, "gram")) if case.id.endswith("_fp16")]
    assert halves and all(case.bindings["K"] <= 1 << 15 for case in halves)


def test_no_family_and_no_class_are_errors():
    with pytest.raises(CaseError, match="there is no family 'nothing'; there are products, "):
        sample_of(1, 1, "gram,nothing")


def test_sizes_are_in_range_and_of_all_forms():
    draws = Draws("sizes")
    sizes = [draws.size(3, 100) for _ in range(500)]
    assert min(sizes) < 6 and max(sizes) > 80 and all(3 <= size <= 100 for size in sizes)
    assert any(size % 16 == 0 for size in sizes) and 97 in sizes
    assert Draws("a").subset("abc", 3) == Draws("a").subset("abc", 3)
    assert sorted(Draws("b").subset("abcdef", 6)) == list("abcdef")


# ---- What expressions mean ----

TYPES = {"float16": numpy.float16, "float32": numpy.float32, "float64": numpy.float64,
         "int64": numpy.int64}


def drawn():
    """Small cases of all families, others for every seed; and all functions of single elements."""
    seed = int(os.environ.get("MDH_TEST_SEED", fresh_seed()))
    print(f"MDH_TEST_SEED={seed} repeats this run")
    return [*(with_small_sizes(case) for number, family in enumerate(FAMILIES)
              for case in cases_of(sample_of(seed + number, DRAWS_OF_A_FAMILY, family))),
            *(case_of("elementwise", number, Elementwise(function, "ij"), {"I": 5, "J": 7})
              for number, function in enumerate(FUNCTIONS))]


def numbers(random, buffer):
    """Small whole numbers and halves, so that sums are exact; bf16 as the upper half of fp32."""
    values = numpy.asarray(random.integers(-4, 5, buffer.shape) / 2)
    if buffer.dtype == "bfloat16":
        return (values.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16)
    return numpy.asarray(values.astype(TYPES[buffer.dtype]))


def as_doubles(array, buffer):
    if buffer.dtype == "bfloat16":
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return array.astype(numpy.float64)


@pytest.fixture(scope="module")
def entries(daemon_program, daemon, tmp_path_factory):
    """The functions of kernels from rules for the CPU, in the order of the cases."""
    folder = tmp_path_factory.mktemp("kernels")
    cases, entries, builds = drawn(), [], []
    for number, case in enumerate(cases):
        (folder / "x.mdh").write_text(case.text)
        words = [word for n, size in case.bindings.items() for word in ("--set", f"{n}={size}")]
        done = subprocess.run(
            [daemon_program.parent / "mdh", "--server", daemon.address, "kernel",
             folder / "x.mdh", *words, "--unmeasured", "--output", folder, "--name",
             f"k{number}"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{case.id}\n{case.text}{done.stderr}"
        entries.append(json.loads((folder / f"k{number}.json").read_text())["entry"])
        builds.append(subprocess.Popen(
            ["gcc", "-w", "-O0", "-march=native", "-fopenmp", "-fPIC", "-shared", f"k{number}.c",
             "-o", f"k{number}.so", "-lm"], cwd=folder))
    assert [build.wait() for build in builds] == [0] * len(cases)
    libraries = [ctypes.CDLL(str(folder / f"k{number}.so")) for number in range(len(cases))]
    return cases, [getattr(*of) for of in zip(libraries, entries)]


def test_expressions_mean_what_numpy_computes(entries):
    random = numpy.random.default_rng(1)
    for case, entry in zip(*entries):
        operation = operation_of(case)
        inputs = [numbers(random, buffer) for buffer in operation.inputs]
        outputs = [numbers(random, buffer) for buffer in operation.outputs]
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *outputs)]
        assert entry(*pointers, None) == 0, case.id
        wide = [as_doubles(i, b) for i, b in zip(inputs, operation.inputs)]
        for output, buffer, expected in zip(outputs, operation.outputs, operation.reference(*wide)):
            got = as_doubles(output, buffer)
            assert expected.shape == buffer.shape, case.id
            assert numpy.allclose(got, expected, rtol=1e-2 if "16" in buffer.dtype else 1e-5,
                                  atol=1e-5), f"{case.id} {case.bindings}\n{case.text}"


# ---- Samples as files, for the benchmark of CPUs ----

def test_a_sample_is_written_for_programs_that_read_files(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sample", "--cpu", "--sample", "30", "--seed", "5", "--write",
         tmp_path], env={**os.environ, "PYTHONPATH": str(BENCHMARKS),
                         "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, check=True)
    assert done.stdout == "--sample 30 --seed 5\n"
    entries = json.loads((tmp_path / "cases.json").read_text())
    assert len(entries) == 30 and {entry["class"] for entry in entries} == set(CLASSES)
    for entry in entries:
        text = (tmp_path / entry["expression"]).read_text()
        assert all(f"{name} = " in text for name in entry["bindings"]), entry["id"]
        assert "fp64" not in text and "fp16" not in text
        assert entry["flops"] <= CPU_LIMITS.flops
    plain = [e for e in entries if e["expression"] == "mcc.mdh"]
    assert plain and all({"SH", "SW", "N", "C"} <= set(e["bindings"]) for e in plain)


def test_wrong_samples_are_errors_of_the_program():
    done = subprocess.run([sys.executable, "-m", "sample", "--family", "x"],
                          env={**os.environ, "PYTHONPATH": str(BENCHMARKS)}, check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "sample: error: there is no family 'x'" in done.stderr
