"""The package as users get it: installed by pip, imported whole, and its README."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import mdh

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
README = SOURCE / "client" / "python" / "README.md"


def test_pip_installs_it_without_a_network(tmp_path):
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        pytest.skip("there is no pip")
    shutil.copytree(SOURCE / "client" / "python", tmp_path / "client" / "python")
    shutil.copytree(SOURCE / "proto", tmp_path / "proto")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps",
         "--no-build-isolation", "--target", str(tmp_path / "site"),
         str(tmp_path / "client" / "python")],
        capture_output=True, text=True)
    if "wheel" in done.stderr and "invalid command" in done.stderr:
        pytest.skip("there is no package wheel")
    assert done.returncode == 0, done.stderr
    program = "import mdh; print(mdh.einsum('i,i->', i=3).name)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                         env={"PYTHONPATH": str(tmp_path / "site")})
    assert ran.stdout == "einsum\n", ran.stderr
    assert (tmp_path / "site" / "mdh" / "py.typed").exists()


def test_names_of_the_package():
    names = {}
    exec("from mdh import *", names)
    assert {"mdh", "md_hom", "fp32", "Buffer", "CC", "pw", "Client", "einsum"} <= set(names)
    assert "errors" not in names
    assert names["einsum"] is mdh.einsum


def code_blocks():
    """Indented blocks of the README, without their indentation."""
    blocks, block = [], []
    for line in README.read_text().splitlines() + ["end"]:
        if line.startswith("    ") or (not line and block):
            block.append(line[4:])
        elif block:
            blocks.append("\n".join(block))
            block = []
    return blocks


def test_readme(client, daemon, monkeypatch):
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    first = code_blocks()[0].replace("4096, 4096", "20, 30")
    first = first.replace("budget_seconds=20", "max_trials=1")
    names = {}
    exec(compile(first, str(README), "exec"), names)
    expected = client.check(names["matvec"](mdh.fp32, 20, 30)).digest
    assert names["tuned"].digest == expected
