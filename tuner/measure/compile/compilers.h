// The C compilers of this machine, and compiling kernels with them, several at a time.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/decomposition/tuning_parameters.h"
#include "tuner/process/child_process.h"

namespace mdh {

// How much processes that compile step back behind others.
inline constexpr int kNiceOfCompilers = 10;

struct CompilerProgram {
  std::string path;
  std::string version;  // "12.2.0", as it says on its standard output
  // What follows the source on the command line.
  std::vector<std::string> libraries = {"-lm"};
};

// One source to compile to a shared library.
struct CompileJob {
  Compiler compiler = Compiler::kGcc;
  std::string source;
  std::vector<std::string> options;
  // May be compiled in one unit with others of the same compiler and options (JoinUnits).
  bool may_share_unit = false;
};

struct CompileOutcome {
  std::string library;  // path; empty if there is none
  std::string suffix;   // of the names of the source in the library
  std::string reason;   // the first error, on one line
  bool interrupted = false;
  // 0 if the library was there already; of those that share a unit: its share.
  int64_t compile_ns = 0;
};

// Not thread-safe. The libraries of the latest kMostLibraries sources stay in the directory and are
// not compiled again; a path is good as long as fewer than that are compiled after it.
class Compilers {
 public:
  static constexpr size_t kMostLibraries = 256;
  // Sources of one unit. Of more, the last one's result comes late, and what they save is little.
  static constexpr size_t kMostOfUnit = 4;

  // Looks for gcc (or a cc that is one) and clang in `path` (as $PATH) and tries whether they
  // compile OpenMP; of several the first that does is taken. `directory`: for sources and
  // libraries. `processes`: how many compilations run at a time. Errors: FailedPrecondition if none
  // works, ResourceExhausted if the disk is full.
  static Result<Compilers> Find(const std::string& path, std::string directory, int processes,
                                Supervisor& supervisor);

  const std::optional<CompilerProgram>& program(Compiler compiler) const;
  // "gcc 12.2.0, clang 14.0.6": those that work.
  std::string Description() const;

  // Paths of those that work.
  std::vector<std::string> Paths() const;

  // One outcome for each job, in order; equal jobs are compiled once. Errors: FailedPrecondition or
  // ResourceExhausted, naming the directory, if files cannot be written there.
  Result<std::vector<CompileOutcome>> Compile(absl::Span<const CompileJob> jobs, int64_t limit_ns,
                                              Supervisor& supervisor);

  // The same without waiting. Adds a job and gives its ticket; jobs run in the order in which they
  // were added.
  int64_t Add(CompileJob job, int64_t limit_ns);
  // Starts compilations and collects those that ended. To be called when a child has ended, and now
  // and then for those that take too long. Errors: as Compile; then all jobs are forgotten, and who
  // waits in Compile hears of it, too.
  Status Advance();
  // The outcome, once; nullopt while it is compiled.
  std::optional<CompileOutcome> Take(int64_t ticket);
  // Ends all compilations and forgets all tickets.
  void Cancel();
  // Compilations run on these cores only (empty: on all).
  void RunOn(std::vector<int> cores) { cores_ = std::move(cores); }
  // Until Resume, compilations stand still, and their limits do not count.
  void Pause();
  void Resume();

 private:
  struct Job {
    CompileJob job;
    std::string key;  // of all that makes its library
    int64_t limit_ns;
    std::vector<int64_t> tickets;
    int kills = 0;  // of its compiler
  };
  // One or, in a unit that they share, several jobs.
  struct Running {
    std::vector<Job> jobs;
    std::string base;  // path of its files, without their extensions
    int64_t started_ns;
    int64_t deadline_ns;
    ChildProcess child;
  };
  Compilers(std::string directory, int processes)
      : directory_(std::move(directory)), processes_(processes) {}
  // The first in `path` that works.
  Status FindOne(Compiler compiler, const std::string& path, Supervisor& supervisor);
  // Leaves the program out, and says why in failures_, if it does not compile OpenMP.
  Status Try(Compiler compiler, const std::string& program, Supervisor& supervisor);
  void NoteFailure(const std::string& program, const std::string& reason);
  // The next job and those that it may share a unit with: no more than its share of the queue, so
  // that no process is idle for want of jobs.
  std::vector<Job> TakeUnit();
  Result<Running> Start(std::vector<Job> jobs);
  CompileOutcome Finish(const Running& running, const ChildEnd& end);
  // Ends a compilation that is late; nullopt while it goes on.
  std::optional<CompileOutcome> Check(Running& running);
  // Lets the jobs of a compiler that a signal ended wait again. False if none did, or too often.
  bool TakeAgainIfKilled(Running& running, const CompileOutcome& outcome);
  // Hands out what came of a unit. Jobs that shared one which failed wait again, each for itself.
  void Settle(Running& running, const CompileOutcome& outcome);
  // Whether the job can be answered, or joins another one, without running anything.
  bool AnswerAtOnce(const Job& job);
  void ForgetOldLibraries();
  // Advance, but for what is done after an error.
  Status Progress();

  std::string directory_;
  int processes_;
  std::vector<int> cores_;
  std::optional<CompilerProgram> gcc_;
  std::optional<CompilerProgram> clang_;
  std::string failures_;  // why compilers that were found do not work
  // Libraries in the directory, by the job's key, latest first; several may be one file.
  struct Library {
    std::string key, path, suffix;
  };
  std::list<Library> recent_;
  int64_t last_ticket_ = 0;
  // What went wrong last, and the tickets that were lost with it: up to this one.
  Status failure_;
  int64_t last_failed_ticket_ = 0;
  int64_t last_unit_ = 0;
  std::list<Job> waiting_;
  std::list<Running> running_;
  std::map<int64_t, CompileOutcome> done_;  // by ticket
  std::optional<int64_t> paused_since_ns_;
};

// Writes a new file. Errors: ResourceExhausted if the disk is full, else FailedPrecondition; the
// message names the path.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace mdh
