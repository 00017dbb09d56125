"""The kernels of TeML beside what Pluto makes of their loops, by scripts that stand for its polycc."""

import pathlib
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "benchmarks"))

from teml import __main__ as program, pluto  # noqa: E402

MATMUL = "I = 6  J = 5  K = 4"
COPIES = 'while [ "$1" != -o ]; do source=$last; last=$1; shift; done; cp "$last" "$2"'


@pytest.fixture
def polycc(tmp_path, monkeypatch):
    """A function that installs a script of that name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def install(text):
        script = folder / "polycc"
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(0o755)
    return install


def test_every_kernel_has_loops_and_its_sizes_are_those_of_the_program():
    kernels = {kernel.name for kernel in program.KERNELS} - {"mttkrp_transposed"}
    assert set(pluto.LOOPS) == kernels
    for name, loops in pluto.LOOPS.items():
        teml = (SOURCE / "client" / "expressions" / "teml" / f"{name}.teml").read_text()
        sizes = pluto.sizes_of(teml)
        used = {size for heads, _ in loops.nests for _, text in heads for size in text.split("+")}
        assert {size for size in used if not size.isdigit()} <= set(sizes), name


def test_loops_are_c_between_pragmas():
    text = pluto.source_of(pluto.LOOPS["mm"], {"I": 2, "J": 3, "K": 4})
    assert text.splitlines() == [
        "#define I 2", "#define J 3", "#define K 4", "double A[I][K];", "double B[K][J];",
        "double C[I][J];", "void kernel(void) {", "  int i, j, k;", "#pragma scop",
        "  for (i = 0; i < I; i++)", "    for (j = 0; j < J; j++)",
        "      for (k = 0; k < K; k++)",
        "        C[i][j] = C[i][j] + A[i][k] * B[k][j];", "#pragma endscop", "}"]


@pytest.mark.parametrize("name, sizes", [
    ("mm", MATMUL), ("gconv", "N = 2  G = 2  F = 2  P = 3  Q = 3  C = 2  R = 2  S = 2"),
    ("helm", "E = 2  N = 3")])
def test_what_polycc_makes_is_measured(name, sizes, polycc, tmp_path):
    polycc(COPIES)
    seconds = pluto.seconds_of(name, sizes, tmp_path)
    assert 0 <= seconds < 1


def test_what_computes_something_else_does_not_count(polycc, tmp_path):
    polycc(COPIES + "; sed -i 's/C.i..j. = C.i..j. + /C[i][j] = C[i][j] - /' \"$2\"")
    with pytest.raises(pluto.PlutoError, match="adds up to"):
        pluto.seconds_of("mm", MATMUL, tmp_path)


def test_why_there_is_no_figure(polycc, tmp_path):
    polycc("echo 'no scop here' >&2; exit 1")
    with pytest.raises(pluto.PlutoError, match="^polycc fails: no scop here$"):
        pluto.seconds_of("mm", MATMUL, tmp_path)


def test_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    assert pluto.seconds_of("mm", MATMUL, tmp_path) is None


def test_a_row_says_what_pluto_takes_and_whether_it_is_behind():
    row = {"case": "teml_mm", "correct": True, "value": 1e-3, "best_peer": "path",
           "peers": {"path": 2e-3}, "other_peers": {"Pluto": 3e-3}, "ratio_to_best_peer": 2.0,
           "goal": 1.0, "errors": {}}
    assert "3.000 ms" in program.table([row])
    assert program.is_met(row)
    assert not program.is_met({**row, "other_peers": {"Pluto": 5e-4}})
    assert "absent" in program.table([{**row, "other_peers": {}}])
    assert "fails" in program.table([{**row, "other_peers": {}, "errors": {"Pluto": "late"}}])
