// Requests in the main thread, limits in another.
#include "tuner/program/evaluation_worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tuner/process/clock.h"
#include "tuner/process/file_descriptor.h"
#include "tuner/process/message_stream.h"
#include "tuner/program/command_evaluator.h"
#include "tuner/program/shell_command.h"

namespace mdh {
namespace {

// Ends the process when an evaluation takes too long or nobody waits for it: a kernel cannot be
// interrupted.
class Watchdog {
 public:
  explicit Watchdog(const WorkerOptions& options)
      : options_(options), wake_(eventfd(0, EFD_CLOEXEC)), thread_([this] { Watch(); }) {}
  ~Watchdog() {
    Set([this] { is_over_ = true; });
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void Begin(int64_t limit_ns) {
    Set([&] {
      limit_ns_ = limit_ns;
      deadline_ns_ = NowNs() + limit_ns;
    });
  }
  // Afterwards the caller may answer. Does not return if the time is over.
  void End() {
    Set([this] { deadline_ns_ = std::nullopt; });
  }

 private:
  template <typename Change>
  void Set(const Change& change) {
    const std::lock_guard lock(mutex_);
    change();
    eventfd_write(wake_.get(), 1);
  }

  void Watch() {
    while (true) {
      const std::optional<int64_t> deadline_ns = Deadline();
      if (is_stopped()) return;
      // Not POLLIN: requests are for the main thread.
      pollfd entries[] = {{options_.socket, POLLRDHUP, 0}, {wake_.get(), POLLIN, 0}};
      int timeout_ms = -1;
      if (deadline_ns) {
        const int64_t left_ms = (*deadline_ns - NowNs()) / 1'000'000 + 1;
        timeout_ms = static_cast<int>(std::clamp<int64_t>(left_ms, 0, 1'000'000));
      }
      if (poll(entries, 2, timeout_ms) < 0) continue;
      if (entries[0].revents != 0) EndProcess();
      eventfd_t ignored = 0;
      if (entries[1].revents != 0) eventfd_read(wake_.get(), &ignored);
      EndIfLate();
    }
  }

  std::optional<int64_t> Deadline() {
    const std::lock_guard lock(mutex_);
    return deadline_ns_;
  }
  bool is_stopped() {
    const std::lock_guard lock(mutex_);
    return is_over_;
  }

  // With the lock held until the end, so that the main thread does not answer, too.
  void EndIfLate() {
    const std::lock_guard lock(mutex_);
    if (!deadline_ns_ || NowNs() < *deadline_ns_) return;
    const v1::EvaluateResponse late = FailedEvaluation(
        FailureKind::kTimeOut, absl::StrCat("it takes longer than ", limit_ns_ / 1e9, " s"));
    (void)SendMessage(options_.socket, late);
    EndProcess();
  }

  [[noreturn]] void EndProcess() const {
    KillDescendants();
    std::error_code ignored;
    if (!options_.folder.empty()) std::filesystem::remove_all(options_.folder, ignored);
    _exit(0);
  }

  const WorkerOptions& options_;
  const FileDescriptor wake_;
  std::mutex mutex_;
  std::optional<int64_t> deadline_ns_;
  int64_t limit_ns_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

// A program and what evaluates it.
class Worker {
 public:
  explicit Worker(const WorkerOptions& options) : options_(options), watchdog_(options) {}

  bool is_usable() const { return kernel_ == nullptr || kernel_->is_usable(); }

  v1::EvaluateResponse Answer(const v1::EvaluateRequest& request) {
    if (request.has_program()) {
      const Status loaded = Load(request);
      if (!loaded.ok()) return CannotRun(loaded);
    }
    ProgramEvaluator* evaluator =
        kernel_ != nullptr ? static_cast<ProgramEvaluator*>(kernel_.get()) : command_.get();
    if (evaluator == nullptr) return CannotRun(InvalidArgument("there is no program"));
    // Commands have limits of their own, and are ended there.
    if (kernel_ != nullptr) watchdog_.Begin(std::get<KernelPlan>(program_->plan).time_limit_ns);
    Result<v1::EvaluateResponse> response = evaluator->Evaluate(request.configuration());
    watchdog_.End();
    return response.ok() ? *std::move(response) : CannotRun(response.status());
  }

 private:
  static v1::EvaluateResponse CannotRun(const Status& status) {
    return FailedEvaluation(FailureKind::kCannotRun, std::string(status.message()));
  }

  Status Load(const v1::EvaluateRequest& request) {
    command_.reset();
    kernel_.reset();
    MDH_ASSIGN_OR_RETURN(TunableProgram program,
                         TunableProgram::Create(request.program(), request.folder()));
    program_ = std::make_unique<TunableProgram>(std::move(program));
    if (std::holds_alternative<CommandPlan>(program_->plan)) {
      command_ = std::make_unique<CommandEvaluator>(*program_, options_.folder);
      return absl::OkStatus();
    }
    MDH_ASSIGN_OR_RETURN(kernel_, KernelEvaluator::Create(*program_, options_.devices));
    return absl::OkStatus();
  }

  const WorkerOptions& options_;
  Watchdog watchdog_;
  std::unique_ptr<TunableProgram> program_;
  std::unique_ptr<CommandEvaluator> command_;
  std::unique_ptr<KernelEvaluator> kernel_;
};

}  // namespace

Status ServeEvaluations(const WorkerOptions& options) {
  signal(SIGPIPE, SIG_IGN);
  AdoptOrphans();
  const FileDescriptor null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  dup2(null.get(), STDERR_FILENO);
  Worker worker(options);
  while (worker.is_usable()) {
    v1::EvaluateRequest request;
    const Status received = ReceiveMessage(options.socket, request);
    if (absl::IsUnavailable(received)) break;
    MDH_RETURN_IF_ERROR(received);
    MDH_RETURN_IF_ERROR(SendMessage(options.socket, worker.Answer(request)));
  }
  // Without the drivers' own clean-up, which may hang or fail after what kernels did.
  KillDescendants();
  std::error_code ignored;
  if (!options.folder.empty()) std::filesystem::remove_all(options.folder, ignored);
  _exit(0);
}

}  // namespace mdh
