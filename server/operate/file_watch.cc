#include "server/operate/file_watch.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "core/base/start_thread.h"

namespace mdh {

FileWatch::FileWatch(std::vector<File> files, absl::Duration interval) : interval_(interval) {
  for (File& file : files) files_.push_back({std::move(file), ""});
}

Result<std::unique_ptr<FileWatch>> FileWatch::Start(std::vector<File> files,
                                                    absl::Duration interval) {
  std::unique_ptr<FileWatch> watch(new FileWatch(std::move(files), interval));
  MDH_ASSIGN_OR_RETURN(watch->thread_, StartThread([watch = watch.get()] { watch->Work(); }));
  return watch;
}

FileWatch::~FileWatch() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void FileWatch::LookNow() {
  absl::MutexLock lock(&mutex_);
  is_asked_ = true;
}

void FileWatch::Look(Watched& watched) const {
  const Result<bool> changed = watched.file.reload();
  if (changed.ok()) {
    if (*changed) spdlog::info("{}: changes are taken over", watched.file.name);
    if (*changed) watched.complaint.clear();
    return;
  }
  std::string complaint(changed.status().message());
  if (complaint != watched.complaint) {
    spdlog::error("{}: what was read before goes on to hold: {}", watched.file.name, complaint);
  }
  watched.complaint = std::move(complaint);
}

void FileWatch::Work() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_stopping_ || is_asked_;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&is_due), interval_);
      if (is_stopping_) return;
      is_asked_ = false;
    }
    for (Watched& watched : files_) Look(watched);
  }
}

}  // namespace mdh
