"""deploy/bench gpu without a GPU: cases, the way through them, the measuring process, self-test."""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

import mdh  # noqa: F401 - the benchmark's modules then use this package

BENCHMARKS = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from gpu import operations, row  # noqa: E402
from gpu.benchmark import Benchmark, Machine, Settings  # noqa: E402
from gpu.cases import Case, CaseError, goal_of, load_cases  # noqa: E402
from gpu.service import Service, ServiceError, gpu_of, short_name  # noqa: E402
from gpu.worker_process import WorkerError, WorkerProcess  # noqa: E402
from report.results import Results, read_results  # noqa: E402

GPU = {"name": "devices/cuda0", "description": {"model": "X", "l2_bytes": "1000"},
       "peaks": {"fp32_flops_per_s": 1e12, "memory_bytes_per_s": 1e11, "copy_bytes_per_s": 2e11}}
RECORD = {"name": "records/1", "trials": "7", "failed_trials": "2", "search_time_ns": "5000000000",
          "time_ns": "3000", "parameters": "p", "compulsory_bytes": "8000"}


# ---- Cases ----

def test_every_case_has_the_buffers_of_its_file():
    cases = load_cases()
    assert len({case.id for case in cases}) == len(cases) >= 45
    for case in cases:
        operation = operations.operation_of(case)
        size_bytes = operation.size_bytes
        # Stencils read border points, a scalar result is not always counted.
        if case.compulsory_bytes:
            assert size_bytes == pytest.approx(case.compulsory_bytes, rel=0.02), case.id
        assert operation.peers and any(peer.is_counted for peer in operation.peers)
        assert len({peer.name for peer in operation.peers}) == len(operation.peers)


def test_cases_are_selected_by_patterns():
    assert [c.id for c in load_cases("dot_*,scan*")] == ["dot_16777216", "dot_10000000",
                                                        "scan_16777216"]
    with pytest.raises(CaseError, match="no case matches 'nothing'; there are dot_16777216"):
        load_cases("nothing")


def test_a_case_survives_its_message():
    case = load_cases("prl_2^15")[0]
    assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case


def test_every_case_has_a_goal():
    assert [goal_of(c) for c in ("mcc_1_512_7_7_512_3_3", "mcc_vgg16_training", "prl_2^15")] == [
        8, 1.8, 1]


# ---- Rows ----

def test_the_floor_is_the_larger_of_operations_and_bytes():
    case = Case("c", "dot.mdh", {}, 10**12, 10**9)
    figures = row.empty_row(case, 30)
    figures["value"] = 2.0
    row.add_floor(figures, case, None, GPU)
    assert figures["floor"] == 1.0 and figures["ratio_to_floor"] == 0.5
    row.add_floor(figures, Case("c", "dot.mdh", {}, 0, 0), RECORD, GPU)
    assert figures["floor"] == 8000 / 2e11
    row.add_floor(figures, Case("c", "dot.mdh", {}, 0, 0), None, GPU)
    assert figures["floor"] is None


def test_the_floor_of_halves_is_that_of_matrix_units():
    h100 = {"peaks": GPU["peaks"],
            "description": {"isa": "sm_90", "clock_hz": 1e9, "blocks": {"multiprocessors": 100}}}
    case = Case("c", "matmul_fp16.mdh", {}, 8192 * 10**11, 1, "bf16")
    figures = row.empty_row(case, 30)
    row.add_floor(figures, case, None, h100)
    assert figures["floor"] == 2.0
    row.add_floor(figures, case, None, GPU)
    assert figures["floor"] == 1 / 2e11


def answer(**changes):
    """What the measuring process says."""
    return {"times": {"tuned": 2e-6, "default": 4e-6, "cuBLAS": 5e-6, "own": 1e-6}, "errors": {},
            "largest_error": {"tuned": 1e-7}, "sets": 9, "without_graph": [], "others": ["own"],
            "resources": {"tuned": [{"function": "f", "registers": 255, "local_bytes": 8,
                                     "shared_bytes": 0}]},
            "notes": ["n"], "ratio_to_best_peer": 2.5, "best_peer": "cuBLAS", **changes}


