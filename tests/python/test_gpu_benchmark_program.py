"""deploy/bench gpu as a whole, with programs that only pretend: a daemon, mdh, and a Python that has
PyTorch and a GPU."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"

MDHD = """
import pathlib, signal, sys
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls: calls.write("mdhd " + " ".join(sys.argv[1:]) + "\\n")
signal.signal(signal.SIGTERM, lambda *unused: sys.exit(0))
print("listening on a socket; devices are open", file=sys.stderr, flush=True)
signal.pause()
"""

MDH = """
import json, pathlib, sys, time
here = pathlib.Path(__file__).parent
words = sys.argv[sys.argv.index("--json") + 1:]
with open(here / "calls", "a") as calls: calls.write(" ".join(words) + "\\n")
if words[0] == "devices":
    def device(name):
        return {"name": "devices/" + name, "driver": "1.0", "description":
                {"model": "NVIDIA X", "isa": "sm_90", "compiler": "nvrtc", "l2_bytes": "1048576"},
                "peaks": {"fp32_flops_per_s": 6e13, "memory_bytes_per_s": 4e12,
                          "copy_bytes_per_s": 3.5e12}}
    print(json.dumps({"devices": [device("cuda0"), device("opencl0")]}))
elif words[0] == "tune":
    if "dot.mdh" in words[1]: sys.exit("mdh: error: the GPU is on fire")
    with open(here / "expressions", "a") as texts: texts.write(pathlib.Path(words[1]).read_text())
    if (here / "slow").exists(): time.sleep(1000)
    print(json.dumps({"job": {"name": "tuningJobs/3"}, "record": {"name": "records/1", "trials": "40", "failed_trials": "1",
        "search_time_ns": "2000000000", "time_ns": "5000", "parameters": "p",
        "certificate": {"problem_bound_ns": 1000}}}))
