"""The client against a real daemon."""

import math
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading

import examples
import pytest

import mdh
from mdh import fp32


def test_check(client):
    checked = client.check(examples.matmul_loops(4, 5, 6))
    assert (checked.flops, checked.compulsory_bytes) == (2 * 4 * 5 * 6, 4 * (24 + 30 + 20))
    assert len(checked.digest) == 64
    assert checked.text.startswith("matmul")
    assert list(checked.expression.inputs[1].extents) == [6, 5]
    assert client.check(mdh.parse(checked.text)).digest == checked.digest


def test_tune_look_up_and_get_the_kernel(client):
    expression = examples.matmul_loops(16, 17, 18)
    with pytest.raises(mdh.NotFoundError):
        client.lookup(expression)
    steps = []
    tuned = client.tune(expression, max_trials=3, budget_seconds=30, seed=2, technique="random",
                        numerics="reassociate", on_progress=steps.append)
    assert tuned.time_ns > 0 and tuned.trials >= 1
    assert tuned.digest == client.check(expression).digest
    assert steps[-1].state == "SUCCEEDED"
    bound = tuned.bound()
    assert 0 < bound.time_ns <= tuned.time_ns and bound.floors[0][1] == bound.time_ns
    assert bound.binding_floor.startswith(bound.floors[0][0] + ": ")
    assert bound.is_proven == (not bound.assumptions) and bound.binding_floor in repr(bound)
    found = client.lookup(mdh.parse(client.check(expression).text))
    assert found.is_exact and found.tuned.name == tuned.name
    kernel = client.kernel(tuned)
    assert kernel == client.kernel(found) == client.kernel(tuned.name)
    assert kernel.entry in kernel.source
    assert [(a.name, a.type, a.elements, a.is_output) for a in kernel.arguments] == [
        ("A", "fp32", 16 * 18, False), ("B", "fp32", 18 * 17, False), ("C", "fp32", 16 * 17, True)]


def test_answers_are_shown_in_one_line(client):
    expression = examples.matmul_loops(12, 13, 14)
    tuned = client.tune(expression, max_trials=1, budget_seconds=30, devices=["cpu"])
    found = client.lookup(expression, numerics="reassociate", device="cpu")
    best = client.best_kernel(expression, device="h100", measured=False)
    shown = [
        (tuned, r"<TunedKernel matmul: [0-9.]+ .?s, [0-9.]+ .?FLOP/s, records/\w+>"),
        (found, r"<Lookup exact matmul: [0-9.]+ .?s, [0-9.]+ .?FLOP/s, records/\w+>"),
        (client.kernel(found), r"<Kernel mdh_matmul: OpenMP C, \d+ lines, kernels/\w+>"),
        (best, r"<BestKernel predicted mdh_matmul: not measured.*>"),
        (client.check(expression), r"<CheckedExpression matmul: 4.37 kFLOP, [0-9.]+ KiB, \w{12}\.\.\.>"),
    ]
    for answer, pattern in shown:
        assert re.fullmatch(pattern, repr(answer)), repr(answer)
        html = answer._repr_html_()
        assert html.startswith("<table>") and answer._title() in html and len(html) < 20_000
    assert best.kernel.language == "CUDA C++"


def test_names_are_those_of_the_command_line():
    calls = mdh.calls
    assert calls.device_name("cuda0") == "devices/cuda0"
    assert calls.device_name("cpu@0-3") == "devices/cpu@0-3"
    assert calls.device_name("h100") == "knownDevices/h100"
    assert calls.device_name("devices/cuda") == "devices/cuda"
    assert calls.device_name("nodes/w1/devices/cuda0") == "nodes/w1/devices/cuda0"
    fingerprint = "cpu 'AMD EPYC'; cores 2; compiler unknown"
    assert calls.device_name(fingerprint) == fingerprint
    assert calls.policy("exact") == calls.policy("exact_order")
    assert calls.policy("tree") == calls.policy("fixed_tree")
    with pytest.raises(mdh.ExpressionError, match="reassociate, exact, tree, tf32, bf16x3, bf16x6 and fp8"):
        calls.policy("unspecified")


