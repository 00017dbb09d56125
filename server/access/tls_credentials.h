// TLS for listeners, with certificates that can be replaced while the daemon runs.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "server/access/tls_certificates.h"

namespace mdh {

// For one listener: each handshake begins with the certificates of that moment; connections that
// are there stay as they are. Both `certificates` and the result must outlive the server.
//
// gRPC's own FileWatcherCertificateProvider reads files that are just being replaced and then has
// none; the C core asks for a configuration before each handshake, and keeps the last that worked.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsCertificates& certificates);

}  // namespace mdh
