"""The client for asyncio, and clients that go on with the next daemon."""

import asyncio
import os
import signal
import threading
import time

import conftest
import examples
import pytest

import mdh


def test_the_calls_of_the_other_client(daemon, client):
    expression = examples.matmul_loops(40, 41, 42)

    async def use():
        async with mdh.AsyncClient(daemon.address) as asynchronous:
            assert await asynchronous.check(expression) == client.check(expression)
            with pytest.raises(mdh.NotFoundError):
                await asynchronous.lookup(expression)
            refused = await asynchronous.lookup(expression, tune_seconds=-1)
            assert refused.kernel is not None
            assert refused.tuning_error.code == "INVALID_ARGUMENT"
            steps = []
            tuned, devices = await asyncio.gather(
                asynchronous.tune(expression, max_trials=2, on_progress=steps.append),
                asynchronous.devices())
            assert steps[-1].state == "SUCCEEDED"
            assert devices.devices[0].name == "devices/cpu"
            found = await asynchronous.lookup(expression)
            assert found.tuned == tuned
            assert await asynchronous.kernel(found) == client.kernel(tuned)
            best = await asynchronous.best_kernel(expression, weakest="nearest")
            assert (best.match, best.provenance) == ("EXACT", "MEASURED")
            assert "knownDevices/h100" in await asynchronous.known_devices()

    asyncio.run(use())


def test_pipelines(daemon, client):
    chain = mdh.parse("""chain := pipeline(x) -> z { y = sums(x); z = twice(y) }
        sums := out_view<fp32>( y: (i,j) -> (i) ) o md_hom<24,24>( f, (++,+) ) o
          inp_view<fp32>( x: (i,j) -> (i,j) ) where f(x) -> y { y = x }
        twice := out_view<fp32>( z: (i) -> (i) ) o md_hom<24>( f, (++) ) o
          inp_view<fp32>( y: (i) -> (i) ) where f(y) -> z { z = y + y }""")

    async def use():
        async with mdh.AsyncClient(daemon.address) as asynchronous:
            tuned = await asynchronous.tune(chain, max_trials=1, budget_seconds=10)
            found = await asynchronous.lookup(chain)
            assert tuned == found.tuned
            assert await asynchronous.kernel(found) == client.best_kernel(chain).kernel
            assert len(found.kernel.arguments) == 2

    asyncio.run(use())


def test_errors_are_the_same(daemon):
    async def use():
        async with mdh.AsyncClient("unix:/nowhere/mdhd.sock") as nowhere:
            with pytest.raises(mdh.UnavailableError, match="is mdhd running there"):
                await nowhere.cancel("tuningJobs/1")
        async with mdh.AsyncClient(daemon.address) as asynchronous:
            with pytest.raises(mdh.ExpressionError, match="there is no match 'closest', but exact"):
                await asynchronous.best_kernel(examples.scan(4), weakest="closest")
            with pytest.raises(mdh.NotFoundError):
                await asynchronous.wait("tuningJobs/999999")

    asyncio.run(use())


def test_a_task_that_is_cancelled_cancels_its_job(daemon, client):
    async def use():
        async with mdh.AsyncClient(daemon.address) as asynchronous:
            steps = []
            task = asyncio.create_task(asynchronous.tune(
                examples.matmul_loops(81, 82, 83), budget_seconds=60, on_progress=steps.append))
            while not steps:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(use())
    from mdh.v1 import tuning_pb2 as pb
    newest = client.call("TuningService/ListTuningJobs", pb.ListTuningJobsRequest(page_size=1),
                         pb.ListTuningJobsResponse).jobs[0]
    assert client.wait(newest.name).state == "CANCELLED"


def test_what_is_known_comes_at_once_and_is_tuned_in_the_background(client):
    expression = examples.matmul_loops(91, 92, 93)
    best = client.best_kernel(expression, tune_seconds=1)
    assert best.match in ("PREDICTED", "NEAREST") and best.tuning_job
    assert best.provenance in ("RULES", "REPAIRED")
    assert client.wait(best.tuning_job).tuned.digest == expression.digest
    assert client.best_kernel(expression).provenance == "MEASURED"


def test_tuning_goes_on_with_the_next_daemon(daemon_program, short_folder):
    daemon = conftest.Daemon(daemon_program, short_folder)
    daemon.wait_until_it_listens()
    tuned, trials = [], threading.Event()
    with mdh.Client(daemon.address) as client:
        thread = threading.Thread(target=lambda: tuned.append(client.tune(
            examples.matmul_loops(64, 65, 66), budget_seconds=4,
            on_progress=lambda progress: progress.trials and trials.set())))
        thread.start()
        assert trials.wait(30)
        daemon.process.kill()  # in mid-stream
        daemon.process.wait()
        (short_folder / "mdhd.sock").unlink(missing_ok=True)
        next_daemon = conftest.Daemon(daemon_program, short_folder)
        next_daemon.wait_until_it_listens()
        thread.join(60)
    next_daemon.stop()
    assert tuned and tuned[0].time_ns > 0


def test_calls_of_a_slow_daemon_end_at_their_limit(daemon_program, short_folder):
    daemon = conftest.Daemon(daemon_program, short_folder)
    daemon.wait_until_it_listens()
    with mdh.Client(daemon.address, call_seconds=0.3) as client:
        client.check(examples.scan(4))
        daemon.process.send_signal(signal.SIGSTOP)
        os.waitpid(daemon.process.pid, os.WUNTRACED)  # until all of its threads have stopped
        begin = time.monotonic()
        with pytest.raises(mdh.DeadlineExceededError):
            client.check(examples.scan(4))
        assert time.monotonic() - begin < 5
        daemon.process.send_signal(signal.SIGCONT)
    daemon.stop()
