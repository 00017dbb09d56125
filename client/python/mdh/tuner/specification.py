"""Specifications of studies, and configurations in messages."""

from __future__ import annotations

import operator
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from google.protobuf import struct_pb2

from ..candidate import Values, value_texts
from ..errors import MdhError, SourceLocation, wrong
from ..v1 import study_pb2
from .abort_conditions import abort_text
from .constraints import Constraint, nearest
from .parameters import TP
from .search_techniques import Technique, technique_name

Configuration = Dict[str, Any]


class Specification:
    """A study to create: its message, and where its constraints are written."""

    def __init__(
        self,
        parameters: Sequence[TP],
        constraints: Sequence[Any] = (),
        *,
        definitions: Optional[Mapping[str, Any]] = None,
        technique: Technique = "",
        seed: int = 0,
        lookahead: int = 0,
        abort: Any = None,
        start: Sequence[Mapping[str, Any]] = (),
        decide: Optional[Mapping[str, Values]] = None,
        forbid: Optional[Mapping[str, Values]] = None,
        display_name: str = "",
        lower_bound: Any = "",
        gap: float = 0.0,
    ):
        """Zero and empty stand for the daemon's defaults. `constraints`: functions, texts of
        formulas or Constraints, besides those of the parameters. `definitions`: names for numbers
        or formulas, which formulas given as text may use. `abort`: an abort condition, or its text;
        default: when the space is used up. `decide`, `forbid`: values of parameters that are the only
        ones to be searched, or that are not searched. `lower_bound`: what no configuration costs less
        than, a number or the text of a formula; `gap`: the share of the best cost by which better
        ones do not matter then. Errors: ExpressionError."""
        self.proto = study_pb2.StudySpec(
            display_name=display_name, abort=abort_text(abort), seed=_whole("a seed", seed),
            lookahead=_whole("a lookahead", lookahead),
            technique=technique_name(technique) if technique else "",
            lower_bound=_bound_text(lower_bound), gap=_share("a gap", gap))
        self._places: List[Tuple[str, SourceLocation]] = []
        self._add_parameters(parameters)
        for name, definition in (definitions or {}).items():
            self.proto.definitions[name] = (
                definition if isinstance(definition, str) else repr(_plain(definition)))
        self._add_constraints(parameters, constraints)
        for configuration in start:
            self.proto.start.append(named_configuration(configuration, self.proto.parameters))
        for is_forbidden, values in ((False, decide or {}), (True, forbid or {})):
            for name, value in values.items():
                self.proto.restrictions.add(
                    parameter=name, values=value_texts(value), is_forbidden=is_forbidden)

    def _add_parameters(self, parameters: Sequence[TP]) -> None:
        if not parameters:
            raise wrong("a search needs at least one tuning parameter")
        names = set()
        for parameter in parameters:
            if not isinstance(parameter, TP):
                raise wrong(f"{parameter!r} is no tuning parameter, as TP(...) is one")
            if parameter.name in names:
                raise wrong(f"there are two tuning parameters '{parameter.name}'",
                            parameter.location)
            names.add(parameter.name)
            self.proto.parameters.append(parameter.to_proto())

    def _add_constraints(self, parameters: Sequence[TP], further: Sequence[Any]) -> None:
        ranges = {parameter.name: parameter.range for parameter in parameters}
        constraints = [p.constraint for p in parameters if p.constraint is not None]
        constraints += [c if isinstance(c, Constraint) else Constraint(c) for c in further]
        for constraint in constraints:
            text = constraint.write(ranges, self.proto)
            if constraint.location is not None:
                self._places.append((text, constraint.location))

    def locate(self, error: MdhError) -> MdhError:
        """The error, with the place of the constraint that it names."""
        named = [place for text, place in self._places if text in error.message]
        for i, text in enumerate(self.proto.constraints):
            if f"constraints[{i}]" in error.message:
                named = [place for known, place in self._places if known == text]
        if error.location is None and named:
            return type(error)(error.message, named[0])
        return error


def _whole(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise wrong(f"{what} is a whole number, not {value!r}")
    return number


def _bound_text(bound: Any) -> str:
    if isinstance(bound, str):
        return bound
    if isinstance(bound, bool) or not isinstance(bound, (int, float)):
        raise wrong(f"a lower bound is a number or the text of a formula, not {bound!r}")
    return repr(bound)


def _share(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise wrong(f"{what} is at least 0 and less than 1, not {value!r}")
    return float(value)


def _plain(value: Any) -> Any:
    value = value.item() if type(value).__module__ == "numpy" else value
    if not isinstance(value, (bool, int, float)):
        raise wrong(f"a definition is a number or the text of a formula, not {value!r}")
    return value


def named_configuration(
    values: Mapping[str, Any], parameters: Sequence[study_pb2.StudyParameter],
) -> study_pb2.NamedConfiguration:
    """A configuration as a message. Errors: ExpressionError for names that are unknown or missing
    and for values that are none."""
    names = [parameter.name for parameter in parameters]
    for name in values:
        if name not in names:
            raise wrong(f"there is no tuning parameter '{name}'" + nearest(name, names))
    configuration = study_pb2.NamedConfiguration()
    for name in names:
        if name not in values:
            raise wrong(f"the configuration has no value of '{name}'")
        configuration.values.fields[name].CopyFrom(_to_message(name, values[name]))
    return configuration


def _to_message(name: str, value: Any) -> struct_pb2.Value:
    value = value.item() if type(value).__module__ == "numpy" else value
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int) and abs(value) > 2**53:
        return struct_pb2.Value(string_value=str(value))
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        items = [struct_pb2.Value(string_value=item) for item in value]
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
    raise wrong(f"{value!r} is no value of the tuning parameter '{name}'")


def plain_configuration(
    configuration: study_pb2.NamedConfiguration,
    parameters: Sequence[study_pb2.StudyParameter],
) -> Configuration:
    """A configuration of a message as values of Python, in the order of the parameters. Numbers of
    parameters that are not given are integers if they are whole."""
    fields = configuration.values.fields
    known = {p.name: p for p in parameters if p.name in fields}
    return {name: _from_message(fields[name], known.get(name)) for name in {**known, **fields}}


def _from_message(value: struct_pb2.Value, parameter: Optional[study_pb2.StudyParameter]) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return tuple(item.string_value for item in value.list_value.values)
    if kind == "bool_value":
        return value.bool_value
    is_interval = parameter is not None and parameter.WhichOneof("range") == "interval"
    if kind == "string_value":
        return int(value.string_value) if is_interval else value.string_value
    is_real = not value.number_value.is_integer() if parameter is None else parameter.set.real
    return value.number_value if is_real else int(value.number_value)
