"""Pennycook's measure over files of results."""

import json
import pathlib
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "benchmarks"))

from report import portability as measured  # noqa: E402
from report.results import ResultsError, write_results, Results  # noqa: E402


def row(case, value, peers, floor=None, correct=True, metric="time"):
    return {"case": case, "metric": metric, "value": value, "peers": peers, "floor": floor,
            "correct": correct}


@pytest.fixture(name="files")
def files_fixture(tmp_path):
    """Two CPUs and a GPU; `product` is on all, `scan` on the GPU alone."""
    machines = {
        "a": ({"cpu": "Alpha", "instructions": "avx2 avx512f fma"},
              [row("product", 1.0, {"onednn_matmul": 2.0, "openblas_gemm": 4.0}, floor=0.5)]),
        "b": ({"cpu": "Beta", "floor": "counts no caches"},
              [row("product", 2.0, {"onednn_matmul": 1.0}, floor=4.0)]),
        "c": ({"gpu": "Gamma"},
              [row("product", 1.0, {"cuBLAS": 4.0, "torch.compile": 2.0}, floor=0.25),
               row("scan", 1.0, {"PyTorch": 2.0}),
               row("rate", 1.0, {"other": 2.0}, metric="lookups")])}
    paths = []
    for name, (machine, rows) in machines.items():
        paths.append(tmp_path / f"{name}.json")
        write_results(Results(machine, rows), paths[-1])
    return paths


def test_a_harmonic_mean_that_is_0_where_a_device_is_missing():
    assert measured.portability([1.0, 0.5]) == pytest.approx(2 / 3)
    assert measured.portability([1.0, 0.0]) == 0
    assert measured.portability([]) == 0


def test_peers_are_approaches():
    assert [measured.approach_of(peer) for peer in (
        "onednn_prepacked", "transposing_openblas", "blis_gemm", "libxsmm", "cuDNN",
        "max-autotune", "einsum", "Triton")] == [
            "oneDNN", "OpenBLAS", "BLIS", "libxsmm", "cuBLAS and cuDNN", "torch.compile", "PyTorch",
            "Triton"]


def test_tables_of_all_devices_and_of_cpus(files):
    tables = measured.tables(measured.read_problems(files))
    assert [table.title for table in tables] == [
        "all devices, of the fastest approach", "all devices, of the floor",
        "CPUs, of the fastest approach", "CPUs, of the floor"]
    best, floor, cpus, _ = tables
    assert [name for name, _, _ in best.rows] == ["product"]
    assert len(best.rows[0][1]) == 3
    # 1, 1/2 and 1 of the fastest; libraries 1/2, 1 and 1/2.
    assert best.column("mdhd") == [pytest.approx(3 / 4)]
    assert best.column("fastest library") == [pytest.approx(3 / 5)]
    assert best.column("oneDNN") == [0]
    # 1/2; the floor of Beta is above the time and counts as 1; 1/4.
    assert floor.column("mdhd") == [pytest.approx(3 / 7)]
    assert cpus.column("oneDNN") == [pytest.approx(2 / 3)]
    assert cpus.column("OpenBLAS") == [0]


def test_a_wrong_kernel_of_ours_counts_as_none(files):
    content = json.loads(files[0].read_text())
    content["figures"][0]["correct"] = False
    files[0].write_text(json.dumps(content))
    best = measured.tables(measured.read_problems(files))[0]
    assert best.column("mdhd") == [0]


def test_the_page(files, tmp_path, capsys):
    page = tmp_path / "page.md"
    assert measured.main(["--page", str(page), *map(str, files)]) == 0
    text = page.read_text()
    assert capsys.readouterr().out == text
    assert "- A: Alpha avx512f (CPU)\n- B: Beta (CPU); its floor counts no caches\n- C: Gamma (GPU)\n" in text
    assert "- mdhd: on all devices of 1 of 1 problems, mean 0.75, least 0.75\n" in text
    # No column of approaches that are nowhere on all devices.
    assert ("| problem | devices | mdhd | fastest library |\n|---|---|--:|--:|\n"
            "| product | ABC | 0.75 | 0.60 |\n") in text
    assert "| product | AB | 0.67 | 0.67 | 0.67 |\n" in text


def test_errors_name_the_file(files, tmp_path, capsys):
    content = json.loads(files[0].read_text())
    content["machine"] = {}
    files[0].write_text(json.dumps(content))
    assert measured.main([str(files[0])]) == 1
    assert capsys.readouterr().err == (
        f"bench portability: error: {files[0]}: the results do not say of which machine they are "
        "('gpu' or 'cpu')\n")
    with pytest.raises(ResultsError, match="cannot read"):
        measured.read_problems([tmp_path / "missing.json"])
    assert measured.main(["--page", str(tmp_path / "missing" / "page.md"), *map(str, files[1:])]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_the_kept_page_is_that_of_the_kept_results():
    kept = SOURCE / "tests" / "benchmarks" / "results" / "portability.md"
    assert kept.read_text(encoding="utf-8") == measured.markdown(
        measured.read_problems(measured.kept_results())), "deploy/bench portability --page renews it"
