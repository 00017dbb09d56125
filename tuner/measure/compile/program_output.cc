#include "tuner/measure/compile/program_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kCompilerMemory = int64_t{4} << 30;
constexpr int64_t kAnswerLimit = 10'000'000'000;
constexpr int64_t kMostRead = 16 << 10;

}  // namespace

std::vector<std::string> FindPrograms(const std::string& path, const std::string& name) {
  std::vector<std::string> found;
  std::set<std::string> seen;
  for (const absl::string_view folder : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    const std::string candidate = absl::StrCat(folder, "/", name);
    std::error_code ignored;
    if (access(candidate.c_str(), X_OK) != 0 || fs::is_directory(candidate, ignored)) continue;
    if (seen.insert(fs::canonical(candidate, ignored).string()).second) found.push_back(candidate);
  }
  return found;
}

int ExecuteCompiler(const std::vector<std::string>& command, const std::string& output,
                    Streams streams, const std::string& temporary_directory) {
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log >= 0) {
    dup2(log, STDOUT_FILENO);
    if (streams == Streams::kAll) dup2(log, STDERR_FILENO);
  }
  setenv("TMPDIR", temporary_directory.c_str(), 1);
  setenv("LC_ALL", "C", 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  // At the very last: what this process has mapped so far must not count.
  LimitAddressSpace(kCompilerMemory);
  execv(arguments[0], arguments.data());
  return 127;
}

std::string ReadEnds(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(2 * kMostRead, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  std::error_code unknown;
  const auto bytes = static_cast<int64_t>(fs::file_size(path, unknown));
  if (unknown || bytes <= 2 * kMostRead) return text;
  stream.clear();
  stream.seekg(bytes - kMostRead);
  stream.read(text.data() + kMostRead, kMostRead);
  text.resize(static_cast<size_t>(kMostRead + stream.gcount()));
  return text;
}

Result<std::string> AnswerTo(const Question& question, const std::string& directory,
                             Supervisor& supervisor) {
  const std::string log = directory + "/answer.log";
  MDH_ASSIGN_OR_RETURN(ChildProcess child,
                       ChildProcess::Fork({.cpu_s = 10, .file_bytes = kMostCompilerFileBytes}, [&] {
                         if (question.variable != nullptr) setenv(question.variable, "1", 1);
                         return ExecuteCompiler(question.command, log, question.streams, directory);
                       }));
  const int64_t deadline = NowNs() + kAnswerLimit;
  std::optional<ChildEnd> end;
  while (!(end = child.Poll()) && NowNs() < deadline) supervisor.Wait(100'000'000);
  const std::string text = ReadEnds(log);
  unlink(log.c_str());
  if (!end) {
    return DeadlineExceeded("it does not answer within ", kAnswerLimit / 1'000'000'000, " s");
  }
  if (end->signal != 0 || end->exit_code != 0) return std::string();
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace mdh