elif words[0] == "trials":
    print(json.dumps({"trials": [{"elapsed_ns": str(n * 10**9), "time_ns": str(10000 // n),
                                  "outcome": "ok", "parameters": "p"} for n in (1, 2)]}))
else:
    folder = pathlib.Path(words[words.index("--output") + 1])
    folder.mkdir()
    (folder / "kernel.json").write_text("{}")
"""

PYTHON = """
import json, sys
assert sys.argv[1:] == ["-m", "gpu.worker"], sys.argv
print(json.dumps({"machine": {"gpu": "NVIDIA X", "pytorch": "9.9"}}), flush=True)
for line in sys.stdin:
    kernels = json.loads(line)["kernels"]
    times = {"cuBLAS": 1e-5, **{name: 5e-6 * (n + 1) for n, name in enumerate(sorted(kernels))}}
    is_tuned = "tuned" in times
    print(json.dumps({"times": times, "errors": {}, "largest_error": {}, "resources": {}, "sets": 2,
                      "without_graph": [], "others": [], "notes": [],
                      "ratio_to_best_peer": 1e-5 / times["tuned"] if is_tuned else None,
                      "best_peer": "cuBLAS" if is_tuned else None}), flush=True)
"""


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in (("mdhd", MDHD), ("mdh", MDH), ("python", PYTHON)):
        (folder / name).write_text(f"#!{sys.executable} -B\n{text}")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def command(programs, tmp_path):
    """Words of the command; its temporary files are in a folder of this test."""
    (tmp_path / "temporary").mkdir()
    return [sys.executable, "-m", "gpu", "--programs", str(programs), "--python",
            str(programs / "python"), "--json", str(tmp_path / "gpu.json")]


def environment(tmp_path):
    return {**os.environ, "PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(tmp_path / "temporary")}


def run(command, tmp_path, *words):
    done = subprocess.run([*command, *words], env=environment(tmp_path), capture_output=True,
                          text=True, check=False)
    assert list((tmp_path / "temporary").iterdir()) == [], "temporary files are left"
    return done


def test_results_table_page_and_chart(command, programs, tmp_path):
    done = run(command, tmp_path, "--cases", "matvec_*", "--budget", "5", "--opencl", "0")
    assert done.returncode == 0, done.stderr
    assert "[2/2] matvec_8192: 10 us, 1.00 of cuBLAS" in done.stdout
    assert "2 of 2 cases" in done.stdout
    results = json.loads((tmp_path / "gpu.json").read_text())
    assert results["machine"]["gpu"] == "NVIDIA X" and results["machine"]["L2"] == "1 MiB"
    assert [row["case"] for row in results["figures"]] == ["matvec_4096", "matvec_8192"]
    assert results["figures"][0]["opencl_ratio"] == 1
    assert results["figures"][0]["floor"] == 67141632 / 4e12
    assert "<svg" in (tmp_path / "gpu.svg").read_text()
    assert "matvec_4096" in (tmp_path / "gpu.md").read_text()
    calls = (programs / "calls").read_text().splitlines()
    assert any(c.startswith("mdhd ") and "--devices cuda:0,opencl:0" in c for c in calls)
    tunes = [call for call in calls if call.startswith("tune ")]
    assert all("--budget 5s" in call and "--set I=" in call for call in tunes)
    assert ["opencl0" in call for call in tunes] == [False, True, False, True]


def test_a_sample_is_measured_and_says_how_it_is_drawn_again(command, programs, tmp_path):
    done = run(command, tmp_path, "--sample", "3", "--seed", "7", "--family", "rows,gram")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sample: --sample 3 --seed 7 --family rows,gram\n")
    results = json.loads((tmp_path / "gpu.json").read_text())
    assert results["machine"]["sample"] == (
        "deploy/bench gpu --sample 3 --seed 7 --family rows,gram --budget 30")
    rows = results["figures"]
    assert {row["family"] for row in rows} <= {"rows", "gram"} and len(rows) == 3
    assert all(row["time_to_90_s"] == 2 and row["floor"] == 1e-6 for row in rows)
    assert f"{rows[0]['family']}<|" in (programs / "expressions").read_text()
    assert "time to 95 % of the final speed: median 2 s, longest 2 s" in done.stdout
    one = run(command, tmp_path, "--sample", "3", "--seed", "7", "--family", "rows,gram", "--cases",
              rows[1]["case"], "--dry-run")
    assert rows[1]["case"] in one.stdout and "1 cases, 30 s of tuning" in one.stdout


@pytest.mark.parametrize("words, message", [
    (["--seed", "1"], "--seed needs --sample"), (["--class", "large"], "--class needs --sample"),
    (["--sample", "0"], "'0' is no number of cases from 1 to 10000"),
    (["--sample", "2", "--seed", "-1"], "'-1' is no seed from 0 to"),
    (["--sample", "2", "--no-compile"], "--no-compile is not for --sample"),
    (["--compile"], "--compile needs --sample")])
def test_wrong_usage_of_samples(command, tmp_path, words, message):
    done = run(command, tmp_path, *words)
    assert done.returncode == 2 and message in done.stderr


def test_an_unknown_family_is_an_error(command, tmp_path):
    done = run(command, tmp_path, "--sample", "2", "--family", "dots")
    assert done.returncode == 1 and "there is no family 'dots'; there are products" in done.stderr


def test_a_case_that_fails_is_the_exit_status_and_runs_again(command, tmp_path):
    done = run(command, tmp_path, "--cases", "dot_10000000,matvec_4096")
    assert done.returncode == 1
    assert "dot_10000000: mdh tune: mdh: error: the GPU is on fire" in done.stdout
    done = run(command, tmp_path, "--cases", "dot_10000000,matvec_4096", "--missing")
    assert "[1/1] dot_10000000" in done.stdout
    assert len(json.loads((tmp_path / "gpu.json").read_text())["figures"]) == 2


def test_cases_that_are_left_are_an_exit_status(command, tmp_path):
    done = run(command, tmp_path, "--cases", "matvec_*", "--time-limit", "40")
    assert done.returncode == 3
    assert "no time for 2 cases, from matvec_4096 on" in done.stdout


def test_a_program_that_is_stopped_leaves_nothing(command, programs, tmp_path):
    (programs / "slow").touch()
    process = subprocess.Popen([*command, "--cases", "matvec_4096"], env=environment(tmp_path),
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not (programs / "calls").exists() or "tune " not in (programs / "calls").read_text():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "bench gpu: stopped" in errors
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not any(str(programs) in command_line(p) for p in pathlib.Path("/proc").glob("[0-9]*"))


def command_line(process):
    try:
        return (process / "cmdline").read_text()
    except OSError:  # it has ended
        return ""
