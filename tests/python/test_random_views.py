"""Random strided views and interiors through every front end: what it makes of a text is what the system's
compiler, CPython or a plain execution point by point makes of it, by the interpreter, by kernels for OpenMP
and, of some, for OpenCL; elements that nothing reaches are zero, or left as they are.

MDH_RANDOM_VIEWS=1000 in the environment tries as many of each front end; 4 without it. MDH_TEST_SEED repeats a run.
"""

import importlib.util
import os
import random
import subprocess

import pytest

import mdh

np = pytest.importorskip("numpy")
import random_views  # noqa: E402
import view_texts  # noqa: E402

COUNT = int(os.environ.get("MDH_RANDOM_VIEWS", "4"))
SEED = os.environ.get("MDH_TEST_SEED") or str(random.SystemRandom().randrange(10**9))
OPENCL_ONE_IN = 4


@pytest.fixture
def judge(daemon_program, tmp_path):
    """Judges the texts in tmp_path on OpenMP, and some on OpenCL where there is a device."""
    program = daemon_program.parent.parent / "tests" / "judge_texts"
    if not program.exists():
        pytest.skip(f"{program} has not been built")

    def judge():
        for backend, one_in in (("openmp", 1), ("opencl", OPENCL_ONE_IN)):
            ended = subprocess.run([program, "--backend", backend, "--one-in", str(one_in), tmp_path],
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if ended.returncode == 3 and backend == "opencl":
                continue
            print(ended.stdout)
            assert ended.returncode == 0, repeated(ended.stdout)

    return judge


def repeated(message):
    return f"MDH_TEST_SEED={SEED} repeats this run\n{message}"


def nests(front_end, options):
    """So many nests, with their names."""
    for number in range(COUNT):
        yield f"{front_end}{number}", random_views.drawn(f"{SEED} {front_end} {number}", options)


def write(folder, name, ending, text, contents, results):
    """A text with what it computes."""
    lines = [f"{kind} {array} {' '.join(map(str, values))}" for kind, arrays in (("in", contents), ("out", results))
             for array, values in arrays.items()]
    (folder / f"{name}.values").write_text("\n".join(lines) + "\n")
    file = folder / f"{name}{ending}"
    file.write_bytes(text) if isinstance(text, bytes) else file.write_text(text)


def check(text, results, executed):
    """Who else executed the text has the results, too, and left the rest as it was."""
    for name, values in results.items():
        expected = [view_texts.FORMER if value == "-" else value for value in values]
        assert executed[name] == expected, repeated(f"{name}\n{text}")


def test_loops_of_c(judge, request, tmp_path):
    program = request.getfixturevalue("mdh")
    texts = [view_texts.CText(nest, name) for name, nest in nests("c", view_texts.C_LOOPS)]
    library = view_texts.compiled(texts, tmp_path)
    for text in texts:
        contents = text.nest.contents()
        results = text.nest.computed(contents)
        check(text.text, results, view_texts.executed_by_c(library, text, contents))
        (tmp_path / f"{text.name}.c").write_text(text.text)
        read = subprocess.run([program, "print", tmp_path / f"{text.name}.c"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert read.returncode == 0, repeated(f"{read.stderr}\n{text.text}")
        write(tmp_path, text.name, ".mdh", read.stdout, contents, results)
    judge()


def test_text_form(judge, tmp_path):
    for name, nest in nests("text", view_texts.TEXT):
        contents = nest.contents()
        write(tmp_path, name, ".mdh", view_texts.text_form(nest, name), contents, nest.computed(contents))
    judge()


def messages(sources, folder):
    """What @mdh makes of functions, by name."""
    file = folder / "functions.py"
    file.write_text("from mdh import *\nfrom builtins import *\n\n\n" + "\n\n".join(sources.values()))
    spec = importlib.util.spec_from_file_location("functions", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, name).to_proto().SerializeToString() for name in sources}


def test_loops_of_python(judge, tmp_path):
    of_name = dict(nests("python", view_texts.PYTHON_LOOPS))
    sources = {name: view_texts.python_loops(nest, name) for name, nest in of_name.items()}
    for name, message in messages(sources, tmp_path).items():
        contents = of_name[name].contents()
        results = of_name[name].computed(contents)
        executed = view_texts.executed_by_python(of_name[name], name, sources[name], contents)
        check(sources[name], results, executed)
        write(tmp_path, name, ".pb", message, contents, results)
    judge()


def test_notation_of_python(judge, tmp_path):
    of_name = dict(nests("notation", view_texts.NOTATION))
    sources = {name: view_texts.python_notation(nest, name) for name, nest in of_name.items()}
    for name, message in messages(sources, tmp_path).items():
        contents = of_name[name].contents()
        write(tmp_path, name, ".pb", message, contents, of_name[name].computed(contents))
    judge()


def test_teml(judge, tmp_path):
    number = 0
    for n in range(COUNT):
        text = ""
        while not text:
            nest = random_views.drawn(f"{SEED} teml {number}", view_texts.TEML)
            text = view_texts.teml(nest)
            number += 1
        contents = nest.contents()
        write(tmp_path, f"teml{n}", ".teml", text, contents, nest.computed(contents))
    judge()


def random_einsum(rng):
    """Subscripts with diagonals, and the shapes of the operands, some dimensions of which have one element
    for all of a letter."""
    sizes = {letter: rng.choice((0, 1, 2, 3, 5, 7) if rng.random() < 0.1 else (1, 2, 3, 5, 7)) for letter in "abcd"}
    words = [rng.choices("abcd", k=rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
    shapes = [tuple(1 if word.count(letter) == 1 and rng.random() < 0.1 else sizes[letter] for letter in word)
              for word in words]
    letters = sorted({letter for word in words for letter in word})
    output = rng.sample(letters, rng.randint(0, min(len(letters), 3)))
    return f"{','.join(map(''.join, words))}->{''.join(output)}", shapes


def test_einsum(judge, tmp_path):
    for number in range(COUNT):
        rng = random.Random(f"{SEED} einsum {number}")
        subscripts, shapes = random_einsum(rng)
        operands = [np.array([rng.randint(-9, 9) for _ in range(int(np.prod(shape)))], "int64").reshape(shape)
                    for shape in shapes]
        expected = np.einsum(subscripts, *operands)
        message = mdh.einsum(subscripts, *shapes, dtype=mdh.int64).to_proto().SerializeToString()
        contents = {name: array.ravel().tolist() for name, array in zip("ABC", operands)}
        write(tmp_path, f"einsum{number}", ".pb", message, contents, {"out": expected.ravel().tolist()})
    judge()


def test_the_judge_finds_what_is_wrong(judge, tmp_path):
    text = ("view := out_view<int32>( y[5]{}: (i) -> (2*i + 1) ) o md_hom<2>( f, (++) ) o\n"
            "inp_view<int32>( x: (i) -> (i) ) where f(x) -> y {{ y = x }}")
    cleared, kept = text.format(""), text.format(" keep")
    messages = []
    for number, (one, values, message) in enumerate((
            (cleared, [0, 1, 0, 2, 0], ""),
            (kept, ["-", 1, "-", 2, "-"], ""),
            (cleared, [0, 1, 0, 3, 0], "y[3] is 2, a result, by the interpreter, but 3 is right"),
            (cleared, [0, 1, "-", 2, 0], "y[2] is 0, cleared, by the interpreter, but left as it is is right"),
            (kept, ["-", 1, "-", 2, 0], "y[4] is 0, left as it is, by the interpreter, but 0 is right"),
            (cleared, [0, 1, 0, 2], "y has 5 elements, but 4 values are given"),
            (cleared, [0, 1, 0, "2;", 0], "'2;' is no value of y"),
            (cleared.replace("y[", "z["), [], "there are no values of z"),
            (cleared.replace("++", "+"), [], f"{tmp_path}/view8.mdh:1:"))):
        write(tmp_path, f"view{number}", ".mdh", one, {"x": [1, 2]}, {"y": values})
        messages += [f"FAILED: {tmp_path}/view{number}.mdh: {message}"] if message else []
    with pytest.raises(AssertionError) as error:
        judge()
    assert all(message in str(error.value) for message in messages), error.value
    assert f"9 texts on OpenMP, {len(messages)} failures" in str(error.value)
