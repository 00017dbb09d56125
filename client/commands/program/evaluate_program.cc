// mdh evaluate-program: evaluates configurations for other programs, one after another.
#include "client/commands/program/evaluate_program.h"

#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "client/commands/call/command.h"

namespace mdh {
namespace {

// Interrupts evaluations whose results nobody can read any more.
class ReaderWatch {
 public:
  ReaderWatch() : stop_(eventfd(0, EFD_CLOEXEC)), thread_([this] { Watch(); }) {}
  ~ReaderWatch() {
    eventfd_write(stop_, 1);
    thread_.join();
    close(stop_);
  }
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;

  // nullptr: none.
  void SetEvaluator(IsolatedEvaluator* evaluator) {
    const std::lock_guard lock(mutex_);
    evaluator_ = evaluator;
  }

 private:
  void Watch() {
    pollfd entries[] = {{STDOUT_FILENO, 0, 0}, {stop_, POLLIN, 0}};
    while (poll(entries, 2, -1) < 0) {
    }
    const std::lock_guard lock(mutex_);
    if (entries[0].revents != 0 && evaluator_ != nullptr) evaluator_->Interrupt();
  }

  const int stop_;
  std::mutex mutex_;
  IsolatedEvaluator* evaluator_ = nullptr;
  std::thread thread_;
};

v1::EvaluateResponse CannotRun(const Status& status) {
  return FailedEvaluation(FailureKind::kCannotRun, std::string(status.message()));
}

// Answers requests from standard input to standard output until its end.
class Server {
 public:
  explicit Server(const WorkerCommand& worker) : worker_(worker) {}
  ~Server() { watch_.SetEvaluator(nullptr); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  v1::EvaluateResponse Answer(const v1::EvaluateRequest& request) {
    if (request.has_program()) {
      watch_.SetEvaluator(nullptr);
      evaluator_.reset();
      Result<std::unique_ptr<IsolatedEvaluator>> made =
          IsolatedEvaluator::Create(request.program(), request.folder(), worker_);
      if (!made.ok()) return CannotRun(made.status());
      evaluator_ = *std::move(made);
      watch_.SetEvaluator(evaluator_.get());
    }
    if (evaluator_ == nullptr) {
      return CannotRun(InvalidArgument("the first request has no program"));
    }
    Result<v1::EvaluateResponse> response = evaluator_->Evaluate(request.configuration());
    return response.ok() ? *std::move(response) : CannotRun(response.status());
  }

 private:
  const WorkerCommand worker_;
  std::unique_ptr<IsolatedEvaluator> evaluator_;
  ReaderWatch watch_;
};

Status ServeStandardStreams(const WorkerCommand& worker) {
  namespace pb = google::protobuf;
  signal(SIGPIPE, SIG_IGN);
  pb::io::FileInputStream input(STDIN_FILENO);
  Server server(worker);
  while (true) {
    v1::EvaluateRequest request;
    bool is_end = false;
    if (!pb::util::ParseDelimitedFromZeroCopyStream(&request, &input, &is_end)) {
      if (is_end) return absl::OkStatus();
      return WithExitCode(ExitCode::kUsage,
                          "standard input is no EvaluateRequest after its length");
    }
    if (!pb::util::SerializeDelimitedToFileDescriptor(server.Answer(request), STDOUT_FILENO)) {
      return WithExitCode(ExitCode::kCannotWrite, "standard output cannot be written");
    }
  }
}

}  // namespace

WorkerCommand EvaluatorBesideThisProgram(const std::string& cuda_root) {
  std::error_code ignored;
  WorkerCommand worker;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  worker.program = (self.parent_path() / "mdh-evaluator").string();
  if (!cuda_root.empty()) worker.arguments.push_back("--cuda-path=" + cuda_root);
  worker.temporary_folder = std::filesystem::temp_directory_path(ignored).string();
  if (worker.temporary_folder.empty()) worker.temporary_folder = "/tmp";
  return worker;
}

void AddEvaluateProgramCommand(CLI::App& app, SelectedCommand& selected) {
  auto cuda_root = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "evaluate-program",
      "evaluate configurations of programs for another program: mdh.v1.EvaluateRequest from "
      "standard input, EvaluateResponse to standard output, each after its length as a varint");
  // For programs, not for people.
  command->group("");
  command->add_option("--cuda-path", *cuda_root, "where the CUDA Toolkit is")->envname("CUDA_PATH");
  Select(command, selected,
         [cuda_root] { return ServeStandardStreams(EvaluatorBesideThisProgram(*cuda_root)); });
}

}  // namespace mdh
