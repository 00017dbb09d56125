// What a confined process, and a candidate, can still do to the machine.
#include "tuner/measure/confine/confinement.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/runner_fixture.h"

namespace mdh::confinement_test {
namespace {

using ::testing::HasSubstr;

// errno of a call that gives a negative number on errors; 0 if it succeeded.
int ErrorOf(long result) { return result < 0 ? errno : 0; }

class ConfinementTest : public ::testing::Test {
 protected:
  ConfinementTest() { std::filesystem::create_directory(work_); }

  // Runs `body` in a confined child; what it gives, and what is in force, is kept.
  std::string InConfinement(ConfinementMode mode, DeviceKind kind,
                            const std::function<std::string()>& body) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      const Result<std::string> confined =
          Confine({.mode = mode, .kind = kind, .work_directory = work_, .visible = {visible_}});
      const std::string text =
          confined.ok() ? *confined + "\n" + body() : std::string(confined.status().message());
      [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
      _exit(confined.ok() ? 0 : 1);
    }
    close(ends[1]);
    std::string text;
    char byte = 0;
    while (read(ends[0], &byte, 1) == 1) text += byte;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    in_force_ = text.substr(0, text.find('\n'));
    return text.substr(std::min(in_force_.size() + 1, text.size()));
  }
  bool HasNameSpaces() const { return in_force_.starts_with("namespaces"); }

