"""Builds the package; the modules of mdh.v1 are generated from proto/ by protoc."""

import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"
# What a client needs; the other files are internal to the daemon.
FILES = ("candidate", "device", "expression", "kernel", "launch", "program", "record", "restriction",
         "study", "tuning")


def protoc():
    """The command of the compiler: that of the system, or that of the package grpcio-tools."""
    if shutil.which("protoc"):
        return ["protoc"]
    try:
        import grpc_tools.protoc  # noqa: F401
    except ImportError:
        sys.exit("mdh: neither protoc (Debian: protobuf-compiler) nor grpcio-tools is installed")
    return [sys.executable, "-m", "grpc_tools.protoc"]


class BuildWithProto(build_py):
    """build_py that adds the generated modules."""

    def run(self):
        super().run()
        if not PROTO.is_dir():
            sys.exit(f"mdh: {PROTO} is missing: build the package from the project's repository")
        files = [f"mdh/v1/{name}.proto" for name in FILES]
        target = pathlib.Path(self.build_lib).resolve()
        subprocess.run([*protoc(), "-I", str(PROTO), f"--python_out={target}", *files],
                       cwd=PROTO, check=True)


# pip installs these beside setuptools while it builds.
setup(cmdclass={"build_py": BuildWithProto},
      setup_requires=[] if shutil.which("protoc") else ["grpcio-tools"])
