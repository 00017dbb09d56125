"""The command line."""

from __future__ import annotations

import argparse
import pathlib
from typing import List, Optional

from sample.options import add_sample_options, check_sample_options

from .cases import ROOT

_DESCRIPTION = """Tunes cases on a GPU and measures our kernels beside cuBLAS, cuDNN and
torch.compile on the same data, by replaying CUDA graphs over more data than the L2 cache holds;
everything is checked against double precision."""
# In a package the programs are beside the folder data.
_PROGRAMS = ROOT.parent / "bin"


def parse(arguments: Optional[List[str]] = None) -> argparse.Namespace:
    """Ends the program with status 2 on wrong usage."""
    parser = argparse.ArgumentParser(prog="bench gpu", description=_DESCRIPTION)
    _add_what(parser)
    _add_how(parser)
    _add_where(parser)
    options = parser.parse_args(arguments)
    check_sample_options(parser, options)
    if options.sample and options.no_compile:
        parser.error("--no-compile is not for --sample, which has --compile")
    if options.compile and not options.sample:
        parser.error("--compile needs --sample")
    options.compile_peers = options.compile if options.sample else not options.no_compile
    if options.missing and options.json is None:
        parser.error("--missing needs --json")
    for file in (options.json, options.database and pathlib.Path(options.database)):
        if file and not file.absolute().parent.is_dir():
            parser.error(f"the folder of {file} is not there")
    if options.no_tune and not options.database:
        parser.error("--no-tune needs --database")
    return options


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", default="*", metavar="PATTERN",
                        help="only cases that match, e.g. 'matmul_*,dot_*' [all]")
    add_sample_options(parser)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="file of results; rows of the same cases are replaced")
    parser.add_argument("--missing", action="store_true",
                        help="only cases that FILE has no right result for")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--report", type=pathlib.Path, metavar="FILE",
                         help="only print the table of FILE, and write chart and page beside it")
    instead.add_argument("--dry-run", action="store_true",
                         help="only list cases, budgets and peers")
    instead.add_argument("--self-test", action="store_true",
                         help="without a GPU: kernels from rules for an H200 are compiled, "
                         "launched on a device that only checks, and compared with what PyTorch "
                         "is given")
    # For deploy/bench, which builds programs only for those who need them.
    parser.add_argument("--needs-programs", action="store_true", help=argparse.SUPPRESS)


def _add_how(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", type=_seconds, default=30.0, metavar="SECONDS",
                        help="of tuning per case [30]")
    parser.add_argument("--time-limit", type=_seconds, metavar="SECONDS",
                        help="start no case that would not end in time; the exit status is 3 if "
                        "cases are left")
    parser.add_argument("--force", action="store_true",
                        help="search again what the database has")
    parser.add_argument("--no-tune", action="store_true",
                        help="measure what the database has")
    parser.add_argument("--opencl", type=int, metavar="N",
                        help="tune through OpenCL, too: the number of its device")
    parser.add_argument("--opencl-budget", type=_seconds, metavar="SECONDS",
                        help="of tuning through OpenCL [as --budget]")
    parser.add_argument("--no-compile", action="store_true",
                        help="without peers of torch.compile, which take seconds each")
    parser.add_argument("--compile", action="store_true",
                        help="of --sample: with them")


def _add_where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", type=int, default=0, metavar="N", help="CUDA device [0]")
    parser.add_argument("--database", default="", metavar="FILE",
                        help="keep what was found in this database, and start from what it has")
    parser.add_argument("--programs", type=pathlib.Path, default=_PROGRAMS, metavar="FOLDER",
                        help="where mdhd and mdh are")
    parser.add_argument("--python", default="", metavar="PROGRAM",
                        help="Python with PyTorch [this one]")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return value
