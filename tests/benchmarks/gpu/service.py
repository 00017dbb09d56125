"""A daemon of the benchmark's own, used as anybody would use it: through the program mdh."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Optional, Sequence

from .cases import Case

_START_SECONDS = 120
_STOP_SECONDS = 60
_CALL_SECONDS = 60
_AFTER_BUDGET_SECONDS = 90  # the last trials, references of large cases


class ServiceError(Exception):
    """The daemon does not run, or `mdh` reported an error."""


class Service:
    """mdhd on a Unix socket, with a folder of its own that close removes."""

    def __init__(self, programs: pathlib.Path, devices: str, database: str = ""):
        """`programs`: the folder of mdhd and mdh. `devices`: as mdhd takes them. `database`: a file
        to keep; default: a temporary one. Errors: ServiceError."""
        self._programs = programs
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="mdh-bench-"))
        self._socket = f"unix:{self._folder}/socket"
        self._log = open(self._folder / "log", "a+", encoding="utf-8", errors="replace")
        self._kernels = 0
        self._command = [str(programs / "mdhd"), "--listen", self._socket, "--devices", devices,
                         "--database", database or str(self._folder / "database"),
                         "--work-directory", str(self._folder / "work")]
        try:
            self._process = self._start()
        except ServiceError:
            self._remove()
            raise

    def close(self) -> None:
        """Stops the daemon; its database is complete afterwards."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._remove()

    def devices(self) -> List[Dict[str, Any]]:
        """As `mdh devices --json` lists them, once their peaks are known: a daemon that has just
        started is still looking whether they work. Errors: ServiceError."""
        limit = time.monotonic() + _START_SECONDS
        while True:
            devices = json.loads(self._mdh(["devices"], 120))["devices"]
            unknown = [device["name"] for device in devices if "peaks" not in device]
            if not unknown:
                return devices  # type: ignore[no-any-return]
            if time.monotonic() > limit:
                raise ServiceError(f"the peaks of {', '.join(unknown)} cannot be measured: "
                                   f"{self._log_text().strip()[-600:]}")
            time.sleep(0.2)

    def tune(self, case: Case, device: str, budget_seconds: float, force: bool) -> Dict[str, Any]:
        """The record that was found, timed as the benchmark times: with cold caches; and "journal",
        the trials of its search. Errors: ServiceError."""
        words = ["tune", *self._expression(case), "--device", device, "--budget",
                 f"{budget_seconds:g}s", "--caches", "cold"]
        ended = json.loads(self._mdh(words + (["--force"] if force else []),
                                     budget_seconds + _AFTER_BUDGET_SECONDS))
        whole = ended.get("whole") or ended  # a pipeline's job behind those of its steps
        record: Dict[str, Any] = whole.get("record") or {}
        if not record.get("name"):
            progress = whole.get("job", {}).get("progress", {})
            raise ServiceError(f"tuning found no kernel in {progress.get('trials', 0)} trials: "
                               f"{progress.get('latest_reason', '')}")
        job = whole.get("job", {}).get("name")
        record["journal"] = self._journal(job) if job else []
        return record

    def _journal(self, job: str) -> List[Dict[str, Any]]:
        listed = json.loads(self._mdh(["trials", job, "--limit", "1000000"], _CALL_SECONDS))
        return listed.get("trials", [])  # type: ignore[no-any-return]

    def kernel(self, case: Case, device: str, *, measured: bool) -> pathlib.Path:
        """The JSON file of mdh kernel, in the daemon's folder. Errors: ServiceError."""
        self._kernels += 1
        folder = self._folder / f"kernel{self._kernels}"
        words = ["kernel", *self._expression(case), "--device", device, "--output", str(folder),
                 "--name", "kernel"]
        self._mdh(words + ([] if measured else ["--unmeasured"]), _CALL_SECONDS)
        return folder / "kernel.json"

    def print_expression(self, case: Case) -> str:
        """Its structure, as JSON. Errors: ServiceError."""
        return self._mdh(["print", *self._expression(case), "--format", "json"], _CALL_SECONDS)

    def known_device(self, name: str) -> Dict[str, Any]:
        """A device that mdhd has a description of. Errors: ServiceError."""
        known = json.loads(self._mdh(["devices", "--known"], _CALL_SECONDS))["known_devices"]
        found = [device for device in known if device["name"] == f"knownDevices/{name}"]
        if not found:
            raise ServiceError(f"mdhd has no description of the device {name}")
        return found[0]  # type: ignore[no-any-return]

    def _start(self) -> "subprocess.Popen[bytes]":
        """The daemon, once its devices are open. Errors: ServiceError."""
        self._log.truncate(0)
        try:
            process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=self._log,
                                       stderr=self._log)
        except OSError as error:
            raise ServiceError(f"{self._command[0]} does not start: {error.strerror}") from error
        limit = time.monotonic() + _START_SECONDS
        while "devices are open" not in self._log_text():
            if process.poll() is not None or time.monotonic() > limit:
                text = self._log_text()
                process.kill()
                process.wait()
                raise ServiceError(f"mdhd does not start: {text.strip()[-600:]}")
            time.sleep(0.05)
        return process

    def _log_text(self) -> str:
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def _mdh(self, words: Sequence[str], seconds: float) -> str:
        if self._process.poll() is not None:
            self._process = self._start()  # it died; what it found is in its database
        command = [str(self._programs / "mdh"), "--server", self._socket, "--json", *words]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"mdh {words[0]} took longer than {seconds:.0f} s") from None
        except OSError as error:
            raise ServiceError(f"{command[0]} does not start: {error.strerror}") from error
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise ServiceError(f"mdh {words[0]}: {lines[-1]}")
        return done.stdout

    def _expression(self, case: Case) -> List[str]:
        path = case.path
        if case.text:
            path = self._folder / case.expression
            path.write_text(case.text, encoding="utf-8")
        words = [str(path)]
        for name, value in case.bindings.items():
            words += ["--set", f"{name}={value}"]
        return words + (["--set", f"T={case.type}"] if case.type else [])

    def _remove(self) -> None:
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def gpu_of(devices: Sequence[Dict[str, Any]], kind: str, model: str = "") -> Dict[str, Any]:
    """The first device of a kind ("cuda", "opencl"), of this model if one is given. Errors:
    ServiceError, with what there is."""
    for device in devices:
        if device["name"].startswith(f"devices/{kind}") and model in ("", device["description"][
                "model"]):
            return device
    names = ", ".join(f"{d['name']} ({d['description']['model']})" for d in devices) or "none"
    raise ServiceError(f"there is no device of kind {kind}{' ' + model if model else ''}; the "
                       f"daemon has {names}")


def short_name(device: Dict[str, Any]) -> str:
    """As the options of mdh take it: "cuda0"."""
    name: str = device["name"]
    return name[len("devices/"):]


def write_description(device: Dict[str, Any], folder: Optional[str] = None) -> str:
    """A file that describes the device to a daemon that does not have it."""
    handle, path = tempfile.mkstemp(prefix="mdh-device-", suffix=".json", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(device["description"], file)
    return path
