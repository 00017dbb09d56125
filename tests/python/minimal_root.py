"""Programs in a container of a distroless kind, made by the kernel's namespaces alone: no shell, no passwd
entry, a read-only root, one processor's quota and 1 GiB of memory. The folder is the host's where that is
read only; what is written lies in two small file systems in memory.

Called as a program in a mount namespace of its own (unshare --mount --pid --fork): minimal_root.py SPEC.json
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

USER = 64321  # has no name anywhere
SYSTEM = ("usr/lib", "usr/lib64", "usr/lib32", "usr/include")
# What a compiler consists of; everything else, shells included, is missing.
TOOLS = ("gcc", "as", "ld", "python3")
MEMORY_BYTES = 1 << 30
ONE_PROCESSOR_US = 100_000


def _run(*words):
    subprocess.run(words, check=True)


def _copy_tools(root):
    for name in TOOLS:
        program = shutil.which(name, path="/usr/bin")
        if program is not None:
            shutil.copy(os.path.realpath(program), root / "usr/bin" / name)


def make(root):
    """The folders, and what is copied into them. No mounts: those end with the namespace."""
    for folder in SYSTEM + ("usr/bin", "etc", "proc", "sys", "dev", "tmp", "data", "opt"):
        (root / folder).mkdir(parents=True)
    for folder in ("lib", "lib64", "lib32"):
        (root / folder).symlink_to(f"usr/{folder}")
    _copy_tools(root)
    # Libraries of which several versions can be installed, numpy's for example.
    shutil.copytree("/etc/alternatives", root / "etc/alternatives", symlinks=True)
    shutil.copy("/etc/ld.so.conf", root / "etc")
    shutil.copytree("/etc/ld.so.conf.d", root / "etc/ld.so.conf.d")
    shutil.copy("/etc/ld.so.cache", root / "etc")
    (root / "dev/null").touch()


def _mount(root):
    _run("mount", "--bind", root, root)
    for folder in SYSTEM:
        if (pathlib.Path("/") / folder).is_dir():
            _run("mount", "--bind", f"/{folder}", root / folder)
    _run("mount", "-t", "proc", "proc", root / "proc")
    _run("mount", "--rbind", "/sys", root / "sys")
    _run("mount", "--bind", "/dev/null", root / "dev/null")
    for folder, size in (("tmp", "400m"), ("data", "64m")):
        _run("mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", root / folder)
    _run("mount", "-o", "remount,bind,ro", root)


def _limits(name):
    """Folders and what is written into their files; for both versions of control groups."""
    groups = pathlib.Path("/sys/fs/cgroup")
    if (groups / "cgroup.controllers").exists():
        return [(groups / name, {"cpu.max": f"{ONE_PROCESSOR_US} {ONE_PROCESSOR_US}",
                                 "memory.max": str(MEMORY_BYTES)})]
    return [(groups / "cpu" / name, {"cpu.cfs_period_us": str(ONE_PROCESSOR_US),
                                     "cpu.cfs_quota_us": str(ONE_PROCESSOR_US)}),
            (groups / "memory" / name, {"memory.limit_in_bytes": str(MEMORY_BYTES)})]


class Limits:
    """One processor's quota and the memory for this process and its children, where the machine's owner lets
    us give them. A context manager."""

    def __init__(self):
        self._made = []
        self.are_given = False

    def __enter__(self):
        try:
            for folder, files in _limits(f"mdh-minimal-{os.getpid()}"):
                folder.mkdir()
                self._made.append(folder)
                for name, value in files.items():
                    (folder / name).write_text(value)
                (folder / "cgroup.procs").write_text("0")
            self.are_given = True
        except OSError as error:
            print(f"no limits: {error}")
        return self

    def __exit__(self, *_):
        for folder in self._made:
            try:
                (folder.parent / "cgroup.procs").write_text("0")
                folder.rmdir()
            except OSError:
                pass  # of no consequence: it is empty


class Container:
    def __init__(self, root):
        self._root = root

    def start(self, words, environment, **streams):
        def enter():
            os.chroot(self._root)
            os.chdir("/")
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
        return subprocess.Popen(words, preexec_fn=enter, env={"PATH": "/usr/bin", **environment}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **streams)


def _lives(program, socket):
    for _ in range(600):
        if program.poll() is not None:
            return False
        if socket.exists():
            return True
        time.sleep(0.05)
    return False


def main():
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    root = pathlib.Path(spec["root"])
    _mount(root)
    container = Container(root)
    results = []
    with Limits() as limits:
        daemon = container.start(spec["daemon"], {})
        if _lives(daemon, root / spec["socket"].lstrip("/")):
            for words in spec["commands"]:
                program = container.start(words, {"MDH_SERVER": "unix:" + spec["socket"]})
                output, _ = program.communicate(timeout=120)
                results.append({"code": program.returncode, "output": output})
        daemon.terminate()
        log, _ = daemon.communicate(timeout=60)
    pathlib.Path(spec["results"]).write_text(json.dumps(
        {"commands": results, "daemon": daemon.returncode, "log": log, "limits": limits.are_given}))


if __name__ == "__main__":
    main()
