"""Random nests of views (random_views.py) in the notation of every front end, and who else can execute it:
the system's compiler the text of C, CPython that of Python's loops."""

import ctypes
import re
import subprocess

import numpy as np
from random_views import Options

C_TYPES = {"int32": "int32_t", "int64": "int64_t", "fp64": "double"}
DTYPES = {"int32": "int32", "int64": "int64", "fp64": "float64"}
COMBINED = {"": "=", "+": "+=", "*": "*="}

C_LOOPS = Options(has_inner_bounds=True, has_pointers=True, has_behind=True, chains=True)
PYTHON_LOOPS = Options(has_negative_steps=True, has_behind=True)
NOTATION = Options(has_ranges=False, has_layouts=True, accesses=3)
TEXT = Options(has_ranges=False, has_layouts=True, accesses=3, chains=True)
TEML = Options(has_ranges=False, has_factors=False, spans=True, keeps=False, may_be_empty=False, accesses=1,
               chains=True)


def bracketed(parts):
    return "".join(f"[{part}]" for part in parts)


def sum_of(terms, element):
    parts = [element(name, access) if factor == 1 else f"{factor} * {element(name, access)}"
             for factor, name, access in terms]
    return " + ".join(parts).replace("+ -", "- ")


# Loops of C.


def of_chain(nest):
    """The nests of a chain, or the only one."""
    return getattr(nest, "nests", [nest])


class CText:
    """`text`: a function called `name` with an annotation."""

    def __init__(self, nest, name):
        self.nest, self.name = nest, name
        texts = [CNest(part, f"{name.upper()}_{number}") for number, part in enumerate(of_chain(nest))]
        declared, is_chain = [], len(texts) > 1
        if is_chain:
            between = texts[0].nest.outputs[nest.between]
            declared = ["{", f"  {texts[0].declared(between)} = {{0}};"]
        annotation = "#pragma mdh"
        if nest.random.random() < 0.5:
            annotation += f" out({', '.join(nest.outputs)})"
        for text in texts:
            kept = [array for array, of in text.nest.outputs.items() if of.keeps]
            words = f" keep({', '.join(kept)})" if kept else ""
            if is_chain:
                declared += [f"#pragma mdh{words}"] if words else []
            else:
                annotation += words
            declared += text.lines
        parameters = ", ".join(
            [f"const {texts[0].declared(array)}" for array in nest.inputs.values()]
            + [texts[0].declared(array) for array in nest.outputs.values()])
        self.text = "\n".join([
            "#include <stdint.h>", *(line for text in texts for line in text.head),
            f"void {name}({parameters}) {{", annotation, *declared, *["}"] * is_chain, "}", ""])


