// Takes over what has changed in files of the configuration.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/status.h"

namespace mdh {

// One thread. Logs what was taken over, and errors.
class FileWatch {
 public:
  struct File {
    std::string name;  // for the log
    // True if there is something new; see PrincipalsFile::Reload.
    std::function<Result<bool>()> reload;
  };
  // What the files refer to must outlive this. Errors: ResourceExhausted if there is no thread.
  static Result<std::unique_ptr<FileWatch>> Start(std::vector<File> files,
                                                  absl::Duration interval = absl::Seconds(1));
  ~FileWatch();

  // Looks at once, as SIGHUP asks; returns before that is done.
  void LookNow() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  FileWatch(std::vector<File> files, absl::Duration interval);
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);

  struct Watched {
    File file;
    std::string complaint;  // the last one that was logged, if it still holds
  };
  void Look(Watched& watched) const;

  std::vector<Watched> files_;  // of the thread alone
  const absl::Duration interval_;
  absl::Mutex mutex_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_asked_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mdh
