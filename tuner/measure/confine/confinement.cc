#include "tuner/measure/confine/confinement.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tuner/measure/confine/private_root.h"
#include "tuner/measure/confine/system_call_filter.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {
namespace {

constexpr int kAllButUser = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

struct NameSpaces {
  int flags;
  const char* text;
};
// The first that can be had. Whoever may do everything needs no name space of users, but has fewer
// ways out of one.
constexpr NameSpaces kNameSpaces[] = {
    {kAllButUser | CLONE_NEWUSER, "namespaces user mount pid network ipc uts; "},
    {kAllButUser, "namespaces mount pid network ipc uts; "},
};
constexpr const char* kFiltered = "system calls are filtered";
// Longer than any driver takes to open a device.
constexpr unsigned kRehearsalSeconds = 90;

constexpr int kSignalled = 128;  // and the signal: exit status of a process that ended by one

Status SystemError(const char* what) {
  return FailedPrecondition(what, ": ", std::strerror(errno));
}

Status WriteProc(const char* path, const std::string& text) {
  const FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) < 0) return SystemError(path);
  return absl::OkStatus();
}

// Files keep their owners.
Status KeepUser(uid_t user, gid_t group) {
  MDH_RETURN_IF_ERROR(WriteProc("/proc/self/setgroups", "deny"));
  MDH_RETURN_IF_ERROR(WriteProc("/proc/self/uid_map", absl::StrCat(user, " ", user, " 1")));
  return WriteProc("/proc/self/gid_map", absl::StrCat(group, " ", group, " 1"));
}

Status EnterNameSpaces(int flags) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(flags) != 0) return SystemError("new name spaces");
  return (flags & CLONE_NEWUSER) != 0 ? KeepUser(user, group) : absl::OkStatus();
}

// For this process and all that it starts, whatever they execute.
Status GiveUpPrivileges() {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return SystemError("no new privileges");
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    prctl(PR_CAPBSET_DROP, capability);  // who has none cannot drop any
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none = {};
  if (syscall(SYS_capset, &header, none.data()) != 0) return SystemError("giving up privileges");
  return absl::OkStatus();
}

// The part that works everywhere: without name spaces, too.
Status RestrictCalls(const ConfinementOptions& options) {
  MDH_RETURN_IF_ERROR(GiveUpPrivileges());
  MDH_RETURN_IF_ERROR(FilterSystemCalls(
      options.kind == DeviceKind::kCpu ? AllowedSockets::kUnix : AllowedSockets::kUnixAndNetlink));
  // A kernel must not look into the memory of the process that judges it. Children allow it for
  // themselves again.
  prctl(PR_SET_DUMPABLE, 0);
  return absl::OkStatus();
}

int ExitStatus(int wait_status) {
  return WIFSIGNALED(wait_status) ? kSignalled + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// Waits for `child`, and for all others that have lost their parents meanwhile.
int AwaitReapingAll(pid_t child) {
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == child) return ExitStatus(status);
    if (ended < 0 && errno != EINTR) return 1;
  }
}

// Ends this process as `exit_status` says.
[[noreturn]] void EndLike(int exit_status) {
  if (exit_status > kSignalled) {
    signal(exit_status - kSignalled, SIG_DFL);
    kill(getpid(), exit_status - kSignalled);
  }
  _exit(exit_status);
}

// Whether whoever holds the other end of the pipe is still there.
bool IsHeld(const FileDescriptor& pipe_end) {
  pollfd entry = {pipe_end.get(), POLLIN, 0};
  return poll(&entry, 1, 0) == 0;
}

// There are no homes inside, in which drivers keep their caches.
void SetUpEnvironment() {
  setenv("HOME", "/tmp", 1);
  unsetenv("XDG_CACHE_HOME");
  unsetenv("TMPDIR");
}