class CNest:
    """`lines`: the loops; `head`: what stands before the function."""

    def __init__(self, nest, macros):
        self.nest, self.macros, self.type = nest, macros, C_TYPES[nest.type]
        self.head, self.locals = [], []
        lines, indent, has_started = [], "  ", False
        for loop in nest.loops:
            if nest.is_behind and loop.name not in nest.kept and not has_started:
                has_started = True
                lines += [f"{indent}{self.type} t{n} = 0;" for n in range(len(nest.results))]
            brace = " {" if nest.is_behind and loop.name in nest.kept else ""
            lines.append(f"{indent}for ({self._control(loop)}){brace}")
            indent += "  "
        body = [self._statement(number, result) for number, result in enumerate(nest.results)]
        lines += [indent + "{", *[f"{indent}  {line}" for line in self.locals + body], indent + "}"]
        if nest.is_behind:
            lines += [f"  {self._element(r.array, r.access)} = "
                      f"{self._value(((1, f't{n}', None), *r.behind))};" for n, r in enumerate(nest.results)]
            lines += ["  }" for _ in nest.kept]
        # Without loops around them, accumulators and what is behind need a block.
        self.lines = lines if nest.kept or not nest.is_behind else ["  {", *lines, "  }"]

    def _control(self, loop):
        rng, i = self.nest.random, loop.name
        stop = str(loop.stop)
        if loop.until:
            stop = f"{loop.until} + {loop.stop}".replace("+ -", "- ")
        elif rng.random() < 0.2:
            stop = f"{self.macros}_{i.upper()}"
            self.head.append(f"#define {stop} {loop.stop}")
        is_single = loop.step == 1
        condition = rng.choice([f"{i} < {stop}", f"{i} < {stop}", f"{stop} > {i}"])
        if not loop.until and rng.random() < 0.3:
            condition = rng.choice([f"{i} <= {loop.stop - 1}", f"{i} != {stop}" if is_single else condition])
        step = rng.choice([f"++{i}", f"{i}++", f"{i} += 1"]) if is_single else f"{i} += {loop.step}"
        return f"int {i} = {loop.start}; {condition}; {step}"

    def declared(self, array):
        if array.is_flat or not array.extents:
            return f"{self.type} *{array.name}"
        extents = ["" if not array.is_given else array.extents[0], *array.extents[1:]]
        return f"{self.type} {array.name}{bracketed(extents)}"

    def _element(self, name, access):
        if access is None:
            return name
        array = self.nest.inputs.get(name) or self.nest.outputs[name]
        indices = [index.text() for index in array.accesses[access]]
        return f"{name}{bracketed(indices)}" if indices else f"*{name}"

    def _value(self, terms):
        return sum_of(terms, self._element)

    def _statement(self, number, result):
        place, value = self._element(result.array, result.access), self._value(result.terms)
        if self.nest.is_behind:
            return f"t{number} += {value};"
        if result.operator in ("max", "min"):
            sign = ">" if result.operator == "max" else "<"
            self.locals.append(f"const {self.type} v{number} = {value};")
            if self.nest.random.random() < 0.5:
                return f"if (v{number} {sign} {place}) {place} = v{number};"
            return f"{place} = v{number} {sign} {place} ? v{number} : {place};"
        if result.operator and self.nest.random.random() < 0.3:
            return f"{place} = {place} {result.operator} ({value});"
        array = self.nest.outputs[result.array]
        if self.nest.random.random() < 0.2 and array.extents:
            self.locals.append(f"const int a{number} = {array.accesses[result.access][0].text()};")
            others = [index.text() for index in array.accesses[result.access][1:]]
            place = f"{result.array}{bracketed([f'a{number}', *others])}"
        return f"{place} {COMBINED[result.operator]} {value};"


def compiled(texts, folder):
    """The texts of C as a library."""
    files = [folder / "all.c", folder / "all.so"]
    files[0].write_text("\n".join(text.text for text in texts))
    subprocess.run(["gcc", "-shared", "-fPIC", "-fwrapv", "-w", str(files[0]), "-o", str(files[1])], check=True)
    return ctypes.CDLL(str(files[1]))


def arrays_of(nest, contents):
    """Dense arrays of numpy by name."""
    arrays = {**nest.inputs, **nest.outputs}
    return {name: np.array(values, DTYPES[nest.type]).reshape(arrays[name].extents)
            for name, values in contents.items()}


FORMER = 77  # where outputs keep what is there


def started(nest):
    return arrays_of(nest, nest.start(FORMER))


def executed_by_c(library, text, contents):
    """What the function makes of outputs that hold what nest.start says, flat."""
    inputs, outputs = arrays_of(text.nest, contents), started(text.nest)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in [*inputs.values(), *outputs.values()]]
    getattr(library, text.name)(*pointers)
    return {name: array.ravel().tolist() for name, array in outputs.items()}


# Python.


def _declaration(array):
    words = [array.type]
    words += [str(array.extents)] if array.is_given or array.strides else []
    words += [f"strides={array.strides}"] if array.strides else []
    return f"Buffer({', '.join(words + ['keep=True'] * array.keeps)})"


def _declared(nest):
    return ", ".join(
        f"{kind}({', '.join(f'{name}={_declaration(array)}' for name, array in arrays.items())})"
        for kind, arrays in (("out", nest.outputs), ("inp", nest.inputs)))


def python_loops(nest, name):
    """A function of loops under @mdh."""
    def element(array, access):
        if access is None:
            return array
        indices = (nest.inputs.get(array) or nest.outputs[array]).accesses[access]
        return f"{array}[{', '.join(index.text() for index in indices)}]" if indices else array

    lines, indent, has_started = [], "    ", False
    for loop in nest.loops:
        if nest.is_behind and loop.name not in nest.kept and not has_started:
            has_started, behind = True, indent
            lines += [f"{indent}t{n} = 0" for n in range(len(nest.results))]
        numbers = [loop.start, loop.stop, loop.step]
        shown = numbers if loop.step != 1 else numbers[:2] if loop.start else numbers[1:2]
        lines.append(f"{indent}for {loop.name} in range({', '.join(map(str, shown))}):")
        indent += "    "
    for number, result in enumerate(nest.results):
        place, value = element(result.array, result.access), sum_of(result.terms, element)
        if nest.is_behind:
            lines.append(f"{indent}t{number} += {value}")
        elif result.operator in ("max", "min"):
            lines.append(f"{indent}{place} = {result.operator}({place}, {value})")
        elif result.operator and nest.random.random() < 0.3:
            lines.append(f"{indent}{place} = {place} {result.operator} ({value})")
        else:
            lines.append(f"{indent}{place} {COMBINED[result.operator]} {value}")
    for number, result in enumerate(nest.results if nest.is_behind else []):
        lines.append(f"{behind}{element(result.array, result.access)} = "
                     f"{sum_of(((1, f't{number}', None), *result.behind), element)}")
    arguments = ", ".join([*nest.outputs, *nest.inputs])
    return f"@mdh({_declared(nest)})\ndef {name}({arguments}):\n" + "\n".join(lines) + "\n"


