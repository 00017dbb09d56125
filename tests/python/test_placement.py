"""What places daemons on the machines of a cluster: the job script for Slurm, the manifests for Kubernetes."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import EXPRESSIONS, SOURCE
from fleet_programs import SlurmCluster, eventually, postgres_server

DEPLOY = SOURCE / "deploy"
SCRIPT = DEPLOY / "slurm" / "mdhd.sbatch"
MANIFESTS = sorted(DEPLOY.glob("kubernetes/*.yaml"))


# ---- Slurm: the script alone, as a node runs it ----

class Task:
    """The script as task 3 of array 12 on a node; its scontrol writes down what it is told."""

    def __init__(self, folder, *options, **environment):
        (folder / "bin").mkdir()
        scontrol = folder / "bin" / "scontrol"
        scontrol.write_text(f'#!/bin/sh\necho "$@" >>{folder}/told\n')
        scontrol.chmod(0o755)
        self._folder = folder
        self._log = open(folder / "log", "w")
        self.work = folder / f"mdhd-{os.getuid()}-slurm-cluster-12-3"
        self.process = subprocess.Popen(
            ["bash", SCRIPT, *options], stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env=os.environ | {"SLURM_JOB_ID": "15", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "3",
                              "TMPDIR": str(folder), "PATH": f"{folder}/bin:{os.environ['PATH']}", **environment})

    def log(self):
        return (self._folder / "log").read_text()

    def told(self):
        told = self._folder / "told"
        return told.read_text() if told.exists() else ""


@pytest.fixture
def task(daemon_program, short_folder):
    tasks = []

    def start(*options, **environment):
        tasks.append(Task(short_folder, *options, **{"MDHD_PROGRAM": str(daemon_program), **environment}))
        return tasks[-1]

    yield start
    for task in tasks:
        if task.process.poll() is None:
            task.process.terminate()
            task.process.wait(30)


@pytest.mark.parametrize("sent, told", [(signal.SIGTERM, ""), (signal.SIGUSR1, "requeue 15\n")])
def test_a_worker_is_drained_and_requeued_before_its_time_is_over(task, short_folder, sent, told):
    worker = task("--database", short_folder / "database")
    eventually(lambda: "devices are open" in worker.log())
    assert "slurm-cluster-12-3" in worker.log()
    assert (worker.work / "sock").is_socket()
    worker.process.send_signal(sent)
    assert worker.process.wait(30) == 0
    assert worker.told() == told
    assert not worker.work.exists()


def test_a_worker_has_the_gpus_of_its_task(task, short_folder):
    program = short_folder / "mdhd"
    program.write_text('#!/bin/sh\necho "$MDHD_DEVICES of $MDHD_DAEMON_NAME"\n')
    program.chmod(0o755)
    worker = task(MDHD_PROGRAM=str(program), SLURM_GPUS_ON_NODE="2", SLURM_CLUSTER_NAME="farm")
    assert worker.process.wait(30) == 0
    assert "cuda:0,cuda:1 of slurm-farm-12-3" in worker.log()


def test_wrong_options_end_a_worker(task):
    worker = task("--no-such-option")
    assert worker.process.wait(30) == 2
    assert worker.log().count(": start ") == 1


def test_a_worker_tries_again_for_a_while(task, short_folder):
    (short_folder / "database").write_text("what another application has written")
    worker = task("--database", short_folder / "database", MDHD_ATTEMPTS="3", MDHD_PAUSE="0.1")
    assert worker.process.wait(30) == 4
    assert worker.log().count(": start ") == 3


# ---- Slurm: a cluster ----

def test_a_fleet_on_a_cluster(daemon_program, mdh, short_folder):
    """Three workers as an array on one database; one is requeued, and in the long form one loses its node."""
    tasks, nodes = (3, 4) if os.environ.get("MDH_SLURM_KILLS") else (2, 2)
    with postgres_server(short_folder / "db") as database:
        (short_folder / "slurm").mkdir()
        cluster = SlurmCluster(short_folder / "slurm", nodes)
        try:
            Fleet(cluster, daemon_program, mdh, short_folder, database).run(tasks)
        finally:
            cluster.stop()


class Fleet:
    """Workers of a cluster, and one daemon beside it that is asked."""

    def __init__(self, cluster, daemon_program, mdh, folder, database):
        self._cluster, self._mdhd, self._mdh, self._folder, self._database = (
            cluster, daemon_program, mdh, folder, database)
        self._address = f"unix:{folder}/front.sock"

    def _ask(self, *words, check=True):
        ended = subprocess.run([self._mdh, "--server", self._address, *map(str, words)], capture_output=True,
                               text=True, timeout=60)
        assert ended.returncode == 0 or not check, ended.stderr
        return ended.stdout

    def _tune(self, size):
        """The name of a job of some seconds for the workers."""
        return json.loads(self._ask("tune", EXPRESSIONS / "matmul.mdh", *(f"{n}={size}" for n in "IJK"), "--budget",
                                    "6s", "--device", self._device(), "--detach", "--json"))["job"]["name"]

    def _device(self):
        """What the workers have; any with the same fingerprint will do."""
        return json.loads(self._ask("devices", "--json"))["devices"][0]["fingerprint"]

    def _state(self, job):
        return next(j["state"] for j in json.loads(self._ask("jobs", "--json"))["jobs"] if j["name"] == job)

    def _logs(self):
        return {file.stem: file.read_text() for file in self._folder.glob("task-*.log")}

    def run(self, tasks):
        front = subprocess.Popen(
            [self._mdhd, "--listen", self._address, "--database", self._database, "--work-directory",
             self._folder / "front", "--devices", "none"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            eventually(lambda: self._ask("admin", "health", check=False) == "SERVING\n")
            self._cluster.run(
                "sbatch", f"--array=1-{tasks}", "--gres=gpu:1", "--cpus-per-task=1", f"--output={self._folder}/task-%a.log",
                f"--export=ALL,MDHD_PROGRAM={self._mdhd},MDHD_DEVICES=cpu,TMPDIR={self._folder}", SCRIPT,
                "--database", self._database)
            eventually(lambda: sum("devices are open" in log for log in self._logs().values()) == tasks)
            eventually(lambda: json.loads(self._ask("devices", "--json")).get("devices"))
            jobs = [self._tune(size) for size in (16, 17, 18)]
            self._requeue()
            if os.environ.get("MDH_SLURM_KILLS"):
                self._lose_a_node()
            eventually(lambda: all(self._state(job) == "TUNING_JOB_STATE_SUCCEEDED" for job in jobs), 180)
        except AssertionError:
            print(self._ask("jobs", check=False), self._ask("devices", check=False), *self._logs().values(), sep="\n\n")
            raise
        finally:
            front.terminate()
            front.wait(30)

    def _requeue(self):
        self._cluster.run("scontrol", "requeue", self._job_of_task(1))
        eventually(lambda: "after 1 requeues" in self._logs()["task-1"], 90)

    def _job_of_task(self, task):
        lines = self._cluster.run("squeue", "-h", "-o", "%A %K %N").splitlines()
        return next(line.split()[0] for line in lines if line.split()[1] == str(task))

    def _lose_a_node(self):
        lines = self._cluster.run("squeue", "-h", "-o", "%K %N").splitlines()
        node = next(line.split()[1] for line in lines if line.split()[0] == "2")
        begun = time.monotonic()
        self._cluster.kill_node(node)
        eventually(lambda: "after 1 requeues" in self._logs()["task-2"], 120)
        print(f"node {node} was killed; its task ran again after {time.monotonic() - begun:.0f} s")
        self._cluster.start_node(node)


# ---- Kubernetes ----

def documents(file):
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(file.read_text()))


def named(manifests, kind):
    return {m["metadata"]["name"]: m for m in manifests if m["kind"] == kind}


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_manifests_fit_the_schemas(file):
    schemas = pytest.importorskip("kubernetes_validate", reason="PyPI's kubernetes-validate is not installed")
    for manifest in documents(file):
        schemas.validate(manifest, schemas.latest_version(), strict=True)


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_manifests_hang_together(file):
    manifests = documents(file)
    services = named(manifests, "Service")
    sets = named(manifests, "StatefulSet") | named(manifests, "Deployment")
    assert set(sets) == set(services)
    for name, workload in sets.items():
        workload, service = workload["spec"], services[name]["spec"]
        pod = workload["template"]
        assert workload.get("serviceName", name) == name
        assert workload["selector"]["matchLabels"] == pod["metadata"]["labels"] == service["selector"]
        container = pod["spec"]["containers"][0]
        assert {p["name"]: p["port"] for p in service["ports"]} == {
            p["name"]: p["containerPort"] for p in container["ports"]}
        volumes = {v["name"] for v in pod["spec"]["volumes"]} | {
            v["metadata"]["name"] for v in workload.get("volumeClaimTemplates", [])}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        assert not container["image"].endswith(":latest") and ":" in container["image"]
        assert {"startupProbe", "livenessProbe", "readinessProbe"} - set(container) <= (
            {"readinessProbe"} if "grpc" not in {p["name"] for p in container["ports"]} else set())
    for budget in named(manifests, "PodDisruptionBudget").values():
        assert budget["spec"]["selector"]["matchLabels"]["app"] in sets
    for policy in named(manifests, "NetworkPolicy").values():
        assert policy["spec"]["podSelector"]["matchLabels"]["app"] in sets
    assert all(m["metadata"].get("namespace", "mdhd") == "mdhd" for m in manifests)


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_pods_find_their_configuration(file):
    manifests = documents(file)
    texts = {f"/etc/mdhd/config/{name}": text for m in named(manifests, "ConfigMap").values()
             for name, text in m["data"].items()}
    for workload in (named(manifests, "StatefulSet") | named(manifests, "Deployment")).values():
        container = workload["spec"]["template"]["spec"]["containers"][0]
        mounted = tuple(mount["mountPath"] for mount in container["volumeMounts"])
        text = texts.pop(container["args"][1])
        for path in re.findall(r" = (?:unix:)?(/\S+)", text):
            assert path.startswith(mounted), path
        # Whoever measures has whole cores and GPUs of its own; whoever does not has none.
        limits = container["resources"]["limits"]
        measures = "devices = none" not in text
        assert ("nvidia.com/gpu" in limits) == measures
        assert not measures or limits == container["resources"]["requests"]
        for probe in ("startupProbe", "livenessProbe"):
            server = container[probe]["exec"]["command"][2]
            assert f"listen = {server}\n" in text
    assert not texts


def test_a_fleet_has_front_ends_and_workers():
    manifests = documents(DEPLOY / "kubernetes" / "fleet.yaml")
    assert set(named(manifests, "PodDisruptionBudget")) == {"mdhd-front", "mdhd-worker"}
    worker = named(manifests, "StatefulSet")["mdhd-worker"]["spec"]
    assert "volumeClaimTemplates" not in worker
    for workload in (worker, named(manifests, "Deployment")["mdhd-front"]["spec"]):
        environment = {e["name"]: e for e in workload["template"]["spec"]["containers"][0]["env"]}
        assert environment["MDHD_DATABASE"]["valueFrom"]["secretKeyRef"]["name"] == "mdhd-database"
        assert environment["MDHD_DAEMON_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
