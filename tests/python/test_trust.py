"""Whom a client trusts: what a second user of the machine cannot make it load."""

import os
import pathlib
import socket
import subprocess
import sys

import pytest

import mdh
from mdh import trust
from mdh.trust import TrustedUsers, check_endpoint, check_trusted

OTHER = 54322
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what others own")


@pytest.fixture
def folder(short_folder, monkeypatch):
    monkeypatch.delenv("MDH_TRUSTED_USERS", raising=False)
    return short_folder


@pytest.fixture
def shared(folder):
    """As /tmp is."""
    made = folder / "shared"
    made.mkdir()
    made.chmod(0o1777)
    return made


def make(path, owner=None):
    path.write_text("text")
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def listen(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(8)
    listener.setblocking(False)
    return listener


def refusal(path, **how):
    with pytest.raises(mdh.PermissionDeniedError) as caught:
        check_trusted(str(path), TrustedUsers(), **how)
    return str(caught.value)


def test_what_is_ones_own_is_trusted(folder, shared):
    nobody = TrustedUsers("")
    for path in (make(folder / "file"), make(shared / "file"), folder / "not" / "there", "/etc/passwd",
                 folder / "." / "x" / ".." / "file", shared / "not there"):
        check_trusted(str(path), nobody)
    (folder / "link").symlink_to("file")
    check_trusted(str(folder / "link"), nobody)
    with pytest.raises(mdh.FailedPreconditionError):
        check_trusted(str(folder / "file" / "below"), nobody)
    (folder / "round").symlink_to("round")
    with pytest.raises(mdh.FailedPreconditionError, match="too many symbolic links"):
        check_trusted(str(folder / "round"), nobody)


def test_where_others_may_write_nothing_is(folder):
    open_folder = folder / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    said = refusal(make(open_folder / "file"))
    assert f"{open_folder}/file: {open_folder}: others than its owner" in said
    assert "(mode 0777); chmod go-w" in said
    (folder / "link").symlink_to(open_folder)
    refusal(folder / "link" / "not there")
    make(folder / "file").chmod(0o646)
    refusal(folder / "file")
    check_trusted(str(folder / "file"), TrustedUsers("*"))


@as_root
def test_what_others_own_is_refused_by_their_name(folder, monkeypatch):
    theirs = make(folder / "theirs", OTHER)
    said = refusal(theirs)
    assert said == (f"{theirs} belongs to uid 54322, not to root; who trusts them says so: "
                    f"$MDH_TRUSTED_USERS=54322")
    monkeypatch.setenv("MDH_TRUSTED_USERS", "daemon, 54322")
    check_trusted(str(theirs), TrustedUsers())
    with pytest.raises(mdh.ExpressionError, match="there is no user 'nobody-of-this-name'"):
        TrustedUsers("nobody-of-this-name")


@as_root
def test_nothing_is_sent_to_sockets_of_others(folder, shared):
    with listen(folder / "s") as listener:
        os.chown(folder / "s", OTHER, OTHER)
        for _ in range(2):
            with pytest.raises(mdh.PermissionDeniedError, match="nothing is sent to the socket") as caught:
                mdh.Client(f"unix:{folder}/s", security=mdh.Security(token="secret"))
        assert "belongs to uid 54322" in str(caught.value)
        with pytest.raises(BlockingIOError):
            listener.accept()
    with pytest.raises(mdh.PermissionDeniedError, match="abstract"):
        check_endpoint("unix-abstract:mdhd", TrustedUsers(""))


def test_ones_own_socket_in_a_shared_folder_is_trusted_while_it_is_there(shared):
    with listen(shared / "s"):
        mdh.Client(f"unix:{shared}/s").close()
    (shared / "s").unlink()
    with mdh.Client(f"unix:{shared}/s") as client:
        with pytest.raises(mdh.UnavailableError, match="is mdhd running there"):
            client.devices()


@as_root
def test_the_service_is_that_of_whom_root_gave_its_folder(folder, monkeypatch):
    run = folder / "run"
    run.mkdir()
    monkeypatch.setattr(trust, "SYSTEM_SOCKET", f"{run}/s")
    with listen(run / "s"):
        for path in (run, run / "s"):
            os.chown(path, OTHER, OTHER)
        check_endpoint(f"unix:{run}/s", TrustedUsers(""))
        os.chown(run, 0, 0)
        with pytest.raises(mdh.PermissionDeniedError):
            check_endpoint(f"unix:{run}/s", TrustedUsers(""))


@as_root
def test_bundles_of_others_are_not_mapped(folder):
    with pytest.raises(mdh.PermissionDeniedError, match="belongs to uid 54322"):
        mdh.Bundle(make(folder / "bundle", OTHER))
    with pytest.raises(OSError):
        mdh.Bundle(folder / "none")


@as_root
def test_another_users_cache_is_not_run(folder):
    from test_cpu_kernel import Kernel

    cache = folder / "cache"
    cache.mkdir()
    os.chown(cache, OTHER, OTHER)
    with pytest.raises(mdh.PermissionDeniedError, match="code from the cache is not run: .*uid 54322"):
        mdh.CpuKernel(Kernel(), cache_directory=cache)


def test_a_user_whom_the_machine_does_not_know(folder):
    """As in a container: no home, no entry in the list of users."""
    program = """
import warnings, sys
sys.path[:0] = sys.argv[1:]
import mdh
from test_cpu_kernel import Array, Kernel
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        x, y = Array([1, 2, 3, 4]), Array([0, 0, 0, 0])
        mdh.CpuKernel(Kernel())(x, y)
print(list(y.values), *[str(one.message) for one in said], sep="\\n")
"""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    package = pathlib.Path(mdh.__file__).parent.parent
    paths = [str(package), str(pathlib.Path(__file__).parent)]
    code = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin"]
    cache = folder / "home" / ".cache" / "mdh"
    cache.mkdir(parents=True)
    for path in (folder, folder / "home", cache.parent):
        path.chmod(0o755)
    os.chown(cache, 54321, 54321)
    cache.chmod(0o500)
    for home, why in (([], "neither $XDG_CACHE_HOME nor $HOME"), (["HOME=/nonexistent"], "Permission denied"),
                      ([f"HOME={folder}/home"], "Permission denied")):
        ended = subprocess.run([*code, *home, sys.executable, "-B", "-c", program, *paths],
                               capture_output=True, text=True, check=False)
        if "ModuleNotFoundError" in ended.stderr:
            pytest.skip("another user cannot read the package")
        assert ended.returncode == 0, ended.stderr
        values, *said = ended.stdout.splitlines()
        assert values == "[2.0, 4.0, 6.0, 8.0]"
        assert len(said) == 1 and said[0].startswith("compiled kernels are not kept: ") and why in said[0]
