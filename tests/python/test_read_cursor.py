"""Clients ask for what they were told of, of whichever of several daemons answers."""

import asyncio
import concurrent.futures
import os
import tempfile

import grpc
import pytest

import mdh
from mdh.v1 import kernel_pb2, tuning_pb2


class Daemons:
    """What answers as daemons on one database do."""

    def __init__(self):
        self.job_cursor = ""
        self.asked = []  # cursors of GetKernel
        self.refusal = None  # of those with a cursor: a code, and details

    def get_job(self, request, context):
        return tuning_pb2.GetTuningJobResponse(job=tuning_pb2.TuningJob(
            name=request.name, state=tuning_pb2.TUNING_JOB_STATE_SUCCEEDED, min_cursor=self.job_cursor))

    def get_kernel(self, request, context):
        self.asked.append(request.min_cursor)
        if request.min_cursor and self.refusal is not None:
            code, details = self.refusal
            context.set_trailing_metadata((("grpc-status-details-bin", details),))
            context.abort(code, "not from there on")
        return kernel_pb2.GetKernelResponse(kernel=kernel_pb2.Kernel(name=request.name))


@pytest.fixture
def daemons():
    daemons = Daemons()
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=2))

    def handler(method, request):
        return grpc.unary_unary_rpc_method_handler(
            method, request_deserializer=request.FromString,
            response_serializer=lambda response: response.SerializeToString())

    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("mdh.v1.TuningService", {
            "GetTuningJob": handler(daemons.get_job, tuning_pb2.GetTuningJobRequest)}),
        grpc.method_handlers_generic_handler("mdh.v1.KernelService", {
            "GetKernel": handler(daemons.get_kernel, kernel_pb2.GetKernelRequest)})))
    with tempfile.TemporaryDirectory() as directory:
        daemons.address = "unix:" + os.path.join(directory, "socket")
        server.add_insecure_port(daemons.address)
        server.start()
        yield daemons
        server.stop(None).wait()


def use(daemons, kind, steps):
    """Does "job" and "kernel" with a client; gives the cursors that were asked for."""
    daemons.asked.clear()

    async def asynchronously():
        async with mdh.AsyncClient(daemons.address) as client:
            for step, cursor in steps:
                daemons.job_cursor = cursor
                if step == "job":
                    await client._run(mdh.calls.job("tuningJobs/1"))
                else:
                    await client.kernel("kernels/a")

    if kind == "asynchronous":
        asyncio.run(asynchronously())
    else:
        with mdh.Client(daemons.address) as client:
            for step, cursor in steps:
                daemons.job_cursor = cursor
                if step == "job":
                    client._run(mdh.calls.job("tuningJobs/1"))
                else:
                    client.kernel("kernels/a")
    return daemons.asked


KINDS = pytest.mark.parametrize("kind", ["synchronous", "asynchronous"])


@KINDS
def test_the_latest_that_was_heard_of_is_asked_for(daemons, kind):
    steps = [("kernel", ""), ("job", ""), ("kernel", ""), ("job", "abc.9"), ("kernel", ""),
             ("job", "abc.10"), ("job", "abc.2"), ("kernel", ""), ("job", "nonsense"), ("kernel", ""),
             ("job", "def.1"), ("kernel", "")]
    assert use(daemons, kind, steps) == ["", "", "abc.9", "abc.10", "abc.10", "def.1"]


@KINDS
@pytest.mark.parametrize("code, reason", [(grpc.StatusCode.ABORTED, b"REPLICA_BEHIND"),
                                          (grpc.StatusCode.OUT_OF_RANGE, b"CURSOR_EXPIRED")])
def test_a_daemon_that_cannot_know_answers_with_what_it_has(daemons, kind, code, reason):
    daemons.refusal = (code, b"..." + reason + b"...")
    steps = [("job", "abc.9"), ("kernel", ""), ("kernel", ""), ("job", "abc.10"), ("kernel", "")]
    assert use(daemons, kind, steps) == ["abc.9", "", "", "abc.10", ""]


@KINDS
def test_other_errors_stay_errors(daemons, kind):
    daemons.refusal = (grpc.StatusCode.ABORTED, b"SOMETHING_ELSE")
    with pytest.raises(mdh.AbortedError, match="not from there on"):
        use(daemons, kind, [("job", "abc.9"), ("kernel", "")])
    assert daemons.asked == ["abc.9"]
