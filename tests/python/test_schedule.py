"""Schedules: the builder, the client's calls, and the commands."""

import json
import subprocess

import examples
import pytest

import mdh
from conftest import EXPRESSIONS

TILED = """
I = 64  J = 32  K = 16
A = tensor([I, K])
B = tensor([K, J])
C = contract(A, B, [2, 1])
l = build(C)
l = tile(l, 8)
l = parallelize(l, 1)
"""
TWO_STEPS = """
N = 64
A = tensor([N, N])
s = tensor([N])
s = add(s, A, [[i], [i, k]] -> [i])
B = div(A, s, [[i, k], [i]] -> [i, k])
l1 = build(s)
l1 = parallelize(l1, 1)
l2 = build(B)
l2 = interchange(l2, 1, 2)
codegen(l1, l2)
"""


def test_lines_of_the_builder():
    schedule = (mdh.Schedule().for_models("CUDA", "OpenCL").tile("BLK", i={16, 8}, j="whole", k=None)
                .parts("COR", i=range(2, 9, 2)).order("L2", "k", ..., "j").order("BLK.i", ..., "DEV.k")
                .on("THR", i="y", j="x").along("j").copy("A", at="L2").copy("B").copy("C", at="whole")
                .input("A", "layout (k, i)").output("C", "in RM from DEV.k").fuse("i", "j").separate("k")
                .option(remainder="!overlap", unroll=64).require("tile(L2, k) <= 64").for_models())
    assert str(schedule) == """\
for CUDA, OpenCL:
BLK: tile i={8, 16}, j=whole, k=?
COR: parts i=2..8 step 2
L2: order k, .., j
order BLK.i, .., DEV.k
THR: on i=y, j=x
lanes: along j
input A: copy at L2
input B: copy never
input C: copy whole
input A: layout (k, i)
output C: in RM from DEV.k
fuse(i, j)
separate(k)
remainder=!overlap; unroll=64
require tile(L2, k) <= 64
for all:
"""


def test_lines_of_pipelines():
    schedule = (mdh.Schedule().edge("scores", "weights", {"stage", "inline"}).siblings(("q", "k"), others=True)
                .siblings().split("interp").split(others=True)
                .together("scores", "weights", by="(i, j)", part={"i": {8, 4}}, streamed="none", rows=2)
                .together("a", "b").alone("total")
                .step("scores", mdh.Schedule().tile("L1", i=4)))
    assert str(schedule) == """\
edge scores -> weights = {inline, stage}
siblings (q, k), ..
siblings none
split interp
split ..
together(scores, weights): by (i, j); part i={4, 8}; streamed none; rows=2
together(a, b)
alone(total)
step scores:
L1: tile i=4
"""


@pytest.mark.parametrize("make, message", [
    (lambda: mdh.Schedule().tile("L2", k=1.5), "1.5 is no value of a schedule"),
    (lambda: mdh.Schedule().tile("L2", k=True), "True is no value of a schedule"),
    (lambda: mdh.Schedule().tile("L2", k=range(4, 4)), "is empty"),
    (lambda: mdh.Schedule().tile("L2", k=[]), "a choice of nothing"),
    (lambda: mdh.Schedule().tile("L2"), "tile of L2 names no dimension"),
])
def test_what_is_no_schedule(make, message):
    with pytest.raises(mdh.ExpressionError, match=message):
        make()


def test_the_daemon_checks_and_tunes(client):
    expression = examples.matmul_loops(64, 64, 64)
    free = client.check_schedule(expression)
    assert free.canonical == "" and free.count > 1
    pinned = mdh.Schedule().tile("L2", k=16)
    checked = client.check_schedule(expression, pinned, vary="remainder")
    assert 0 < checked.count and "k=16" in checked.canonical and "tile=" in checked.example
    assert set(checked.alternatives) == {"variants", "vectors", "overlap"}
    with pytest.raises(mdh.MdhError, match=r"<schedule>:1:1: unknown layer 'L9'"):
        client.check_schedule(expression, "L9: tile k=16")
    with pytest.raises(mdh.MdhError, match="is no decision to vary"):
        client.check_schedule(expression, vary="everything")
    tuned = client.tune(expression, schedule=pinned, max_trials=3)
    again = tuned.schedule()
    assert "k=16" in str(again) and len(str(again).splitlines()) <= 13
    # As it was found, but for what has no effect.
    replayed = client.tune(expression, schedule=again, max_trials=3)
    assert replayed.schedule() == again and replayed.name != tuned.name
    assert client.lookup(expression, schedule=pinned).tuned.name == tuned.name
    assert client.best_kernel(expression, schedule="L2: tile k=2*8").tuned.name == tuned.name
    with pytest.raises(mdh.NotFoundError):
        client.lookup(expression, schedule="L2: tile k=8")
    with pytest.raises(mdh.MdhError, match="keep to no schedule"):
        client.best_kernel(expression, measured=False, schedule=pinned)
    with pytest.raises(mdh.MdhError, match="unknown layer"):
        client.tune(expression, schedule="L9: tile k=16")


