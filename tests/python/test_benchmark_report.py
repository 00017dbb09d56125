"""Tables and charts of benchmark results."""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from report.bar_chart import bar_chart  # noqa: E402
from report.results import (  # noqa: E402
    Results, ResultsError, error_of, geometric_mean, read_results, write_results,
)
from report.table import markdown, number, seconds, summary, text_table  # noqa: E402


def row(case, ratio, **more):
    return {"case": case, "value": 2e-5, "unit": "s", "peers": {"cuBLAS": 4e-5},
            "ratio_to_best_peer": ratio, "floor": 1e-5, "ratio_to_floor": 0.5, "correct": True,
            **more}


RESULTS = Results({"gpu": "NVIDIA X & Y"}, [
    row("dot", 4.0, trials=12, tuning_s=30.04, default_ratio=0.4, other_peers={"own": 1e-3}),
    row("matmul<1>", 0.25, default_ratio=0.9, goal=0.5),
    row("scan", None, value=None, correct=False, errors={"tuned": "it | hangs", "peer": "no"}),
    row("map", None, peers={})])


def test_numbers_have_three_digits_and_a_unit():
    assert [seconds(v) for v in (1.2345e-6, 9.994e-4, 9.996e-4, 0.5, 999.6, None)] == [
        "1.23 us", "999 us", "1 ms", "500 ms", "1e+03 s", ""]
    assert [number(v) for v in (0.123, 99.5, 123.4, None)] == ["0.12", "99.50", "123", ""]


def test_the_geometric_mean_leaves_out_what_is_not_there():
    assert geometric_mean([4, 0.25, None]) == pytest.approx(1)
    assert geometric_mean([None]) is None


def test_the_reason_of_a_row_is_that_of_our_kernel():
    assert error_of(RESULTS.rows[2]) == "it | hangs"
    assert error_of(RESULTS.rows[0]) == ""
    assert error_of({"case": "x", "correct": False}) == "wrong result"


def test_the_text_table():
    lines = text_table(RESULTS).splitlines()
    assert lines[0].split() == ["case", "time", "of", "peer", "goal", "of", "floor", "default",
                                "trials", "tuning", "peers"]
    assert lines[1].split() == ["dot", "20", "us", "4.00", "0.50", "0.40", "12", "30", "s",
                                "cuBLAS", "40", "us,", "(own", "1", "ms)"]
    assert lines[3].endswith("it | hangs")
    assert "3 of 4 cases" in lines
    assert ("ratio to the best peer: geometric mean 1.00, least 0.25 (matmul<1>), 2 cases"
            in lines)
    assert "goals: 0 of 1 reached; of the goal: matmul<1> 0.50" in lines
    assert "default kernels of at least 0.5 of the tuned speed: 1 of 2" in lines


def test_columns_that_no_row_has_are_left_out():
    titles = text_table(Results({}, [row("dot", 1.0)])).splitlines()[0]
    assert "OpenCL" not in titles and "trials" not in titles


def test_a_table_of_nothing():
    assert text_table(Results()).splitlines() == ["case  peers", "", "0 of 0 cases"]
    assert "| case | peers |" in markdown(Results(), "Benchmark", "chart.svg")


def test_markdown_has_machine_chart_table_and_notes():
    first = {**RESULTS.rows[0], "notes": ["own: another layout"], "errors": {"default": "slow"}}
    results = Results(RESULTS.machine, [first, *RESULTS.rows[1:]])
    text = markdown(results, "Benchmark", "chart.svg")
    assert "- gpu: NVIDIA X & Y" in text
    assert "![Ratio to the best peer](chart.svg)" in text
    assert "`of peer`: the best peer's time divided by ours; `goal`: " in text
    assert "OpenCL" not in text
    assert "it \\| hangs" in text
    assert text.endswith("- own: another layout\n- dot: default: slow\n")


def test_the_chart_has_a_bar_for_every_ratio():
    root = xml.etree.ElementTree.fromstring(bar_chart(RESULTS, "Times & ratios"))
    name = "{http://www.w3.org/2000/svg}"
    bars = {kind: [r for r in root.iter(f"{name}rect") if r.get("class") == kind]
            for kind in ("faster", "slower")}
    assert len(bars["faster"]) == 1 and len(bars["slower"]) == 1
    # On a logarithmic scale 4 and 1/4 are equally far from 1, on its two sides.
    widths = [float(bars[kind][0].get("width")) for kind in ("faster", "slower")]
    assert widths[0] == pytest.approx(widths[1], abs=0.2)
    assert float(bars["slower"][0].get("x")) < float(bars["faster"][0].get("x"))
    texts = [t.text for t in root.iter(f"{name}text")]
    assert {"Times & ratios", "matmul<1>", "4.00", "0.25", "it | hangs", "no peer",
            "geometric mean 1.00"} <= set(texts)


def test_a_chart_of_nothing_and_of_extremes():
    xml.etree.ElementTree.fromstring(bar_chart(Results(), "none"))
    extreme = Results({}, [row("a", 1e-9), row("b", 1e9)])
    root = xml.etree.ElementTree.fromstring(bar_chart(extreme, "extremes"))
    width = float(root.get("width"))
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(bar.get("x", 0)) <= float(bar.get("x", 0)) + float(bar.get("width"))
        assert float(bar.get("x", 0)) + float(bar.get("width")) <= width


