#include "server/access_files.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "proto/endpoint.h"
#include "server/access/listen_address.h"
#include "server/access/tls_credentials.h"

namespace mdh {

Result<std::unique_ptr<AccessFiles>> AccessFiles::Read(const DaemonOptions& options) {
  std::unique_ptr<AccessFiles> files(new AccessFiles(options));
  MDH_RETURN_IF_ERROR(files->ReadCertificates());
  MDH_RETURN_IF_ERROR(files->ReadPrincipals());
  return files;
}

Status AccessFiles::ReadCertificates() {
  if (options_.tls.certificate.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(certificates_, TlsCertificates::Open(options_.tls, options_.trusted));
  return absl::OkStatus();
}

Status AccessFiles::ReadPrincipals() {
  if (!options_.principals_file.empty()) {
    MDH_ASSIGN_OR_RETURN(principals_,
                         PrincipalsFile::Open(options_.principals_file, options_.trusted));
  }
  AccessOptions anonymous;
  const bool is_open = principals_ == nullptr && certificates_ == nullptr;
  if (!is_open) anonymous.anonymous_local = Role::kReader;
  if (options_.anonymous_role.has_value()) {
    anonymous = {.anonymous_local = *options_.anonymous_role,
                 .anonymous_remote = *options_.anonymous_role};
  }
  access_ = std::make_unique<AccessControl>(anonymous, principals_.get());
  return absl::OkStatus();
}

std::shared_ptr<grpc::ServerCredentials> AccessFiles::CredentialsFor(const std::string& address) {
  const bool is_plain = certificates_ == nullptr || !UnixSocketPath(address).empty();
  credentials_.push_back(is_plain ? grpc::InsecureServerCredentials()
                                  : MakeTlsCredentials(*certificates_));
  return credentials_.back();
}

Status AccessFiles::Watch() {
  std::vector<FileWatch::File> files;
  if (certificates_ != nullptr) {
    files.push_back({options_.tls.certificate, [this] { return certificates_->Reload(); }});
  }
  if (principals_ != nullptr) {
    files.push_back({options_.principals_file, [this] { return principals_->Reload(); }});
  }
  if (files.empty()) return absl::OkStatus();
  MDH_ASSIGN_OR_RETURN(file_watch_, FileWatch::Start(std::move(files)));
  return absl::OkStatus();
}

Status CheckAddresses(const DaemonOptions& options) {
  const bool may_be_remote = options.allow_any_host || !options.tls.certificate.empty();
  for (const std::string& address : options.listen) {
    MDH_RETURN_IF_ERROR(CheckListenAddress(address, may_be_remote));
  }
  // TLS is for gRPC: metrics are plain.
  if (options.metrics_listen.empty()) return absl::OkStatus();
  return CheckListenAddress(options.metrics_listen, options.allow_any_host);
}

Status ClaimSockets(const DaemonOptions& options) {
  for (const std::string& address : options.listen) {
    const std::string path = UnixSocketPath(address);
    if (path.empty()) continue;
    MDH_RETURN_IF_ERROR(ClaimUnixSocket(path, options.trusted));
    if (IsNameShared(path)) {
      spdlog::warn("{}: others could take its place once this daemon has ended", address);
    }
  }
  return absl::OkStatus();
}

}  // namespace mdh
