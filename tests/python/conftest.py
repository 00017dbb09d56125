"""The package as it is installed, from a folder of its own; and a daemon to talk to.

MDH_PYTHON_PACKAGE: a folder with the built package, if it need not be built.
MDH_BIN: the folder of mdhd; without it, tests that need a daemon are skipped.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
EXPRESSIONS = SOURCE / "client" / "expressions"


def _build():
    """Builds the package from a copy, so that nothing is left in the source tree."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="mdh-python-"))
    shutil.copytree(SOURCE / "client" / "python", directory / "client" / "python")
    (directory / "proto").symlink_to(SOURCE / "proto")
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(directory / "package")],
        cwd=directory / "client" / "python", check=True, stderr=subprocess.DEVNULL)
    return directory


def pytest_configure(config):
    given = os.environ.get("MDH_PYTHON_PACKAGE")
    config.mdh_directory = None if given else _build()
    sys.path.insert(0, given or str(config.mdh_directory / "package"))


def pytest_unconfigure(config):
    if getattr(config, "mdh_directory", None):
        shutil.rmtree(config.mdh_directory, ignore_errors=True)


class Daemon:
    """A mdhd on a socket of its own. devices: empty for all there are, which takes longer to open."""

    def __init__(self, program, directory, *options, listen="", devices="cpu"):
        self.address = listen or f"unix:{directory}/mdhd.sock"
        self._log = open(directory / "log", "w+")
        self.process = subprocess.Popen(
            [str(program), "--listen", self.address, "--database", str(directory / "mdhd.sqlite"),
             "--work-directory", str(directory / "work"),
             *(["--devices", devices] if devices else []), *options],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

    def log(self):
        self._log.flush()
        return pathlib.Path(self._log.name).read_text()

    def wait_until_it_listens(self):
        """And its devices are open."""
        limit = time.monotonic() + 30
        while "devices are open" not in self.log():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < limit, "mdhd does not listen"
            time.sleep(0.02)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.log()
        self._log.close()


@pytest.fixture(scope="session")
def daemon_program():
    folder = os.environ.get("MDH_BIN")
    if not folder:
        pytest.skip("MDH_BIN does not say where mdhd is")
    program = pathlib.Path(folder) / "mdhd"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    return program


@pytest.fixture(scope="session")
def mdh(daemon_program):
    """The command line."""
    return daemon_program.parent / "mdh"


@pytest.fixture
def short_folder():
    """Not pytest's folder: the path of a socket has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="mdhd-") as directory:
        yield pathlib.Path(directory)


@pytest.fixture(scope="session")
def daemon(daemon_program):
    with tempfile.TemporaryDirectory(prefix="mdhd-") as directory:
        daemon = Daemon(daemon_program, pathlib.Path(directory), devices="")
        daemon.wait_until_it_listens()
        yield daemon
        daemon.stop()


@pytest.fixture(scope="session")
def client(daemon):
    import mdh

    with mdh.Client(daemon.address) as client:
        yield client


@pytest.fixture(scope="session")
def digest_of_file(client):
    """The digest of a shipped .mdh file."""
    import mdh

    def digest(name, **bindings):
        text = (EXPRESSIONS / f"{name}.mdh").read_text()
        return client.check(mdh.parse(text, **bindings)).digest

    return digest


@pytest.fixture
def mdh_program(monkeypatch):
    """$MDH is the program that was built."""
    program = pathlib.Path(os.environ["MDH_BIN"]) / "mdh"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    monkeypatch.setenv("MDH", str(program))


@pytest.fixture
def has_opencl(daemon, mdh_program):
    """Skips the test where no kernel of OpenCL can be run."""
    import mdh
    from mdh.tuner import opencl

    kernel = "__kernel void nothing(__global int* x) { x[0] = 1; }"
    cf = opencl.CostFunction(kernel).kernel_args(x=opencl.Zeros("int32", 1)).global_size(1)
    try:
        cf({"A": 1})
    except mdh.FailedPreconditionError as error:
        if not str(error).startswith("cannot run"):
            raise
        pytest.skip(str(error))
