"""The table of families, and samples of them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Tuple

from gpu.cases import Case, CaseError
from gpu.operation import Bindings, Operation

from . import contractions, elementwise, rows, windows
from .contractions import Drawn
from .definition import Definition
from .draws import Draws

FAMILIES: Dict[str, Callable[[Draws], Drawn]] = {
    "products": contractions.products,
    "batched": contractions.batched,
    "gram": contractions.gram,
    "long_reductions": contractions.long_reductions,
    "contractions": contractions.contractions,
    "three_operands": contractions.three_operands,
    "convolutions": windows.convolutions,
    "dilated": windows.dilated,
    "grouped": windows.grouped,
    "depthwise": windows.depthwise,
    "pooling": windows.pooling,
    "stencils": windows.stencils,
    "rows": rows.rows,
    "columns": rows.columns,
    "scans": rows.scans,
}
_KINDS = {kind.__name__.lower(): kind for kind in (
    contractions.Contraction, windows.Convolution, windows.Pooling, windows.Stencil,
    rows.Reduction, rows.Scan, elementwise.Elementwise)}
CLASSES = ("large", "small")
_LARGE_FLOPS, _LARGE_BYTES = 5e8, 20e6
_MOST_DRAWS = 20000


@dataclass(frozen=True)
class Limits:
    """Of a case: what takes longer, or does not fit, is drawn again."""

    flops: float
    bytes: float


GPU_LIMITS = Limits(2e11, 2e9)
CPU_LIMITS = Limits(4e9, 4e8)


@dataclass(frozen=True)
class Sample:
    """Which cases: those with the numbers 1 to `count`. `size_class`: "" for both."""

    seed: int
    count: int
    families: Tuple[str, ...] = tuple(FAMILIES)
    size_class: str = ""
    limits: Limits = GPU_LIMITS
    only_floats: bool = False  # single precision and one output, as the benchmark of CPUs has them

    def __str__(self) -> str:
        options = ""
        if len(self.families) < len(FAMILIES):
            options += f" --family {','.join(self.families)}"
        options += f" --class {self.size_class}" if self.size_class else ""
        return f"--sample {self.count} --seed {self.seed}{options}"


def fresh_seed() -> int:
    return secrets.randbelow(1 << 32)


def sample_of(seed: int, count: int, families: str = "", size_class: str = "",
              limits: Limits = GPU_LIMITS, only_floats: bool = False) -> Sample:
    """`families` with commas between them; all if there are none. Errors: CaseError."""
    named = tuple(families.split(",")) if families else tuple(FAMILIES)
    for family in named:
        if family not in FAMILIES:
            raise CaseError(f"there is no family '{family}'; there are {', '.join(FAMILIES)}")
    return Sample(seed, count, named, size_class, limits, only_floats)


def cases_of(sample: Sample) -> List[Case]:
    """Errors: CaseError if there is no case of that class in a family."""
    return [_case(sample, number) for number in range(1, sample.count + 1)]


def _case(sample: Sample, number: int) -> Case:
    draws = Draws(f"mdh sample 1/{sample.seed}/{number}")
    family = draws.choice(sample.families)
    for _ in range(_MOST_DRAWS):
        definition, sizes = FAMILIES[family](draws)
        operation, flops = definition.operation(sizes), definition.flops(sizes)
        size_bytes, limits = operation.size_bytes, sample.limits
        if flops > limits.flops or size_bytes > limits.bytes:
            continue
        if sample.only_floats and [b.dtype for b in operation.outputs] != ["float32"]:
            continue
        if sample.size_class in ("", size_class(flops, size_bytes)):
            return case_of(family, number, definition, sizes)
    raise CaseError(f"no case of class '{sample.size_class}' was drawn in the family {family}")


def size_class(flops: int, size_bytes: int) -> str:
    return CLASSES[0] if flops > _LARGE_FLOPS or size_bytes > _LARGE_BYTES else CLASSES[1]


def case_of(family: str, number: int, definition: Definition, sizes: Bindings) -> Case:
    form = definition.to_json()
    kind = form.get("type", "fp32")
    identifier = f"{family}_{number}_{'x'.join(map(str, sizes.values()))}"
    identifier += f"_{kind}" if kind != "fp32" else ""
    return Case(identifier, f"{family}.mdh", sizes, definition.flops(sizes),
                definition.operation(sizes).size_bytes, text=definition.text(family, sizes),
                definition=form, family=family,
                size_class=size_class(definition.flops(sizes),
                                      definition.operation(sizes).size_bytes))


def definition_of(form: Dict[str, Any]) -> Definition:
    """What Definition.to_json gave, also through JSON, which has lists for tuples."""
    given = {name: tuple(value) if isinstance(value, list) else value
             for name, value in form.items() if name != "kind"}
    return _KINDS[form["kind"]](**given)


def operation_of_definition(form: Dict[str, Any], sizes: Bindings) -> Operation:
    return definition_of(form).operation(sizes)


_MOST_SMALL = 7


def with_small_sizes(case: Case) -> Case:
    """The same expression with few points, which can be judged at once; windows stay."""
    sizes = {name: size if name in "RS" and "P" in case.bindings else 1 + size % _MOST_SMALL
             for name, size in case.bindings.items()}
    return replace(case, bindings=sizes)
