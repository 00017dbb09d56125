// Evaluates in a process of its own, which is started again when it crashed or hangs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tuner/process/process_session.h"
#include "tuner/program/evaluator.h"
#include "tuner/program/program.h"

namespace mdh {

// How mdh-evaluator is started, or another program that calls ServeEvaluations with the number
// behind
// --socket-fd= and the folder behind --folder=.
struct WorkerCommand {
  std::string program;
  std::vector<std::string> arguments;
  std::string temporary_folder;  // where folders for trials are made
};

// Not thread-safe, but for Interrupt.
class IsolatedEvaluator final : public ProgramEvaluator {
 public:
  // Starts nothing yet. Errors: InvalidArgument for a wrong specification, beginning with the
  // field.
  static Result<std::unique_ptr<IsolatedEvaluator>> Create(const v1::ProgramSpec& spec,
                                                           const std::string& folder,
                                                           const WorkerCommand& worker);
  ~IsolatedEvaluator() override;

  // Crashes and hangs are failures of the trial. Errors: FailedPrecondition if no process can be
  // started, or nothing can be evaluated there (FailureKind::kCannotRun).
  Result<v1::EvaluateResponse> Evaluate(const v1::NamedConfiguration& configuration) override;
  // From any thread: ends the evaluation that runs, and all that are asked for afterwards, with
  // Cancelled.
  void Interrupt();

 private:
  IsolatedEvaluator(v1::ProgramSpec spec, std::string folder, WorkerCommand worker,
                    TunableProgram program);
  Status EnsureWorker();
  // How it ended.
  std::string StopWorker();
  Result<v1::EvaluateResponse> Exchange(const v1::NamedConfiguration& configuration);

  const v1::ProgramSpec spec_;
  const std::string folder_;
  const WorkerCommand worker_;
  const TunableProgram program_;
  int64_t patience_ns_ = 0;  // longer than any evaluation that the worker ends itself
  std::string trial_folder_;
  bool is_new_ = false;  // the worker does not know the program yet
  std::atomic<bool> interrupted_ = false;
  std::mutex mutex_;  // guards session_ against Interrupt
  std::optional<ProcessSession> session_;
};

}  // namespace mdh