def test_files_are_merged_and_replaced(tmp_path):
    path = tmp_path / "results.json"
    results = Results({"gpu": "a"}, [row("dot", 1.0)])
    results.put(row("matmul", 2.0))
    results.put(row("dot", 3.0))
    results.sort(["matmul", "dot"])
    write_results(results, path)
    again = read_results(path)
    assert again == results
    assert [(r["case"], r["ratio_to_best_peer"]) for r in again.rows] == [
        ("matmul", 2.0), ("dot", 3.0)]
    assert again.row("dot")["ratio_to_best_peer"] == 3.0 and again.row("scan") is None
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_that_json_does_not_have_are_null(tmp_path):
    path = tmp_path / "results.json"
    errors = {"tuned": float("inf"), "cuBLAS": [float("nan"), 0.5]}
    write_results(Results({}, [{**row("gram", 1.0), "largest_error": errors}]), path)
    assert "Infinity" not in path.read_text() and "NaN" not in path.read_text()
    assert read_results(path).rows[0]["largest_error"] == {"tuned": None, "cuBLAS": [None, 0.5]}


def test_a_list_of_rows_alone_is_read(tmp_path):
    path = tmp_path / "figures.json"
    path.write_text(json.dumps([row("dot", 1.0)]))
    assert read_results(path) == Results({}, [row("dot", 1.0)])


@pytest.mark.parametrize("content, message", [
    (None, "cannot read .*results.json"), ("{", "cannot read"), ("{}", "has no results"),
    ('[{"name": 1}]', "has no results"), ("3", "has no results")])
def test_files_that_are_no_results_are_named(tmp_path, content, message):
    path = tmp_path / "results.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ResultsError, match=message):
        read_results(path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ResultsError, match="cannot write .*nothing"):
        write_results(Results(), tmp_path / "nothing" / "results.json")


def run(*arguments):
    return subprocess.run([sys.executable, "-B", "-m", "report", *map(str, arguments)],
                          cwd=BENCHMARKS, capture_output=True, text=True, check=False)


def test_the_program_writes_chart_and_page(tmp_path):
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps([row("dot", 1.0)]))
    done = run(path, "cpu=Zen 4", "cores=2")
    assert done.returncode == 0, done.stderr
    assert "1 of 1 cases" in done.stdout
    assert "on Zen 4" in (tmp_path / "cpu.svg").read_text()
    assert "- cores: 2" in (tmp_path / "cpu.md").read_text()
    assert read_results(path).machine == {"cpu": "Zen 4", "cores": "2"}


def test_the_program_merges_rows(tmp_path):
    path, rows = tmp_path / "cpu.json", tmp_path / "rows.json"
    rows.write_text(json.dumps([row("dot", 1.0), row("matmul", 1.0)]))
    assert run(path, "--merge", rows, "cpu=Zen 4").returncode == 0
    rows.write_text(json.dumps([row("matmul", 2.0)]))
    assert run(path, "--merge", rows).returncode == 0
    results = read_results(path)
    assert [(r["case"], r["ratio_to_best_peer"]) for r in results.rows] == [("dot", 1.0),
                                                                         ("matmul", 2.0)]
    assert results.machine == {"cpu": "Zen 4"}


def test_the_program_says_what_is_wrong(tmp_path):
    assert run().returncode == 2
    done = run(tmp_path / "x.json", "word")
    assert done.returncode == 2 and "'word' is not NAME=VALUE" in done.stderr
    done = run(tmp_path / "x.json", "--merge", tmp_path / "y.json")
    assert done.returncode == 1 and "y.json" in done.stderr
    done = run(tmp_path / "x.json")
    assert done.returncode == 1 and "report: error: cannot read" in done.stderr


def test_classes_of_drawn_cases_have_their_own_means():
    lines = summary(Results({}, [
        row("a", 4.0, **{"class": "large"}, time_to_95_s=2.0, time_to_90_s=1.0),
        row("b", 1.0, **{"class": "large"}, time_to_95_s=6.0, time_to_90_s=1.0),
        row("c", 0.5, **{"class": "small"}, default_ratio=0.7),
        row("d", None, **{"class": "small"}, peers={}, errors={"einsum": "wrong result: error 3",
                                                             "cuDNN": "RuntimeError: no"})]))
    assert lines[:2] == [
        "2 of 2 large cases",
        "ratio to the best peer: geometric mean 2.00, least 1.00 (b), 2 cases"]
    assert "time to 95 % of the final speed: median 4 s, longest 6 s" in lines
    small = lines.index("2 of 2 small cases")
    assert lines[small + 1] == "ratio to the best peer: geometric mean 0.50, least 0.50 (c), 1 cases"
    assert summary(Results({}, [row("a", 2.0)]))[0] == "1 of 1 cases"


def test_peers_that_cannot_and_those_that_are_wrong_are_named():
    table = text_table(Results({}, [
        row("d", None, peers={}, errors={"einsum": "wrong result: error 3", "default": "slow",
                                         "cuDNN": "RuntimeError: no"})]))
    assert table.splitlines()[1].endswith("einsum: wrong, cuDNN: cannot")


def test_classes_are_those_of_the_file_of_cases(tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([row("a", 2.0), row("z", 1.0)]))
    (tmp_path / "cases.json").write_text(json.dumps(
        [{"id": "a", "family": "gram", "class": "large"}]))
    command = [sys.executable, "-m", "report", tmp_path / "r.json", "--merge",
               tmp_path / "rows.json", "--cases", tmp_path / "cases.json"]
    environment = {"PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    rows = json.loads((tmp_path / "r.json").read_text())["figures"]
    assert rows[0]["class"] == "large" and rows[0]["family"] == "gram" and "class" not in rows[1]
    (tmp_path / "cases.json").write_text("[1]")
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "cannot read" in done.stderr