  TemporaryDirectory directory_;
  const std::string work_ = directory_.File("work");
  const std::string visible_ = directory_.File("visible");
  const std::string secret_ = directory_.File("secret");
  std::string in_force_;
  int exit_status_ = 0;
};

// "name errno" for each thing that is tried.
class Attempts {
 public:
  void Add(const std::string& name, int error) { absl::StrAppend(&text_, name, " ", error, "\n"); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::map<std::string, int> Parse(const std::string& text) {
  std::map<std::string, int> errors;
  std::istringstream stream(text);
  std::string name;
  int error = 0;
  while (stream >> name >> error) errors[name] = error;
  return errors;
}

TEST_F(ConfinementTest, FilesOfOthersAreNotThere) {
  std::ofstream(secret_) << "secret";
  std::filesystem::create_directory(visible_);
  std::ofstream(visible_ + "/tool") << "tool";
  const auto errors = Parse(InConfinement(ConfinementMode::kAuto, DeviceKind::kCpu, [&] {
    Attempts tried;
    tried.Add("secret", ErrorOf(open(secret_.c_str(), O_RDONLY)));
    for (const char* path : {"/etc/shadow", "/etc/passwd", "/root", "/home", "/var", "/run"}) {
      tried.Add(path, ErrorOf(open(path, O_RDONLY)));
    }
    tried.Add("write-root", ErrorOf(open("/file", O_WRONLY | O_CREAT, 0600)));
    tried.Add("write-usr", ErrorOf(open("/usr/file", O_WRONLY | O_CREAT, 0600)));
    tried.Add("write-sysctl", ErrorOf(open("/proc/sys/kernel/core_pattern", O_WRONLY)));
    tried.Add("write-visible", ErrorOf(open((visible_ + "/tool").c_str(), O_WRONLY)));
    tried.Add("read-visible", ErrorOf(open((visible_ + "/tool").c_str(), O_RDONLY)));
    tried.Add("write-work", ErrorOf(open((work_ + "/file").c_str(), O_WRONLY | O_CREAT, 0600)));
    tried.Add("write-tmp", ErrorOf(open("/tmp/mdh-confined", O_WRONLY | O_CREAT, 0600)));
    tried.Add("read-usr", ErrorOf(open("/usr/bin/env", O_RDONLY)));
    tried.Add("write-null", ErrorOf(open("/dev/null", O_WRONLY)));
    tried.Add("mknod", ErrorOf(mknod((work_ + "/device").c_str(), S_IFCHR | 0600, 0x101)));
    return tried.text();
  }));
  if (!HasNameSpaces()) GTEST_SKIP() << in_force_;
  EXPECT_EQ(exit_status_, 0);
  for (const char* hidden :
       {"secret", "/etc/shadow", "/etc/passwd", "/root", "/home", "/var", "/run"}) {
    EXPECT_EQ(errors.at(hidden), ENOENT) << hidden;
  }
  EXPECT_EQ(errors.at("write-root"), EROFS);
  EXPECT_EQ(errors.at("write-usr"), EROFS);
  EXPECT_NE(errors.at("write-sysctl"), 0);
  EXPECT_EQ(errors.at("write-visible"), EROFS);
  for (const char* allowed :
       {"read-visible", "write-work", "write-tmp", "read-usr", "write-null"}) {
    EXPECT_EQ(errors.at(allowed), 0) << allowed << ": " << std::strerror(errors.at(allowed));
  }
  EXPECT_EQ(errors.at("mknod"), EPERM);
  EXPECT_TRUE(std::filesystem::exists(work_ + "/file"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/mdh-confined")) << "its /tmp is its own";
}

TEST_F(ConfinementTest, ThereIsNoNetwork) {
  const auto attempts = [] {
    Attempts tried;
    tried.Add("inet", ErrorOf(socket(AF_INET, SOCK_STREAM, 0)));
    tried.Add("inet6", ErrorOf(socket(AF_INET6, SOCK_DGRAM, 0)));
    tried.Add("packet", ErrorOf(socket(AF_PACKET, SOCK_RAW, 0)));
    tried.Add("vsock", ErrorOf(socket(AF_VSOCK, SOCK_STREAM, 0)));
    tried.Add("unknown", ErrorOf(socket(1000, SOCK_STREAM, 0)));
    tried.Add("netlink", ErrorOf(socket(AF_NETLINK, SOCK_RAW, 0)));
    tried.Add("unix", ErrorOf(socket(AF_UNIX, SOCK_STREAM, 0)));
    return tried.text();
  };
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kOpenCl, DeviceKind::kCuda}) {
    const auto errors = Parse(InConfinement(ConfinementMode::kAuto, kind, attempts));
    for (const char* family : {"inet", "inet6", "packet", "vsock", "unknown"}) {
      EXPECT_EQ(errors.at(family), EAFNOSUPPORT) << family;
    }
    EXPECT_EQ(errors.at("unix"), 0);
    EXPECT_EQ(errors.at("netlink"), kind == DeviceKind::kCpu ? EAFNOSUPPORT : 0);
  }
}

TEST_F(ConfinementTest, OtherProcessesAreOutOfReach) {
  const pid_t test = getpid();
  const auto errors = Parse(InConfinement(ConfinementMode::kAuto, DeviceKind::kCpu, [&] {
    Attempts tried;
    tried.Add("ptrace-parent", ErrorOf(ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr)));
    tried.Add("ptrace-me", ErrorOf(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)));
    tried.Add("signal", ErrorOf(kill(test, 0)));
    tried.Add("memory-of-parent",
              ErrorOf(open(absl::StrCat("/proc/", getppid(), "/mem").c_str(), O_RDWR)));
    tried.Add("files-of-test",
              ErrorOf(open(absl::StrCat("/proc/", test, "/environ").c_str(), O_RDONLY)));
    tried.Add("setns", ErrorOf(setns(0, 0)));
    return tried.text();
  }));
  if (!HasNameSpaces()) GTEST_SKIP() << in_force_;
  EXPECT_EQ(errors.at("ptrace-parent"), EPERM);
  EXPECT_EQ(errors.at("ptrace-me"), EPERM);
  EXPECT_EQ(errors.at("signal"), ESRCH);
  EXPECT_NE(errors.at("memory-of-parent"), 0);
  EXPECT_EQ(errors.at("files-of-test"), ENOENT);
  EXPECT_EQ(errors.at("setns"), EPERM);
}

TEST_F(ConfinementTest, TheKernelIsAskedForNothingDangerous) {
  const auto errors = Parse(InConfinement(ConfinementMode::kAuto, DeviceKind::kCuda, [] {
    Attempts tried;
    tried.Add("mount", ErrorOf(mount("none", "/tmp", "tmpfs", 0, nullptr)));
    tried.Add("unshare", ErrorOf(unshare(CLONE_NEWUSER)));
    tried.Add("clone", ErrorOf(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)));
    tried.Add("bpf", ErrorOf(syscall(SYS_bpf, 0, nullptr, 0)));
    tried.Add("keyctl", ErrorOf(syscall(SYS_keyctl, 0, 0, 0, 0, 0)));
    tried.Add("io_uring", ErrorOf(syscall(SYS_io_uring_setup, 1, nullptr)));
    tried.Add("perf", ErrorOf(syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0)));
    tried.Add("kexec", ErrorOf(syscall(SYS_kexec_load, 0, 0, nullptr, 0)));
    tried.Add("module", ErrorOf(syscall(SYS_init_module, nullptr, 0, "")));
    const timespec epoch = {};
    tried.Add("clock", ErrorOf(clock_settime(CLOCK_REALTIME, &epoch)));
    tried.Add("privileges", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0);
    tried.Add("chroot", ErrorOf(chroot("/tmp")));
    return tried.text();
  }));
  EXPECT_EQ(errors.size(), 12U);
  for (const auto& [what, error] : errors) EXPECT_EQ(error, EPERM) << what;
}

TEST_F(ConfinementTest, TheCallerEndsAsTheConfinedProcessDoes) {
  InConfinement(ConfinementMode::kAuto, DeviceKind::kCpu, []() -> std::string { _exit(7); });
  EXPECT_EQ(exit_status_, 7);
  InConfinement(ConfinementMode::kAuto, DeviceKind::kCpu, []() -> std::string {
    kill(getpid(), SIGKILL);
    return "";
  });
  EXPECT_EQ(exit_status_, -SIGKILL);
}

TEST_F(ConfinementTest, WhatCannotBeHadIsRefusedIfItIsRequired) {
  std::filesystem::remove_all(work_);  // so that it cannot be mounted
  InConfinement(ConfinementMode::kRequire, DeviceKind::kCpu, [] { return std::string(); });
  EXPECT_EQ(exit_status_, 1);
  EXPECT_THAT(in_force_, HasSubstr("confinement is required and cannot be had: "));
  InConfinement(ConfinementMode::kAuto, DeviceKind::kCpu, [] { return std::string(); });
  EXPECT_EQ(exit_status_, 0);
  EXPECT_THAT(in_force_, HasSubstr("system calls are filtered; no namespaces: "));
}

