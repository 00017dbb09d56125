"""Every command and program in the documents is run, links are followed, files that are named looked for.
MDH_UPDATE_DOCUMENTATION=1 rewrites what commands print, and the API's reference."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from conftest import SOURCE
from documentation import Block, console_parts, fits, read_blocks, run_document, shortened, Shell

DOCUMENTS = SOURCE / "deploy" / "docs"
UPDATE = "MDH_UPDATE_DOCUMENTATION" in os.environ
RUN = ["README.md", "client/examples/README.md", "core/c_loops/README.md", "core/text/grammar.md",
       "core/schedule/grammar.md", "codegen/README.md",
       "tuner/README.md",
       *(f"deploy/docs/{name}.md" for name in (
           "tutorial", "gallery", "limits", "front-ends", "language", "teml", "schedules", "schedule-gallery", "tuning",
           "bounds", "programs", "builds", "service", "operating", "placement", "fleet", "how-it-works", "glossary", "benchmarks", "development"))]
# What is not run here, and where it is looked at.
OTHERS = {
    "client/python/README.md": "test_package.py, test_tuner.py",
    "deploy/docs/api.md": "below",
    "deploy/docs/terminal.md": "test_pictures.py",
}
FOLDERS = ("client", "codegen", "core", "deploy", "proto", "server", "tests", "tuner")


def all_documents():
    """By their paths in the sources; pages of results are made by what measures."""
    found = [SOURCE / "README.md"] + [path for folder in FOLDERS for path in (SOURCE / folder).rglob("*.md")]
    names = [str(path.relative_to(SOURCE)) for path in found]
    return sorted(name for name in names if not name.startswith("tests/benchmarks/results/"))


def prose(text):
    """Without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def anchors(text):
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(text), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


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


def test_searches_have_one_trial():
    assert shortened("mdh tune a \\\n  --budget 20s\nmdh tune b --trials 7 --budget 1h\nmdh tune --trials 9") == (
        "mdh tune a \\\n  --budget 60s --trials 1\nmdh tune b --trials 1 --budget 60s\nmdh tune --trials 1")


def test_every_document_is_looked_at():
    assert all_documents() == sorted([*RUN, *OTHERS])


def test_no_command_hides_in_an_indented_block():
    for name in RUN:
        assert not re.search(r"\n\n    \S", prose((SOURCE / name).read_text())), name


def test_the_readme_is_short():
    text = (SOURCE / "README.md").read_text()
    assert len(text.encode()) <= 10_000
    tour = text[text.index("## A short tour"):text.index("## Documents")]
    assert len(tour.splitlines()) <= 40


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


def lacking(text, shell, request):
    """What the blocks of a document need and is not there."""
    needs = {block.options["needs"] for block in read_blocks(text) if "needs" in block.options}
    assert needs <= {"numpy", "torch", "libmdh.so", "opencl"}
    lacks = lacking_modules() if needs & {"numpy", "torch"} else set()
    if "libmdh.so" in needs:
        variables = request.getfixturevalue("installed")
        for variable, value in variables.items():
            shell.run(f"export {variable}={shlex.quote(value)}")
        lacks |= set() if variables else {"libmdh.so"}
    if "opencl" in needs:
        try:
            request.getfixturevalue("has_opencl")
        except pytest.skip.Exception:
            lacks.add("opencl")
    return lacks


@pytest.mark.parametrize("name", RUN)
def test_a_document_is_true(name, shell, short_folder, request):
    shutil.copytree(SOURCE / "client" / "expressions", short_folder / "expressions")
    for folder in FOLDERS:
        (short_folder / folder).symlink_to(SOURCE / folder)
    lacks = lacking((SOURCE / name).read_text(), shell, request)
    assert run_document(SOURCE / name, shell, short_folder, UPDATE, lacks) == []


def links(document):
    """(file, anchor) of those that lead to files."""
    found = re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", prose(document.read_text()))
    return [(document.parent / path if path else document, anchor) for path, anchor in found
            if not path.startswith("http")]


