// Runs the built programs and collects what they print.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/server/eventually.h"
#include "tests/server/temporary_directory.h"
#include "tests/source_path.h"

namespace mdh {

inline std::string ReadFile(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

inline std::string ProgramPath(const std::string& name) { return BuildPath("bin/") + name; }

inline std::string ExpressionPath(const std::string& name) {
  return SourcePath("client/expressions/") + name;
}

// A process whose standard output and error go to files. Killed with its test, if it still runs
// then.
class Program {
 public:
  // `environment`: "NAME=VALUE", in place of this process's variables of those names.
  explicit Program(const std::vector<std::string>& words,
                   const std::vector<std::string>& environment = {}) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, directory_.File("out").c_str(),
                                     O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, directory_.File("err").c_str(),
                                     O_WRONLY | O_CREAT, 0600);
    std::vector<std::string> variables = environment;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      if (!IsReplaced(*variable, environment)) variables.emplace_back(*variable);
    }
    const std::vector<char*> arguments = Pointers(words);
    const std::vector<char*> environment_pointers = Pointers(variables);
    const int error = posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(),
                                   environment_pointers.data());
    EXPECT_EQ(error, 0) << words[0];
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Program() {
    if (exit_code_.has_value()) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void Signal(int signal) const { kill(pid_, signal); }
  // Returns when all of its threads have stopped; SIGCONT lets them go on.
  void Stop() const {
    Signal(SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  // The exit code, or 128 + the signal that ended it.
  int Wait() {
    if (!exit_code_.has_value()) {
      int status = 0;
      waitpid(pid_, &status, 0);
      exit_code_ = Code(status);
    }
    return *exit_code_;
  }
  bool HasEnded() {
    int status = 0;
    if (!exit_code_.has_value() && waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = Code(status);
    }
    return exit_code_.has_value();
  }
  std::string out() const { return ReadFile(directory_.File("out")); }
  std::string err() const { return ReadFile(directory_.File("err")); }
  pid_t pid() const { return pid_; }

 private:
  static int Code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  static bool IsReplaced(const std::string& variable, const std::vector<std::string>& by) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    for (const std::string& other : by) {
      if (other.starts_with(name)) return true;
    }
    return false;
  }
  static std::vector<char*> Pointers(const std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
    pointers.push_back(nullptr);
    return pointers;
  }

  TemporaryDirectory directory_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// What a program that ran to its end left.
struct Ended {
  int code = -1;
  std::string out;
  std::string err;
};

inline Ended RunProgram(const std::vector<std::string>& words,
                        const std::vector<std::string>& environment = {}) {
  Program program(words, environment);
  const int code = program.Wait();
  return {code, program.out(), program.err()};
}

}  // namespace mdh
