"""Terminals of 80 columns in deploy/docs/terminal.md, and the pictures of the report there and in README.md.

A picture is true if a terminal shows the same now, but for numbers and names: lines begin with the same words, and
none is longer than the terminal is wide. MDH_UPDATE_DOCUMENTATION=1 writes what is shown.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

from conftest import Daemon, EXPRESSIONS, SOURCE
from terminal import Terminal, lines_on_screen

DOCUMENT = SOURCE / "deploy" / "docs" / "terminal.md"
PICTURES = SOURCE / "deploy" / "docs" / "pictures"
UPDATE = "MDH_UPDATE_DOCUMENTATION" in os.environ
COLUMNS = 80
SIZES = "--set I=500 --set J=300 --set K=200"
TUNE = f"mdh tune matmul.mdh {SIZES} --budget 2s"


@pytest.fixture(scope="module")
def own_daemon(daemon_program):
    """Without other tests' jobs, and with the CPU alone."""
    with tempfile.TemporaryDirectory(prefix="mdhd-") as directory:
        daemon = Daemon(daemon_program, pathlib.Path(directory))
        daemon.wait_until_it_listens()
        yield daemon
        daemon.stop()


@pytest.fixture(scope="module")
def shown(mdh, own_daemon, tmp_path_factory):
    """What terminals show, by the names of the pictures, and for each number of columns."""
    daemon, folder = own_daemon, tmp_path_factory.mktemp("pictures")
    for name in ("matmul.mdh", "conv2d.mdh"):
        shutil.copy(EXPRESSIONS / name, folder)
    address = "unix:/run/user/1000/mdhd.sock"

    def run(command, columns=COLUMNS):
        script = f"cd {folder} && {command}"
        environment = {"MDH_SERVER": daemon.address, "PATH": f"{mdh.parent}:{os.environ['PATH']}"}
        with Terminal(["sh", "-c", script], columns=columns, environment=environment) as terminal:
            assert terminal.end() == 0, terminal.output
        lines = [line.replace(daemon.address, address).rstrip() for line in lines_on_screen(terminal.output)]
        # Of the lines that progress was written over, the last one.
        progress = [n for n, line in enumerate(lines) if re.match(r"\[[#.]|waiting", line)]
        lines = [line for n, line in enumerate(lines) if n not in progress[:-1]]
        return [f"$ {command}"] + [line for n, line in enumerate(lines) if line or 0 < n < len(lines) - 1 and lines[n - 1]]

    tuned = run(TUNE)
    run("mdh tune conv2d.mdh --detach --budget 60s --set P=56 --set Q=56")
    pictures = {"tune": tuned, "lookup": run(f"mdh lookup matmul.mdh {SIZES}"), "top": run("mdh top --once"),
                "jobs": run("mdh jobs")}
    narrow = {columns: [line for command in ("mdh top --once", "mdh jobs", "mdh records", f"mdh lookup matmul.mdh {SIZES}",
                                             "mdh devices", "mdh trials 1 --limit 5", "mdh check matmul.mdh")
                        for line in run(command, columns)[1:]] for columns in (80, 60, 45)}
    run("mdh cancel 2")
    return pictures, narrow


def first_words(lines):
    """Of every line; figures stand for each other. What a busy machine adds, and where long lines go on, does not
    count."""
    lines = [line for line in lines if not re.match(r" {8}|  (disturbed|checked) ", line)]
    return [re.sub(r"^\[[#.]+\]$|^\d+$", "#", line.split()[0]) if line else "" for line in lines]


@pytest.mark.parametrize("name", ["tune", "lookup", "top", "jobs"])
def test_a_picture_is_what_a_terminal_shows(shown, name):
    lines = shown[0][name]
    assert all(len(line) <= COLUMNS for line in lines), lines
    text = DOCUMENT.read_text()
    begin = text.index(f"```text picture={name}\n") + len(f"```text picture={name}\n")
    end = text.index("```\n", begin)
    if UPDATE:
        DOCUMENT.write_text(text[:begin] + "\n".join(lines) + "\n" + text[end:])
    else:
        assert first_words(text[begin:end].splitlines()) == first_words(lines)


@pytest.mark.parametrize("columns", [80, 60, 45])
def test_lines_fit_narrow_terminals(shown, columns):
    # A word that cannot be broken may be longer: a name that is to be copied, a path.
    too_long = [line for line in shown[1][columns] if len(line) > columns
                and not re.search(r"\S{%d,}" % (columns // 2), line)]
    assert too_long == []


@pytest.fixture(scope="module")
def report(mdh, own_daemon, tmp_path_factory):
    """The page of a search of a minute, if there are to be new pictures."""
    if not UPDATE:
        return None
    page = tmp_path_factory.mktemp("report") / "job.html"

    def run(*words):
        return subprocess.run([mdh, *words], env=os.environ | {"MDH_SERVER": own_daemon.address}, check=True,
                              capture_output=True, text=True).stdout

    job = run("tune", EXPRESSIONS / "matmul.mdh", "I=512", "J=512", "K=512", "--budget", "60s", "--detach").strip()
    run("watch", job)
    run("report", job, "--output", page)
    return page


@pytest.mark.parametrize("width,dark", [(1280, False), (1280, True), (390, False), (390, True)])
def test_pictures_of_the_report(report, width, dark):
    path = PICTURES / f"report-{width}-{'dark' if dark else 'light'}.webp"
    if UPDATE:
        from browser import Browser, find_chromium
        with Browser(find_chromium()) as browser:
            browser.open(f"file://{report}", width, 1600 if width > 1000 else 2400, dark=dark)
            browser.small_picture(path, width, 1240 if width > 1000 else 1500, 0.45)
    assert path.stat().st_size < 80_000
