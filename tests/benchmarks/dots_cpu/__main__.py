"""python3 -m dots_cpu: see --help. Exit status: 0, all is right; 1, a case is wrong or an error;
2, wrong usage. Kernels are those of rules, which mdh-lower prints for this machine's CPU."""

from __future__ import annotations

import argparse
import ctypes
import json
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

try:
    import numpy as np
except ImportError:  # wrong usage is named all the same
    np = None

from dots_cpu.onednn import OneDnn, OneDnnError

_OPTIONS = ("-std=gnu11 -O2 -march=native -ffp-contract=fast -fno-math-errno -fno-trapping-math "
            "-fno-tree-slp-vectorize -fwrapv -fno-predictive-commoning -fopenmp -shared -fPIC"
            ).split()
_TYPES = {"bf16": ("bf16", "bf16", "fp32"), "u8s8": ("uint8", "int8", "int32"),
          "s8s8": ("int8", "int8", "int32")}
_ROUNDS = 9
_SECONDS_OF_A_ROUND = 0.03
_SHORT_ROUNDS = 100
_SECONDS_OF_A_SHORT_ROUND = 0.001
_REFERENCE = 20.0  # times slower
_VECTORS = 24  # independent chains
_STEPS = 20000

_PRODUCT = """product<T = {sum} | I = {m}, J = {n}, K = {k}> :=
  out_view<T>( C: (i,j,k) -> (i,j) ) o
  md_hom<I,J,K>( f, (++, ++, +) ) o
  inp_view<{a},{b}>( A: (i,j,k) -> (i,k), B: (i,j,k) -> {access} )
where f(A, B) -> C {{ C = {sum}(A) * {sum}(B) }}
"""
_CONVOLUTION = """convolution<T = {sum} | N = {n}, P = {p}, Q = {q}, K = {k}, R = {r}, S = {s}, C = {c}> :=
  out_view<T>( y: (n,p,q,k,r,s,c) -> (n,p,q,k) ) o
  md_hom<N,P,Q,K,R,S,C>( f, (++, ++, ++, ++, +, +, +) ) o
  inp_view<{a},{b}>( x: (n,p,q,k,r,s,c) -> (n,{stride}*p+r,{stride}*q+s,c),
                     w: (n,p,q,k,r,s,c) -> (r,s,c,k) )
where f(x, w) -> y {{ y = {sum}(x) * {sum}(w) }}
"""

# Multiply-adds on registers: what no kernel exceeds. $OP: the instruction.
_PEAK = """#include <immintrin.h>
void peak(long steps) {
  __m512i sums[CHAINS], x = _mm512_set1_epi32(0x01010101);
#pragma GCC unroll 64
  for (int n = 0; n < CHAINS; ++n) sums[n] = _mm512_setzero_si512();
  for (long step = 0; step < steps; ++step) {
#pragma GCC unroll 64
    for (int n = 0; n < CHAINS; ++n) {
      __asm__ volatile("OP %1, %1, %0" : "+v"(sums[n]) : "v"(x));
    }
  }
#pragma GCC unroll 64
  for (int n = 0; n < CHAINS; ++n) __asm__ volatile("" : : "v"(sums[n]));
}
"""
_INSTRUCTIONS = {"bf16": ("vdpbf16ps", 64), "u8s8": ("vpdpbusd", 128), "s8s8": ("vpdpbusd", 128)}
# The same on tile registers, where the processor has them: six independent sums.
_PEAK_OF_TILES = """#include <stdint.h>
extern long syscall(long number, ...);
void peak(long steps) {
  static const struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } shapes = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
  syscall(158, 0x1023, 18);
  __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
  for (long step = 0; step < steps; ++step) {
    __asm__ volatile("OP %%tmm7, %%tmm6, %%tmm0\\n OP %%tmm7, %%tmm6, %%tmm1\\n"
                     "OP %%tmm7, %%tmm6, %%tmm2\\n OP %%tmm7, %%tmm6, %%tmm3\\n"
                     "OP %%tmm7, %%tmm6, %%tmm4\\n OP %%tmm7, %%tmm6, %%tmm5" : :);
  }
  __asm__ volatile("tilerelease");
}
"""
_TILE_INSTRUCTIONS = {"bf16": ("amx_bf16", "tdpbf16ps", 6 * 16 * 16 * 32),
                      "u8s8": ("amx_int8", "tdpbusd", 6 * 16 * 16 * 64),
                      "s8s8": ("amx_int8", "tdpbssd", 6 * 16 * 16 * 64)}


