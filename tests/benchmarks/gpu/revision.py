"""Which version is measured."""

from __future__ import annotations

import subprocess

from .cases import ROOT


def commit() -> str:
    """Of the package, or of the source tree."""
    file = ROOT.parent / "commit"
    if file.is_file():
        return file.read_text(encoding="utf-8").strip()
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"
