"""The client of mdhd for asyncio:

    async with AsyncClient() as client:
        tuned = await client.tune(einsum("ik,kj->ij", i=512, j=512, k=512), budget_seconds=20)
        kernel = await client.kernel(tuned)

Calls, results and errors are those of Client.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Callable, Dict, Optional, Sequence, Union

import grpc.aio

from . import calls
from .calls import Device, Source
from .client import default_address
from .connection import check_listener
from .errors import MdhError
from .following import STREAM_SECONDS, Following
from .read_cursor import ReadCursor
from .results import BestKernel, CheckedExpression, Job, Kernel, Lookup, Progress, TunedKernel
from .retries import channel_options
from .schedule import CheckedSchedule, Schedule
from .security import Security
from .trust import TrustedUsers
from .v1 import device_pb2, tuning_pb2


class AsyncClient:
    """A connection to a daemon; also an asynchronous context manager. Belongs to the event loop in
    which it is made."""

    def __init__(self, address: Optional[str] = None, *, call_seconds: float = 30.0,
                 security: Optional[Security] = None):
        """As Client."""
        self.address = address or default_address()
        self._call_seconds = call_seconds
        security = security or Security.from_environment()
        self._metadata = security.metadata(self.address)
        check_listener(self.address, TrustedUsers(security.trusted_users))
        self._channel = security.open_async_channel(self.address, channel_options(self.address))
        self._cursor = ReadCursor()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connection."""
        await self._channel.close()

    async def check(self, expression: Source) -> CheckedExpression:
        """As Client.check."""
        return await self._run(calls.check(expression))

    async def lookup(self, expression: Source, *, exact: bool = True, numerics: str = "",
                     device: Device = "", tune_seconds: Optional[float] = None,
                     schedule: Union[str, Schedule] = "") -> Lookup:
        """As Client.lookup."""
        return await self._run(
            calls.lookup(expression, exact, numerics, device, tune_seconds, schedule))

    async def check_schedule(self, expression: Source, schedule: Union[str, Schedule] = "", *,
                             device: Device = "", numerics: str = "",
                             vary: str = "") -> CheckedSchedule:
        """As Client.check_schedule."""
        return await self._run(calls.check_schedule(expression, schedule, device, numerics, vary))

    async def tune(
        self, expression: Source, *, budget_seconds: float = 0, max_trials: int = 0, seed: int = 0,
        technique: str = "", numerics: str = "", tolerance: float = 0, caches: str = "",
        schedule: Union[str, Schedule] = "", gap: float = 0, without_cut: bool = False,
        force: bool = False, request_id: str = "", devices: Sequence[str] = (), source: str = "",
        on_progress: Optional[Callable[[Progress], None]] = None,
        on_note: Optional[Callable[[str], None]] = None,
    ) -> TunedKernel:
        """As Client.tune. A task that is cancelled while it waits cancels the job."""
        options = tuning_pb2.TuningOptions(
            budget_ns=calls.nanoseconds(budget_seconds, "budget_seconds"), max_trials=max_trials,
            seed=seed, technique=technique, numerics_policy=calls.policy(numerics), tolerance=tolerance,
            cache_state=calls.cache_state(caches), schedule=str(schedule), gap=gap, without_cut=without_cut)
        job = await self._run(calls.create_job(
            expression, options=options, force=force, request_id=request_id or uuid.uuid4().hex,
            devices=devices, source_name=source))
        if on_note is not None and job.note:
            on_note(job.note)
        try:
            ended = [await self.wait(name, on_progress=on_progress) for name in job.names]
        except asyncio.CancelledError:
            for name in job.names:
                await asyncio.shield(self.cancel(name))
            raise
        found = [one.result(expression.location) for one in ended]
        if not job.steps:
            return found[0]
        best = await self.best_kernel(expression, device=ended[0].devices[0], numerics=numerics,
                                      schedule=schedule)
        return best.tuned

    async def wait(self, job: str, *, on_progress: Optional[Callable[[Progress], None]] = None,
                   max_silence_seconds: float = 30.0) -> Job:
        """As Client.wait."""
        following = Following(max_silence_seconds)
        while True:
            try:
                await self._follow(job, following, on_progress)
            except MdhError as error:
                following.failed(error)
            try:
                ended = await self._run(calls.job(job))
                following.heard(following.sequence)
                if ended.has_ended:
                    return ended
            except MdhError as error:
                following.failed(error, is_last=True)
            await asyncio.sleep(following.pause())

    async def _follow(self, job: str, following: Following,
                      on_progress: Optional[Callable[[Progress], None]]) -> None:
        watch = self._channel.unary_stream(
            "/mdh.v1.TuningService/WatchTuningJob",
            request_serializer=tuning_pb2.WatchTuningJobRequest.SerializeToString,
            response_deserializer=tuning_pb2.WatchTuningJobResponse.FromString)
        request = tuning_pb2.WatchTuningJobRequest(name=job, after_sequence=following.sequence)
        stream = watch(request, metadata=self._metadata, timeout=STREAM_SECONDS)
        try:
            async for response in stream:
                following.heard(response.progress.sequence)
                if on_progress is not None:
                    on_progress(Progress.from_proto(response.progress))
        except grpc.aio.AioRpcError as error:
            raise calls.error_of(error, self.address, None) from error
        finally:
            stream.cancel()

    async def cancel(self, job: str) -> None:
        """As Client.cancel."""
        await self._run(calls.cancel(job))

    async def kernel(self, tuned: Union[str, TunedKernel, Lookup]) -> Kernel:
        """As Client.kernel."""
        known = calls.known_kernel(tuned)
        return known if known is not None else await self._run(calls.kernel(tuned))

    async def best_kernel(self, expression: Source, *, device: Device = "", weakest: str = "exact",
                          numerics: str = "", tune_seconds: Optional[float] = None,
                          schedule: Union[str, Schedule] = "") -> BestKernel:
        """As Client.best_kernel."""
        return await self._run(
            calls.best_kernel(expression, device, weakest, numerics, tune_seconds, schedule))

    async def known_devices(self) -> Dict[str, device_pb2.DeviceDescription]:
        """As Client.known_devices."""
        return await self._run(calls.known_devices())

    async def devices(self) -> device_pb2.ListDevicesResponse:
        """As Client.devices."""
        return await self._run(calls.devices())

    async def _run(self, call: calls.Call[calls.Result]) -> calls.Result:
        method = self._channel.unary_unary(
            f"/mdh.v1.{call.method}", request_serializer=type(call.request).SerializeToString,
            response_deserializer=call.response.FromString)
        asked = self._cursor.asked_of(call.request)
        while True:
            try:
                answer = await method(
                    asked, timeout=call.seconds or self._call_seconds, metadata=self._metadata)
                self._cursor.note(answer)
                return call.convert(answer)
            except grpc.aio.AioRpcError as error:
                if not self._cursor.is_given_up(error, asked, call.request):
                    raise calls.error_of(error, self.address, call.location) from error
                asked = call.request
