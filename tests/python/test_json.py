"""Every command of `mdh` that prints results prints JSON with --json."""

import json
import re
import subprocess

from conftest import EXPRESSIONS

# Those that print no results: scripts, pages for man, files, nothing.
OTHERS = {"completion", "manual", "print", "admin export", "study delete"}
MATVEC = [EXPRESSIONS / "matvec.mdh", "--set", "I=96", "--set", "K=64"]


def all_commands(mdh):
    """From the completion, which has all of them with their options."""
    script = subprocess.run([mdh, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    commands = set(re.findall(r"^    '([a-z -]+)'\) candidates=", script, re.M))
    return {c for c in commands if not any(other.startswith(c + " ") for other in commands)}


def test_every_command_prints_json(mdh, daemon, short_folder):
    seen = set()

    def run(words, exit_code=0):
        words = [str(word) for word in words]
        ended = subprocess.run([mdh, "--server", daemon.address, "--json", *words], capture_output=True,
                               text=True, cwd=short_folder)
        assert ended.returncode == exit_code, (words, ended.stderr)
        seen.add(" ".join(words[:2]) if words[0] in ("admin", "schedule", "study") else words[0])
        return json.loads(ended.stdout)

    job = run(["tune", *MATVEC, "--budget", "60s", "--trials", "3"])["job"]["name"]
    run(["watch", job])
    assert run(["jobs"])["jobs"]
    assert run(["trials", job])["trials"]
    for command in ("pause", "resume"):  # of a job that has ended: an error, and nothing on standard output
        ended = subprocess.run([mdh, "--server", daemon.address, "--json", command, job], capture_output=True)
        assert (ended.returncode, ended.stdout) == (1, b"")
        seen.add(command)
    run(["cancel", job])
    found = run(["lookup", *MATVEC])
    record = found["record"]["name"]
    (short_folder / "record.json").write_text(json.dumps(found))
    run(["put", "record.json", "--check"])
    assert [r["name"] for r in run(["records", "--expression", "matvec"])["records"]].count(record) == 1
    assert run(["pin", record])["is_pinned"]
    assert not run(["unpin", record])["is_pinned"]
    assert run(["kernel", *MATVEC, "--output", "kernels"])["files"]
    page = (short_folder / run(["report", job])["file"]).read_text()
    bounds = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page)[1])["bounds"]
    assert sum(one["configurations"] for one in bounds["classes"]) == bounds["configurations"] > 0
    assert "tile" in run(["schedule", "show", record])["schedule"]
    (short_folder / "pinned").write_text("cores: parts i=1\n")
    for command in ("check", "count"):
        assert int(run(["schedule", command, *MATVEC, "--schedule", "pinned"])["count"]) > 0
    assert run(["explore", *MATVEC])["decisions"]
    run(["report", "--cache"])
    assert run(["top"])["devices"]
    assert run(["devices"])["devices"]
    assert run(["devices", "cpu"])["name"] == "devices/cpu"
    run(["devices", "--known"])
    assert run(["check", *MATVEC])["digest"]
    assert run(["version"])["version"]
    subprocess.run([mdh, "--server", daemon.address, "admin", "export", "bundle"], check=True, cwd=short_folder)
    run(["admin", "import", "bundle", "--check"])
    for command in ("stats", "capabilities", "check", "health"):
        run(["admin", command])
    run(["admin", "gc", "--check"])
    ended = subprocess.run([mdh, "--server", daemon.address, "--json", "admin", "backup"], capture_output=True)
    assert (ended.returncode, ended.stdout) == (1, b"")  # this daemon has no folder for them
    seen.add("admin backup")
    (short_folder / "study.yaml").write_text(
        "study:\n  parameters:\n    - {name: N, interval: {first: 1, last: 3}}\n  abort: evaluations(3)\n"
        "command:\n  run: echo cost {N}\n  cost_pattern: 'cost ([0-9]+)'\n")
    study = run(["tune-program", "study.yaml"])["study"]
    assert run(["study", "list"])["studies"]
    for command in ("show", "trials", "export", "cancel"):
        run(["study", command, study])
    costs = next((EXPRESSIONS.parent.parent / "tests" / "benchmarks" / "recorded").glob("*.costs"))
    run(["compare-techniques", costs, "--techniques", "random", "--seeds", "1", "--evaluations", "20"])
    run(["forget", record])
    assert all_commands(mdh) == seen | OTHERS
