"""The package as users get it: installed by pip, imported whole, and its README."""

import os
import pathlib
import shutil
import subprocess
import sys
import types

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
    # Nothing of Python's own is hidden, and nothing else is missing.
    import builtins
    public = {name for name, value in vars(mdh).items() if not name.startswith("_")
              and (value is mdh or not isinstance(value, types.ModuleType))}
    hiding = {name for name in public if hasattr(builtins, name)}
    assert hiding == {"abs", "max", "min", "pow", "round"}
    assert set(mdh.__all__) == public - hiding
    assert len(mdh.__all__) == len(set(mdh.__all__))


BOTH = """
@mdh()
def rows():
    return (
        out_view[fp32](w=[lambda i, k: (i)]),
        md_hom[4, 5](mul, (cc, pw(max))),
        inp_view[fp32](M=[lambda i, k: (i, k)]),
    )


total = sum([1, 2]) + max(3, 4) + abs(-1) + round(2.5)
names = [rows.name, mdh.Client.__name__, mdh.fp32.name, mdh.max.name]
"""


@pytest.mark.parametrize("imports", [
    "import mdh\nfrom mdh import *", "from mdh import *\nimport mdh", "from mdh import *",
    "from mdh import *\nfrom mdh import mdh"])
def test_the_package_and_its_names_together(imports, tmp_path):
    file = tmp_path / "both.py"
    file.write_text(imports + BOTH)
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert names["names"] == ["rows", "Client", "fp32", "max"]
    assert names["total"] == 10


def test_type_checkers_see_all_names(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text("from mdh import *\n\n" + BOTH.replace("mdh.Client.__name__, mdh.fp32.name, mdh.max.name",
                                                           "Client.__name__, fp32.name, scalar_max.name")
                       .replace("def rows():", "def rows() -> object:"))
    whole = tmp_path / "whole.py"
    whole.write_text("import mdh\nx: int = mdh.einsum('i->', i=3).name\nmdh.max, mdh.abs\n"
                     "def load(kernel: mdh.Kernel) -> mdh.CpuKernel:\n    return mdh.CpuKernel(kernel)\n")
    # `mdh` of the star has all names, too.
    starred = tmp_path / "starred.py"
    starred.write_text("from mdh import *\n" + BOTH.replace("def rows():", "def rows() -> object:"))
    decorated = tmp_path / "decorated.py"
    decorated.write_text("import mdh\n\n\n@mdh.mdh()\ndef rows() -> object: ...\n\n\nrows.name\n")
    package = pathlib.Path(mdh.__file__).parent.parent

    def check(file):
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-incremental", str(file)],
            capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package)}, cwd=tmp_path).stdout

    for file in (program, starred, decorated):
        assert check(file).startswith("Success"), check(file)
    found = check(whole)
    assert 'has type "str", variable has type "int"' in found and "Found 1 error" in found


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


def test_pipeline_of_the_readme(client, daemon, monkeypatch, tmp_path):
    monkeypatch.setenv("MDH_SERVER", daemon.address)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    program, = [block for block in code_blocks() if "@mdh.pipeline" in block]
    (tmp_path / "layer.py").write_text(program)  # loops are read from a file
    names = {}
    exec(compile(program, str(tmp_path / "layer.py"), "exec"), names)
    assert client.check(names["layer"]).digest == names["layer"].digest
    assert [argument.name for argument in names["best"].kernel.arguments] == ["x", "w", "b", "y"]
