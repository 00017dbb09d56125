"""A headless Chromium, driven through its debugging pipe: pages at a given width and colour scheme, what
they print to the console, what scripts in them say, pictures of them."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

LIMIT_S = 60


def find_chromium():
    """The path of the program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One process with one page. Use as a context manager."""

    def __init__(self, program):
        self._folder = tempfile.TemporaryDirectory(prefix="mdh-chromium-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def connect():  # the browser reads commands from 3 and writes answers to 4
            command = os.dup(to_browser)
            answer = os.dup(from_browser)
            os.dup2(command, 3)
            os.dup2(answer, 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=connect, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._events = []
        target = self._call("Target.createTarget", {"url": "about:blank"}, session=None)
        self._session = None
        self._session = self._call("Target.attachToTarget", {
            "targetId": target["targetId"], "flatten": True}, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait(LIMIT_S)
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def open(self, url, width, height=900, dark=False):
        """Loads a page and waits until it is drawn; gives the seconds that took."""
        self._call("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self._call("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self._events.clear()
        start = time.monotonic()
        self._call("Page.navigate", {"url": url})
        self._wait_for("Page.loadEventFired")
        # Charts are drawn when their width is known, a frame after the load.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
                      "() => setTimeout(done, 0))))")
        return time.monotonic() - start

    def complaints(self):
        """Errors and warnings on the console since the page was opened, and exceptions."""
        found = []
        for event in self._events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] != "log":
                found.append(str(parameters["args"]))
            elif event["method"] == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
        return found

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page, awaited."""
        result = self._call("Runtime.evaluate", {
            "expression": expression, "awaitPromise": True, "returnByValue": True})
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path):
        """Writes the whole page as PNG."""
        result = self._call("Page.captureScreenshot", {"captureBeyondViewport": True})
        with open(path, "wb") as file:
            file.write(base64.b64decode(result["data"]))

    def small_picture(self, path, width, height, scale):
        """Writes the upper part of the page, made smaller, as WebP."""
        result = self._call("Page.captureScreenshot", {
            "format": "webp", "quality": 70, "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}})
        with open(path, "wb") as file:
            file.write(base64.b64decode(result["data"]))

    def _call(self, method, parameters=None, session=""):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters or {}}
        if session == "":
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") != message["id"]:
                self._events.append(answer)
                continue
            assert "error" not in answer, (method, answer["error"])
            return answer["result"]

    def _wait_for(self, method):
        while not any(event.get("method") == method for event in self._events):
            self._events.append(self._receive())

    def _receive(self):
        limit = time.monotonic() + LIMIT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, limit - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._read, 1 << 20)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)
