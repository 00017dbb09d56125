#include "core/base/sha256.h"

#include <openssl/evp.h>

namespace mdh {

struct Sha256::Context {
  EVP_MD_CTX* state = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(state); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->state, EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

Sha256& Sha256::Add(absl::string_view bytes) {
  EVP_DigestUpdate(context_->state, bytes.data(), bytes.size());
  return *this;
}

Sha256::Sum Sha256::Finish() {
  Sum sum;
  EVP_DigestFinal_ex(context_->state, sum.data(), nullptr);
  return sum;
}

}  // namespace mdh
