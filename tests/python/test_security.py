"""Tokens and certificates of clients."""

import pytest

import mdh

VARIABLES = ("MDH_TOKEN", "MDH_TOKEN_FILE", "MDH_TLS_CA", "MDH_TLS_CERTIFICATE", "MDH_TLS_KEY")


@pytest.fixture
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_nothing_is_sent_without_a_token():
    assert mdh.Security().metadata("10.0.0.7:4711") == []


def test_the_environment_says_who_the_client_is(environment, tmp_path):
    assert mdh.Security.from_environment() == mdh.Security()
    environment.setenv("MDH_TOKEN", "a-token")
    environment.setenv("MDH_TLS_CA", "ca.crt")
    assert mdh.Security.from_environment() == mdh.Security(token="a-token", tls_ca="ca.crt")
    (tmp_path / "token").write_text("of-a-file\n")
    environment.setenv("MDH_TOKEN_FILE", str(tmp_path / "token"))
    assert mdh.Security.from_environment().token == "of-a-file"
    environment.setenv("MDH_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(mdh.FailedPreconditionError, match="cannot read .*none"):
        mdh.Security.from_environment()


def test_tokens_are_not_sent_in_clear_to_other_machines():
    sent = [("authorization", "Bearer a-token")]
    security = mdh.Security(token="a-token")
    for local in ("unix:/run/mdhd.sock", "127.0.0.1:4711", "localhost:4711", "[::1]:4711"):
        assert security.metadata(local) == sent
    for remote in ("10.0.0.7:4711", "127.0.0.1.example.org:4711", "localhost.example.org:1"):
        with pytest.raises(mdh.MdhError, match="without TLS"):
            security.metadata(remote)
    assert mdh.Security(token="a-token", tls_ca="ca.crt").metadata("10.0.0.7:4711") == sent
    assert mdh.Security(token="a-token", allow_token_in_clear=True).metadata("10.0.0.7:1") == sent


def test_files_are_read_for_tls_alone(tmp_path):
    security = mdh.Security(tls_ca=str(tmp_path / "nothing"))
    security.open_channel("unix:/nowhere", []).close()
    with pytest.raises(mdh.FailedPreconditionError, match="cannot read .*nothing: No such file"):
        security.open_channel("127.0.0.1:1", [])


def test_files_that_others_could_change_are_refused(tmp_path):
    authority = tmp_path / "ca.crt"
    authority.write_bytes(b"")
    authority.chmod(0o602)
    with pytest.raises(mdh.PermissionDeniedError, match="ca.crt: others than its owner"):
        mdh.Security(tls_ca=str(authority)).open_channel("127.0.0.1:1", [])


def test_calls_carry_the_token(daemon):
    # The daemon of the tests knows no tokens, and so asks for none.
    with mdh.Client(daemon.address, security=mdh.Security(token="a-token")) as client:
        assert client.devices()
