"""Messages for what is wrong in Python: every case of bad_python.txt, against a golden file.

The golden file is rewritten by MDH_UPDATE_GOLDEN=1.
"""

import linecache
import os
import pathlib

import pytest

import mdh
from mdh import (
    Buffer, MdhError, Record, fp32, inp, inp_view, int32, md_hom, mul, out, out_view,
)

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden" / "errors.txt"
Pair = Record(a=fp32, b=fp32)


def build(view, *declarations):
    """y[i] = the product of `view`."""
    return mdh.mdh(*declarations)(lambda: (
        out_view[fp32](y=[lambda i: (i)]), md_hom[8](mul, mdh.cc), view))


def hom(function, outputs, inputs, operator=mdh.cc):
    def expression():
        return outputs, md_hom[8](function, operator), inputs

    return mdh.mdh(expression)


def copy(f):
    return hom(f, out_view[fp32](y=[lambda i: (i)]),
               inp_view[fp32, int32](x=[lambda i: (i)], n=[lambda i: (i)]))


def stencil(f):
    return hom(f, out_view[fp32](y=[lambda i: (i)]),
               inp_view[fp32](s=[lambda i: (i), lambda i: (i + 1)]))


def twice(f):
    return hom(f, out_view[fp32](t=[lambda i: (2 * i), lambda i: (2 * i + 1)]),
               inp_view[fp32](s=[lambda i: (i), lambda i: (i + 1)]))


def pairs(f):
    return hom(f, out_view[Pair](p=[lambda i: (i)]), inp_view[Pair](q=[lambda i: (i)]))


def reduce(operator, f=mul):
    return hom(f, out_view[fp32](y=[lambda i: ()]), inp_view[fp32](x=[lambda i: (i)]), operator)


def rows(store, f=mul):
    """y[i] = store(the sum of row i)."""
    return mdh.mdh(lambda: (
        out_view[fp32](y=[lambda i, k: (i)]), md_hom[8, 8](f, (mdh.cc, mdh.pw(mdh.add)), store),
        inp_view[fp32](x=[lambda i, k: (i, k)])))


def loops(function):
    return mdh.mdh(out(y=Buffer[fp32]), inp(x=Buffer[fp32]))(function)


def cases():
    parts = (HERE / "bad_python.txt").read_text().split("=== ")[1:]
    return [tuple(part.split("\n", 1)) for part in parts]


def message_of(code):
    """What running `code` says."""
    file = "case.py"
    linecache.cache[file] = (len(code), None, code.splitlines(True), file)
    names = {"__name__": "case", "N": 8}
    exec("from mdh import *", names)
    names.update((n, globals()[n]) for n in (
        "build", "copy", "hom", "stencil", "twice", "pairs", "reduce", "rows", "loops", "Pair"))
    with pytest.raises(MdhError) as caught:
        exec(compile(code, file, "exec"), names)
    assert isinstance(caught.value, mdh.ExpressionError)
    return str(caught.value).replace(str(HERE) + os.sep, "")


def golden():
    parts = GOLDEN.read_text().split("=== ")[1:] if GOLDEN.exists() else []
    return dict(part.split("\n", 1) for part in parts)


if os.environ.get("MDH_UPDATE_GOLDEN"):
    def test_golden_file_is_rewritten():
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("".join(f"=== {n}\n{message_of(c)}\n" for n, c in cases()))


@pytest.mark.parametrize("name, code", cases(), ids=[name for name, _ in cases()])
def test_message(name, code):
    assert message_of(code) + "\n" == golden().get(name)


def test_loops_without_a_source():
    names = {"mdh": mdh, "loops": loops}
    code = "@loops\ndef f(y, x):\n    for i in range(3):\n        y[i] = x[i]\n"
    with pytest.raises(mdh.ExpressionError, match="the source of 'f' cannot be read"):
        exec(compile(code, "nowhere.py", "exec"), names)


def test_names_of_cases_are_distinct():
    names = [name for name, _ in cases()]
    assert len(names) == len(set(names))
    assert list(golden()) == names
