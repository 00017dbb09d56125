#include "server/access/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <atomic>

namespace mdh {
namespace {

class ReloadingTlsCredentials final : public grpc::ServerCredentials {
 public:
  explicit ReloadingTlsCredentials(const TlsCertificates& certificates)
      : certificates_(certificates),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                RequestType(certificates.files()), &Fetch, this))) {}
  ~ReloadingTlsCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  static grpc_ssl_client_certificate_request_type RequestType(const TlsFiles& files) {
    if (files.client_ca.empty()) return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    return files.require_client_certificate
               ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
               : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
  }

  // Before each handshake, one at a time.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto& credentials = *static_cast<ReloadingTlsCredentials*>(self);
    const std::shared_ptr<const TlsMaterial> material = credentials.certificates_.current();
    if (credentials.version_.exchange(material->version) == material->version) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {material->key.c_str(), material->certificate.c_str()};
    // gRPC insists on authorities, even if it asks no client for a certificate.
    const bool is_asking = !material->client_ca.empty();
    const char* roots = (is_asking ? material->client_ca : material->certificate).c_str();
    *config = grpc_ssl_server_certificate_config_create(roots, &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  const TlsCertificates& certificates_;
  std::atomic<uint64_t> version_ = 0;  // that the listener has
  grpc_server_credentials* const credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(const TlsCertificates& certificates) {
  return std::make_shared<ReloadingTlsCredentials>(certificates);
}

}  // namespace mdh
