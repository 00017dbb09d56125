#include "tuner/program/isolated_evaluator.h"

#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/process/message_stream.h"

namespace mdh {
namespace {

// For starting a process, opening a device, and ending a process tree.
constexpr int64_t kGraceNs = 60'000'000'000;

int64_t PatienceNs(const TunableProgram& program) {
  if (const auto* command = std::get_if<CommandPlan>(&program.plan)) {
    return (command->repetitions + 1) * command->time_limit_ns + kGraceNs;
  }
  return std::get<KernelPlan>(program.plan).time_limit_ns + kGraceNs;
}

}  // namespace

Result<std::unique_ptr<IsolatedEvaluator>> IsolatedEvaluator::Create(const v1::ProgramSpec& spec,
                                                                     const std::string& folder,
                                                                     const WorkerCommand& worker) {
  MDH_ASSIGN_OR_RETURN(TunableProgram program, TunableProgram::Create(spec, folder));
  return std::unique_ptr<IsolatedEvaluator>(
      new IsolatedEvaluator(spec, folder, worker, std::move(program)));
}

IsolatedEvaluator::IsolatedEvaluator(v1::ProgramSpec spec, std::string folder, WorkerCommand worker,
                                     TunableProgram program)
    : spec_(std::move(spec)),
      folder_(std::move(folder)),
      worker_(std::move(worker)),
      program_(std::move(program)),
      patience_ns_(PatienceNs(program_)) {}

IsolatedEvaluator::~IsolatedEvaluator() { StopWorker(); }

Status IsolatedEvaluator::EnsureWorker() {
  if (session_ && session_->IsGone()) StopWorker();
  if (session_) return absl::OkStatus();
  std::string folder = worker_.temporary_folder + "/mdh-trials-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return FailedPrecondition("cannot make a folder in ", worker_.temporary_folder);
  }
  trial_folder_ = folder;
  std::vector<std::string> arguments = worker_.arguments;
  arguments.push_back("--folder=" + folder);
  Result<ProcessSession> session = ProcessSession::Start(worker_.program, std::nullopt, arguments);
  if (!session.ok()) {
    StopWorker();
    return session.status();
  }
  const std::lock_guard lock(mutex_);
  session_.emplace(*std::move(session));
  is_new_ = true;
  return absl::OkStatus();
}

std::string IsolatedEvaluator::StopWorker() {
  std::optional<ProcessSession> ended;
  {
    const std::lock_guard lock(mutex_);
    if (session_) ended.emplace(*std::exchange(session_, std::nullopt));
  }
  std::string how = ended ? ended->End() : "";
  std::error_code ignored;
  if (!trial_folder_.empty()) std::filesystem::remove_all(trial_folder_, ignored);
  trial_folder_.clear();
  return how;
}

void IsolatedEvaluator::Interrupt() {
  interrupted_ = true;
  const std::lock_guard lock(mutex_);
  if (session_) shutdown(session_->socket(), SHUT_RDWR);
}

Result<v1::EvaluateResponse> IsolatedEvaluator::Exchange(
    const v1::NamedConfiguration& configuration) {
  v1::EvaluateRequest request;
  if (is_new_) {
    *request.mutable_program() = spec_;
    request.set_folder(folder_);
  }
  *request.mutable_configuration() = configuration;
  MDH_RETURN_IF_ERROR(SendMessage(session_->socket(), request));
  is_new_ = false;
  v1::EvaluateResponse response;
  MDH_RETURN_IF_ERROR(ReceiveMessage(session_->socket(), response, patience_ns_));
  return response;
}

Result<v1::EvaluateResponse> IsolatedEvaluator::Evaluate(
    const v1::NamedConfiguration& configuration) {
  MDH_RETURN_IF_ERROR(ConfigurationFromNamed(configuration, program_.study.parameters).status());
  if (!interrupted_) MDH_RETURN_IF_ERROR(EnsureWorker());
  if (interrupted_) return Cancelled("interrupted");
  Result<v1::EvaluateResponse> response = Exchange(configuration);
  if (interrupted_) {
    StopWorker();
    return Cancelled("interrupted");
  }
  if (!response.ok()) {
    const bool hangs = absl::IsDeadlineExceeded(response.status());
    const std::string how = StopWorker();
    return hangs ? FailedEvaluation(FailureKind::kTimeOut, "the evaluating process does not answer")
                 : FailedEvaluation(FailureKind::kCrash,
                                    absl::StrCat("the evaluating process ended: ", how));
  }
  if (IsOf(FailureKind::kCannotRun, *response)) {
    StopWorker();
    return FailedPrecondition(response->failure().substr(Name(FailureKind::kCannotRun).size() + 2));
  }
  // Such kernels leave the process in an unknown state, or are still running in it.
  const bool is_suspect =
      IsOf(FailureKind::kCrash, *response) || IsOf(FailureKind::kTimeOut, *response);
  if (is_suspect && std::holds_alternative<KernelPlan>(program_.plan)) StopWorker();
  return response;
}

}  // namespace mdh