class FakeTuner:
    def __init__(self, folder, errors=()):
        self.errors = dict(errors)
        self.calls = []
        self._folder = folder

    def tune(self, case, device, budget_seconds, force):
        self.calls.append(("tune", case.id, device, budget_seconds, force))
        if case.id in self.errors:
            raise ServiceError(self.errors[case.id])
        return dict(RECORD)

    def kernel(self, case, device, *, measured):
        self.calls.append(("kernel", case.id, device, measured))
        return self._folder / ("tuned.json" if measured else "default.json")


class FakeWorker:
    """Answers in turn; an exception is raised."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.requests = []

    def measure(self, case, kernels, l2_bytes, compile_peers, seconds):
        self.requests.append((case.id, sorted(kernels), l2_bytes, compile_peers, seconds))
        given = self._answers.pop(0) if self._answers else answer()
        if isinstance(given, Exception):
            raise given
        return given


SETTINGS = Settings(30, 15, True, True, False, None, "abc")


def benchmark(tmp_path, tuner, worker, settings=SETTINGS, opencl=""):
    said = []
    results = Results()
    machine = Machine(tuner, tuner, worker, GPU, "cuda0", "gpu.json", opencl)
    return Benchmark(machine, settings, results, tmp_path / "r.json",
                     [case.id for case in load_cases()], said.append), results, said


def test_a_case_is_tuned_measured_and_written(tmp_path):
    tuner, worker = FakeTuner(tmp_path), FakeWorker()
    bench, results, said = benchmark(tmp_path, tuner, worker, opencl="opencl0")
    assert bench.run(load_cases("dot_10000000")) == []
    assert tuner.calls == [
        ("kernel", "dot_10000000", "gpu.json", False), ("tune", "dot_10000000", "cuda0", 30, False),
        ("kernel", "dot_10000000", "cuda0", True), ("tune", "dot_10000000", "opencl0", 15, False)]
    assert worker.requests == [("dot_10000000", ["default", "tuned"], 1000, True, 240)]
    figures = results.rows[0]
    assert read_results(tmp_path / "r.json").rows == [figures]
    assert figures["value"] == 2e-6 and figures["correct"] and figures["unit"] == "s"
    assert figures["peers"] == {"cuBLAS": 5e-6} and figures["other_peers"] == {"own": 1e-6}
    assert figures["ratio_to_best_peer"] == 2.5 and figures["best_peer"] == "cuBLAS"
    assert figures["default_time"] == 4e-6 and figures["default_ratio"] == 0.5
    assert figures["floor"] == 80000000 / 2e11
    assert (figures["trials"], figures["failed_trials"], figures["tuning_s"]) == (7, 2, 5.0)
    assert figures["opencl_ratio"] == 1.0 and figures["commit"] == "abc"
    assert figures["notes"] == ["n", "f has 8 bytes of local memory a thread"]
    assert "2 us, 2.50 of cuBLAS, 200 of the floor, 7 trials" in said[0]


def test_a_case_that_fails_is_a_row_and_the_others_go_on(tmp_path):
    tuner = FakeTuner(tmp_path, {"dot_16777216": "mdh tune: no kernel"})
    bench, results, said = benchmark(tmp_path, tuner, FakeWorker(
        answer(times={"cuBLAS": 5e-6}, ratio_to_best_peer=None, best_peer=None)))
    assert bench.run(load_cases("dot_*")) == []
    failed, right = results.rows
    assert not failed["correct"] and failed["errors"] == {"tuned": "mdh tune: no kernel"}
    assert failed["peers"] == {"cuBLAS": 5e-6} and failed["value"] is None
    assert right["correct"]
    assert "dot_16777216: mdh tune: no kernel" in said[0]


def test_a_measuring_process_that_dies_is_asked_once_more_for_less(tmp_path):
    worker = FakeWorker(WorkerError("it ended"))
    bench, results, _ = benchmark(tmp_path, FakeTuner(tmp_path), worker)
    bench.run(load_cases("dot_10000000"))
    assert [r[1:4:2] for r in worker.requests] == [(["default", "tuned"], True), (["tuned"], False)]
    figures = results.rows[0]
    assert figures["correct"] and figures["errors"] == {"default": "it ended"}
    assert "measured without default kernel and torch.compile: it ended" in figures["notes"]


def test_a_measuring_process_that_dies_twice_is_the_row(tmp_path):
    worker = FakeWorker(WorkerError("one"), WorkerError("two"))
    bench, results, _ = benchmark(tmp_path, FakeTuner(tmp_path), worker)
    bench.run(load_cases("dot_*"))
    assert results.rows[0]["errors"]["tuned"] == "two" and results.rows[1]["correct"]


def test_an_error_that_nobody_thought_of_is_a_row(tmp_path):
    bench, results, _ = benchmark(tmp_path, FakeTuner(tmp_path), FakeWorker({"times": {}}))
    bench.run(load_cases("dot_10000000"))
    assert results.rows[0]["errors"]["tuned"].startswith("KeyError")


def test_cases_for_which_there_is_no_time_are_left(tmp_path):
    settings = Settings(30, 15, True, True, False, time.monotonic() + 60, "abc")
    bench, results, said = benchmark(tmp_path, FakeTuner(tmp_path), FakeWorker(), settings)
    assert [c.id for c in bench.run(load_cases("dot_*"))] == ["dot_16777216", "dot_10000000"]
    assert said == ["no time for 2 cases, from dot_16777216 on"] and results.rows == []


def test_without_tuning_the_database_is_measured(tmp_path):
    settings = Settings(30, 15, False, False, False, time.monotonic() + 100, "abc")
    tuner, worker = FakeTuner(tmp_path), FakeWorker()
    bench, results, _ = benchmark(tmp_path, tuner, worker, settings, "opencl0")
    bench.run(load_cases("dot_10000000"))
    assert [call[0] for call in tuner.calls] == ["kernel", "kernel"]
    assert not worker.requests[0][3] and worker.requests[0][4] <= 100
    assert results.rows[0]["correct"] and "trials" not in results.rows[0]


def test_devices_are_found_by_kind_and_model():
    other = {"name": "devices/opencl1", "description": {"model": "X"}}
    assert short_name(gpu_of([other, GPU], "cuda")) == "cuda0"
    assert gpu_of([GPU, other], "opencl", "X") is other
    with pytest.raises(ServiceError, match=r"no device of kind opencl Y; the daemon has .*0 \(X\)"):
        gpu_of([GPU, other], "opencl", "Y")


def test_a_daemon_that_died_is_started_again(daemon_program, short_folder, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(short_folder))
    service = Service(daemon_program.parent, "cpu")
    try:
        service._process.kill()
        service._process.wait()
        assert service.known_device("h200")["description"]["isa"] == "sm_90"
        with pytest.raises(ServiceError, match="mdhd has no description of the device nothing"):
            service.known_device("nothing")
        with pytest.raises(ServiceError, match="mdh kernel: .*no kernel|mdh kernel: "):
            service.kernel(load_cases("dot_10000000")[0], "cpu", measured=True)
    finally:
        service.close()
    assert list(short_folder.iterdir()) == []


def test_a_daemon_tunes_and_gives_kernels(daemon_program):
    service = Service(daemon_program.parent, "cpu")
    try:
        case = load_cases("matmul_10_500_64")[0]
        record = service.tune(case, "cpu", 1, force=False)
        figures = row.empty_row(case, 1)
        row.add_record(figures, record)
        assert figures["trials"] > 0 and figures["runner_time"] > 0 and figures["tuning_s"] > 0
        information = json.loads(service.kernel(case, "cpu", measured=True).read_text())
        assert information["match"] == "exact"
        with pytest.raises(ServiceError, match="mdh tune: .*there is no device 'devices/cuda63'"):
            service.tune(case, "cuda63", 1, force=False)
    finally:
        service.close()


# ---- The measuring process ----

ECHO = """
import json, sys
print(json.dumps({"machine": {"gpu": "none"}}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    print("ignored", file=sys.stderr)
    what = request["case"]["id"]
    if what == "die": sys.exit("it broke")
    if what == "hang":
        import time
        time.sleep(1000)
    if what == "lost":
        print(json.dumps({"error": "lost", "ends": True}), flush=True)
        sys.exit(1)
    if what == "error": print(json.dumps({"error": "no memory"}), flush=True)
    else: print(json.dumps({"request": request}), flush=True)
"""


@pytest.fixture
def worker():
    process = WorkerProcess(command=[sys.executable, "-c", ECHO])
    yield process
    process.close()


def ask(worker, name, seconds=60):
    return worker.measure(Case(name, "dot.mdh", {"K": 3}, 1, 2), {"tuned": "k.json"}, 5, True,
                          seconds)


def test_the_process_is_started_once_and_answers(worker):
    assert worker.start() == {"gpu": "none"}
    assert worker.start() == {}
    request = ask(worker, "x")["request"]
    assert request["case"]["bindings"] == {"K": 3} and request["kernels"] == {"tuned": "k.json"}
    assert request["l2_bytes"] == 5 and request["compile_peers"]


def test_a_process_that_ended_is_started_again(worker):
    with pytest.raises(WorkerError, match="the measuring process ended: it broke"):
        ask(worker, "die")
    assert ask(worker, "x")["request"]


def test_a_process_that_hangs_is_killed(worker):
    with pytest.raises(WorkerError, match="measuring took longer than 1 s"):
        ask(worker, "hang", 1)
    assert ask(worker, "x")["request"]


def test_an_error_is_passed_on_and_the_process_stays(worker):
    worker.start()
    with pytest.raises(WorkerError, match="^no memory$"):
        ask(worker, "error")
    assert worker.start() == {}


def test_a_process_that_lost_its_gpu_is_replaced(worker):
    with pytest.raises(WorkerError, match="^lost$"):
        ask(worker, "lost")
    assert ask(worker, "x")["request"]


def test_without_pytorch_or_gpu_the_real_process_says_so():
    process = WorkerProcess(sys.executable)
    try:
        with pytest.raises(WorkerError, match="PyTorch is not installed|RuntimeError|CUDA|NVIDIA"):
            process.start()
            pytest.skip("there are PyTorch and a GPU")
    finally:
        process.close()


# ---- The program ----

def run(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-m", "gpu", *map(str, arguments)], env=environment,
                          capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments, message", [
    (["--budget", "0"], "'0' is no number of seconds"),
    (["--missing"], "--missing needs --json"),
    (["--no-tune"], "--no-tune needs --database"),
    (["--json", "/nowhere/r.json"], "the folder of /nowhere/r.json is not there"),
    (["--database", "/nowhere/d"], "the folder of /nowhere/d is not there"),
    (["--dry-run", "--self-test"], "not allowed with")])
def test_wrong_usage(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2 and message in done.stderr


def test_errors_of_the_program(tmp_path):
    done = run("--report", tmp_path / "x.json")
    assert done.returncode == 1 and "bench gpu: error: cannot read" in done.stderr
    done = run("--programs", tmp_path, "--cases", "dot_*")
    assert done.returncode == 1 and "mdhd does not start: No such file" in done.stderr


def test_missing_leaves_out_what_is_right(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps([{"case": "dot_16777216", "correct": True}]))
    done = run("--dry-run", "--missing", "--json", path, "--cases", "dot_*")
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("1 cases")


def test_a_machine_without_gpu_is_an_error(daemon_program):
    done = run("--programs", daemon_program.parent, "--device", "63", "--cases", "dot_*")
    assert done.returncode == 1 and "there is no cuda:63" in done.stderr


def test_the_self_test_compiles_and_launches_kernels(daemon_program):
    # All of them take a minute: others in every run.
    cases = random.sample([case.id for case in load_cases()], 16)
    done = run("--self-test", "--programs", daemon_program.parent, "--cases", ",".join(cases))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"{len(cases)} passed, 0 failed"