def executed_by_python(nest, name, source, contents):
    """What CPython makes of the loops, as executed_by_c."""
    inputs, outputs = arrays_of(nest, contents), started(nest)
    source = source[source.index("def "):]
    head, body = source.split("\n", 1)
    for array in [*nest.inputs.values(), *nest.outputs.values()]:
        if not array.extents:
            body = re.sub(rf"\b{array.name}\b", f"{array.name}[()]", body)
    names = {}
    with np.errstate(all="ignore"):
        exec(compile(f"{head}\n{body}", name, "exec"), names)
        names[name](**inputs, **outputs)
    return {array: values.ravel().tolist() for array, values in outputs.items()}


def _operators(nest, concat, reduced):
    return ", ".join(concat if loop.name in nest.kept else reduced for loop in nest.loops)


def python_notation(nest, name):
    """A function of out_view, md_hom and inp_view under @mdh."""
    point = ", ".join(loop.name for loop in nest.loops)

    def views(kind, arrays):
        types = ", ".join([nest.type] * len(arrays))
        accesses = [f"{array.name}=[" + ", ".join(
            f"lambda {point}: ({''.join(f'{index.text()}, ' for index in access)})"
            for access in array.accesses) + "]" for array in arrays.values()]
        return f"{kind}[{types}]({', '.join(accesses)})"

    def element(kind, array, access):
        return f"{kind}['{array.name}']" + (f"[{access}]" if len(array.accesses) > 1 else "")

    body = [f"        {element('out', nest.outputs[result.array], result.access)} = " + sum_of(
        result.terms, lambda of, access: element("inp", nest.inputs[of], access)) for result in nest.results]
    names = {"+": "add", "*": "mul", "": "add"}
    operations = [names.get(result.operator, result.operator) for result in nest.results]
    reduced = f"pw({', '.join(operations if len(set(operations)) > 1 else operations[:1])})"
    return "\n".join([
        f"@mdh({_declared(nest)})", f"def {name}():", "    def f(out, inp):", *body, "",
        f"    return ({views('out_view', nest.outputs)},",
        f"            md_hom[{', '.join(str(len(loop.values({}))) for loop in nest.loops)}](",
        f"                f, ({_operators(nest, 'cc', reduced)},)),",
        f"            {views('inp_view', nest.inputs)})", ""])


# The text form.


def text_form(nest, name):
    """A definition; of a chain, a pipeline and its definitions."""
    if not hasattr(nest, "nests"):
        return _definition(nest, name)
    steps = [f"  ({', '.join(part.outputs)}) = {name}_{number}({', '.join(part.inputs)})"
             for number, part in enumerate(nest.nests)]
    return "\n".join([
        f"{name} := pipeline({', '.join(nest.inputs)}) -> ({', '.join(nest.outputs)}) {{", ";\n".join(steps), "}",
        *(_definition(part, f"{name}_{number}") for number, part in enumerate(nest.nests))])


