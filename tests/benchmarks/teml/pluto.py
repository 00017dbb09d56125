"""Pluto as a peer: its polycc, where it is installed, makes tiled and parallel C of the sequential
loops of a kernel; what it makes is compiled, compared with the loops as they are, and measured."""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
from typing import Dict, List, Optional, Tuple

PLUTO = "Pluto"
_TRANSFORM_SECONDS = 120
_COMPILE_SECONDS = 120
_RUN_SECONDS = 120
# As polycc's documentation has it, with the tuning of innermost loops that it does by itself.
_POLYCC = ["--tile", "--parallel", "--pet"]
_COMPILER = ["gcc", "-O3", "-march=native", "-ffast-math", "-fopenmp", "-mcmodel=large"]


class PlutoError(Exception):
    """Why there is no figure."""


class Loops:
    """Arrays of a kernel, the last one being its result, and nests in turn: 'i:I j:J | statement'.
    Sizes are those of the kernel's file."""

    def __init__(self, arrays: str, *nests: str):
        self.arrays = arrays.split("; ")
        self.nests = [self._nest(nest) for nest in nests]

    @staticmethod
    def _nest(nest: str) -> Tuple[List[Tuple[str, str]], str]:
        heads, statement = nest.split(" | ")
        return [tuple(head.split(":")) for head in heads.split()], statement  # type: ignore[misc]

    def iterators(self) -> List[str]:
        return sorted({name for heads, _ in self.nests for name, _ in heads})


_FOUR = "e:E i:N j:N k:N"
LOOPS: Dict[str, Loops] = {
    "mm": Loops("A[I][K]; B[K][J]; C[I][J]",
                "i:I j:J k:K | C[i][j] = C[i][j] + A[i][k] * B[k][j];"),
    "tmm": Loops("A[I][K]; B[J][K]; Bt[K][J]; C[I][J]",
                 "k:K j:J | Bt[k][j] = B[j][k];",
                 "i:I j:J k:K | C[i][j] = C[i][j] + A[i][k] * Bt[k][j];"),
    "bmm": Loops("A[N][I][K]; B[N][K][J]; C[N][I][J]",
                 "n:N i:I j:J k:K | C[n][i][j] = C[n][i][j] + A[n][i][k] * B[n][k][j];"),
    "gconv": Loops("image[N][G][C][P + R - 1][Q + S - 1]; filter[G][F][C][R][S]; bias[G][F]; "
                   "out[N][G][F][P][Q]; result[N][G][F][P][Q]",
                   "n:N g:G f:F h:P w:Q c:C r:R s:S | out[n][g][f][h][w] = out[n][g][f][h][w] + "
                   "image[n][g][c][h + r][w + s] * filter[g][f][c][r][s];",
                   "n:N g:G f:F h:P w:Q | result[n][g][f][h][w] = out[n][g][f][h][w] + bias[g][f];"),
    "mttkrp": Loops("B[I][K][L]; C[K][J]; D[L][J]; A[I][J]",
                    "i:I j:J k:K l:L | A[i][j] = A[i][j] + B[i][k][l] * D[l][j] * C[k][j];"),
    "sddmm": Loops("S[I][J]; A[I][K]; B[K][J]; out[I][J]",
                   "i:I j:J k:K | out[i][j] = out[i][j] + S[i][j] * A[i][k] * B[k][j];"),
    "interp": Loops("A[N][N]; u[E][N][N][N]; s[E][N][N][N]; t[E][N][N][N]; v[E][N][N][N]",
                    _FOUR + " l:N | s[e][i][j][k] = s[e][i][j][k] + A[i][l] * u[e][l][j][k];",
                    _FOUR + " l:N | t[e][i][j][k] = t[e][i][j][k] + A[j][l] * s[e][i][l][k];",
                    _FOUR + " l:N | v[e][i][j][k] = v[e][i][j][k] + A[k][l] * t[e][i][j][l];"),
    "helm": Loops("A[N][N]; w[N]; c[E][N][N][N]; u[E][N][N][N]; Q[N][N]; W[N][N][N]; s[E][N][N][N]; "
                  "x[E][N][N][N]; y[E][N][N][N]; z[E][N][N][N]",
                  "i:N j:N | Q[i][j] = A[i][j] / w[j];",
                  "i:N j:N k:N | W[i][j][k] = w[i] * w[j] * w[k];",
                  _FOUR + " | s[e][i][j][k] = W[i][j][k] * c[e][i][j][k] * u[e][i][j][k];",
                  _FOUR + " l:N | x[e][i][j][k] = x[e][i][j][k] + s[e][l][i][j] * Q[k][l];",
                  _FOUR + " l:N | y[e][i][j][k] = y[e][i][j][k] + s[e][i][l][j] * Q[k][l];",
                  _FOUR + " l:N | z[e][i][j][k] = z[e][i][j][k] + s[e][i][j][l] * Q[k][l];"),
    "blur": Loops("image[I + 2][J + 2]; rows[I + 2][J]; out[I][J]",
                  "i:I+2 j:J | rows[i][j] = 0.3333333333333333 * "
                  "(image[i][j] + image[i][j + 1] + image[i][j + 2]);",
                  "i:I j:J | out[i][j] = 0.3333333333333333 * "
                  "(rows[i][j] + rows[i + 1][j] + rows[i + 2][j]);"),
    "coars": Loops("Sxx[I][J]; Syy[I][J]; Sxy[I][J]; out[I][J]",
                   "i:I j:J | out[i][j] = Sxx[i][j] * Syy[i][j] - Sxy[i][j] * Sxy[i][j];"),
}