TEST_F(ConfinementTest, ItCanBeOff) {
  std::ofstream(secret_) << "secret";
  const std::string read = InConfinement(ConfinementMode::kOff, DeviceKind::kCpu, [&] {
    return absl::StrCat("secret ", ErrorOf(open(secret_.c_str(), O_RDONLY)));
  });
  EXPECT_EQ(in_force_, "none, as configured");
  EXPECT_EQ(read, "secret 0");
}

TEST(ConfinementModeTest, ModesAreRead) {
  EXPECT_EQ(*ParseConfinementMode("auto"), ConfinementMode::kAuto);
  EXPECT_EQ(*ParseConfinementMode("require"), ConfinementMode::kRequire);
  EXPECT_EQ(*ParseConfinementMode("off"), ConfinementMode::kOff);
  EXPECT_EQ(ParseConfinementMode("on").status().code(), absl::StatusCode::kInvalidArgument);
}

// Candidates and their judge are in the same name spaces.
TEST_F(RunnerTest, CandidatesAreConfined) {
  StartRunner();
  if (!runner_->confinement().starts_with("namespaces")) GTEST_SKIP() << runner_->confinement();
  const std::string secret = directory_.File("secret");
  std::ofstream(secret) << "secret";
  const std::string attempts = absl::StrCat(
      "  extern int open(const char*, int, ...);\n"
      "  extern int socket(int, int, int);\n"
      "  extern int sprintf(char*, const char*, ...);\n"
      "  char memory[64];\n"
      "  sprintf(memory, \"/proc/%d/mem\", (int)getppid());\n"
      "  if (open(memory, 2) >= 0) return 10;\n"
      "  if (open(\"",
      secret,
      "\", 0) >= 0) return 11;\n"
      "  if (open(\"/etc/shadow\", 0) >= 0) return 12;\n"
      "  if (socket(2, 1, 0) >= 0) return 13;\n"
      "  if (kill(",
      getpid(),
      ", 0) == 0) return 14;\n"
      "  if (open(\"/usr/file\", 0101, 0600) >= 0) return 15;\n");
  const Measurement measured = MeasureOne(AddKernel(kSize, absl::StrCat(attempts, kRightAdd)));
  EXPECT_EQ(measured.outcome, TrialOutcome::kOk) << measured.reason;
}

TEST_F(RunnerTest, ConfinementCanBeRequiredAndOff) {
  StartRunner();
  const bool is_full = runner_->confinement().starts_with("namespaces");
  runner_.reset();
  RunnerOptions options = Options();
  options.confinement = ConfinementMode::kRequire;
  const Result<std::unique_ptr<Runner>> required = Runner::Start(options);
  EXPECT_EQ(required.ok(), is_full) << required.status();
  options.work_directory = directory_.File("other");
  options.confinement = ConfinementMode::kOff;
  const std::unique_ptr<Runner> off = *Runner::Start(options);
  EXPECT_EQ(off->confinement(), "none, as configured");
}

// As modules, conda and spack install it: nothing of it is below /usr.
TEST_F(RunnerTest, ACompilerOfAnyFolderWorksInside) {
  namespace fs = std::filesystem;
  const fs::path system = "/usr/bin/gcc";
  const fs::path parts = "/usr/lib/gcc/x86_64-linux-gnu";
  if (!fs::exists(system) || !fs::exists(parts)) GTEST_SKIP() << "gcc is installed otherwise";
  const fs::path prefix = directory_.File("apps/my gcc");
  fs::create_directories(prefix / "bin");
  fs::copy_file(fs::canonical(system), prefix / "bin/gcc");
  for (const char* tool : {"as", "ld"}) {
    fs::create_symlink(fs::path("/usr/bin") / tool, prefix / "bin" / tool);
  }
  for (const auto& version : fs::directory_iterator(parts)) {
    const fs::path to = prefix / "lib/gcc/x86_64-linux-gnu" / version.path().filename();
    fs::create_directories(to);
    for (const auto& part : fs::directory_iterator(version)) {
      const std::string name = part.path().filename().string();
      const bool is_of_other_languages = name == "cc1plus" || name == "lto1" || name == "plugin";
      if (!is_of_other_languages) fs::copy(part, to / name, fs::copy_options::recursive);
    }
  }
  fs::create_directory_symlink(prefix, directory_.File("module"));
  RunnerOptions options = Options();
  options.path = directory_.File("module/bin");
  Result<std::unique_ptr<Runner>> runner = Runner::Start(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  runner_ = *std::move(runner);
  EXPECT_THAT(runner_->device().compiler, HasSubstr("gcc"));
  ASSERT_TRUE(runner_->SetProblem(AddExpression(kSize), 1).ok());
  EXPECT_EQ(MeasureOne(AddKernel(kSize, kRightAdd)).outcome, TrialOutcome::kOk);
}

}  // namespace
}  // namespace mdh::confinement_test
