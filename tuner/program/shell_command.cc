// Spawning, waiting with poll on a descriptor of the process, killing by group and by parent.
#include "tuner/program/shell_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/process/clock.h"
#include "tuner/process/file_descriptor.h"
#include "tuner/process/process_state.h"

namespace mdh {
namespace {

// glibc 2.36 declares its own function in a way that C++ cannot call.
int OpenProcess(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

Status Exhausted(std::string_view what) {
  return ResourceExhausted(std::string(what), ": ", std::strerror(errno));
}

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Exhausted("cannot make a pipe");
  Pipe pipe = {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& more) {
  std::vector<std::string> variables = more;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('=') + 1);
    const bool is_replaced = std::ranges::any_of(
        more, [&](const std::string& other) { return other.starts_with(name); });
    if (!is_replaced) variables.push_back(text);
  }
  return variables;
}

// As a user's shell would start it: default signals, no other descriptors.
int Spawn(const ShellCommand& command, int out, int err, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t all;
  sigfillset(&all);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = {"/bin/sh", "-c", command.command};
  std::vector<std::string> environment = EnvironmentWith(command.environment);
  const int error = posix_spawn(pid, "/bin/sh", &actions, &attributes, Pointers(arguments).data(),
                                Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// If memory runs out, a candidate should go and nothing else.
void OfferToOomKiller(pid_t pid) {
  std::ofstream(absl::StrCat("/proc/", pid, "/oom_score_adj")) << 1000;
}

// One stream of a command's output.
class Output {
 public:
  Output(FileDescriptor pipe, size_t most) : pipe_(std::move(pipe)), most_(most) {}

  int fd() const { return pipe_.get(); }
  // What is there now.
  void Read() {
    std::array<char, 65536> bytes;
    while (pipe_.valid()) {
      const ssize_t count = read(pipe_.get(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return;
      if (count == 0) return pipe_.Close();
      const size_t kept = std::min(static_cast<size_t>(count), most_ - text_.size());
      text_.append(bytes.data(), kept);
      is_cut_ = is_cut_ || kept < static_cast<size_t>(count);
    }
  }
  std::string TakeText() { return std::move(text_); }
  bool is_cut() const { return is_cut_; }

 private:
  FileDescriptor pipe_;
  size_t most_;
  std::string text_;
  bool is_cut_ = false;
};

// Reads output until the process ends; false at the deadline.
bool AwaitEnd(int process, int64_t deadline_ns, Output& out, Output& err) {
  while (true) {
    std::array<pollfd, 3> entries = {pollfd{process, POLLIN, 0}, pollfd{out.fd(), POLLIN, 0},
                                     pollfd{err.fd(), POLLIN, 0}};
    const int64_t left_ns = deadline_ns - NowNs();
    if (left_ns <= 0) return false;
    const int64_t left_ms = std::min<int64_t>(left_ns / 1'000'000 + 1, 1'000'000);
    if (poll(entries.data(), entries.size(), static_cast<int>(left_ms)) < 0) continue;
    if (entries[0].revents != 0) return true;
    if (entries[1].revents != 0) out.Read();
    if (entries[2].revents != 0) err.Read();
  }
}

// Whether there were any.
bool KillChildren() {
  bool found = false;
  for (const ProcessState& state : ReadProcessStates()) {
    if (state.parent != getpid() || state.has_ended) continue;
    kill(state.pid, SIGKILL);
    found = true;
  }
  return found;
}

// Kills the group, then all orphans that came to this process, until there is no child left.
void EndTree(pid_t leader, int* status) {
  kill(-leader, SIGKILL);
  while (waitpid(leader, status, 0) < 0 && errno == EINTR) {
  }
  while (true) {
    const pid_t reaped = waitpid(-1, nullptr, WNOHANG);
    if (reaped > 0 || (reaped < 0 && errno == EINTR)) continue;
    if (reaped < 0) return;  // no children
    KillChildren();
    waitpid(-1, nullptr, 0);
  }
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void KillDescendants() {
  while (KillChildren()) usleep(1000);
}

Result<CommandEnd> RunShellCommand(const ShellCommand& command) {
  MDH_ASSIGN_OR_RETURN(Pipe out_pipe, MakePipe());
  MDH_ASSIGN_OR_RETURN(Pipe err_pipe, MakePipe());
  pid_t pid = -1;
  const int64_t begin_ns = NowNs();
  errno = Spawn(command, out_pipe.write.get(), err_pipe.write.get(), &pid);
  if (errno != 0) return Exhausted("cannot start /bin/sh");
  OfferToOomKiller(pid);
  out_pipe.write.Close();
  err_pipe.write.Close();
  Output out(std::move(out_pipe.read), command.max_output_bytes);
  Output err(std::move(err_pipe.read), command.max_output_bytes);
  CommandEnd end;
  int status = 0;
  const FileDescriptor process(OpenProcess(pid));
  if (!process.valid()) {
    const Status failed = Exhausted("pidfd_open");
    EndTree(pid, &status);
    return failed;
  }
  end.timed_out = !AwaitEnd(process.get(), begin_ns + command.time_limit_ns, out, err);
  end.time_ns = NowNs() - begin_ns;
  EndTree(pid, &status);
  out.Read();
  err.Read();
  end.is_cut = out.is_cut() || err.is_cut();
  end.out = out.TakeText();
  end.err = err.TakeText();
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace mdh
