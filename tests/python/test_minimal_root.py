"""The daemon, the command line and programs of users in a container of a distroless kind.
MDH_MINIMAL_SECONDS: the budget of the tuning there, instead of three trials."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import mdh as package
import minimal_root

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SECONDS = os.environ.get("MDH_MINIMAL_SECONDS")
BUDGET = ["--budget", f"{SECONDS}s"] if SECONDS else ["--budget", "60s", "--trials", "3"]
SIZES = [word for name in "IJK" for word in ("--set", f"{name}=128")]

PROGRAM = """
import sys; sys.path.insert(0, '/opt/python')
import array, mdh
n = 37
with mdh.Client() as client:
    found = client.best_kernel(mdh.einsum('ik,kj->ij', i=n, j=n, k=n, dtype=mdh.fp32), measured=False)
run = mdh.CpuKernel(found.kernel)
a, c = array.array('f', [1] * n * n), array.array('f', [0] * n * n)
run(*(x.buffer_info()[0] for x in (a, a, c)))
print('right' if set(c) == {float(n)} else c)
"""


def _can_unshare():
    return os.geteuid() == 0 and shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "true"], stderr=subprocess.DEVNULL).returncode == 0


@pytest.fixture
def root(tmp_path, daemon_program, mdh):
    if not _can_unshare():
        pytest.skip("making a mount namespace needs root, and a kernel that allows it")
    root = tmp_path / "root"
    minimal_root.make(root)
    programs = root / "opt"
    for program in (daemon_program, mdh, daemon_program.parent / "mdh-runner"):
        shutil.copy(program, programs)
    shutil.copy(SOURCE / "client/expressions/matmul.mdh", programs)
    shutil.copytree(pathlib.Path(package.__file__).parent, programs / "python" / "mdh")
    return root


def _build_c_example(root, bin_folder):
    library = bin_folder.parent / "client/c/libmdh.so"
    if not library.exists():
        return None
    shutil.copy(library, root / "opt/libmdh.so.1")
    subprocess.run(["gcc", "-I", str(SOURCE / "client/c"), str(SOURCE / "client/examples/embed/matmul.c"),
                    str(library), "-o", str(root / "opt/matmul_c"), "-Wl,-rpath,/opt"], check=True)
    return ["/opt/matmul_c"]


def test_everything_runs_without_a_shell_a_name_a_home_and_a_writable_root(root, tmp_path, daemon_program):
    expression = ["/opt/matmul.mdh", *SIZES]
    commands = [["/opt/mdh", "tune", *expression, *BUDGET],
                ["/opt/mdh", "lookup", *expression],
                ["/usr/bin/python3", "-c", PROGRAM]]
    example = _build_c_example(root, daemon_program.parent)
    if example is not None:
        commands.append(example)
    spec = {"root": str(root), "socket": "/data/mdhd.sock", "results": str(tmp_path / "results.json"),
            "daemon": ["/opt/mdhd", "--listen", "unix:/data/mdhd.sock", "--database", "/data/mdhd.sqlite",
                       "--devices", "cpu"],
            "commands": commands}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    subprocess.run(["unshare", "--mount", "--pid", "--fork", sys.executable, str(HERE / "minimal_root.py"),
                    str(tmp_path / "spec.json")], check=True, timeout=300)
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["daemon"] == 0, results["log"]
    assert len(results["commands"]) == len(commands), results["log"]
    if results["limits"]:
        assert "; cores 1;" in results["log"]
    for words, result in zip(commands, results["commands"]):
        assert result["code"] == 0, f"{words}: {result['output']}\n{results['log']}"
    assert "right" in results["commands"][2]["output"]
    if example is not None:
        assert ": right" in results["commands"][3]["output"]