// The first process of the name spaces, which reaps.
Status BecomeFirst(const ConfinementOptions& options) {
  MDH_RETURN_IF_ERROR(EnterPrivateRoot(
      {.kind = options.kind, .writable = options.work_directory, .visible = options.visible}));
  return RestrictCalls(options);
}

// What is to be done, as it is done in earnest.
Status TryInside(const ConfinementOptions& options) {
  SetUpEnvironment();
  return options.check ? options.check() : absl::OkStatus();
}

// Confines the calling process for a try, to these name spaces or (0) by the filter alone.
Status TryIn(int flags, const ConfinementOptions& options) {
  if (flags == 0) {
    MDH_RETURN_IF_ERROR(RestrictCalls(options));
    return TryInside(options);
  }
  MDH_RETURN_IF_ERROR(EnterNameSpaces(flags));
  const pid_t first = fork();
  if (first < 0) return SystemError("a process in new name spaces");
  if (first > 0) _exit(AwaitReapingAll(first));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MDH_RETURN_IF_ERROR(BecomeFirst(options));
  return TryInside(options);
}

// In a process of its own: whether Confine would succeed with these name spaces. Says why not.
std::string Rehearse(int flags, const ConfinementOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::strerror(errno);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t outer = fork();
  if (outer == 0) {
    alarm(kRehearsalSeconds);
    const Status status = TryIn(flags, options);
    const std::string why(status.message());
    [[maybe_unused]] const ssize_t written = write(write_end.get(), why.data(), why.size());
    _exit(status.ok() ? 0 : 1);
  }
  write_end.Close();
  if (outer < 0) return std::strerror(errno);
  std::array<char, 512> why = {};
  const ssize_t size = read(read_end.get(), why.data(), why.size());
  const int status = [&] {
    int wait_status = 0;
    while (waitpid(outer, &wait_status, 0) < 0 && errno == EINTR) {
    }
    return ExitStatus(wait_status);
  }();
  if (status == 0) return "";
  return size > 0 ? std::string(why.data(), static_cast<size_t>(size))
                  : absl::StrCat("its rehearsal ended with status ", status);
}

// Returns in the confined process only.
void GoInside(int flags, const ConfinementOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) _exit(1);
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  if (!EnterNameSpaces(flags).ok()) _exit(1);
  const pid_t first = fork();
  if (first < 0) _exit(1);
  if (first > 0) {
    close(options.socket);
    EndLike(AwaitReapingAll(first));
  }
  write_end.Close();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!IsHeld(read_end)) _exit(1);
  if (!BecomeFirst(options).ok()) _exit(1);
  const pid_t confined = fork();
  if (confined < 0) _exit(1);
  if (confined > 0) {
    close(options.socket);
    _exit(AwaitReapingAll(confined));
  }
  SetUpEnvironment();
}

}  // namespace

Result<ConfinementMode> ParseConfinementMode(std::string_view name) {
  if (name == "auto") return ConfinementMode::kAuto;
  if (name == "require") return ConfinementMode::kRequire;
  if (name == "off") return ConfinementMode::kOff;
  return InvalidArgument("'", std::string(name), "' is none of auto, require and off");
}

Result<std::string> Confine(const ConfinementOptions& options) {
  if (options.mode == ConfinementMode::kOff) return std::string("none, as configured");
  std::string why;
  for (const NameSpaces& spaces : kNameSpaces) {
    const std::string failure = Rehearse(spaces.flags, options);
    if (failure.empty()) {
      GoInside(spaces.flags, options);
      return absl::StrCat(spaces.text, kFiltered);
    }
    if (why.empty()) why = failure;
  }
  if (options.mode == ConfinementMode::kRequire) {
    return FailedPrecondition("confinement is required and cannot be had: ", why);
  }
  if (!Rehearse(0, options).empty()) return absl::StrCat("none: ", why);
  MDH_RETURN_IF_ERROR(RestrictCalls(options));
  return absl::StrCat(kFiltered, "; no namespaces: ", why);
}

}  // namespace mdh
