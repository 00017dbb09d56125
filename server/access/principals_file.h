// The file that names the principals, and what it says now.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/base/trusted_path.h"
#include "server/access/principals.h"

namespace mdh {

// Thread-safe.
class PrincipalsFile {
 public:
  // Errors: as ReadFileContent; InvalidArgument if it has a line that is wrong, naming file and
  // line.
  static Result<std::unique_ptr<PrincipalsFile>> Open(std::string path, TrustedUsers trusted = {});

  // Reads the file again if it has changed: true if there is something new. After an error what it
  // said before goes on to hold; each version of it is complained of once. Errors: as Open.
  Result<bool> Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<const Principals> current() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  PrincipalsFile(std::string path, TrustedUsers trusted)
      : path_(std::move(path)), trusted_(std::move(trusted)) {}

  const std::string path_;
  const TrustedUsers trusted_;
  mutable absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);  // the latest, right or wrong
  std::shared_ptr<const Principals> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