def test_what_search_there_was_is_told(client):
    expression = examples.matmul_loops(22, 26, 27)
    notes = []

    def tune(seconds):
        return client.tune(expression, budget_seconds=seconds, max_trials=2, on_note=notes.append)

    assert tune(20).is_checked and notes == []
    first = tune(10)
    assert first.total_search_time_ns > 0
    assert client.tune(expression, on_note=notes.append).name == first.name
    client.tune(expression, budget_seconds=20, max_trials=4, on_note=notes.append)
    # A record that others have disturbed is searched anew, whatever is asked for.
    told = ["there is a record, behind which stands", "there is a record, behind which stands", "goes on from"]
    for note, undisturbed in zip(notes, told, strict=True):
        assert note.startswith(f"{undisturbed} a search of ") or note.endswith("others used the machine")


def test_look_up_while_the_daemon_tunes(client):
    expression = examples.matmul_loops(19, 20, 21)
    first = client.lookup(expression, tune_seconds=0.5)
    assert not first.is_exact and first.tuned.time_ns == 0
    assert (first.match, first.tuning_error) == ("PREDICTED", None)
    assert first.provenance in ("RULES", "REPAIRED")
    assert first.kernel.entry in first.kernel.source
    assert client.wait(first.tuning_job).state == "SUCCEEDED"
    then = client.lookup(expression, tune_seconds=0.5)
    assert then.is_exact and then.tuned.time_ns > 0
    assert (then.match, then.provenance, then.kernel, then.tuning_job) == (
        "EXACT", "MEASURED", None, "")
    refused = client.lookup(examples.matmul_loops(22, 20, 21), tune_seconds=-1)
    assert refused.kernel is not None and refused.tuning_job == ""
    assert refused.tuning_error.code == "INVALID_ARGUMENT"


def test_a_cancelled_job_is_an_error(client):
    def cancel_when_it_runs(progress):
        if progress.state == "RUNNING" and not threads:
            threads.append(threading.Thread(target=client.cancel, args=("tuningJobs/" + job(),)))
            threads[0].start()

    def job():
        # The newest job is the one that runs.
        from mdh.v1 import tuning_pb2 as pb
        jobs = client.call("TuningService/ListTuningJobs", pb.ListTuningJobsRequest(page_size=1),
                            pb.ListTuningJobsResponse)
        return jobs.jobs[0].name[len("tuningJobs/"):]

    threads = []
    with pytest.raises(mdh.CancelledError, match="was cancelled"):
        client.tune(examples.matmul_loops(64, 65, 66), budget_seconds=60,
                    on_progress=cancel_when_it_runs)
    threads[0].join()


def test_an_interrupt_cancels_the_job(client):
    from mdh.v1 import tuning_pb2 as pb

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.tune(examples.matmul_loops(71, 72, 73), budget_seconds=60, on_progress=interrupt)
    newest = client.call("TuningService/ListTuningJobs", pb.ListTuningJobsRequest(page_size=1),
                          pb.ListTuningJobsResponse).jobs[0]
    steps = []
    assert client.wait(newest.name, on_progress=steps.append).state == "CANCELLED"
    assert steps[-1].state == "CANCELLED"


def test_errors_of_the_daemon_name_the_python_line(client):
    @mdh.mdh()
    def written_twice():
        return (mdh.out_view[fp32](y=[lambda i: (0)]), mdh.md_hom[4](mdh.mul, mdh.cc),
                mdh.inp_view[fp32](x=[lambda i: (i)]))

    with pytest.raises(mdh.ExpressionError) as caught:
        client.check(written_twice)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert caught.value.location.file == __file__
    line = written_twice.location.line
    assert str(caught.value).startswith(f"{__file__}:{line}: ")
    assert "'y'" in caught.value.message


def test_errors_in_text_come_with_a_caret(client):
    with pytest.raises(mdh.ExpressionError, match=r"(?s):1:\d+: .*\^"):
        client.check(mdh.parse("copy := out_view<int8>( y: (i) -> (j) )"))


def test_bindings_of_text(client):
    text = ("copy<T | I> := out_view<T>( y: (i) -> (i) ) o md_hom<I>( f, (++) )"
            " o inp_view<T>( x: (i) -> (i) ) where f(x) -> y { y = x }")
    checked = client.check(mdh.parse(text, T=mdh.int8, I=12))
    assert checked.compulsory_bytes == 24


