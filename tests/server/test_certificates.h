// Authorities and certificates, made for a test.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace mdh {

// In PEM.
struct TestCertificate {
  std::string certificate;
  std::string key;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name)
      : key_(NewKey()), certificate_(Make(name, "", key_.get(), nullptr, nullptr)) {}

  std::string certificate() const { return ToPem(certificate_.get()); }
  // For `name`; `alternative`: "IP:127.0.0.1", "DNS:ann"; empty: none.
  TestCertificate Issue(const std::string& name, const std::string& alternative) const {
    const Key key = NewKey();
    const Certificate made = Make(name, alternative, key.get(), certificate_.get(), key_.get());
    return {ToPem(made.get()), ToPem(key.get())};
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(BIO* bio) const { BIO_free(bio); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  static Key NewKey() { return Key(EVP_EC_gen("P-256")); }

  static void Extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  // Null as issuer: signs itself, as authorities do.
  static Certificate Make(const std::string& name, const std::string& alternative, EVP_PKEY* key,
                          X509* issuer, EVP_PKEY* issuer_key) {
    static long serial = 0;
    Certificate made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
    X509_set_pubkey(made.get(), key);
    X509_NAME* subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    const bool is_authority = issuer == nullptr;
    X509* by = is_authority ? made.get() : issuer;
    X509_set_issuer_name(made.get(), X509_get_subject_name(by));
    if (is_authority) Extend(made.get(), by, NID_basic_constraints, "critical,CA:TRUE");
    if (!alternative.empty()) Extend(made.get(), by, NID_subject_alt_name, alternative);
    X509_sign(made.get(), is_authority ? key : issuer_key, EVP_sha256());
    return made;
  }

  static std::string Content(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    return {bytes, static_cast<size_t>(size)};
  }
  static std::string ToPem(X509* certificate) {
    const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), certificate);
    return Content(bio.get());
  }
  static std::string ToPem(EVP_PKEY* key) {
    const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return Content(bio.get());
  }

  const Key key_;
  const Certificate certificate_;
};

}  // namespace mdh
