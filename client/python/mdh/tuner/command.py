"""Cost functions of commands of the shell.

    cf = command.CostFunction("./a.out").compile_command("cc -DTILE={TILE} {spec}/matmul.c")
"""

from __future__ import annotations

from ..errors import wrong
from ..v1 import program_pb2
from .program_cost_function import ProgramCostFunction


class CostFunction(ProgramCostFunction):
    """Runs a command of /bin/sh; its cost is its time in nanoseconds, or a number that it prints.

    Commands run in an empty folder of the evaluation's own. In them {name} is replaced by the value
    of that parameter, {work} by that folder, {spec} by folder(), which is where files are; {{
    stands for {. Parameters are in the environment, too.
    """

    def __init__(self, run: str):
        super().__init__()
        self._run = _command(run)
        self._compile = ""
        self._cost_pattern = ""
        self._expected_output = ""

    def compile_command(self, command: str) -> "CostFunction":
        """Is run once before, and not timed."""
        self._compile = _command(command)
        return self

    def cost_pattern(self, pattern: str) -> "CostFunction":
        """Regular expression (ECMAScript) whose first group is the cost, for the lines that the
        command prints; the last match counts."""
        self._cost_pattern = pattern
        return self

    def expected_output(self, text: str) -> "CostFunction":
        """What the command prints if its result is right."""
        self._expected_output = text
        return self

    def program(self) -> program_pb2.ProgramSpec:
        return program_pb2.ProgramSpec(command=program_pb2.CommandProgram(
            compile=self._compile, run=self._run, repetitions=self._repetitions,
            cost_pattern=self._cost_pattern, expected_output=self._expected_output,
            time_limit_seconds=self._time_limit_seconds))

    def _limit_seconds(self) -> float:
        return self._time_limit_seconds * (1 + max(self._repetitions, 1))


def _command(command: str) -> str:
    if not isinstance(command, str) or not command:
        raise wrong(f"a command is a text for /bin/sh, not {command!r}")
    return command
