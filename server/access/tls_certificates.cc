#include "server/access/tls_certificates.h"

#include <openssl/pem.h>
#include <openssl/x509.h>

#include <utility>

#include "server/operate/file_content.h"

namespace mdh {
namespace {

constexpr int64_t kMaxPemBytes = 1 << 20;

template <auto Free>
struct Freeing {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freeing<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;

Bio Read(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// OpenSSL would ask for one at the terminal.
int NoPassPhrase(char*, int, int, void*) { return 0; }

// The first certificate.
Certificate ParseCertificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(Read(pem).get(), nullptr, NoPassPhrase, nullptr));
}

Key ParseKey(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(Read(pem).get(), nullptr, NoPassPhrase, nullptr));
}

Status Check(const TlsFiles& files, const TlsMaterial& material) {
  const Certificate certificate = ParseCertificate(material.certificate);
  if (certificate == nullptr) {
    return InvalidArgument(files.certificate, " has no certificate in PEM");
  }
  const Key key = ParseKey(material.key);
  if (key == nullptr) {
    return InvalidArgument(files.key, " has no private key in PEM, or one with a pass phrase");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return InvalidArgument("the key in ", files.key, " is not that of the certificate in ",
                           files.certificate);
  }
  if (!files.client_ca.empty() && ParseCertificate(material.client_ca) == nullptr) {
    return InvalidArgument(files.client_ca, " has no certificate in PEM");
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::unique_ptr<TlsCertificates>> TlsCertificates::Open(TlsFiles files,
                                                               TrustedUsers trusted) {
  std::unique_ptr<TlsCertificates> opened(
      new TlsCertificates(std::move(files), std::move(trusted)));
  MDH_RETURN_IF_ERROR(opened->Reload().status());
  return opened;
}

Result<bool> TlsCertificates::Reload() {
  TlsMaterial material;
  const auto read = [this](const std::string& path) {
    return ReadFileContent(path, kMaxPemBytes, trusted_);
  };
  MDH_ASSIGN_OR_RETURN(material.certificate, read(files_.certificate));
  MDH_ASSIGN_OR_RETURN(material.key, read(files_.key));
  if (!files_.client_ca.empty()) {
    MDH_ASSIGN_OR_RETURN(material.client_ca, read(files_.client_ca));
  }
  absl::MutexLock lock(&mutex_);
  if (current_ != nullptr && material.certificate == latest_.certificate &&
      material.key == latest_.key && material.client_ca == latest_.client_ca) {
    return false;
  }
  material.version = latest_.version + 1;
  latest_ = material;
  MDH_RETURN_IF_ERROR(Check(files_, material));
  current_ = std::make_shared<const TlsMaterial>(std::move(material));
  return true;
}

std::shared_ptr<const TlsMaterial> TlsCertificates::current() const {
  absl::ReaderMutexLock lock(&mutex_);
  return current_;
}

}  // namespace mdh