def _run(mdh_program, daemon, *arguments, code=0):
    ended = subprocess.run([mdh_program, "--server", daemon.address, *map(str, arguments)],
                           capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
    return ended.stdout if code == 0 else ended.stderr


def test_commands(mdh, daemon, short_folder):  # noqa: F811
    matmul = [EXPRESSIONS / "matmul.mdh", "I=48", "J=48", "K=48"]
    file = short_folder / "s.sched"
    file.write_text("L2: tile k=16  # a comment\n")
    check = _run(mdh, daemon, "schedule", "check", *matmul, "--schedule", file)
    assert "k=16" in check and "configurations\nsuch as " in check
    count = _run(mdh, daemon, "schedule", "count", *matmul, "--schedule", file)
    assert int(count) > 0 and f"{int(count)} configurations" in check
    table = _run(mdh, daemon, "schedule", "count", *matmul, "--vary", "tile.L2.k")
    assert table.splitlines()[0].split() == ["VALUE", "CONFIGURATIONS"]
    assert ["16", count.strip()] in [line.split() for line in table.splitlines()]
    tuned = json.loads(_run(mdh, daemon, "--json", "tune", *matmul, "--schedule", file, "--trials", 3))
    record = tuned["record"]
    assert "d3=16" in record["key"]["schedule"] and "k=16" in record["schedule"]
    shown = _run(mdh, daemon, "schedule", "show", record["name"])
    assert shown == record["schedule"]
    kept = _run(mdh, daemon, "schedule", "show", record["name"], "--keep", "tile")
    assert "tile" in kept and "order" not in kept
    found = json.loads(_run(mdh, daemon, "--json", "lookup", *matmul, "--schedule", file))
    assert found["record"]["name"] == record["name"]
    next_command = f"mdh kernel {matmul[0]} --set I=48 --set J=48 --set K=48 --schedule {file}"
    assert next_command in _run(mdh, daemon, "lookup", *matmul, "--schedule", file).replace(
        "\\\n", "").replace("    ", "")
    written = _run(mdh, daemon, "kernel", *matmul, "--schedule", file, "--output", short_folder)
    assert record["parameters"].split(";")[1] in (short_folder / "matmul.c").read_text()
    assert "keeps to no schedule" in _run(mdh, daemon, "kernel", *matmul, "--schedule", file,
                                          "--unmeasured", code=2)
    assert "not for a digest" in _run(mdh, daemon, "lookup", "0" * 64, "--schedule", file, code=2)
    file.write_text("L9: tile k=16\n")
    for command in ("tune", "schedule check", "schedule count", "lookup"):
        error = _run(mdh, daemon, *command.split(), *matmul, "--schedule", file, code=1)
        assert f"{file}:1:1: unknown layer 'L9'" in error
    assert "cannot read" in _run(mdh, daemon, "tune", *matmul, "--schedule", "none.sched", code=3)
    assert "there is no record" in _run(mdh, daemon, "schedule", "show", "records/" + "0" * 32, code=4)
    softmax = EXPRESSIONS / "pipelines" / "interp.mdh"
    assert "not for a pipeline" in _run(mdh, daemon, "lookup", softmax, "--schedule", file, code=2)
    assert "is a pipeline" in _run(mdh, daemon, "schedule", "check", softmax, code=3)


def test_teml_programs(mdh, daemon, short_folder):  # noqa: F811
    file = short_folder / "tiled.teml"
    file.write_text(TILED)
    shown = _run(mdh, daemon, "schedule", "show", file)
    assert shown.startswith("for OpenMP+SIMD+RM:\ncores: tile i1=8, i2=whole, k=whole\n")
    assert "copy never" in _run(mdh, daemon, "schedule", "show", file, "--complete")
    tuned = json.loads(_run(mdh, daemon, "--json", "tune", file, "--trials", 3))["record"]
    assert "d1=8" in tuned["key"]["schedule"]
    free = json.loads(_run(mdh, daemon, "--json", "tune", file, "--no-schedule", "--trials", 3))
    assert free["record"]["key"].get("schedule", "") == ""
    replayed = json.loads(_run(mdh, daemon, "--json", "tune", file, "--replay", "--trials", 3))
    assert "never" in replayed["record"]["key"]["schedule"]
    steps = short_folder / "steps.teml"
    steps.write_text(TWO_STEPS)
    out = _run(mdh, daemon, "tune", steps, "--trials", 2)
    assert "all steps, one after the other: " in out
    both = json.loads(_run(mdh, daemon, "--json", "tune", steps, "--trials", 2))
    assert [bool(step["record"]["key"]["schedule"]) for step in both["steps"]] == [True, True]
    detached = _run(mdh, daemon, "tune", steps, "--trials", 2, "--detach").split()
    assert len(detached) == 2 and all(job.startswith("tuningJobs/") for job in detached)
    assert _run(mdh, daemon, "tune", steps, "--check") == "the daemon would take it\n"
