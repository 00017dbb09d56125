"""Runs the fenced blocks of a document, in their order, in one shell.

  ```sh               commands, which must succeed
  ```console          lines "$ command" and below each what it prints; a line "..." stands for any lines
  ```c file=main.c    written to a file; the same for any language
  ```sh skip=REASON   not run
  ```sh needs=NAME    run unless NAME is in `lacks`

`needs` and `skip` hold for files, too. Searches end after a trial beside that of rules, however long it may take: a
second is too short on a machine that is busy.
"""

import dataclasses
import os
import pathlib
import re
import select
import signal
import subprocess
import time

LIMIT_S = 120
TRIALS = "--trials 1"


@dataclasses.dataclass
class Block:
    language: str
    options: dict
    lines: list
    start: int  # of its first line in the document, counted from 0


def read_blocks(text):
    blocks, current = [], None
    for number, line in enumerate(text.splitlines()):
        if current is None and (match := re.fullmatch(r"```(\w+)\s*(.*)", line)):
            options = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', match.group(2)))
            current = Block(match.group(1), {k: v.strip('"') for k, v in options.items()}, [], number + 1)
        elif current is not None and line == "```":
            blocks.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
    assert current is None, "a block is not closed"
    return blocks


def console_parts(lines):
    """[command, [line that is expected, ...]] of a console block."""
    parts = []
    for line in lines:
        if line.startswith("$ "):
            parts.append([line[2:], []])
        elif parts and parts[-1][0].endswith("\\") and not parts[-1][1]:
            parts[-1][0] += "\n" + line
        else:
            parts[-1][1].append(line)
    return parts


def shortened(command):
    """With one trial in each of its lines that search."""
    def one(line):
        line = re.sub(r"--trials \d+", TRIALS, line)
        return re.sub(r"--budget \S+", "--budget 60s" if TRIALS in line else f"--budget 60s {TRIALS}", line)
    return "\n".join(one(line) for line in re.split(r"(?<!\\)\n", command))


def fits(expected, printed):
    """Whether lines are as expected, where "..." stands for any lines."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(fits(expected[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0] and fits(expected[1:], printed[1:])


class Shell:
    """One bash for a whole document. Use as a context manager."""

    def __init__(self, folder, programs, more):
        runtime = pathlib.Path(folder)
        environment = os.environ | {
            "HOME": str(runtime), "XDG_RUNTIME_DIR": str(runtime), "XDG_STATE_HOME": str(runtime / "state"),
            "PATH": f"{programs}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "dumb"} | more
        for name in ("MDH_SERVER", "MDHD_LISTEN"):
            environment.pop(name, None)
        self._socket = runtime / "mdhd.sock"
        self._process = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, start_new_session=True)
        self._number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # mdhd ends its runners by itself; what else was started ends with the session.
        self._process.stdin.write(b'\nkill $(jobs -p) 2>/dev/null; wait; exit 0\n')
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process.stdout.close()

    def run(self, command):
        """Gives exit status and output."""
        command = shortened(command)
        self._number += 1
        mark = f"@@{self._number}@@"
        self._process.stdin.write(f"{command}\nprintf '%s %d\\n' '{mark}' $?\n".encode())
        self._process.stdin.flush()
        output = b""
        limit = time.monotonic() + LIMIT_S
        while mark.encode() not in output or not output.endswith(b"\n"):
            ready, _, _ = select.select([self._process.stdout], [], [], max(0, limit - time.monotonic()))
            assert ready, f"{command}: still runs after {LIMIT_S} s: {output.decode(errors='replace')}"
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            assert piece, f"{command}: the shell has ended: {output.decode(errors='replace')}"
            output += piece
        printed, _, status = output.decode(errors="replace").rpartition(mark)
        if re.search(r"\bmdhd\b.*&\s*$", command, re.M):
            self._wait_for_daemon()
        return int(status), printed

    def _wait_for_daemon(self):
        limit = time.monotonic() + 30
        while not self._socket.exists():
            assert time.monotonic() < limit, "mdhd does not listen"
            time.sleep(0.05)


def run_document(path, shell, folder, update=False, lacks=()):
    """Gives what is wrong, one text for each. With `update` expected outputs are rewritten."""
    text = path.read_text()
    lines = text.splitlines()
    problems, shift = [], 0
    for block in read_blocks(text):
        if "skip" in block.options or block.options.get("needs") in lacks:
            continue
        if "file" in block.options:
            (folder / block.options["file"]).write_text("\n".join(block.lines) + "\n")
        elif block.language == "sh":
            status, printed = shell.run("\n".join(block.lines))
            if status != int(block.options.get("exit", 0)):
                problems.append(f"{path.name}:{block.start}: exit {status}: {printed[-2000:]}")
        elif block.language == "console":
            written = []
            for command, expected in console_parts(block.lines):
                status, printed = shell.run(command)
                actual = [line.rstrip() for line in printed.splitlines()]
                if update and "..." not in expected:
                    expected = actual
                if status != int(block.options.get("exit", 0)) or not fits(expected, actual):
                    problems.append(f"{path.name}:{block.start}: $ {command}: exit {status}:\n{printed[-3000:]}")
                written += ("$ " + command).split("\n") + expected
            start = block.start + shift
            lines[start:start + len(block.lines)] = written
            shift += len(written) - len(block.lines)
        else:
            problems.append(f"{path.name}:{block.start}: a block of {block.language} has no file=")
    if update and not problems:
        path.write_text("\n".join(lines) + "\n")
    return problems
