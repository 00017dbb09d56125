// Finding compilers and running them.
#include "tuner/measure/compile/compilers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/exhaustion.h"
#include "core/base/shortened.h"
#include "core/expression/canonical.h"
#include "tuner/measure/compile/joined_unit.h"
#include "tuner/measure/compile/program_output.h"
#include "tuner/process/clock.h"

namespace mdh {
namespace {

// A compiler that was killed is started again: somebody else did it, or there was no memory for a
// moment. One that is killed so often is at fault.
constexpr int kMostKills = 3;
constexpr int64_t kProbeLimit = 30'000'000'000;
constexpr size_t kLongestVersion = 64;

constexpr char kProbe[] = R"(int mdh_probe(int n) {
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
)";

std::string CommandOf(Compiler compiler) { return compiler == Compiler::kClang ? "clang" : "gcc"; }

// The line that says what is wrong, without the name of the folder.
std::string FirstError(const std::string& log, const std::string& directory) {
  std::string first;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipWhitespace())) {
    if (first.empty()) first = std::string(line);
    if (absl::StrContains(line, "ld returned")) break;  // the linker has said why
    if (absl::StrContains(line, "error:") || absl::StrContains(line, "undefined reference")) {
      first = std::string(line);
      break;
    }
  }
  return absl::StrReplaceAll(first, {{directory + "/", ""}});
}

// What kernels are linked with, but the C library: of that the process that loads them has a copy,
// and looking through its symbols takes linkers as long as everything else that they do.
std::vector<std::string> LibrariesOf(Compiler compiler, const std::string& path,
                                     const std::string& directory, Supervisor& supervisor) {
  const std::string file = compiler == Compiler::kClang ? "libomp.so" : "libgomp.so";
  // clang would not look in its own folder.
  const std::string openmp =
      AnswerTo({{path, absl::StrCat("-print-file-name=", file)}}, directory, supervisor)
          .value_or("");
  // Kernels find a runtime when they are loaded (core/kernel/kernel_call.h).
  return {"-nostdlib", "-Wl,--as-needed", openmp, "-lm", "-lgcc"};
}

}  // namespace