@dataclass(frozen=True)
class Case:
    """A product m x n x k, B as [k,n] or [n,k], or a convolution n,p,q,k,r,s,c,stride."""
    name: str
    types: str
    shape: Tuple[int, ...]
    is_transposed: bool = False

    @property
    def is_product(self) -> bool:
        return len(self.shape) == 3

    @property
    def operations(self) -> float:
        return 2.0 * float(np.prod(self.shape[:3] if self.is_product else self.shape[:7],
                                   dtype=np.float64))

    def expression(self) -> str:
        a, b, total = _TYPES[self.types]
        if self.is_product:
            m, n, k = self.shape
            return _PRODUCT.format(sum=total, a=a, b=b, m=m, n=n, k=k,
                                   access="(j,k)" if self.is_transposed else "(k,j)")
        n, p, q, k, r, s, c, stride = self.shape
        return _CONVOLUTION.format(sum=total, a=a, b=b, n=n, p=p, q=q, k=k, r=r, s=s, c=c,
                                   stride=stride)


def cases() -> List[Case]:
    """All of them."""
    found = []
    for types in ("bf16", "u8s8", "s8s8"):
        found.append(Case(f"{types} 1024^3", types, (1024, 1024, 1024)))
        found.append(Case(f"{types} 1024^3, B transposed", types, (1024, 1024, 1024), True))
        found.append(Case(f"{types} 1023x777x513", types, (1023, 777, 513)))
        for m in (1, 4, 8, 16):
            found.append(Case(f"{types} {m}x4096x4096", types, (m, 4096, 4096)))
        found.append(Case(f"{types} 3x3 56x56x64", types, (1, 56, 56, 64, 3, 3, 64, 1)))
        found.append(Case(f"{types} 3x3 14x14x256", types, (1, 14, 14, 256, 3, 3, 256, 1)))
        found.append(Case(f"{types} 1x1 28x28 128 to 512", types, (1, 28, 28, 512, 1, 1, 128, 1)))
        found.append(Case(f"{types} 7x7x3 112x112 to 64", types, (1, 112, 112, 64, 7, 7, 3, 2)))
    return found


def _aligned(elements: int, kind: Any) -> np.ndarray:
    size = elements * np.dtype(kind).itemsize
    raw = np.zeros(size + 64, np.uint8)
    begin = -raw.ctypes.data % 64
    return raw[begin:begin + size].view(kind)


class Data:
    """Inputs, whose products are exact, and a result."""

    def __init__(self, case: Case):
        random = np.random.default_rng(1)
        if case.is_product:
            m, n, k = case.shape
            a, b, self.result_shape = (m, k), (n, k) if case.is_transposed else (k, n), (m, n)
        else:
            n, p, q, k, r, s, c, stride = case.shape
            a = (n, (p - 1) * stride + r, (q - 1) * stride + s, c)
            b, self.result_shape = (r, s, c, k), (n, p, q, k)
        self._case = case
        self._exact = []
        self.inputs = []
        for shape, name in zip((a, b), _TYPES[case.types]):
            if name == "bf16":
                values = random.integers(-8, 9, shape).astype(np.float64) / 4
                stored = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
            else:
                low, high = (0, 256) if name == "uint8" else (-128, 128)
                values = random.integers(low, high, shape).astype(np.float64)
                stored = values.astype(name)
            buffer = _aligned(values.size, stored.dtype)
            buffer[:] = stored.ravel()
            self._exact.append(values)
            self.inputs.append(buffer)
        kind = np.float32 if case.types == "bf16" else np.int32
        self.result = _aligned(int(np.prod(self.result_shape)), kind)

    def addresses(self) -> List[int]:
        return [buffer.ctypes.data for buffer in (*self.inputs, self.result)]

    def is_right(self) -> bool:
        """Of a part of the rows; all values are exact."""
        got = self.result.reshape(self.result_shape).astype(np.float64)
        a, b = self._exact
        if self._case.is_product:
            rows = slice(0, 16)
            return np.array_equal(got[rows], a[rows] @ (b.T if self._case.is_transposed else b))
        _, _, q, _, r, s, _, stride = self._case.shape
        window = [[a[0, i, j:j + (q - 1) * stride + 1:stride] @ b[i, j] for j in range(s)]
                  for i in range(r)]
        return np.array_equal(got[0, 0], np.sum(window, axis=(0, 1)))


