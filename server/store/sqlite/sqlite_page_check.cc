#include "server/store/sqlite/sqlite_page_check.h"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/start_thread.h"

namespace mdh {
namespace {

// What a thread of this process has read from files, as the system counts; 0 where it does not:
// SQLite does not tell how far a check is.
int64_t BytesReadBy(int thread) {
  std::ifstream counts(absl::StrCat("/proc/self/task/", thread, "/io"));
  std::string name;
  int64_t bytes = 0;
  while (counts >> name >> bytes) {
    if (name == "rchar:") return bytes;
  }
  return 0;
}

}  // namespace

SqlitePageCheck::SqlitePageCheck(std::unique_ptr<SqliteDatabase> database,
                                 std::function<void(const std::string&)> on_damage)
    : database_(std::move(database)), on_damage_(std::move(on_damage)) {
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(database_->path(), unknown);
  progress_.set_state(v1::PAGE_CHECK_STATE_RUNNING);
  progress_.set_total_bytes(unknown ? 0 : static_cast<int64_t>(bytes));
  spdlog::info("database={} its {} bytes are checked in the background", database_->path(),
               progress_.total_bytes());
  Result<std::thread> thread = StartThread([this] { Check(); });
  if (thread.ok()) {
    thread_ = *std::move(thread);
    return;
  }
  spdlog::warn("database={} is not checked: {}", database_->path(),
               std::string(thread.status().message()));
  End(v1::PAGE_CHECK_STATE_STOPPED, std::string(thread.status().message()));
}

SqlitePageCheck::~SqlitePageCheck() {
  {
    absl::MutexLock lock(&mutex_);
    const auto has_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return progress_.state() != v1::PAGE_CHECK_STATE_RUNNING;
    };
    // Until it has an effect: an interruption before the check begins has none.
    do {
      database_->Interrupt();
    } while (!mutex_.AwaitWithTimeout(absl::Condition(&has_ended), absl::Milliseconds(10)));
  }
  if (thread_.joinable()) thread_.join();
}

void SqlitePageCheck::Check() {
  // When nothing else is to be done, the start of the daemon first of all.
  const sched_param none = {};
  sched_setscheduler(0, SCHED_IDLE, &none);
  {
    absl::MutexLock lock(&mutex_);
    thread_id_ = gettid();
    bytes_before_ = BytesReadBy(thread_id_);
  }
  const Result<std::string> found = database_->QuickCheck();
  const std::string problem = found.ok() ? *found : std::string(found.status().message());
  if (absl::IsCancelled(found.status())) {
    End(v1::PAGE_CHECK_STATE_STOPPED, problem);
  } else if (found.ok() && problem == "ok") {
    End(v1::PAGE_CHECK_STATE_PASSED, "");
    spdlog::info("database={} all pages are as they should be", database_->path());
  } else {
    // A disk that fails says nothing about the pages.
    const bool is_damaged = found.ok() || absl::IsFailedPrecondition(found.status());
    End(v1::PAGE_CHECK_STATE_FAILED, problem);
    spdlog::error("database={} {}: {}", database_->path(),
                  is_damaged ? "is damaged, nothing is written any more" : "cannot be checked",
                  problem);
    if (is_damaged) on_damage_(problem);
  }
}

void SqlitePageCheck::End(v1::PageCheckState state, const std::string& problem) {
  absl::MutexLock lock(&mutex_);
  progress_.set_state(state);
  progress_.set_problem(problem);
  progress_.set_read_bytes(BytesReadBy(thread_id_) - bytes_before_);
}

v1::PageCheck SqlitePageCheck::Read() const {
  absl::MutexLock lock(&mutex_);
  v1::PageCheck progress = progress_;
  if (progress.state() == v1::PAGE_CHECK_STATE_RUNNING && thread_id_ != 0) {
    progress.set_read_bytes(BytesReadBy(thread_id_) - bytes_before_);
  }
  return progress;
}

}  // namespace mdh