namespace {

// What a compiler says that it could not have, and that says nothing of the kernel; empty: nothing.
std::string LackOfMachine(const CompileOutcome& outcome) {
  for (const int error : {ENOSPC, EDQUOT, EAGAIN, EMFILE, ENFILE}) {
    const char* const text = std::strerror(error);
    if (absl::StrContains(outcome.reason, text)) return text;
  }
  return "";
}

// As far as its first bytes tell.
bool IsLibrary(const std::string& path) {
  constexpr std::string_view kElf = "\177ELF";
  char begin[kElf.size()] = {};
  return std::ifstream(path, std::ios::binary).read(begin, sizeof(begin)) &&
         std::string_view(begin, sizeof(begin)) == kElf;
}

// Whether a compiler, or what it calls, was killed or crashed: somebody's doing, or of a machine
// that lacks memory, perhaps, and not always of the source.
bool WasEndedBySignal(const CompileOutcome& outcome) {
  for (const char* said : {"the compiler ended by SIG", "signal terminated program",
                           "internal compiler error", "unable to execute command: "}) {
    if (absl::StrContains(outcome.reason, said)) return true;
  }
  return false;
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view text) {
  const auto failed = [&] {
    const std::string message = absl::StrCat("cannot write ", path, ": ", std::strerror(errno));
    return errno == ENOSPC || errno == EDQUOT ? ResourceExhausted(message)
                                              : FailedPrecondition(message);
  };
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return failed();
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Status status = failed();
      close(fd);
      return status;
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
  return close(fd) == 0 ? absl::OkStatus() : failed();
}

const std::optional<CompilerProgram>& Compilers::program(Compiler compiler) const {
  return compiler == Compiler::kClang ? clang_ : gcc_;
}

std::string Compilers::Description() const {
  std::vector<std::string> working;
  for (const Compiler compiler : {Compiler::kGcc, Compiler::kClang}) {
    if (program(compiler)) {
      working.push_back(absl::StrCat(CommandOf(compiler), " ", program(compiler)->version));
    }
  }
  return absl::StrJoin(working, ", ");
}

Result<Compilers> Compilers::Find(const std::string& path, std::string directory, int processes,
                                  Supervisor& supervisor) {
  Compilers compilers(std::move(directory), std::max(processes, 1));
  for (const Compiler compiler : {Compiler::kGcc, Compiler::kClang}) {
    MDH_RETURN_IF_ERROR(compilers.FindOne(compiler, path, supervisor));
  }
  if (compilers.gcc_ || compilers.clang_) return compilers;
  return FailedPrecondition(compilers.failures_.empty()
                                ? "no C compiler found: install gcc or clang"
                                : absl::StrCat("no C compiler works: ", compilers.failures_));
}

std::vector<std::string> Compilers::Paths() const {
  std::vector<std::string> paths;
  for (const std::optional<CompilerProgram>& program : {gcc_, clang_}) {
    if (program) paths.push_back(program->path);
  }
  return paths;
}

void Compilers::NoteFailure(const std::string& program, const std::string& reason) {
  absl::StrAppend(&failures_, failures_.empty() ? "" : "; ", program, ": ", reason);
}

Status Compilers::FindOne(Compiler compiler, const std::string& path, Supervisor& supervisor) {
  for (const std::string& program : FindPrograms(path, CommandOf(compiler))) {
    MDH_RETURN_IF_ERROR(Try(compiler, program, supervisor));
    if (this->program(compiler)) return absl::OkStatus();
  }
  if (compiler != Compiler::kGcc) return absl::OkStatus();
  for (const std::string& cc : FindPrograms(path, "cc")) {
    const Result<std::string> what = AnswerTo({{cc, "--version"}}, directory_, supervisor);
    const bool may_be_gcc = what.ok() && !absl::StrContains(*what, "clang");
    if (may_be_gcc) MDH_RETURN_IF_ERROR(Try(compiler, cc, supervisor));
    if (gcc_) return absl::OkStatus();
  }
  return absl::OkStatus();
}

Status Compilers::Try(Compiler compiler, const std::string& program, Supervisor& supervisor) {
  const Result<std::string> version =
      compiler == Compiler::kGcc
          ? AnswerTo({{program, "-dumpfullversion", "-dumpversion"}}, directory_, supervisor)
          : AnswerTo({{program, "-dumpversion"}}, directory_, supervisor);
  if (IsLack(version.status())) return version.status();
  if (!version.ok()) {
    NoteFailure(program, std::string(version.status().message()));
    return absl::OkStatus();
  }
  std::optional<CompilerProgram>& slot = compiler == Compiler::kClang ? clang_ : gcc_;
  const CompileJob probe = {compiler, kProbe, {"-O2", "-fopenmp"}};
  // A part of the keys of kernels.
  const std::string line = version->substr(0, version->find('\n'));
  slot = CompilerProgram{.path = program, .version = Shortened(line, kLongestVersion)};
  slot->libraries = LibrariesOf(compiler, program, directory_, supervisor);
  MDH_ASSIGN_OR_RETURN(std::vector<CompileOutcome> outcomes,
                       Compile({probe}, kProbeLimit, supervisor));
  if (outcomes[0].library.empty()) {
    slot->libraries = {"-lm"};
    MDH_ASSIGN_OR_RETURN(outcomes, Compile({probe}, kProbeLimit, supervisor));
  }
  const bool works = !outcomes[0].library.empty();
  if (works && !line.empty()) return absl::OkStatus();
  slot.reset();
  NoteFailure(program, works ? "it does not say its version" : outcomes[0].reason);
  return absl::OkStatus();
}

std::vector<Compilers::Job> Compilers::TakeUnit() {
  const size_t share = waiting_.size() / static_cast<size_t>(processes_);
  const size_t most = std::clamp<size_t>(share, 1, kMostOfUnit);
  std::vector<Job> unit;
  unit.reserve(most);
  const auto take = [&](std::list<Job>::iterator at) {
    unit.push_back(std::move(*at));
    return waiting_.erase(at);
  };
  auto at = take(waiting_.begin());
  const CompileJob& first = unit.front().job;
  while (first.may_share_unit && at != waiting_.end() && unit.size() < most) {
    const bool is_alike = at->job.may_share_unit && at->job.compiler == first.compiler &&
                          at->job.options == first.options;
    at = is_alike ? take(at) : std::next(at);
  }
  return unit;
}

Result<Compilers::Running> Compilers::Start(std::vector<Job> jobs) {
  const CompileJob& first = jobs.front().job;
  const std::string base = absl::StrCat(directory_, "/unit", ++last_unit_);
  std::vector<std::string> sources;
  for (const Job& job : jobs) sources.push_back(job.job.source);
  MDH_RETURN_IF_ERROR(WriteFile(base + ".c", jobs.size() > 1 ? JoinUnits(sources) : sources[0]));
  // The log is made here, so that a directory that cannot be written is not taken for an error of
  // the compiler.
  MDH_RETURN_IF_ERROR(WriteFile(base + ".log", ""));
  std::vector<std::string> command = {
      program(first.compiler)->path, "-shared", "-fPIC", "-o", base + ".so", base + ".c"};
  const std::vector<std::string>& libraries = program(first.compiler)->libraries;
  command.insert(command.end(), first.options.begin(), first.options.end());
  command.insert(command.end(), libraries.begin(), libraries.end());
  const int64_t limit_ns = jobs.front().limit_ns;
  const ChildLimits limits = {.cpu_s = limit_ns / 1'000'000'000 + 1,
                              .file_bytes = kMostCompilerFileBytes,
                              .nice = kNiceOfCompilers,
                              .cores = cores_};
  MDH_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::Fork(limits, [&] {
                         return ExecuteCompiler(command, base + ".log", Streams::kAll, directory_);
                       }));
  const int64_t now = NowNs();
  return Running{std::move(jobs), base, now, now + limit_ns, std::move(child)};
}

