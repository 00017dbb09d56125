"""Kernels as inputs of builds: what is wrong in calls of mdh_add_kernel, and the rules of Bazel where it is.
What is right is run from deploy/docs/builds.md."""

import re
import shutil
import subprocess

import pytest
from conftest import SOURCE

KERNELS = SOURCE / "client" / "mdh-kernels.cmake"


@pytest.mark.parametrize("call, error", [
    ("product", "EXPRESSION is missing"),
    ("product EXPRESSION a.mdh SIZES I=4", "what is SIZES;I=4? It takes EXPRESSION SET NAME BUNDLE"),
    ("product EXPRESSION", "what is EXPRESSION?"),
    ("product EXPRESSION a.mdh BUNDLE b.mdhb SERVER unix:s", "with BUNDLE no SERVER is asked"),
    ("product EXPRESSION a.mdh LANGUAGE HIP", "LANGUAGE is C, CUDA or OpenCL, not HIP"),
    ("product EXPRESSION a.mdh", "there is no program mdh; set MDH_PROGRAM"),
])
def test_cmake_says_what_is_wrong(call, error, tmp_path):
    (tmp_path / "call.cmake").write_text(
        f"set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\nset(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n"
        f"include({KERNELS})\nmdh_add_kernel({call})\n")
    ended = subprocess.run(["cmake", "-P", "call.cmake"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode != 0
    assert f"mdh_add_kernel(product): {error}" in re.sub(r"\s+", " ", ended.stderr)


# Debian's Bazel wants these two from the network, but takes folders in their place.
RULES = {
    "rules_cc/cc/defs.bzl": "".join(f"{name} = native.{name}\n" for name in (
        "cc_library", "cc_binary", "cc_test", "cc_import", "cc_toolchain", "cc_toolchain_suite")) + "".join(
        f"def {name}(**kwargs): native.filegroup(name = kwargs['name'])\n"
        for name in ("cc_flags_supplier", "compiler_flag")),
    "rules_java/java/defs.bzl": "".join(f"{name} = native.{name}\n" for name in (
        "java_import", "java_library", "java_binary", "java_toolchain", "java_runtime",
        "java_package_configuration")),
}


@pytest.mark.skipif(shutil.which("bazel") is None, reason="there is no Bazel")
def test_bazel_tunes_and_builds(daemon_program, short_folder):
    work = short_folder / "work"
    for path, text in RULES.items():
        folder = (short_folder / path).parent
        folder.mkdir(parents=True)
        (short_folder / path).write_text(text)
        (folder / "BUILD").write_text("")
        (folder.parent / "WORKSPACE").write_text("")
        (folder.parent / "BUILD").write_text("")
    work.mkdir()
    document = (SOURCE / "deploy" / "docs" / "builds.md").read_text()
    for file in ("BUILD", "multiply.c"):
        text = re.search(rf"```\w+ file={file}\n(.*?)```", document, flags=re.S).group(1)
        (work / file).write_text(text.replace("60s", "1s"))
    (work / "WORKSPACE").write_text("")
    shutil.copy(SOURCE / "deploy" / "bazel" / "mdh.bzl", work)
    shutil.copy(SOURCE / "client" / "expressions" / "matmul.mdh", work)
    tools = work / "mdh_tools"
    tools.write_text(f'#!/bin/sh\nPATH={daemon_program.parent}:$PATH exec "$@"\n')
    tools.chmod(0o755)
    with open(work / "BUILD", "a") as build:
        build.write('exports_files(["mdh_tools"])\n')

    def bazel(*words):
        return subprocess.run(
            ["bazel", "--batch", f"--output_user_root={short_folder}/bazel", *words,
             *(f"--override_repository={name}={short_folder}/{name}" for name in ("rules_cc", "rules_java"))],
            cwd=work, capture_output=True, text=True)

    built = bazel("build", "//:multiply")
    assert built.returncode == 0, built.stderr
    assert subprocess.run([work / "bazel-bin" / "multiply"], capture_output=True, text=True).stdout == "128\n"
    # From a bundle in the source tree nothing else than mdh runs.
    shutil.copy(work / "bazel-bin" / "records.mdhb", work / "kernels.mdhb")
    (work / "BUILD").write_text((work / "BUILD").read_text().replace('":records"', '"kernels.mdhb"'))
    again = bazel("build", "//:matmul")
    assert again.returncode == 0, again.stderr
    subprocess.run(["chmod", "-R", "u+w", short_folder / "bazel"], check=True)
