#include "proto/bundle_query.h"

#include "core/base/sha256.h"
#include "proto/bundle_layout.h"

namespace mdh {
namespace {

constexpr int kReassociate = 1;  // v1::NUMERICS_POLICY_REASSOCIATE; messages are not needed here

void AppendNumber(uint32_t value, std::string& bytes) {
  char number[sizeof(value)];
  StoreLittleEndian(value, number);
  bytes.append(number, sizeof(number));
}

void AppendText(std::string_view text, std::string& bytes) {
  AppendNumber(static_cast<uint32_t>(text.size()), bytes);
  bytes += text;
}

std::string IdentityOf(std::string_view canonical_form, std::string_view device_fingerprint,
                       int numerics_policy) {
  std::string bytes;
  AppendNumber(static_cast<uint32_t>(numerics_policy == 0 ? kReassociate : numerics_policy), bytes);
  AppendText(canonical_form, bytes);
  AppendText(device_fingerprint, bytes);
  return bytes;
}

}  // namespace

BundleQuery::BundleQuery(std::string_view canonical_form, std::string_view device_fingerprint,
                         int numerics_policy)
    : identity_(IdentityOf(canonical_form, device_fingerprint, numerics_policy)),
      hash_(HashOfBundleIdentity(identity_)) {}

BundleQuery BundleQuery::WithCode(std::string_view compiler, int generator_version) const {
  BundleQuery query = *this;
  query.compiler_ = compiler;
  query.generator_version_ = generator_version;
  return query;
}

uint64_t HashOfBundleIdentity(std::string_view identity) {
  const Sha256::Sum sum = Sha256::Of({identity.data(), identity.size()});
  return LoadLittleEndian<uint64_t>(reinterpret_cast<const char*>(sum.data()));
}

}  // namespace mdh