LAYER = """
layer<T = fp32 | M = 12, N = 10, K = 8> := pipeline(x, w, b) -> y {
  h = product<T | M, N, K>(x, w);
  y = activation<T | M, N>(h, b)
}
product<T | I, J, K> := out_view<T>( C: (i,j,k) -> (i,j) ) o md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<T,T>( A: (i,j,k) -> (i,k), B: (i,j,k) -> (k,j) ) where f(A, B) -> C { C = A * B }
activation<T | I, J> := out_view<T>( y: (i,j) -> (i,j) ) o md_hom<I,J>( f, (++, ++) ) o
  inp_view<T,T>( x: (i,j) -> (i,j), b: (i,j) -> (j) ) where f(x, b) -> y { y = max(x + b, 0) }
"""


def test_a_text_may_be_a_teml_program(client):
    program = """N = 16
        A = tensor([N, N])
        B = tensor([N, N])
        C = contract(A, B, [2, 1])"""
    product = mdh.einsum("ik,kj->ij", i=8, j=8, k=8)
    assert client.check(mdh.parse(program, N=8, type="fp32")).digest == product.digest
    with pytest.raises(mdh.ExpressionError, match=r"no size 'M'; it has N"):
        client.check(mdh.parse(program, M=8))


def test_a_pipeline_is_one_kernel(client, tmp_path):
    numpy = pytest.importorskip("numpy")
    layer = mdh.parse(LAYER)
    checked = client.check(layer)
    assert (checked.pipeline.name, checked.temporary_bytes) == ("layer", 4 * 12 * 10)
    assert [b.name for b in checked.pipeline.buffers if b.role == 1] == ["x", "w", "b"]
    with pytest.raises(mdh.NotFoundError, match="none for: activation, product"):
        client.lookup(layer)
    notes = []
    tuned = client.tune(layer, max_trials=3, budget_seconds=30, on_note=notes.append)
    assert tuned.time_ns > 0 and tuned.digest == checked.digest
    assert notes == ["3 distinct steps of 2 partitions: activation in the epilogue of product; unfused"]
    found = client.lookup(layer)
    assert found.pipeline.unfused_time_ns >= found.pipeline.time_ns == tuned.time_ns
    assert "partition" in found._repr_html_()
    best = client.best_kernel(layer)
    assert client.kernel(found) == best.kernel
    x, w = numpy.arange(96, dtype="f4").reshape(12, 8) % 5 - 2, numpy.arange(80, dtype="f4").reshape(8, 10) % 3 - 1
    b, y = numpy.arange(10, dtype="f4") - 5, numpy.empty((12, 10), dtype="f4")
    mdh.CpuKernel(best.kernel, cache_directory=tmp_path)(x, w, b, y)
    assert (y == numpy.maximum(x @ w + b, 0)).all()


def test_not_found(client):
    with pytest.raises(mdh.NotFoundError):
        client.kernel("kernels/0")
    with pytest.raises(mdh.NotFoundError):
        client.cancel("tuningJobs/999999")


def test_devices(client):
    cpu = client.devices().devices[0]
    assert cpu.name == "devices/cpu"
    with pytest.raises(mdh.NotFoundError, match="there is no device 'devices/abacus'"):
        client.tune(examples.scan(4), devices=["devices/abacus"])
    tuned = client.tune(examples.scan(40), devices=["devices/cpu"], source="tests", max_trials=1)
    assert tuned.device == cpu.fingerprint
    assert client.lookup(examples.scan(40), device="devices/cpu").tuned.name == tuned.name
    best = client.best_kernel(examples.scan(40))
    assert (best.match, best.kernel.name) == ("EXACT", "kernels/" + tuned.name[len("records/"):])
    assert best.kernel.launches == ()


def test_kernels_for_devices_that_are_not_there(client):
    expression = examples.matmul_loops(64, 64, 64)
    known = client.known_devices()
    h100 = known["knownDevices/h100"]
    with pytest.raises(mdh.NotFoundError):
        client.best_kernel(expression, device="knownDevices/h100")
    best = client.best_kernel(expression, device="knownDevices/h100", measured=False)
    assert (best.match, best.made_from, best.kernel.language) == ("PREDICTED", "", "CUDA C++")
    assert best.kernel.launches[0].function in best.kernel.source
    assert len(best.kernel.launches[0].grid) == len(best.kernel.launches[0].block) == 3
    assert best.tuned.time_ns == 0
    assert client.best_kernel(expression, device=h100, measured=False) == best
    h100.blocks.warp_size = 31
    with pytest.raises(mdh.ExpressionError, match="warp_size is 31, no power of two"):
        client.best_kernel(expression, device=h100, measured=False)


