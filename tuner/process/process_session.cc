// Starting with posix_spawn, ending by session.
#include "tuner/process/process_session.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tuner/process/child_process.h"
#include "tuner/process/clock.h"
#include "tuner/process/process_state.h"
#include "tuner/process/socket_pair.h"

namespace mdh {
namespace {

constexpr int kSocketInProgram = 3;
constexpr time_t kSendSeconds = 10;

// What puts code of others into every program would be measured with the kernels.
bool IsOfLoader(absl::string_view variable) {
  return absl::StartsWith(variable, "LD_PRELOAD=") || absl::StartsWith(variable, "LD_AUDIT=");
}

std::vector<std::string> EnvironmentWith(const std::optional<std::string>& path) {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_replaced = path && absl::StartsWith(*variable, "PATH=");
    if (!is_replaced && !IsOfLoader(*variable)) environment.emplace_back(*variable);
  }
  if (path) environment.push_back("PATH=" + *path);
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Default signal handling whatever this process does, a session of its own, no other descriptors.
int Spawn(const std::string& program, const std::optional<std::string>& path,
          const std::vector<std::string>& more_arguments, int socket, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, kSocketInProgram);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSocketInProgram + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = {program};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  arguments.push_back(absl::StrCat("--socket-fd=", kSocketInProgram));
  std::vector<std::string> environment = EnvironmentWith(path);
  const int error = posix_spawn(pid, program.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Kills what is left of a session whose leader has ended but is not reaped, so that its number
// belongs to nobody else.
void KillSession(pid_t session) {
  // What is killed may have started something a moment before.
  for (bool found = true; found;) {
    found = false;
    for (const ProcessState& state : ReadProcessStates()) {
      if (state.session != session || state.pid == session || state.has_ended) continue;
      kill(state.pid, SIGKILL);
      found = true;
    }
    if (found) absl::SleepFor(absl::Milliseconds(1));
  }
}

bool HasEnded(pid_t pid, int options) {
  siginfo_t info = {};
  int rc = 0;
  do {
    rc = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | options);
  } while (rc < 0 && errno == EINTR);
  return rc < 0 || info.si_pid == pid;
}

}  // namespace

Result<ProcessSession> ProcessSession::Start(const std::string& program,
                                             const std::optional<std::string>& path,
                                             const std::vector<std::string>& arguments) {
  MDH_ASSIGN_OR_RETURN(SocketPair sockets, SocketPair::Make());
  FileDescriptor& theirs = sockets.theirs;
  if (theirs.get() == kSocketInProgram) {
    // dup2 to itself would leave it closed on exec.
    theirs = FileDescriptor(fcntl(theirs.get(), F_DUPFD_CLOEXEC, kSocketInProgram + 1));
  }
  pid_t pid = -1;
  const int error = Spawn(program, path, arguments, theirs.get(), &pid);
  if (error != 0) {
    return FailedPrecondition("cannot start the runner ", program, ": ", std::strerror(error));
  }
  const timeval patience = {.tv_sec = kSendSeconds, .tv_usec = 0};
  setsockopt(sockets.ours.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return ProcessSession(pid, std::move(sockets.ours));
}

ProcessSession::ProcessSession(ProcessSession&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

ProcessSession& ProcessSession::operator=(ProcessSession&& other) noexcept {
  std::swap(pid_, other.pid_);
  socket_ = std::move(other.socket_);
  return *this;
}

ProcessSession::~ProcessSession() { End(); }

bool ProcessSession::IsGone() const {
  char byte = 0;
  const ssize_t received = recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return received == 0 || (received < 0 && errno != EAGAIN && errno != EINTR);
}

std::string ProcessSession::End(int64_t patience_ns) {
  if (pid_ < 0) return "";
  socket_.Close();
  const int64_t deadline_ns = NowNs() + patience_ns;
  for (absl::Duration pause = absl::Microseconds(200); !HasEnded(pid_, WNOHANG);
       pause = std::min(2 * pause, absl::Milliseconds(20))) {
    if (NowNs() >= deadline_ns) kill(pid_, SIGKILL);
    absl::SleepFor(pause);
  }
  KillSession(pid_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? SignalName(WTERMSIG(status))
                             : absl::StrCat("exit status ", WEXITSTATUS(status));
}

}  // namespace mdh