# Prints a sum of the result after one run, and the least time of later ones, in seconds. Small
# integers, so that sums are the same in any order; the sums of blur and helm are rounded.
_MAIN = """
#include <stdio.h>
#include <time.h>
static void fill(double *values, long count, int seed) {
  for (long n = 0; n < count; ++n) values[n] = 1 + (n * 7 + seed) % 3;
}
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
int main(int argc, char **argv) {
FILL
  kernel();
  double sum = 0, least = 1e30;
  const double *result = (const double *)RESULT;
  for (long n = 0; n < (long)(sizeof RESULT / sizeof(double)); ++n) sum += result[n];
  const double end = now() + 5;
  for (int run = 0; argc == 1 && (run < 3 || (run < 50 && now() < end)); ++run) {
    const double begin = now();
    kernel();
    const double seconds = now() - begin;
    if (seconds < least) least = seconds;
  }
  printf("%.10e %.9e\\n", sum, least);
  return 0;
}
"""


def sizes_of(text: str) -> Dict[str, int]:
    """What a TeML program binds: 'I = 4096  J = 4096'."""
    return {name: int(value) for name, value in re.findall(r"\b([A-Z]) = (\d+)\b", text)}


def source_of(loops: Loops, sizes: Dict[str, int]) -> str:
    """C, with the nests between the pragmas that polycc looks for."""
    lines = [f"#define {name} {value}" for name, value in sizes.items()]
    lines += [f"double {array};" for array in loops.arrays]
    lines += ["void kernel(void) {", f"  int {', '.join(loops.iterators())};", "#pragma scop"]
    for heads, statement in loops.nests:
        for depth, (name, size) in enumerate(heads):
            lines.append("  " * (depth + 1) + f"for ({name} = 0; {name} < {size}; {name}++)")
        lines.append("  " * (len(heads) + 1) + statement)
    return "\n".join([*lines, "#pragma endscop", "}", ""])


def main_of(loops: Loops) -> str:
    written = {re.match(r"\w+", statement).group()  # type: ignore[union-attr]
               for _, statement in loops.nests}
    names = [re.match(r"\w+", array).group() for array in loops.arrays]  # type: ignore[union-attr]
    fills = [f"  fill((double *){name}, sizeof {name} / sizeof(double), {n});"
             for n, name in enumerate(names) if name not in written]
    return _MAIN.replace("FILL", "\n".join(fills)).replace("RESULT", names[-1])


def _run(what: str, command: List[str], folder: pathlib.Path, seconds: float) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        raise PlutoError(f"{what} takes over {seconds:g} s") from None
    except OSError as error:
        raise PlutoError(f"{what}: {error}") from None
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise PlutoError(f"{what} fails: {' '.join(last) or done.returncode}")
    return done.stdout


def is_installed() -> bool:
    return shutil.which("polycc") is not None


def seconds_of(name: str, teml: str, folder: pathlib.Path) -> Optional[float]:
    """Of one run of what Pluto makes of a kernel, whose TeML program is given; None if it is not
    installed or has no loops of that name. Errors: PlutoError."""
    loops = LOOPS.get(name)
    if loops is None or not is_installed():
        return None
    results = []
    text = source_of(loops, sizes_of(teml))
    for kind in ("loops", "pluto"):
        source = folder / f"{name}_{kind}.c"
        source.write_text(text, encoding="utf-8")
        if kind == "pluto":
            made = folder / f"{name}_pluto_made.c"
            _run("polycc", ["polycc", *_POLYCC, source.name, "-o", made.name], folder,
                 _TRANSFORM_SECONDS)
            source = made
        source.write_text(source.read_text(encoding="utf-8") + main_of(loops), encoding="utf-8")
        program = folder / f"{name}_{kind}"
        _run("the compiler", [*_COMPILER, source.name, "-o", program.name, "-lm"], folder,
             _COMPILE_SECONDS)
        words = [f"./{program.name}"] + (["once"] if kind == "loops" else [])
        results.append([float(word) for word in
                        _run("the program", words, folder, _RUN_SECONDS).split()])
        program.unlink()
    (expected, _), (found, seconds) = results
    if abs(found - expected) > 1e-9 * abs(expected):
        raise PlutoError(f"its result adds up to {found:g}, not {expected:g}")
    return seconds

