"""Every command and program in the documents is run. MDH_UPDATE_DOCUMENTATION=1 rewrites what commands print,
and the API's reference."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import SOURCE
from documentation import Block, console_parts, fits, read_blocks, run_document, Shell

DOCUMENTS = SOURCE / "deploy" / "docs"
UPDATE = "MDH_UPDATE_DOCUMENTATION" in os.environ
PICTURES = ["terminal.md"]  # test_pictures.py
RUN = ["tutorial.md", "how-it-works.md", "front-ends.md", "programs.md", "operating.md", "language.md"]


def test_blocks_are_found():
    text = "a\n```sh\nls\n```\n```c file=a.c skip=\"no reason\"\nint x;\n```\n"
    assert read_blocks(text) == [Block("sh", {}, ["ls"], 2),
                                 Block("c", {"file": "a.c", "skip": "no reason"}, ["int x;"], 5)]
    assert console_parts(["$ a \\", "b", "c", "$ d"]) == [["a \\\nb", ["c"]], ["d", []]]


def test_dots_stand_for_any_lines():
    assert fits(["a", "...", "c"], ["a", "b", "b", "c"])
    assert fits(["..."], [])
    assert not fits(["a", "...", "c"], ["a", "b"])
    assert not fits(["a"], ["a", "b"])


def test_every_document_is_run_or_generated():
    assert sorted(path.name for path in DOCUMENTS.glob("*.md")) == sorted(RUN + PICTURES + ["api.md"])


def lacking_modules():
    return {module for module in ("numpy", "torch")
            if subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode}


@pytest.fixture(scope="module")
def installed(daemon_program, tmp_path_factory):
    """Where the libraries are installed, as environment variables; none if they were not built."""
    build, prefix = daemon_program.parents[1], tmp_path_factory.mktemp("installed")
    if not (build / "client" / "c" / "libmdh.so").exists():
        return {}
    done = subprocess.run(["cmake", "--install", build, "--prefix", prefix], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    libraries = next(prefix.rglob("libmdh.so")).parent
    return {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries),
            "CMAKE_PREFIX_PATH": str(prefix)}


@pytest.fixture
def shell(daemon_program, short_folder, request):
    """One with the programs and the Python package, in an empty folder."""
    package = os.environ.get("MDH_PYTHON_PACKAGE") or str(request.config.mdh_directory / "package")
    # The Python of the tests has what the package needs; it may be one of a virtual environment.
    (short_folder / "bin").mkdir()
    python = short_folder / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -B "$@"\n')
    python.chmod(0o755)
    with Shell(short_folder, f"{short_folder}/bin:{daemon_program.parent}",
               {"PYTHONPATH": package, "SOURCE": str(SOURCE)}) as shell:
        yield shell


@pytest.mark.parametrize("name", RUN)
def test_a_document_is_true(name, shell, short_folder, request):
    shutil.copytree(SOURCE / "client" / "expressions", short_folder / "expressions")
    lacks = set()
    if "needs=" in (DOCUMENTS / name).read_text():
        variables = request.getfixturevalue("installed")
        for variable, value in variables.items():
            shell.run(f"export {variable}={shlex.quote(value)}")
        lacks = lacking_modules() | (set() if variables else {"libmdh.so"})
    assert run_document(DOCUMENTS / name, shell, short_folder, UPDATE, lacks) == []


def test_links_lead_somewhere():
    for document in [*DOCUMENTS.glob("*.md"), SOURCE / "README.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_reference_of_the_api_is_that_of_the_protos(tmp_path):
    if not shutil.which("protoc"):
        pytest.skip("there is no protoc")
    generated = subprocess.run([sys.executable, DOCUMENTS / "api_reference.py"], check=True,
                               capture_output=True, text=True).stdout
    reference = DOCUMENTS / "api.md"
    if UPDATE:
        reference.write_text(generated)
    assert reference.read_text() == generated, "MDH_UPDATE_DOCUMENTATION=1 rewrites it"


def test_command_lines_of_the_grammar_work(daemon_program):
    """As they stand there, but for `tune`, which would take long: `check` reads the same words."""
    commands = re.findall(r"`mdh tune ([^`]+)`", (SOURCE / "core" / "text" / "grammar.md").read_text())
    assert commands
    for command in commands:
        checked = subprocess.run([daemon_program.parent / "mdh", "check", *shlex.split(command)],
                                 cwd=SOURCE / "client" / "expressions", capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        for name, value in re.findall(r"(\w+)=(\w+)", command):
            assert value in checked.stdout, (name, checked.stdout)