def test_what_is_no_expression():
    with mdh.Client("unix:/nowhere") as client:
        with pytest.raises(mdh.ExpressionError, match="is no expression"):
            client.check("matvec")
        with pytest.raises(mdh.ExpressionError, match="no numerics policy 'fast', but reassoc"):
            client.tune(examples.scan(4), numerics="fast")


def test_no_daemon():
    with mdh.Client("unix:/nowhere/mdhd.sock") as client:
        with pytest.raises(mdh.UnavailableError) as caught:
            client.check(examples.scan(4))
    assert caught.value.code == "UNAVAILABLE"
    assert str(caught.value) == (
        "cannot connect to unix:/nowhere/mdhd.sock; is mdhd running there?")


def test_default_address(monkeypatch):
    monkeypatch.setenv("MDH_SERVER", "localhost:7")
    assert mdh.default_address() == "localhost:7"
    monkeypatch.delenv("MDH_SERVER")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert mdh.default_address() == "unix:/run/user/7/mdhd.sock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr("os.getuid", lambda: 1_000_000_007)
    assert mdh.default_address() == "unix:/tmp/mdhd-1000000007/mdhd.sock"


def test_the_system_service_is_the_default_of_who_has_no_daemon(monkeypatch, short_folder):
    own, systems = short_folder / "mdhd.sock", short_folder / "system.sock"
    monkeypatch.delenv("MDH_SERVER", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_folder))
    monkeypatch.setattr("mdh.client._SYSTEM_SOCKET", str(systems))
    with socket.socket(socket.AF_UNIX) as service, socket.socket(socket.AF_UNIX) as daemon:
        service.bind(str(systems))
        assert mdh.default_address() == f"unix:{systems}"
        daemon.bind(str(own))
        assert mdh.default_address() == f"unix:{own}"


def test_a_forked_process_has_a_connection_of_its_own(daemon):
    with mdh.Client(daemon.address) as client:
        assert client.devices()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            is_right = client.devices() and client.check(examples.scan(4)).digest
            os._exit(0 if is_right else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert client.devices()


def test_a_proxy_is_for_other_machines(daemon_program, short_folder):
    """Nothing of this machine goes through it."""
    from conftest import Daemon

    class TcpDaemon(Daemon):
        def __init__(self, program, directory):
            super().__init__(program, directory, listen="127.0.0.1:0")

    daemon = TcpDaemon(daemon_program, short_folder)
    try:
        daemon.wait_until_it_listens()
        address = daemon.log().split("listening on ")[1].split()[0]
        environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "MDH_SERVER": address}
        package = pathlib.Path(mdh.__file__).parent.parent
        for command in ([str(daemon_program.parent / "mdh"), "jobs"],
                        [sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import mdh; "
                                               "mdh.Client().devices()", str(package)]):
            ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            assert ended.returncode == 0, ended.stderr
    finally:
        daemon.stop()


def test_times_that_are_none(client):
    for seconds in (math.inf, math.nan, -1e12, 1e12, "10"):
        with pytest.raises(mdh.ExpressionError, match="budget_seconds: .* is no number of seconds"):
            client.tune(examples.scan(4), budget_seconds=seconds)
        with pytest.raises(mdh.ExpressionError, match="tune_seconds: .* is no number of seconds"):
            client.best_kernel(examples.scan(4), tune_seconds=seconds)


@pytest.mark.parametrize("code, kind", [
    (1, mdh.CancelledError), (3, mdh.ExpressionError), (5, mdh.NotFoundError),
    (8, mdh.ResourceExhaustedError), (9, mdh.FailedPreconditionError), (11, mdh.OutOfRangeError),
    (13, mdh.InternalError), (14, mdh.UnavailableError), (2, mdh.MdhError), (99, mdh.MdhError)])
def test_codes(code, kind):
    from mdh.errors import from_code
    error = from_code(code, "message")
    assert type(error) is kind and str(error) == "message"
