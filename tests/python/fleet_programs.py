"""Programs that fleets run on, started for a test and ended with it: a PostgreSQL server, a Slurm cluster of several
nodes on this host. Nobody else can reach them: the server has a socket in a folder, the cluster a network of its own."""

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

import pytest


def eventually(holds, seconds=60):
    """Waits until holds() gives something, and gives it."""
    limit = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.1)
    return found


@contextlib.contextmanager
def postgres_server(folder):
    """The address of a database on a server in this folder."""
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (deploy/packages fleet)")
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    folder.mkdir()
    folder.parent.chmod(0o755)
    shutil.chown(folder, user)
    run = {"user": user, "stdin": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([programs[-1].parent / "initdb", "-D", folder / "data", "-U", "mdhd", "-A", "trust", "-E", "UTF8",
                    "--no-locale", "--no-sync"], check=True, stdout=subprocess.DEVNULL, **run)
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(
            [programs[-1], "-D", folder / "data", "-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}",
             "-c", "fsync=off"], stdout=log, stderr=log, **run)
    try:
        eventually(lambda: "ready to accept" in (folder / "log").read_text())
        yield f"postgresql://mdhd@/postgres?host={folder}"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


class SlurmCluster:
    """Nodes n1, n2, ... with two cores and a "GPU" each (/dev/null: what Slurm gives away, not what computes)."""

    def __init__(self, folder, nodes):
        for program in ("slurmctld", "slurmd", "sbatch", "munged", "ip"):
            if not shutil.which(program):
                pytest.skip(f"{program} is not installed (deploy/packages slurm)")
        if os.geteuid() != 0:
            pytest.skip("network namespaces need root")
        self._folder = folder
        self._namespace = f"mdh-slurm-{os.getpid()}"
        self._daemons = {}
        try:
            self._make_network()
            self._start_munge()
            self._configure(nodes)
            self._start("slurmctld", "-D", "-i", "-f", folder / "slurm.conf")
            for node in range(1, nodes + 1):
                self.start_node(f"n{node}")
            eventually(lambda: self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").count("n") == nodes)
        except BaseException:
            self.stop()
            raise

    def _make_network(self):
        # Slurm resolves no name, not even 127.0.0.1, where only the loopback device has an address.
        name, peer = self._namespace, self._namespace + "-x"
        for command in (f"netns add {name}", f"netns add {peer}", f"-n {name} link set lo up",
                        f"link add v0 netns {name} type veth peer name v1 netns {peer}",
                        f"-n {name} addr add 198.51.100.1/30 dev v0", f"-n {name} link set v0 up",
                        f"-n {peer} link set v1 up"):
            ended = subprocess.run(["ip", *command.split()], capture_output=True, text=True)
            if ended.returncode != 0:
                pytest.skip(f"there can be no network of its own: {ended.stderr.strip()}")

    def _start_munge(self):
        munge = self._folder / "munge"
        munge.mkdir()
        (munge / "key").write_bytes(os.urandom(128))
        (munge / "key").chmod(0o400)
        self._start("munged", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/sock",
                    f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed",
                    "--num-threads=2")
        eventually((munge / "sock").exists)

    def _configure(self, nodes):
        folder, host = self._folder, socket.gethostname()
        for name in ("state", "log", *(f"spool/n{node}" for node in range(1, nodes + 1))):
            (folder / name).mkdir(parents=True)
        (folder / "slurm.conf").write_text(f"""
ClusterName=mdh
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort=16817
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
KillWait=10
GresTypes=gpu
JobRequeue=1
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17001-{17000 + nodes}] Sockets=1 CoresPerSocket=2 \
ThreadsPerCore=1 RealMemory=500 Gres=gpu:1 State=UNKNOWN
PartitionName=tune Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
""")
        (folder / "gres.conf").write_text(f"NodeName=n[1-{nodes}] Name=gpu File=/dev/null\n")
        # Where both versions are mounted, Slurm does not choose one by itself.
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def _words(self, words):
        return ["ip", "netns", "exec", self._namespace, *map(str, words)]

    def _environment(self):
        return os.environ | {"SLURM_CONF": str(self._folder / "slurm.conf")}

    def _start(self, *words, name=None):
        with open(self._folder / "daemons.log", "a") as log:
            self._daemons[name or words[0]] = subprocess.Popen(
                self._words(words), env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start_node(self, node):
        self._start("slurmd", "-D", "-f", self._folder / "slurm.conf", "-N", node, name=node)

    def run(self, *words, **more):
        """What a command of Slurm prints."""
        return subprocess.run(self._words(words), env=self._environment(), check=True, text=True, capture_output=True,
                              timeout=60, **more).stdout

    def processes_of(self, node):
        """All that a crash of the node takes: its daemon, its tasks, and what Slurm has between them."""
        pids = subprocess.run(["ip", "netns", "pids", self._namespace], check=True, capture_output=True, text=True).stdout
        found = {self._daemons[node].pid}
        for pid in map(int, pids.split()):
            with contextlib.suppress(OSError):
                process = pathlib.Path(f"/proc/{pid}")
                if f"SLURMD_NODENAME={node}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                    found |= {pid} | ({parent} if b"slurmstepd" in pathlib.Path(f"/proc/{parent}/cmdline").read_bytes() else set())
        return found

    def kill_node(self, node):
        for process in self.processes_of(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._daemons.pop(node).wait()

    def stop(self):
        if "slurmctld" in self._daemons:
            with contextlib.suppress(subprocess.SubprocessError):
                self.run("scancel", "-u", "root")
                eventually(lambda: not self.run("squeue", "-h"), 30)
        for daemon in reversed(self._daemons.values()):
            daemon.terminate()
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:  # a slurmd waits for the jobs of a node that is gone
                daemon.kill()
                daemon.wait()
        for name in (self._namespace, self._namespace + "-x"):
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL)
