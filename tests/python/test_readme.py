"""The commands and programs of README.md, its indented blocks, are run in their order, in one shell."""

import re

from conftest import SOURCE
from test_documentation import lacking_modules, shell  # noqa: F401  (a fixture)

# Beginnings of lines that are not run, and why.
NOT_RUN = {
    "deploy/": "installs, builds or measures; tests/build/scripts_test.cc has the options",
    "cmake --preset": "builds",
    "export PATH": "of what was built",
    "mdh --server otherhost": "there is no other host",
    "mdh pin records/0123": "there is no such record",
    "mdh admin backup": "tests/end_to_end/care_test.cc: the daemon has no folder for that",
    "mdh tune client/expressions/matmul.mdh --set I=512 --device cuda": "there is no GPU",
    "mdh kernel client/expressions/matmul.mdh --set I=512 --device cuda0": "there is no GPU",
    "cmake -S client/examples/embed": "InstallTest",
    "build/embed": "InstallTest",
    "mdh tune-program client/examples/matmul.yaml --resume": "takes two minutes; tests/end_to_end/tune_program_test.cc",
    "mdh compare-techniques": "takes long; test_json.py has a small table",
}
# Left out where the daemon finds no device of OpenCL.
OPENCL = ("mdh tune-program client/examples/saxpy_opencl", "python3 saxpy.py")
# Counts that a test has no time for.
SHORTER = [(r"--trials \d+", "--trials 3"), (r"Evaluations\(50\)", "Evaluations(5)")]
# Paragraphs that are no commands, or only with what is not there.
NO_COMMANDS = {
    "$ mdhd": "tests/end_to_end/access_test.cc",
    "#include": "of a program: deploy/docs/tutorial.md",
    "study:": "client/examples/matmul.yaml, shortened",
}
# Blocks that are contents of files, by how they begin: the file, with what stands around, what is run once it is
# there, and which module that needs. All files are there before the first command.
FILES = {
    "matmul<T = fp32": ("matmul.mdh", "{}", "mdh check matmul.mdh --set I=512", ""),
    "void matmul": ("loops.c", "{}", "true", ""),
    "import mdh, mdh.torch": (
        "layer.py", "import torch\na, b = torch.rand(4, 5), torch.rand(5, 6)\n{}\ntorch.testing.assert_close(c, a @ b)",
        "python3 layer.py", "torch"),
    "import numpy": ("saxpy.py", "{}", "python3 saxpy.py", "numpy"),
}


def indented_blocks(text):
    """The text of each, without its indentation."""
    found = re.findall(r"(?<=\n\n)(?:    .*\n|\n(?=    ))+", text)
    return [re.sub("^    ", "", block, flags=re.M) for block in found]


def beginning(table, line, used):
    found = next((key for key in table if line.startswith(key)), None)
    used.add(found)
    return found


def test_blocks_are_found():
    assert indented_blocks("a\n\n    b\n\n    c\nd\n    e\n\n     f\n") == ["b\n\nc\n", " f\n"]


def test_what_the_readme_shows_works(shell, short_folder):  # noqa: F811
    text = (SOURCE / "README.md").read_text()
    for pattern, shorter in SHORTER:
        text = re.sub(pattern, shorter, text)
    lacks, used, problems, commands = lacking_modules(), set(), [], []
    for name in ("client", "core", "deploy", "tests"):
        (short_folder / name).symlink_to(SOURCE / name)
    (short_folder / "my_device.json").write_text((SOURCE / "deploy" / "devices" / "t4.json").read_text())
    for block in indented_blocks(text):
        if file := beginning(FILES, block, used):
            name, around, command, module = FILES[file]
            (short_folder / name).write_text(around.format(block))
            commands += [command] if module not in lacks else []
            continue
        for paragraph in block.split("\n\n"):
            if beginning(NO_COMMANDS, paragraph, used) is None:
                commands += [line for line in paragraph.splitlines() if beginning(NOT_RUN, line, used) is None]
    for command in commands:
        if command.startswith(OPENCL) and shell.run("mdh devices | grep '^devices/opencl'")[0] != 0:
            continue
        status, printed = shell.run(command)
        if status != 0:
            problems.append(f"$ {command}: exit {status}: {printed[-2000:]}")
    assert problems == []
    assert {*NOT_RUN, *FILES, *NO_COMMANDS} <= used, "the README has no such block any longer"
