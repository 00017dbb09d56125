"""Measuring a case in turns, on a device that is none: PyTorch on the CPU, clocks of this test."""

import contextlib
import pathlib
import sys
import types

import pytest

import mdh  # noqa: F401 - the benchmark's modules then use this package

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from gpu import buffers, measure, operation, timing  # noqa: E402
from gpu.cases import Case  # noqa: E402

CASE = Case("matmul_small", "matmul.mdh", {"I": 10, "J": 50, "K": 64}, 1, 0)


class Device:
    """Takes the place of torch.cuda. Its time passes only when something is executed."""

    def __init__(self):
        self.now = 0.0
        self.graphs = True
        self._captured = None

    def spend(self, seconds):
        if self._captured is None:
            self.now += seconds
        else:
            self._captured.append(seconds)

    def Event(self, enable_timing):
        event = types.SimpleNamespace(time=0.0)
        event.record = lambda: setattr(event, "time", self.now)
        event.elapsed_time = lambda end: (end.time - event.time) * 1e3
        return event

    def CUDAGraph(self):
        made = types.SimpleNamespace(durations=[])
        made.replay = lambda: setattr(self, "now", self.now + sum(made.durations))
        return made

    @contextlib.contextmanager
    def graph(self, made, stream):
        if not self.graphs:
            raise RuntimeError("operation not permitted when stream is capturing")
        self._captured = made.durations
        yield
        self._captured = None

    def Stream(self):
        return None

    def current_stream(self):
        return types.SimpleNamespace(cuda_stream=0)

    def synchronize(self):
        pass


@pytest.fixture
def device(monkeypatch):
    """Kernels are named by their speed; peers take 8 and 6 us."""
    made = Device()
    for module in (timing, measure):
        monkeypatch.setattr(module.torch, "cuda", made)
    monkeypatch.setattr(buffers, "_free_bytes", lambda device: 1 << 30)
    monkeypatch.setattr(buffers.Sets.__init__, "__defaults__", ("cpu",))
    monkeypatch.setattr(operation.torch, "compile", lambda f, **options: f, raising=False)

    def mm(a, b, out=None):
        made.spend(6e-6 if out is None else 8e-6)
        return torch.matmul(a, b) if out is None else torch.matmul(a, b, out=out)

    monkeypatch.setattr(operation.torch, "mm", mm)
    monkeypatch.setattr(measure, "kernel_file", types.SimpleNamespace(read_kernel=lambda p: p))
    monkeypatch.setattr(measure, "cuda_kernel", types.SimpleNamespace(
        CudaKernel=lambda name: Kernel(made, name)))
    return made


class Kernel:
    """Its name says how many microseconds it takes, and what is wrong with it."""

    open = 0

    def __init__(self, device, name):
        if "refused" in name:
            raise ValueError("k.cu does not compile:\nline 1\nline 2\nline 3")
        self._device = device
        self._name = name
        self._runs = 0
        Kernel.open += 1

    def close(self):
        Kernel.open -= 1

    def resources(self):
        return [types.SimpleNamespace(function="f", registers=9, local_bytes=0, shared_bytes=0)]

    def prepare(self, a, b, c):
        def launch(stream):
            self._runs += 1
            self._device.spend(float(self._name.split()[0]) * 1e-6)
            torch.matmul(a, b, out=c)
            if "wrong" in self._name or ("later" in self._name and self._runs > 100):
                c[0, 0] += 1

        return launch


def run(tuned, default="20", compile_peers=True):
    answer = measure.Measurement(CASE, 50 << 10).run({"tuned": tuned, "default": default},
                                                     compile_peers)
    assert Kernel.open == 0
    return answer


def test_times_ratios_and_errors_of_a_case(device):
    answer = run("3")
    assert answer["times"] == pytest.approx(
        {"tuned": 3e-6, "default": 20e-6, "cuBLAS": 8e-6, "torch.compile": 6e-6})
    assert answer["best_peer"] == "torch.compile"
    assert answer["ratio_to_best_peer"] == pytest.approx(2)
    assert answer["errors"] == {} and answer["without_graph"] == []
    assert max(answer["largest_error"].values()) < 1e-6
    assert answer["resources"]["tuned"][0]["registers"] == 9
    assert answer["sets"] * 17_360 >= 3 * (50 << 10)


def test_without_torch_compile_the_others_are_measured(device):
    answer = run("3", compile_peers=False)
    assert sorted(answer["times"]) == ["cuBLAS", "default", "tuned"]
    assert answer["best_peer"] == "cuBLAS" and answer["ratio_to_best_peer"] == pytest.approx(8 / 3)


def test_a_kernel_that_does_not_compile_is_an_error_among_times(device):
    answer = run("3", "refused")
    assert answer["errors"] == {"default": "ValueError: k.cu does not compile: | line 1 | line 2"}
    assert answer["ratio_to_best_peer"] == pytest.approx(2)


def test_a_wrong_result_is_no_time(device):
    answer = run("3 wrong")
    assert answer["errors"]["tuned"].startswith("wrong result: error ")
    assert "tuned" not in answer["times"] and answer["ratio_to_best_peer"] is None
    assert answer["best_peer"] is None and "cuBLAS" in answer["times"]


def test_a_result_that_is_wrong_after_many_runs_is_no_time(device):
    answer = run("3 later")
    assert answer["errors"]["tuned"].startswith("wrong result in set ")
    assert "tuned" not in answer["times"]


def test_without_graphs_executions_are_started_one_by_one(device):
    device.graphs = False
    answer = run("3")
    assert sorted(answer["without_graph"]) == ["cuBLAS", "default", "torch.compile", "tuned"]
    assert answer["times"]["tuned"] == pytest.approx(3e-6)


def test_a_slow_kernel_is_measured_once(device):
    before = device.now
    answer = run("3", "700000")
    assert answer["times"]["default"] == pytest.approx(0.7)
    assert device.now - before < 3 * 0.7