CompileOutcome Compilers::Finish(const Running& running, const ChildEnd& end) {
  const std::string& base = running.base;
  CompileOutcome outcome;
  outcome.compile_ns = (NowNs() - running.started_ns) / static_cast<int64_t>(running.jobs.size());
  if (end.signal == 0 && end.exit_code == 0) {
    if (IsLibrary(base + ".so")) {
      outcome.library = base + ".so";
    } else {
      outcome.reason = "the compiler wrote no library";
    }
  } else if (end.signal == SIGXFSZ) {
    outcome.reason = absl::StrCat("the compiler printed, or wrote, more than ",
                                  kMostCompilerFileBytes >> 20, " MiB");
  } else {
    outcome.reason = Shortened(FirstError(ReadEnds(base + ".log"), directory_));
    if (outcome.reason.empty()) {
      outcome.reason = end.signal != 0
                           ? absl::StrCat("the compiler ended by ", SignalName(end.signal))
                           : absl::StrCat("the compiler ended with exit status ", end.exit_code);
    }
  }
  if (outcome.library.empty()) unlink((base + ".so").c_str());
  unlink((base + ".c").c_str());
  unlink((base + ".log").c_str());
  return outcome;
}

void Compilers::Settle(Running& running, const CompileOutcome& outcome) {
  const bool is_shared = running.jobs.size() > 1;
  if (is_shared && outcome.library.empty()) {
    // One of them is to blame, and only alone its error is its own.
    for (Job& job : running.jobs) job.job.may_share_unit = false;
    waiting_.insert(waiting_.begin(), std::make_move_iterator(running.jobs.begin()),
                    std::make_move_iterator(running.jobs.end()));
    return;
  }
  for (size_t j = 0; j < running.jobs.size(); ++j) {
    CompileOutcome own = outcome;
    if (is_shared) own.suffix = NameSuffix(j);
    const Job& job = running.jobs[j];
    if (!own.library.empty()) recent_.push_front({job.key, own.library, own.suffix});
    for (const int64_t ticket : job.tickets) done_[ticket] = own;
  }
}

void Compilers::ForgetOldLibraries() {
  while (recent_.size() > kMostLibraries) {
    const std::string path = recent_.back().path;
    recent_.pop_back();
    const bool is_needed =
        std::ranges::any_of(recent_, [&](const Library& other) { return other.path == path; });
    if (!is_needed) unlink(path.c_str());
  }
}

bool Compilers::AnswerAtOnce(const Job& job) {
  CompileOutcome outcome;
  const auto known = std::ranges::find(recent_, job.key, &Library::key);
  if (!program(job.job.compiler)) {
    outcome.reason = absl::StrCat(CommandOf(job.job.compiler), " is not installed");
  } else if (known != recent_.end()) {
    outcome.library = known->path;
    outcome.suffix = known->suffix;
    recent_.splice(recent_.begin(), recent_, known);
  } else {
    const auto join = [&](Job& other) {
      if (other.key != job.key) return false;
      other.tickets.push_back(job.tickets[0]);
      return true;
    };
    return std::ranges::any_of(
               running_,
               [&](Running& running) { return std::ranges::any_of(running.jobs, join); }) ||
           std::ranges::any_of(waiting_, join);
  }
  done_[job.tickets[0]] = std::move(outcome);
  return true;
}

