// What a lookup in a bundle asks for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mdh {

// Made once, used for many lookups, in any bundle. Immutable but for being assigned to.
class BundleQuery {
 public:
  // `canonical_form`: of the expression (core/expression/canonical.h). `device_fingerprint`: as in
  // keys. `numerics_policy`: a v1::NumericsPolicy; 0 stands for REASSOCIATE.
  BundleQuery(std::string_view canonical_form, std::string_view device_fingerprint,
              int numerics_policy = 0);

  // The same, but for one compiler and one version of the generator only. What is empty (0) fits
  // every one.
  BundleQuery WithCode(std::string_view compiler, int generator_version) const;

  // As BundleLayout says.
  const std::string& identity() const { return identity_; }
  uint64_t hash() const { return hash_; }
  const std::string& compiler() const { return compiler_; }
  int generator_version() const { return generator_version_; }

 private:
  std::string identity_;
  uint64_t hash_;
  std::string compiler_;
  int generator_version_ = 0;
};

// As BundleLayout says.
uint64_t HashOfBundleIdentity(std::string_view identity);

}  // namespace mdh
