// The daemon's certificate and key, and the authorities that clients' certificates come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/status.h"
#include "core/base/trusted_path.h"

namespace mdh {

// Files in PEM.
struct TlsFiles {
  std::string certificate;  // the daemon's, followed by those between it and its authority; empty:
                            // no TLS
  std::string key;          // of the certificate, without a pass phrase
  std::string client_ca;    // empty: clients are not asked for certificates
  bool require_client_certificate = true;  // else who has none may still have a token
};

// What the files say.
struct TlsMaterial {
  uint64_t version = 0;  // grows with every change
  std::string certificate;
  std::string key;
  std::string client_ca;
};

// Thread-safe.
class TlsCertificates {
 public:
  // Errors: as ReadFileContent; InvalidArgument, naming the file, if one has no PEM of its kind, or
  // the key is not that of the certificate.
  static Result<std::unique_ptr<TlsCertificates>> Open(TlsFiles files, TrustedUsers trusted = {});

  // Reads the files again: true if they say something new. Files that do not fit together, for
  // instance since only one of them is replaced yet, change nothing. Errors: as Open, once for each
  // such state.
  Result<bool> Reload() ABSL_LOCKS_EXCLUDED(mutex_);

  std::shared_ptr<const TlsMaterial> current() const ABSL_LOCKS_EXCLUDED(mutex_);
  const TlsFiles& files() const { return files_; }

 private:
  TlsCertificates(TlsFiles files, TrustedUsers trusted)
      : files_(std::move(files)), trusted_(std::move(trusted)) {}

  const TlsFiles files_;
  const TrustedUsers trusted_;
  mutable absl::Mutex mutex_;
  TlsMaterial latest_ ABSL_GUARDED_BY(mutex_);  // right or wrong
  std::shared_ptr<const TlsMaterial> current_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mdh
