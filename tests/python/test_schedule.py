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


def test_commands_on_pipelines(mdh, daemon, short_folder):  # noqa: F811
    softmax = [EXPRESSIONS / "pipelines" / "softmax.mdh", "I=16", "J=32"]
    file = short_folder / "s.sched"
    lines = "edge exponentials -> total = inline\nedge exponentials -> shares = inline\n"
    file.write_text(lines)
    check = _run(mdh, daemon, "schedule", "check", *softmax, "--schedule", file)
    assert check.startswith("edge exponentials -> total = inline\n") and "such as edge 1 2" in check
    table = _run(mdh, daemon, "schedule", "count", *softmax, "--schedule", file, "--vary", "edge.largest.exponentials")
    counts = dict(line.split() for line in table.splitlines()[1:])
    assert counts["inline"] == "0" and int(counts["stage"]) > 0
    tuned = json.loads(_run(mdh, daemon, "--json", "tune", *softmax, "--schedule", file, "--trials", 4))
    record = tuned["whole"]["record"]
    assert "edge 2 -> 3 = inline" in record["key"]["schedule"] and set(lines.splitlines()) <= set(
        record["schedule"].splitlines())
    shown = _run(mdh, daemon, "schedule", "show", record["name"])
    assert shown == record["schedule"]
    assert "delete lines" in _run(mdh, daemon, "schedule", "show", record["name"], "--keep", "tile", code=2)
    found = json.loads(_run(mdh, daemon, "--json", "lookup", *softmax, "--schedule", file))
    assert found["record"]["name"] == record["name"]
    # What was found is measured at once, without a search.
    file.write_text(shown)
    again = json.loads(_run(mdh, daemon, "--json", "tune", *softmax, "--schedule", file))
    assert again["steps"] == [] and again["whole"]["record"]["schedule"] == shown
    _run(mdh, daemon, "kernel", *softmax, "--schedule", file, "--output", short_folder)
    assert "//   edge exponentials -> total = inline\n" in (short_folder / "softmax.c").read_text()
    file.write_text("edge largest -> total = stage\n")
    for command in ("tune", "schedule check", "lookup"):
        error = _run(mdh, daemon, *command.split(), *softmax, "--schedule", file, code=1)
        assert f"{file}:1:6: there is no edge largest -> total; there are " in error
    file.write_text("edge largest -> exponentials = inline\n")
    error = _run(mdh, daemon, "schedule", "check", *softmax, "--schedule", file, code=3)
    assert "leaves nothing: inline: 'largest' combines points" in error


def test_pipelines(client):
    softmax = mdh.parse((EXPRESSIONS / "pipelines" / "softmax.mdh").read_text(), I=16, J=32)
    pinned = mdh.Schedule().edge("exponentials", "total", "inline").alone("largest")
    assert client.check_schedule(softmax, pinned).count > 0
    tuned = client.tune(softmax, schedule=pinned, max_trials=4)
    assert "edge exponentials -> total = inline" in str(tuned.schedule())
    assert client.best_kernel(softmax, schedule=pinned).tuned.name == tuned.name