def _compiled(source: str, folder: pathlib.Path, name: str) -> ctypes.CDLL:
    path = folder / f"{name}.c"
    path.write_text(source, encoding="utf-8")
    library = folder / f"{name}.so"
    subprocess.run(["gcc", *_OPTIONS, str(path), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _kernel(case: Case, lower: str, folder: pathlib.Path, name: str, data: Data
            ) -> Tuple[Callable[[], Any], str]:
    text = folder / f"{name}.mdh"
    text.write_text(case.expression(), encoding="utf-8")
    source = subprocess.run([lower, str(text), "--model", "OpenMP+SIMD+RM"], check=True,
                            capture_output=True, text=True).stdout
    entry = re.findall(r"^int (mdh_\w+)\(", source, re.M)[-1]
    library = _compiled(source, folder, name)
    scratch_bytes = getattr(library, entry + "_scratch_bytes")
    scratch_bytes.restype = ctypes.c_int64
    scratch = _aligned(max(64, scratch_bytes(64)), np.uint8)
    function = getattr(library, entry)
    arguments = [ctypes.c_void_p(address) for address in (*data.addresses(), scratch.ctypes.data)]
    parameters = re.search(r"^//\s+(model=.*)$", source, re.M)
    def run(keep: np.ndarray = scratch) -> None:
        del keep
        function(*arguments)
    return run, parameters.group(1) if parameters else ""


def _once(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    run()
    begin = clock()
    run()
    return clock() - begin


def _interleaved(contestants: Dict[str, Callable[[], Any]], clock: Callable[[], float],
                 fastest: bool) -> Dict[str, List[float]]:
    """Of `fastest`, many short turns: others let few of them alone."""
    repeats = {}
    for name, run in contestants.items():
        run()
        begin = clock()
        run()
        turn = _SECONDS_OF_A_SHORT_ROUND if fastest else _SECONDS_OF_A_ROUND
        repeats[name] = max(1, int(turn / max(1e-7, clock() - begin)))
    times: Dict[str, List[float]] = {name: [] for name in contestants}
    for _ in range(_SHORT_ROUNDS if fastest else _ROUNDS):
        for name, run in contestants.items():
            begin = clock()
            for _ in range(repeats[name]):
                run()
            times[name].append((clock() - begin) / repeats[name])
    return times


def _peaks(folder: pathlib.Path) -> Dict[str, Tuple[Callable[[], Any], float]]:
    """By types: what does as much as a core can, and how many operations of a thread that is."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    found = {}
    for types, (instruction, operations) in _INSTRUCTIONS.items():
        text = _PEAK.replace("CHAINS", str(_VECTORS)).replace("OP", instruction)
        steps, in_a_step = _STEPS, _VECTORS * operations // 2
        flag, on_tiles, of_tiles = _TILE_INSTRUCTIONS[types]
        if flag in flags:
            text = _PEAK_OF_TILES.replace("OP", on_tiles)
            steps, in_a_step = _STEPS // 4, of_tiles
        text += "void peaks(long steps) {\n#pragma omp parallel\n  peak(steps);\n}\n"
        library = _compiled(text, folder, "peak_" + types)
        found[types] = (lambda run=library.peaks, count=steps: run(ctypes.c_long(count)),
                        2.0 * steps * in_a_step)
    return found


def _measured(case: Case, options: argparse.Namespace,
              peaks: Dict[str, Tuple[Callable[[], Any], float]],
              clock: Callable[[], float], folder: pathlib.Path) -> Dict[str, Any]:
    data = Data(case)
    name = re.sub(r"\W", "_", case.name)
    lower = str(pathlib.Path(options.programs) / "mdh-lower")
    run, parameters = _kernel(case, lower, folder, name, data)
    run()
    row: Dict[str, Any] = {"case": case.name, "right": data.is_right(), "parameters": parameters}
    contestants: Dict[str, Callable[[], Any]] = {"mdh": run, "peak": peaks[case.types][0]}
    if options.onednn is not None:
        try:
            if case.is_product:
                contestants.update(options.onednn.products(
                    case.shape, _TYPES[case.types], case.is_transposed, data.addresses()))
            else:
                contestants.update(options.onednn.convolutions(
                    case.shape, _TYPES[case.types], data.addresses()))
        except OneDnnError as error:
            row["onednn"] = str(error)
    once = {each: _once(contestant, clock) for each, contestant in contestants.items()}
    for each in list(contestants):  # oneDNN's reference code is no peer
        if each.startswith("onednn") and once[each] > _REFERENCE * once["mdh"]:
            del contestants[each]
    times = _interleaved(contestants, clock, options.fastest)
    if options.fastest:
        times = {each: [min(found)] for each, found in times.items()}
    most = peaks[case.types][1] * options.threads
    row["operations_per_s"] = case.operations / statistics.median(times["mdh"])
    row["of_peak"] = statistics.median(
        case.operations / own / (most / peak) for own, peak in zip(times["mdh"], times["peak"]))
    row["seconds"] = {each: statistics.median(found) for each, found in times.items()
                      if each != "peak"}
    for peer in contestants:
        if peer.startswith("onednn"):
            row["of_" + peer] = statistics.median(
                theirs / own for own, theirs in zip(times["mdh"], times[peer]))
    return row


def _line(row: Dict[str, Any]) -> str:
    peers = "".join(f"  {row['of_' + peer]:5.2f}" if "of_" + peer in row else "      -"
                    for peer in ("onednn_plain", "onednn_reordering", "onednn_prepacked"))
    right = "" if row["right"] else "  WRONG"
    return (f"{row['case']:32}{row['operations_per_s'] / 1e9:9.1f}{row['of_peak']:8.2f}"
            f"{peers}{right}")


def _page(information: Dict[str, Any]) -> str:
    """Of a file of results."""
    peers = ("onednn_plain", "onednn_reordering", "onednn_prepacked")
    lines = [f"# Dot instructions of {information['processor']}", "",
             f"Kernels of rules, commit {information['commit'] or 'unknown'}; "
             f"{information['threads']} thread(s); oneDNN {information['onednn'] or 'was not there'}.",
             f"Ratios are theirs by ours, {information.get('of_turns', 'medians')} of turns: "
             "larger than 1 is faster than oneDNN.", "",
             "| case | Gop/s | of peak | plain | reordering | prepacked |", "|---|--:|--:|--:|--:|--:|"]
    for row in information["rows"]:
        ratios = " | ".join(f"{row['of_' + peer]:.2f}" if "of_" + peer in row else "-"
                            for peer in peers)
        lines.append(f"| {row['case']} | {row['operations_per_s'] / 1e9:.1f} | "
                     f"{row['of_peak']:.2f} | {ratios} |")
    return "\n".join(lines) + "\n"


def _options(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="dots_cpu", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--programs", required=True, help="the folder of mdh-lower")
    parser.add_argument("--onednn", help="a libdnnl.so of oneDNN 3 that runs on GNU's OpenMP")
    parser.add_argument("--threads", type=int, default=1,
                        help="of a call; with one, the processor's time is measured")
    parser.add_argument("--fastest", action="store_true",
                        help="the fastest of many short turns instead of the median of long ones, "
                        "where others use the machine")
    parser.add_argument("--match", default="", help="cases whose names have this in them")
    parser.add_argument("--commit", default="", help="what is measured, for the results")
    parser.add_argument("--json", help="where results are written; beside it, a page")
    return parser.parse_args(arguments)


def main(arguments: List[str]) -> int:
    """Measures all cases."""
    if "--needs-programs" in arguments:  # which deploy/bench asks first
        rest = [each for each in arguments if each != "--needs-programs"]
        _options([*rest, "--programs", ""])
        print("yes")
        return 0
    options = _options(arguments)
    if np is None:
        print("dots_cpu: error: NumPy is missing", file=sys.stderr)
        return 1
    clock = time.thread_time if options.threads == 1 else time.monotonic
    openmp = ctypes.CDLL("libgomp.so.1")
    openmp.omp_set_num_threads(options.threads)
    options.onednn = OneDnn(options.onednn) if options.onednn else None
    version = "" if options.onednn is None else options.onednn.version()
    rows = []
    print(f"{'':32}{'Gop/s':>9}{'of peak':>8}  of oneDNN {version}: plain, reordering, prepacked")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peaks = _peaks(folder)
        for case in cases():
            if options.match not in case.name:
                continue
            rows.append(_measured(case, options, peaks, clock, folder))
            print(_line(rows[-1]), flush=True)
    if options.json:
        information = {"processor": _processor(), "threads": options.threads, "onednn": version,
                       "of_turns": "the fastest" if options.fastest else "medians",
                       "commit": options.commit, "rows": rows}
        path = pathlib.Path(options.json)
        path.write_text(json.dumps(information, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(_page(information), encoding="utf-8")
    return 0 if all(row["right"] for row in rows) else 1


def _processor() -> str:
    found = re.search(r"^model name\s*: (.*)$",
                      pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else platform.processor()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
