// Who may call a daemon, and over which connections: what it reads of principals and certificates,
// and that these may change.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/access/access_control.h"
#include "server/access/principals_file.h"
#include "server/access/tls_certificates.h"
#include "server/daemon.h"
#include "server/operate/file_watch.h"

namespace mdh {

// Not thread-safe; what it gives is.
class AccessFiles {
 public:
  // Reads the files that the options name, which must outlive this. Errors: what is wrong in them.
  static Result<std::unique_ptr<AccessFiles>> Read(const DaemonOptions& options);

  const AccessControl& control() const { return *access_; }
  // For a server that listens there; kept by this.
  std::shared_ptr<grpc::ServerCredentials> CredentialsFor(const std::string& address);
  // From now on changes of the files are taken over. Errors: as FileWatch::Start.
  Status Watch();
  void LookNow() {
    if (file_watch_ != nullptr) file_watch_->LookNow();
  }
  void StopWatching() { file_watch_.reset(); }

 private:
  explicit AccessFiles(const DaemonOptions& options) : options_(options) {}
  Status ReadCertificates();
  Status ReadPrincipals();

  const DaemonOptions& options_;
  std::unique_ptr<PrincipalsFile> principals_;
  std::unique_ptr<AccessControl> access_;
  std::unique_ptr<TlsCertificates> certificates_;
  std::vector<std::shared_ptr<grpc::ServerCredentials>> credentials_;  // of the listeners
  std::unique_ptr<FileWatch> file_watch_;
};

// Sockets of daemons that died are removed. Errors: as CheckListenAddress and ClaimUnixSocket.
Status CheckAddresses(const DaemonOptions& options);
Status ClaimSockets(const DaemonOptions& options);

}  // namespace mdh
