// Forking, limiting and ending children.
#include "tuner/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

void SetLimit(__rlimit_resource resource, rlim_t value) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  // The soft limit of CPU time sends SIGXCPU; one second later the hard one kills.
  limit.rlim_max = std::min(limit.rlim_max, resource == RLIMIT_CPU ? value + 1 : value);
  setrlimit(resource, &limit);
}

// If memory runs out, a candidate should go and nothing else.
void OfferToOomKiller() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, "1000", 4);
  close(fd);
}

// Nothing of the parent's sockets in particular: a kernel must not be able to speak for the runner.
void KeepOnly(int socket) {
  if (socket < 0) {
    close_range(kChildSocket, ~0u, 0);
    return;
  }
  if (socket != kChildSocket) dup2(socket, kChildSocket);
  close_range(kChildSocket + 1, ~0u, 0);
}

void ApplyLimits(const ChildLimits& limits) {
  if (limits.name != nullptr) prctl(PR_SET_NAME, limits.name);
  if (limits.nice > 0) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + limits.nice);
  if (limits.no_network) LeaveNetwork();
  RestrictToCores(limits.cores).IgnoreError();
  SetLimit(RLIMIT_CORE, 0);
  if (limits.cpu_s > 0) SetLimit(RLIMIT_CPU, static_cast<rlim_t>(limits.cpu_s));
  if (limits.file_bytes > 0) SetLimit(RLIMIT_FSIZE, static_cast<rlim_t>(limits.file_bytes));
  if (limits.address_space_bytes > 0) LimitAddressSpace(limits.address_space_bytes);
}

// Between fork and the body: leave nothing of the parent's that the body could harm or trip over.
void EnterChild(pid_t parent, const ChildLimits& limits) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before prctl
  for (const int number :
       {SIGCHLD, SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  KeepOnly(limits.socket);
  prctl(PR_SET_DUMPABLE, 1);  // the parent may not be, see Confine; then files of /proc are root's
  OfferToOomKiller();
  ApplyLimits(limits);
}

}  // namespace

Status RestrictToCores(const std::vector<int>& cores) {
  if (cores.empty()) return absl::OkStatus();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) == 0) return absl::OkStatus();
  return InvalidArgument("this process cannot run on the cores ", absl::StrJoin(cores, ", "), ": ",
                         std::strerror(errno));
}

void LeaveNetwork() {
  // What an unprivileged process may only do together; where it may not, it stays.
  [[maybe_unused]] const int left = unshare(CLONE_NEWUSER | CLONE_NEWNET);
}

void LimitAddressSpace(int64_t bytes) { SetLimit(RLIMIT_AS, static_cast<rlim_t>(bytes)); }

std::string SignalName(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (abbreviation == nullptr || description == nullptr) return absl::StrCat("signal ", signal);
  return absl::StrCat("SIG", abbreviation, " (", absl::AsciiStrToLower(description), ")");
}

Result<ChildProcess> ChildProcess::Fork(const ChildLimits& limits,
                                        const std::function<int()>& body) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ResourceExhausted("cannot start a process: ", std::strerror(errno));
  if (pid == 0) {
    EnterChild(parent, limits);
    _exit(body());
  }
  setpgid(pid, pid);  // here too: whoever comes first
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), end_(other.end_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(end_, other.end_);
  return *this;
}

ChildProcess::~ChildProcess() { Kill(); }

std::optional<ChildEnd> ChildProcess::Poll() {
  if (pid_ < 0) return end_;
  siginfo_t info = {};
  // Not reaped yet: as long as it is there, its group's number belongs to nobody else.
  const int rc = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  if (rc == 0 && info.si_pid == 0) return std::nullopt;
  Reap();
  return end_;
}

void ChildProcess::Kill() {
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // if it has not reached setpgid
  siginfo_t info = {};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  Reap();
}

void ChildProcess::Stop() const {
  if (pid_ > 0) kill(-pid_, SIGSTOP);
}

void ChildProcess::Continue() const {
  if (pid_ > 0) kill(-pid_, SIGCONT);
}

void ChildProcess::Reap() {
  kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  end_ = WIFSIGNALED(status) ? ChildEnd{.exit_code = 0, .signal = WTERMSIG(status)}
                             : ChildEnd{.exit_code = WEXITSTATUS(status), .signal = 0};
}

void PrepareToSupervise() {
  // SIGCHLD stays blocked except inside ppoll, so that no child's end is missed before it.
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGCHLD, &action, nullptr);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
}

bool WaitForChildOrInput(absl::Span<const int> sockets, int64_t timeout_ns) {
  std::vector<pollfd> entries;
  for (const int socket : sockets) entries.push_back({socket, POLLIN, 0});
  const timespec timeout = {.tv_sec = timeout_ns / 1'000'000'000,
                            .tv_nsec = timeout_ns % 1'000'000'000};
  sigset_t none;
  sigemptyset(&none);
  const int ready =
      ppoll(entries.data(), entries.size(), timeout_ns < 0 ? nullptr : &timeout, &none);
  return ready > 0 && !entries.empty() && entries[0].revents != 0;
}

void PatientSupervisor::WaitFor(absl::Span<const int> sockets, int64_t timeout_ns) {
  WaitForChildOrInput(sockets, timeout_ns);
}

}  // namespace mdh