def _definition(nest, name):
    point = f"({','.join(loop.name for loop in nest.loops)})"
    parameters = {(array.name, access): f"p{array.name}_{access}" for array in nest.inputs.values()
                  for access in range(len(array.accesses))}

    def views(kind, arrays):
        def buffer(array):
            extents = f"[{','.join(map(str, array.extents))}]" if array.is_given or array.strides else ""
            strides = f" strides ({','.join(map(str, array.strides))})" if array.strides else ""
            accesses = ", ".join(f"{point} -> ({', '.join(index.text() for index in access)})"
                                 for access in array.accesses)
            return f"{array.name}{extents}{strides}{' keep' * array.keeps}: {accesses}"

        types = ", ".join([nest.type] * len(arrays))
        return f"{kind}<{types}>( {', '.join(map(buffer, arrays.values()))} )"

    operations = [result.operator or "+" for result in nest.results]
    reduced = operations[0] if len(set(operations)) == 1 else f"({', '.join(operations)})"
    body = "; ".join(f"r{number} = " + sum_of(result.terms, lambda *of: parameters[of])
                     for number, result in enumerate(nest.results))
    results = ", ".join(f"r{number}" for number in range(len(nest.results)))
    return "\n".join([
        f"{name} := {views('out_view', nest.outputs)} o",
        f"  md_hom<{','.join(str(len(loop.values({}))) for loop in nest.loops)}>( f, "
        f"({_operators(nest, '++', reduced)}) ) o",
        f"  {views('inp_view', nest.inputs)}",
        f"where f({', '.join(parameters.values())}) -> ({results}) {{ {body} }}", ""])


# TeML.


def _ranges(nest, uses):
    """How far TeML's iterators go (deploy/docs/teml.md): (index, extent) of everything that an assignment
    uses. None: it is not said, or two plain uses contradict each other."""
    ranges = {}
    for index, extent in uses:
        if len(index.factors) == 1 and index.text() == index.factors[0][0]:
            if ranges.setdefault(index.factors[0][0], extent) != extent:
                return None
    found = {}
    for index, extent in uses:
        if len(index.factors) == 1 and index.factors[0][0] not in ranges:
            name, factor = index.factors[0]
            room = extent - 1 - index.constant if factor > 0 else index.constant
            found[name] = min(found.get(name, room // abs(factor) + 1), room // abs(factor) + 1)
    ranges.update(found)
    return ranges if len(ranges) == len(nest.loops) else None


def teml(nest):
    """A program with an assignment for each output, in loops that are transformed a little; "": it cannot
    be said as TeML, where extents say how far iterators go."""
    parts = of_chain(nest)
    lines = [f"type = {nest.type}"]
    for array in {**nest.inputs, **parts[0].outputs, **nest.outputs}.values():
        shape = f"tensor([{', '.join(map(str, array.extents))}])" if array.extents else "scalar()"
        lines.append(f"{array.name} = {shape}")
    for part in parts:
        for result in part.results:
            if not _is_teml(part, result):
                return ""
            lines += _assignment(part, result)
    return "\n".join(lines) + "\n"


def _is_teml(nest, result):
    target, names = nest.outputs[result.array], [loop.name for loop in nest.loops]
    uses = list(zip(target.accesses[0], target.extents))
    for _, of, access in result.terms:
        uses += zip(nest.inputs[of].accesses[access], nest.inputs[of].extents)
    # What the loops leave at elements that they do not reach must be zero, too.
    is_whole = all(index.text() in names for index in target.accesses[0])
    return (is_whole or result.operator in ("", "+")) and _ranges(nest, uses) == {
        loop.name: len(loop.values({})) for loop in nest.loops}


def _listed(access):
    return f"[{', '.join(index.text() for index in access)}]" if access else ""


def _assignment(nest, result):
    y, operands = result.array, [name for _, name, _ in result.terms]
    out = _listed(nest.outputs[y].accesses[0])
    lists, to = [_listed(nest.inputs[name].accesses[access]) for _, name, access in result.terms], out or "[]"
    lines = []
    if result.operator:
        if len(operands) > 1:
            lines.append(f"t{y} = vadd({', '.join(operands)}, [{', '.join(lists)}])")
            operands, lists = [f"t{y}"], [""]
        function = {"+": "add", "*": "mul"}.get(result.operator, result.operator)
        lines.append(f"{y} = {function}({y}, {operands[0]}, [{out}, {lists[0]}] -> {to})")
    elif len(operands) == 1:
        lines.append(f"{y} = eq({operands[0]}, {lists[0]} -> {to})")
    else:
        lines.append(f"{y} = add({', '.join(operands)}, [{', '.join(lists)}] -> {to})")
    count, chosen = len(nest.loops), nest.random.randrange(6)
    loops = {0: f"stripmine(l{y}, 1, {nest.random.randint(2, 3)})", 1: f"parallelize(l{y}, 1)",
             2: f"interchange(l{y}, 1, {count})" if count > 1 else "", 3: f"tile(l{y}, 2)"}
    if loops.get(chosen):
        lines += [f"l{y} = build({y})", f"l{y} = {loops[chosen]}"]
    return lines

