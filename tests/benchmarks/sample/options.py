"""The options of programs that measure samples."""

from __future__ import annotations

import argparse

from .families import CLASSES, FAMILIES, Limits, Sample, fresh_seed, sample_of


def add_sample_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sample", type=_count, metavar="N",
                        help="N cases that are drawn instead, others each time")
    parser.add_argument("--seed", type=_seed, metavar="S",
                        help="of --sample: the cases of this seed, as it was printed")
    parser.add_argument("--family", default="", metavar="F",
                        help=f"of --sample: some of {','.join(FAMILIES)} [all]")
    parser.add_argument("--class", dest="size_class", default="", choices=CLASSES,
                        help="of --sample: only cases over 0.5 GFLOP or 20 MB, or only others")


def check_sample_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program with status 2 if one of them stands without --sample."""
    for name in ("seed", "family", "size_class"):
        if not options.sample and getattr(options, name) not in ("", None):
            parser.error(f"--{'class' if name == 'size_class' else name} needs --sample")


def chosen_sample(options: argparse.Namespace, limits: Limits, *, only_floats: bool = False
                  ) -> Sample:
    """Errors: CaseError."""
    seed = fresh_seed() if options.seed is None else options.seed
    return sample_of(seed, options.sample, options.family, options.size_class, limits, only_floats)


def _count(text: str) -> int:
    return _whole(text, 1, 10000, "number of cases")


def _seed(text: str) -> int:
    return _whole(text, 0, (1 << 64) - 1, "seed")


def _whole(text: str, least: int, most: int, what: str) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is no {what} from {least} to {most}")
    return int(text)
