"""Bundles, read without a daemon. The daemon makes them."""

import hashlib
import os
import pathlib
import struct
import subprocess
import time

import examples
import pytest

import mdh

ROWS = 128 + 16 * 8  # of a bundle with at most four entries


@pytest.fixture(scope="module")
def bundle_file(client, daemon, tmp_path_factory):
    """A bundle with at least two kernels."""
    program = pathlib.Path(os.environ["MDH_BIN"]) / "mdh"
    if not program.exists():
        pytest.skip(f"{program} has not been built")
    for sizes in ((20, 21, 22), (23, 24, 25)):
        client.tune(examples.matmul_einsum(*sizes), max_trials=1)
    path = tmp_path_factory.mktemp("bundle") / "kernels.mdhb"
    subprocess.run([str(program), "--server", daemon.address, "admin", "export", str(path)],
                   check=True)
    return path


def test_policies_have_the_names_of_the_command_line():
    for name, api in (("exact", "exact_order"), ("tree", "fixed_tree"), ("", "reassociate")):
        assert (mdh.BundleQuery("form", "device", name).identity ==
                mdh.BundleQuery("form", "device", api).identity)
    with pytest.raises(mdh.ExpressionError, match="there is no numerics policy 'fast', but"):
        mdh.BundleQuery("form", "device", "fast")


@pytest.fixture
def small_bundle(tmp_path):
    """Bytes of a bundle with one entry, made here: what bundle_layout.h says."""
    query = mdh.BundleQuery("form", "device")
    content = query.identity + b"gcc" + b"" + b""
    start = (ROWS + 64 + 63) // 64 * 64
    row = struct.pack("<QIIIIII32s", start, len(query.identity), 3, 0, 0, 7, 0,
                      hashlib.sha256(content).digest())
    slots = bytearray(16 * 8)
    struct.pack_into("<QQ", slots, 16 * (query.hash % 8), query.hash, 1)
    index = (bytes(slots) + row).ljust(start - 128, b"\0")
    content = content.ljust((len(content) + 7) // 8 * 8, b"\0")
    head = struct.pack("<8sIIQQQQ", b"MDHBNDL2", 2, 0, start + len(content), 1, 8, 0).ljust(96, b"\0")
    return head + hashlib.sha256(head + index).digest() + index + content


def test_what_a_daemon_knew_is_found_without_it(bundle_file, client):
    expression = examples.matmul_einsum(20, 21, 22)
    with mdh.Bundle(bundle_file) as bundle:
        assert len(bundle) >= 2 and len(bundle.devices) == 1 and len(bundle.sum) == 64
        entry = bundle.find(bundle.query(expression))
        assert entry.tuned == client.lookup(expression).tuned
        assert entry.kernel() == client.kernel(entry.tuned)
        assert entry.compiler == entry.tuned.proto.key.compiler
        assert entry.generator_version == entry.tuned.proto.key.generator_version
        checked = client.check(expression)
        assert bundle.find(bundle.query(checked, device=bundle.devices[0])).tuned == entry.tuned
        assert {one.tuned.name for one in bundle} >= {entry.tuned.name}
        for other in (bundle.query(examples.matmul_einsum(20, 21, 23)),
                      bundle.query(expression, device="another"),
                      bundle.query(expression, numerics="exact_order")):
            with pytest.raises(mdh.NotFoundError):
                bundle.find(other)


def test_a_kernel_of_a_bundle_runs(bundle_file, tmp_path):
    numpy = pytest.importorskip("numpy")
    with mdh.Bundle(bundle_file) as bundle:
        entry = bundle.find(bundle.query(examples.matmul_einsum(20, 21, 22)))
        kernel = mdh.CpuKernel(entry.kernel(), cache_directory=tmp_path / "cache")
    a, b, c = (numpy.ones(shape, numpy.float32) for shape in ((20, 22), (22, 21), (20, 21)))
    kernel(a, b, c)
    assert (c == 22).all()


def test_contents_can_be_checked_later(bundle_file, tmp_path):
    data = bytearray(bundle_file.read_bytes())
    data[-12] ^= 1
    changed = tmp_path / "changed"
    changed.write_bytes(data)
    with pytest.raises(mdh.BundleError, match="changed: the bundle is damaged: entry"):
        mdh.Bundle(changed)
    with mdh.Bundle(changed, check_all=False) as bundle:
        with pytest.raises(mdh.BundleError, match="is damaged: entry .* its SHA-256 is another"):
            list(bundle)


def test_every_changed_byte_and_every_cut_is_seen(small_bundle, tmp_path):
    path = tmp_path / "bundle"
    path.write_bytes(small_bundle)
    with mdh.Bundle(path) as bundle:
        assert bundle.find(mdh.BundleQuery("form", "device")).compiler == "gcc"
        with pytest.raises(mdh.NotFoundError, match="but not its code"):
            bundle.find(mdh.BundleQuery("form", "device")).kernel()
    for at in range(len(small_bundle)):
        changed = bytearray(small_bundle)
        changed[at] ^= 0x40
        path.write_bytes(changed)
        with pytest.raises(mdh.BundleError):
            mdh.Bundle(path)
        path.write_bytes(small_bundle[:at])
        with pytest.raises(mdh.BundleError):
            mdh.Bundle(path)


def test_what_is_no_bundle(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 200)
    with pytest.raises(mdh.BundleError, match="does not begin as one"):
        mdh.Bundle(path)
    path.write_bytes(b"MDHBNDL2" + bytes([3]) + bytes(200))
    with pytest.raises(mdh.BundleError, match="is of version 3, but this package reads version 2"):
        mdh.Bundle(path)
    with pytest.raises(FileNotFoundError):
        mdh.Bundle(tmp_path / "nothing")


def test_wrong_sizes_with_a_right_sum_are_refused(small_bundle, tmp_path):
    path = tmp_path / "bundle"
    start = struct.unpack_from("<Q", small_bundle, ROWS)[0]
    for at, value, message in (
            (ROWS, 8, "entry 0 at a wrong place"), (ROWS + 8, 1 << 31, "ends within an entry"),
            (128 + 8 + 16 * 7, 2, "numbers of no entry"), (24, 5, "wrong sizes"),
            (32, 9, "wrong sizes"), (40, 1 << 60, "wrong sizes")):
        data = bytearray(small_bundle)
        struct.pack_into("<Q" if at != ROWS + 8 else "<I", data, at, value)
        data[96:128] = hashlib.sha256(bytes(data[:96]) + bytes(data[128:start])).digest()
        path.write_bytes(data)
        with pytest.raises(mdh.BundleError, match=message):
            mdh.Bundle(path)


def test_queries_name_what_they_lack(small_bundle, tmp_path):
    path = tmp_path / "bundle"
    path.write_bytes(small_bundle)
    with mdh.Bundle(path) as bundle:
        with pytest.raises(mdh.ExpressionError, match="an expression that was built in Python"):
            bundle.query(mdh.parse("text"))
        bundle.query(examples.scan(4))
        assert bundle.devices == ("device",)


def test_a_lookup_takes_microseconds(bundle_file):
    """Far from the figure that the benchmark gives: a machine that runs tests is busy."""
    with mdh.Bundle(bundle_file) as bundle:
        query = bundle.query(examples.matmul_einsum(20, 21, 22))
        times = []
        for _ in range(200):
            begin = time.perf_counter()
            bundle.find(query)
            times.append(time.perf_counter() - begin)
    assert sorted(times)[100] < 500e-6
