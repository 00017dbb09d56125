"""What an operator touches: configuration, signals, logs, metrics, the service manager, and the files under
deploy/ that are for other programs."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from conftest import EXPRESSIONS, SOURCE, Daemon

DEPLOY = SOURCE / "deploy"


class ConfiguredDaemon(Daemon):
    """A mdhd with a configuration file, more options and more environment."""

    def __init__(self, program, directory, text="", options=(), environment=None):
        self.address = f"unix:{directory}/mdhd.sock"
        self.file = directory / "mdhd.conf"
        self.file.write_text(text)
        self._log = open(directory / "log", "w+")
        self.process = subprocess.Popen(
            [str(program), "--config", self.file, "--listen", self.address, "--database",
             directory / "mdhd.sqlite", "--work-directory", directory / "work", "--devices", "cpu",
             *options],
            env=os.environ | (environment or {}), stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log)

    def wait_for(self, text):
        limit = time.monotonic() + 30
        while text not in self.log():
            assert self.process.poll() is None and time.monotonic() < limit, self.log()
            time.sleep(0.02)


@pytest.fixture
def start(daemon_program, short_folder):
    daemons = []

    def start(**more):
        daemons.append(ConfiguredDaemon(daemon_program, short_folder, **more))
        daemons[-1].wait_until_it_listens()
        return daemons[-1]

    yield start
    for daemon in daemons:
        if daemon.process.poll() is None:
            daemon.stop()


def mdh(daemon_program, daemon, *words):
    return subprocess.run([daemon_program.parent / "mdh", "--server", daemon.address, *words],
                          capture_output=True, text=True, check=True).stdout


def test_a_reload_takes_over_what_it_can(start):
    daemon = start(text="log-level = info\nmax-queued-jobs = 5\n")
    daemon.file.write_text("log-level = debug\nmax-queued-jobs = 6\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for("configuration: log-level is debug now")
    daemon.wait_for("configuration: max-queued-jobs = 6 holds from the next start on")
    daemon.file.write_text("nonsense\n")
    daemon.process.send_signal(signal.SIGHUP)
    daemon.wait_for("mdhd.conf:1: expected name = value")
    assert daemon.process.poll() is None


def test_wrong_configuration_is_refused_at_the_start(daemon_program, short_folder):
    file = short_folder / "mdhd.conf"
    for text, message in (("speed = 9", "mdhd.conf:1: there is no option speed"),
                          ("log-level = loud", "--log-level")):
        file.write_text(text)
        ended = subprocess.run([daemon_program, "--config", file], capture_output=True, text=True)
        assert ended.returncode == 2
        assert message in ended.stderr and ended.stderr.count("\n") == 1
    ended = subprocess.run([daemon_program, "--metrics-listen", "0.0.0.0:0"], capture_output=True, text=True)
    assert ended.returncode == 2 and "0.0.0.0" in ended.stderr


def test_print_config_says_where_values_come_from(daemon_program, short_folder):
    file = short_folder / "mdhd.conf"
    file.write_text("keep-jobs-days = 3\n")
    command = [daemon_program, "--config", file, "--devices", "cpu", "--print-config"]
    text = subprocess.run(command, capture_output=True, text=True, check=True,
                          env=os.environ | {"MDHD_LOG_LEVEL": "warn"}).stdout
    assert f"keep-jobs-days = 3  # {file}:1\n" in text
    assert "devices = cpu  # command line\n" in text
    assert "log-level = warn  # environment MDHD_LOG_LEVEL\n" in text
    assert "max-queued-jobs = 256  # default\n" in text
    file.write_text(text)
    again = subprocess.run([daemon_program, "--config", file, "--print-config"], capture_output=True,
                           text=True, check=True).stdout
    values = lambda config: [line.split("  # ")[0] for line in config.splitlines()]
    assert values(again) == values(text)


def test_logs_in_json_have_ids(start, daemon_program, short_folder):
    daemon = start(options=["--log-format", "json", "--backup-directory", short_folder / "backups"])
    mdh(daemon_program, daemon, "admin", "backup")
    mdh(daemon_program, daemon, "tune", EXPRESSIONS / "matvec.mdh", "--set", "I=64", "--set", "K=64",
        "--budget", "60s", "--trials", "3")
    lines = [json.loads(line) for line in daemon.log().splitlines()]
    assert all({"time", "level", "message"} <= line.keys() for line in lines)
    backup = next(line for line in lines if line["message"].startswith("backup="))
    assert re.fullmatch(r"r\d+", backup["request"])
    ended = next(line for line in lines if "TUNING_JOB_STATE_SUCCEEDED" in line["message"])
    assert ended["job"] == "1"


def scrape(daemon):
    daemon.wait_for("metrics on http")
    url = re.search(r"metrics on (http://\S+/metrics)", daemon.log()).group(1)
    with urllib.request.urlopen(url, timeout=10) as response:
        assert response.headers["Content-Type"].startswith("text/plain")
        return url, response.read().decode()


def test_metrics_can_be_scraped(start, daemon_program):
    parser = pytest.importorskip("prometheus_client.parser")
    daemon = start(options=["--metrics-listen", "127.0.0.1:0"])
    mdh(daemon_program, daemon, "tune", EXPRESSIONS / "matvec.mdh", "--set", "I=64", "--set", "K=64",
        "--budget", "60s", "--trials", "3")
    mdh(daemon_program, daemon, "lookup", EXPRESSIONS / "matvec.mdh", "--set", "I=64", "--set", "K=64")
    url, text = scrape(daemon)
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert all(family.documentation.endswith(".") for family in families.values())
    assert all(family.type != "unknown" for family in families.values())
    value = lambda name, **labels: next(
        sample.value for family in families.values() for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items())
    assert value("mdhd_lookups_total", outcome="found") == 1
    assert value("mdhd_jobs_ended_total", state="succeeded") == 1
    assert value("mdhd_trials_total", outcome="ok") >= 1
    assert value("mdhd_job_wait_seconds_count") == 1
    assert 0 < value("mdhd_measuring_seconds_total") < 60
    assert value("mdhd_device_healthy", device="devices/cpu") == 1
    assert value("mdhd_store_problem") == 0
    # Buckets rise, and the last one has all.
    buckets = [s.value for s in families["mdhd_lookup_latency_seconds"].samples if s.name.endswith("_bucket")]
    assert buckets == sorted(buckets) and buckets[-1] == value("mdhd_lookup_latency_seconds_count")
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(url.replace("/metrics", "/other"), timeout=10)


def test_dashboard_and_alerts_use_metrics_that_there_are(start):
    yaml = pytest.importorskip("yaml")
    daemon = start(options=["--metrics-listen", "127.0.0.1:0"])
    served = set(re.findall(r"^# TYPE (\w+) ", scrape(daemon)[1], re.M))
    dashboard = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    alerts = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions += [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    for expression in expressions:
        assert expression.count("(") == expression.count(")")
        for name in re.findall(r"\b(?:mdhd|process)_\w+", expression):
            assert re.sub(r"_bucket$", "", name) in served, expression
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["title"]


def test_prometheus_understands_what_is_for_it(start, tmp_path):
    yaml = pytest.importorskip("yaml")
    if not shutil.which("promtool"):
        pytest.skip("there is no promtool (Debian: prometheus)")
    dashboard = json.loads((DEPLOY / "monitoring" / "dashboard.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert queries
    rules = [{"record": f"query:{number}", "expr": expr.replace("$__rate_interval", "5m")}
             for number, expr in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    for file in (DEPLOY / "monitoring" / "alerts.yaml", tmp_path / "queries.yaml"):
        ended = subprocess.run(["promtool", "check", "rules", "--lint-fatal", file], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    daemon = start(options=["--metrics-listen", "127.0.0.1:0"])
    own = "".join(re.findall(r"^(?:# (?:HELP|TYPE) )?(?:mdhd|process)_.*\n", scrape(daemon)[1], re.M))
    ended = subprocess.run(["promtool", "check", "metrics"], input=own, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_alert_is_explained():
    yaml = pytest.importorskip("yaml")
    guide = (DEPLOY / "docs" / "operating.md").read_text()
    alerts = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    for rule in (rule for group in alerts["groups"] for rule in group["rules"]):
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert f"`{rule['alert']}`" in guide


def test_the_service_manager_hears_what_happens(daemon_program, short_folder):
    path = short_folder / "notify"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(path))
    manager.settimeout(30)
    daemon = ConfiguredDaemon(daemon_program, short_folder, environment={
        "NOTIFY_SOCKET": str(path), "WATCHDOG_USEC": "200000"})

    def hear(start):
        while not (message := manager.recv(4096).decode()).startswith(start):
            assert message.startswith("WATCHDOG=1")
        return message

    assert "mdhd.sock" in hear("READY=1")
    start_s = time.monotonic()
    for _ in range(5):
        hear("WATCHDOG=1")
    assert time.monotonic() - start_s > 0.3
    daemon.process.send_signal(signal.SIGHUP)
    hear("RELOADING=1")
    hear("READY=1")
    daemon.process.send_signal(signal.SIGTERM)
    hear("STOPPING=1")
    assert daemon.process.wait(30) == 0
    manager.close()


def test_the_unit_is_valid(daemon_program, tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("there is no systemd-analyze")
    unit = (DEPLOY / "systemd" / "mdhd.service").read_text()
    (tmp_path / "mdhd.service").write_text(unit.replace("/usr/bin/mdhd", str(daemon_program)))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", tmp_path / "mdhd.service"],
                           capture_output=True, text=True)
    assert not [line for line in ended.stderr.splitlines() if "mdhd" in line], ended.stderr
    assert ended.returncode == 0, ended.stderr


def test_shipped_configurations_are_read(daemon_program, tmp_path):
    yaml = pytest.importorskip("yaml")
    texts = [(DEPLOY / "systemd" / "mdhd.conf").read_text(),
             (DEPLOY / "container" / "container.conf").read_text()]
    for file in DEPLOY.glob("kubernetes/*.yaml"):
        texts += [text for m in yaml.safe_load_all(file.read_text()) if m["kind"] == "ConfigMap"
                  for text in m["data"].values()]
    assert len(texts) == 5
    for text in texts:
        (tmp_path / "conf").write_text(text)
        subprocess.run([daemon_program, "--config", tmp_path / "conf", "--print-config"], check=True,
                       stdout=subprocess.DEVNULL)
        # Commented settings, too, must be options that there are.
        for name in re.findall(r"^# ([a-z-]+) = ", text, re.M):
            (tmp_path / "conf").write_text(text.replace(f"# {name} = ", f"{name} = "))
            ended = subprocess.run([daemon_program, "--config", tmp_path / "conf", "--print-config"],
                                   capture_output=True, text=True)
            assert "there is no option" not in ended.stderr


def test_yaml_files_pass_the_lint():
    if not shutil.which("yamllint"):
        pytest.skip("there is no yamllint")
    rules = ("{extends: default, rules: {line-length: {max: 130}, document-start: disable, braces: "
             "{max-spaces-inside: 0}, truthy: enable}}")
    files = [*DEPLOY.glob("kubernetes/*.yaml"), *DEPLOY.glob("monitoring/*.yaml")]
    assert len(files) >= 2
    ended = subprocess.run(["yamllint", "-s", "-d", rules, *files], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_the_container_file_names_what_is_there():
    text = (DEPLOY / "container" / "Containerfile").read_text()
    instructions = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M)).splitlines()
    for line in filter(None, instructions):
        word, _, rest = line.partition(" ")
        assert word in {"FROM", "RUN", "COPY", "WORKDIR", "USER", "VOLUME", "EXPOSE", "ENV", "STOPSIGNAL",
                        "HEALTHCHECK", "ENTRYPOINT"}, line
        if word == "FROM":
            assert re.fullmatch(r"debian:12-slim( AS \w+)?", rest)
        if word == "COPY":
            assert (SOURCE / rest.split()[0]).exists()
        if "apt-get install" in line:
            assert "--no-install-recommends" in line and "rm -rf /var/lib/apt/lists" in line
    assert instructions[-1].startswith("ENTRYPOINT [")
    assert any(line.startswith("USER ") and "root" not in line for line in instructions)
    for script in re.findall(r"deploy/[a-z-]+\b", text):
        assert (SOURCE / script).exists(), script


def test_manual_pages_pass_the_lint(daemon_program, tmp_path):
    if not shutil.which("mandoc"):
        pytest.skip("there is no mandoc")
    for name, words in (("mdh.1", ["mdh", "manual"]), ("mdhd.8", ["mdhd", "--manual"])):
        page = subprocess.run([daemon_program.parent / words[0], *words[1:]], check=True,
                              capture_output=True).stdout
        (tmp_path / name).write_bytes(page)
        ended = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", tmp_path / name],
                               capture_output=True, text=True)
        # Without a date, the page of a version is the same whenever it is made.
        assert [line for line in ended.stdout.splitlines() if "missing date" not in line] == []
        text = subprocess.run(["mandoc", "-T", "utf8", tmp_path / name], check=True, capture_output=True,
                              text=True).stdout
        plain = re.sub(".\x08", "", text)
        assert "NAME" in plain and str(tmp_path) not in plain and os.path.expanduser("~/") not in plain


def test_scripts_of_the_package_are_sound():
    for script in (DEPLOY / "debian").iterdir():
        assert os.access(script, os.X_OK)
        subprocess.run(["sh", "-n", script], check=True)
        assert "set -e" in script.read_text()
    for script in ("package-deb", "check-deb"):
        subprocess.run(["bash", "-n", DEPLOY / script], check=True)
        assert pathlib.Path(DEPLOY / script).stat().st_mode & 0o111