def test_links_lead_somewhere():
    for name in all_documents():
        for target, anchor in links(SOURCE / name):
            assert target.exists(), f"{name}: {target}"
            assert not anchor or anchor in anchors(target.read_text()), f"{name}: {target}#{anchor}"


def test_the_readme_lists_every_document():
    linked = {target.resolve() for target, _ in links(SOURCE / "README.md")}
    assert {SOURCE / name for name in all_documents()} - {SOURCE / "README.md"} <= linked


def test_links_of_installed_documents_lead_somewhere(installed):
    if not installed:
        pytest.skip("the libraries were not built")
    documents = pathlib.Path(installed["CMAKE_PREFIX_PATH"]) / "share" / "doc" / "mdhd"
    assert (documents / "README.md").exists()
    for document in documents.rglob("*.md"):
        for target, _ in links(document):
            assert target.exists(), f"{document}: {target}"


def test_files_that_documents_name_are_there():
    """Patterns name at least one."""
    missing = []
    for name in all_documents():
        named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[^\s`]+)", prose((SOURCE / name).read_text()))
        missing += [f"{name}: {path}" for path in named if not any(SOURCE.glob(path.rstrip("/:")))]
    assert missing == []


def test_names_of_the_glossary_are_where_it_says():
    rows = re.findall(r"^\|[^|]*\|([^|]*`[A-Z][^|]*)\|([^|]*/[^|]*)\|$", (DOCUMENTS / "glossary.md").read_text(), flags=re.M)
    assert rows
    for names, places in rows:
        places = [SOURCE / place for place in re.findall("`([^`]+)`", places)]
        files = [file for place in places for file in (place.rglob("*.h") if place.is_dir() else [place])]
        text = "".join(file.read_text() for file in files)
        for name in re.findall("`([^`]+)`", names):
            assert re.search(rf"\b{name}\b", text), f"{name} is not in {places}"


def test_options_that_the_text_names_are_there(daemon_program):
    """Of the programs, and of the scripts in deploy/."""
    def help_of(*words):
        return subprocess.run([*words, "--help"], capture_output=True, text=True, check=True).stdout

    mdh = daemon_program.parent / "mdh"
    commands = re.findall(r"^  ([a-z-]+) {2,}", help_of(mdh).partition("Subcommands:")[2], flags=re.M)
    known = "".join([help_of(daemon_program), help_of(mdh), help_of(daemon_program.parent / "mdh-lower"),
                     *(help_of(mdh, command) for command in commands),
                     *(help_of(mdh, "schedule", command) for command in ("show", "check", "count")),
                     *(path.read_text() for path in (SOURCE / "deploy").iterdir() if path.is_file()),
                     *(path.read_text() for path in (SOURCE / "tests" / "benchmarks" / "gpu").glob("*.py"))])
    others = {"--exclusive", "--gtest_filter", "--backend", "--pipelines", "--gpu-architecture", "--climbs", "--seconds",
              "--expression-seconds", "--picks", "--compile-seconds", "--lines", "--no-peaks", "--known-peaks", "--runners",
              "--fastest", "--sanitized"}  # of tests, NVRTC, Slurm
    for name in RUN:
        for option in re.findall(r"(--[a-z][a-z_-]+)", "".join(re.findall("`[^`]+`", prose((SOURCE / name).read_text())))):
            assert option in others or re.search(rf"{option}\b", known), f"{name}: {option}"


def test_options_in_the_document_are_those_of_the_daemon(daemon_program):
    printed = subprocess.run([daemon_program, "--print-config"], capture_output=True, text=True, check=True).stdout
    options = set(re.findall(r"^(?:# )?([a-z-]+)(?: = .*)?$", printed, flags=re.M))
    section = (DOCUMENTS / "operating.md").read_text().partition("## Configuration\n")[2].partition("\n## ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    assert set(re.findall("`([a-z-]+)`", rows)) == options


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
