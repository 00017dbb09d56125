#include "tests/property/worker_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Clock = std::chrono::steady_clock;

// All bytes, or false at the end of the pipe.
template <typename Byte, typename Transfer>
bool TransferAll(int fd, Byte* bytes, size_t count, Transfer transfer) {
  while (count > 0) {
    const ssize_t done = transfer(fd, bytes, count);
    if (done <= 0) return false;
    bytes += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

bool WriteText(int fd, const std::string& text) {
  const uint64_t size = text.size();
  return TransferAll(fd, reinterpret_cast<const char*>(&size), sizeof size, ::write) &&
         TransferAll(fd, text.data(), text.size(), ::write);
}

bool ReadText(int fd, std::string* text) {
  uint64_t size = 0;
  if (!TransferAll(fd, reinterpret_cast<char*>(&size), sizeof size, ::read)) return false;
  text->resize(size);
  return TransferAll(fd, text->data(), text->size(), ::read);
}

// Reads job numbers until the pipe ends; answers each.
[[noreturn]] void Serve(const MakeJob& make_job, int jobs, int answers) {
  const Job job = make_job();
  int number = 0;
  while (TransferAll(jobs, reinterpret_cast<char*>(&number), sizeof number, ::read)) {
    if (!WriteText(answers, job(number))) break;
  }
  _exit(0);
}

// A child and what it is doing.
class Worker {
 public:
  static std::optional<Worker> Start(const MakeJob& make_job) {
    int jobs[2], answers[2];
    if (pipe2(jobs, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) return std::nullopt;
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) return std::nullopt;
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      // Nothing of the parent's: the other workers' pipes end when the parent closes them.
      constexpr unsigned kHigh = 1000;
      const int in = fcntl(jobs[0], F_DUPFD, kHigh), out = fcntl(answers[1], F_DUPFD, in + 1);
      close_range(STDERR_FILENO + 1, static_cast<unsigned>(in) - 1, 0);
      Serve(make_job, in, out);
    }
    close(jobs[0]);
    close(answers[1]);
    return Worker(pid, jobs[1], answers[0]);
  }
  Worker(Worker&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)),
        jobs_(std::exchange(other.jobs_, -1)),
        answers_(std::exchange(other.answers_, -1)),
        job_(other.job_),
        since_(other.since_) {}
  Worker& operator=(Worker&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(jobs_, other.jobs_);
    std::swap(answers_, other.answers_);
    std::swap(job_, other.job_);
    std::swap(since_, other.since_);
    return *this;
  }
  ~Worker() {
    if (pid_ >= 0) Stop();
  }

  int answers() const { return answers_; }
  const std::optional<int>& job() const { return job_; }
  bool IsLate(int patience_s) const {
    return job_ && Clock::now() - since_ > std::chrono::seconds(patience_s);
  }

  void Give(int job) {
    job_ = job;
    since_ = Clock::now();
    // A worker that is gone is noticed when its answer is read.
    TransferAll(jobs_, reinterpret_cast<const char*>(&job), sizeof job, ::write);
  }

  // Waits for the answer to the current job; nullopt if the process ended instead.
  std::optional<std::string> Answer() {
    std::string text;
    if (!ReadText(answers_, &text)) return std::nullopt;
    job_.reset();
    return text;
  }

  void Kill() { kill(pid_, SIGKILL); }

  // How the process ended.
  std::string Stop() {
    close(jobs_);
    close(answers_);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    if (!WIFSIGNALED(status)) return absl::StrCat("exit code ", WEXITSTATUS(status));
    const char* name = sigabbrev_np(WTERMSIG(status));
    return absl::StrCat(
        "signal ", name != nullptr ? absl::StrCat("SIG", name) : absl::StrCat(WTERMSIG(status)));
  }

 private:
  Worker(pid_t pid, int jobs, int answers) : pid_(pid), jobs_(jobs), answers_(answers) {}
  pid_t pid_;
  int jobs_, answers_;
  std::optional<int> job_;
  Clock::time_point since_;
};

class Pool {
 public:
  Pool(const PoolOptions& options, const MakeJob& make_job,
       const std::function<void(const JobEnd&)>& on_end)
      : options_(options), make_job_(make_job), on_end_(on_end), next_(options.first) {}

  Status Run() {
    signal(SIGPIPE, SIG_IGN);
    for (int n = 0; n < std::min(options_.processes, options_.count); ++n) {
      MDH_RETURN_IF_ERROR(StartWorker());
    }
    while (!workers_.empty()) MDH_RETURN_IF_ERROR(Step());
    return absl::OkStatus();
  }

 private:
  Status StartWorker() {
    std::optional<Worker> worker = Worker::Start(make_job_);
    if (!worker) return absl::ResourceExhaustedError("no process can be started");
    worker->Give(next_++);
    workers_.push_back(*std::move(worker));
    return absl::OkStatus();
  }

  bool HasMore() const { return next_ < options_.first + options_.count; }

  // Waits for one answer, or for one second.
  Status Step() {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_) files.push_back({worker.answers(), POLLIN, 0});
    poll(files.data(), files.size(), 1000);
    // Before answers are read: a signal for all may have ended what a job waits for.
    if (options_.is_over && options_.is_over()) {
      for (Worker& worker : workers_) worker.Kill();
      workers_.clear();
      return absl::OkStatus();
    }
    for (size_t n = workers_.size(); n-- > 0;) {
      if (workers_[n].IsLate(options_.patience_s)) {
        workers_[n].Kill();
        MDH_RETURN_IF_ERROR(Replace(n, absl::StrCat("no answer in ", options_.patience_s, " s")));
      } else if (files[n].revents != 0) {
        MDH_RETURN_IF_ERROR(Receive(n));
      }
    }
    return absl::OkStatus();
  }

  Status Receive(size_t n) {
    const int job = *workers_[n].job();
    const std::optional<std::string> answer = workers_[n].Answer();
    if (!answer) return Replace(n, "");
    on_end_({job, true, *answer});
    if (HasMore()) {
      workers_[n].Give(next_++);
    } else {
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return absl::OkStatus();
  }

  // A worker that ended, or was ended because of `reason`.
  Status Replace(size_t n, const std::string& reason) {
    const int job = *workers_[n].job();
    const std::string end = workers_[n].Stop();
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(n));
    on_end_({job, false, reason.empty() ? end : reason});
    return HasMore() ? StartWorker() : absl::OkStatus();
  }

  const PoolOptions& options_;
  const MakeJob& make_job_;
  const std::function<void(const JobEnd&)>& on_end_;
  int next_;
  std::vector<Worker> workers_;
};

}  // namespace

Status RunInWorkers(const PoolOptions& options, const MakeJob& make_job,
                    const std::function<void(const JobEnd&)>& on_end) {
  if (options.processes == 0) {
    const Job job = make_job();
    for (int n = 0; n < options.count; ++n) {
      std::string answer = job(options.first + n);
      if (options.is_over && options.is_over()) break;
      on_end({options.first + n, true, std::move(answer)});
    }
    return absl::OkStatus();
  }
  return Pool(options, make_job, on_end).Run();
}

}  // namespace mdh
