"""`mdh` on terminals: progress, top, completion in zsh."""

import os
import shutil
import signal
import subprocess

import pytest

from conftest import EXPRESSIONS
from terminal import Terminal, lines_on_screen


def tune(mdh, daemon, size):
    return [mdh, "--server", daemon.address, "tune", EXPRESSIONS / "matvec.mdh", "--set",
            f"I={size}", "--set", "K=64", "--budget", "1500ms", "--force"]


@pytest.mark.parametrize("columns", [60, 12])
def test_progress_stays_on_one_line(mdh, daemon, columns):
    with Terminal(tune(mdh, daemon, 500 + columns), columns=columns) as terminal:
        assert terminal.end() == 0, terminal.output
    progress = terminal.output[:terminal.output.rfind("\x1b[K")]
    assert "%" in progress or columns < 20
    assert "\n" not in progress
    assert max(map(len, lines_on_screen(progress))) < columns


def test_a_dumb_terminal_gets_lines(mdh, daemon):
    with Terminal(tune(mdh, daemon, 700), term="dumb") as terminal:
        assert terminal.end() == 0
    assert "\x1b" not in terminal.output


def test_without_a_terminal_there_are_lines(mdh, daemon):
    ended = subprocess.run(tune(mdh, daemon, 710), capture_output=True, text=True, check=True)
    assert "\x1b" not in ended.stderr and "\r" not in ended.stderr
    assert "\x1b" not in ended.stdout


def top(mdh, daemon):
    return [mdh, "--server", daemon.address, "top", "--interval", "0.1"]


def test_top_shows_devices_until_q(mdh, daemon):
    with Terminal(top(mdh, daemon)) as terminal:
        terminal.wait_for(r"\x1b\[\?1049h")
        terminal.wait_for(r"cpu +\S")
        terminal.wait_for("no jobs run or wait")
        terminal.type("x")  # not a key
        terminal.resize(40, 10)
        before = len(terminal.output)
        terminal.wait_for(r"(?s).{%d}.*q quits.*q quits" % before)
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.output.endswith("\x1b[?25h\x1b[?1049l")
    frame = terminal.output[terminal.output.rfind("\x1b[H"):terminal.output.rfind("\x1b[?25h")]
    assert max(map(len, lines_on_screen(frame))) <= 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_top_gives_the_terminal_back_when_interrupted(mdh, daemon, number):
    with Terminal(top(mdh, daemon)) as terminal:
        terminal.wait_for("q quits")
        terminal.interrupt(number)
        assert terminal.end() == 0
        assert terminal.output.endswith("\x1b[?25h\x1b[?1049l")


def test_top_says_that_there_is_no_daemon_and_goes_on(mdh, short_folder):
    with Terminal([mdh, "--server", f"unix:{short_folder}/none", "top"]) as terminal:
        terminal.wait_for("none")
        terminal.wait_for("q quits")
        terminal.type("q")
        assert terminal.end() == 0


def test_top_prints_once_without_a_terminal(mdh, daemon):
    ended = subprocess.run(top(mdh, daemon), capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("mdhd at ")
    assert "\x1b" not in ended.stdout
    gone = subprocess.run([mdh, "--server", "unix:/nonexistent/socket", "top"], capture_output=True)
    assert gone.returncode == 5


def test_zsh_completes(mdh, short_folder):
    if not (zsh := shutil.which("zsh")):
        pytest.skip("there is no zsh")
    (short_folder / "_mdh").write_text(subprocess.run(
        [mdh, "completion", "zsh"], capture_output=True, text=True, check=True).stdout)
    (short_folder / ".zshrc").write_text(
        f"PS1='> '; fpath=({short_folder} $fpath); autoload -Uz compinit; compinit -u -D\n"
        "unsetopt zle_bracketed_paste 2>/dev/null; echo ready\n")
    environment = {"ZDOTDIR": str(short_folder), "PATH": f"{mdh.parent}:{os.environ['PATH']}"}
    with Terminal([zsh, "-i"], environment=environment, columns=100) as terminal:
        terminal.wait_for("ready")
        terminal.type("mdh capab")
        terminal.type("\x15mdh admin capa\t")
        terminal.wait_for("mdh admin capabilities")
        terminal.type("\x15mdh jobs --stat\t")
        terminal.wait_for("mdh jobs --state")
        terminal.type("\x15mdh study export 1 --format c\t")
        terminal.wait_for("--format csv")
        terminal.type("\x15exit\r")
        terminal.end()