int64_t Compilers::Add(CompileJob job, int64_t limit_ns) {
  // What must not share a unit is not taken from one that others share, either.
  std::string key =
      Sha256Hex(absl::StrCat(CommandOf(job.compiler), "\n", absl::StrJoin(job.options, "\n"), "\n",
                             job.may_share_unit, "\n\n", job.source));
  Job added = {std::move(job), std::move(key), limit_ns, {++last_ticket_}};
  if (!AnswerAtOnce(added)) waiting_.push_back(std::move(added));
  return last_ticket_;
}

std::optional<CompileOutcome> Compilers::Check(Running& running) {
  std::optional<ChildEnd> end = running.child.Poll();
  const bool is_late = !end && NowNs() > running.deadline_ns;
  if (is_late) {
    running.child.Kill();
    end = running.child.Poll();
  }
  if (!end) return std::nullopt;
  CompileOutcome outcome = Finish(running, *end);
  if (is_late) {
    outcome.reason =
        absl::StrFormat("compiling took longer than %g s", running.jobs[0].limit_ns * 1e-9);
  }
  return outcome;
}

Status Compilers::Advance() {
  Status progress = Progress();
  if (progress.ok()) return progress;
  Cancel();
  failure_ = progress;
  last_failed_ticket_ = last_ticket_;
  return progress;
}

Status Compilers::Progress() {
  if (paused_since_ns_) return absl::OkStatus();
  for (auto it = running_.begin(); it != running_.end();) {
    const std::optional<CompileOutcome> outcome = Check(*it);
    if (!outcome) {
      ++it;
      continue;
    }
    if (std::string lack = LackOfMachine(*outcome); !lack.empty()) {
      return ResourceExhausted("compiling in ", directory_, ": ", std::move(lack));
    }
    if (!TakeAgainIfKilled(*it, *outcome)) Settle(*it, *outcome);
    it = running_.erase(it);
  }
  ForgetOldLibraries();
  while (!waiting_.empty() && static_cast<int>(running_.size()) < processes_) {
    MDH_ASSIGN_OR_RETURN(Running started, Start(TakeUnit()));
    running_.push_back(std::move(started));
  }
  return absl::OkStatus();
}

bool Compilers::TakeAgainIfKilled(Running& running, const CompileOutcome& outcome) {
  if (!WasEndedBySignal(outcome) || running.jobs.front().kills + 1 >= kMostKills) return false;
  for (Job& job : running.jobs) ++job.kills;
  waiting_.insert(waiting_.begin(), std::make_move_iterator(running.jobs.begin()),
                  std::make_move_iterator(running.jobs.end()));
  return true;
}

std::optional<CompileOutcome> Compilers::Take(int64_t ticket) {
  const auto found = done_.find(ticket);
  if (found == done_.end()) return std::nullopt;
  CompileOutcome outcome = std::move(found->second);
  done_.erase(found);
  return outcome;
}

void Compilers::Cancel() {
  for (Running& running : running_) {
    running.child.Kill();
    Finish(running, {.exit_code = 1});
  }
  running_.clear();
  waiting_.clear();
  done_.clear();
  paused_since_ns_.reset();
}

void Compilers::Pause() {
  if (paused_since_ns_) return;
  paused_since_ns_ = NowNs();
  for (const Running& running : running_) running.child.Stop();
}

void Compilers::Resume() {
  if (!paused_since_ns_) return;
  for (Running& running : running_) {
    running.deadline_ns += NowNs() - *paused_since_ns_;
    running.child.Continue();
  }
  paused_since_ns_.reset();
}

Result<std::vector<CompileOutcome>> Compilers::Compile(absl::Span<const CompileJob> jobs,
                                                       int64_t limit_ns, Supervisor& supervisor) {
  std::vector<int64_t> tickets;
  for (const CompileJob& job : jobs) tickets.push_back(Add(job, limit_ns));
  std::vector<CompileOutcome> outcomes(jobs.size());
  std::vector<bool> is_done(jobs.size());
  size_t left = jobs.size();
  while (true) {
    MDH_RETURN_IF_ERROR(Advance());
    // Others may advance them while this waits.
    if (!tickets.empty() && tickets.front() <= last_failed_ticket_) return failure_;
    for (size_t j = 0; j < jobs.size(); ++j) {
      if (is_done[j]) continue;
      std::optional<CompileOutcome> outcome = Take(tickets[j]);
      if (!outcome && supervisor.interrupted()) outcome.emplace().interrupted = true;
      if (!outcome) continue;
      outcomes[j] = *std::move(outcome);
      is_done[j] = true;
      --left;
    }
    if (left == 0) break;
    supervisor.Wait(100'000'000);
  }
  if (supervisor.interrupted()) Cancel();
  return outcomes;
}

}  // namespace mdh
