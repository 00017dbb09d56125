#include "server/kernel_key.h"

#include "absl/strings/str_cat.h"
#include "codegen/kernel.h"
#include "core/canonical.h"

namespace mdh {

KeyEnvironment KeyEnvironment::Of(const DeviceDescription& device) {
  DeviceDescription without_compiler = device;
  without_compiler.compiler.clear();
  return {without_compiler.Fingerprint(), device.compiler};
}

v1::KernelKey MakeKernelKey(const Expression& expression, const KeyEnvironment& environment,
                            v1::NumericsPolicy numerics) {
  v1::KernelKey key;
  key.set_numerics_policy(numerics);
  key.set_canonical_form(CanonicalForm(expression));
  key.set_expression_digest(Sha256Hex(key.canonical_form()));
  return CompleteKey(std::move(key), {environment});
}

v1::KernelKey CompleteKey(v1::KernelKey asked, absl::Span<const KeyEnvironment> environments) {
  if (asked.device_fingerprint().empty() && !environments.empty()) {
    asked.set_device_fingerprint(environments.front().device_fingerprint);
  }
  for (const KeyEnvironment& environment : environments) {
    if (asked.compiler().empty() && environment.device_fingerprint == asked.device_fingerprint()) {
      asked.set_compiler(environment.compiler);
    }
  }
  if (asked.generator_version() == 0) asked.set_generator_version(kGeneratorVersion);
  if (asked.numerics_policy() == v1::NUMERICS_POLICY_UNSPECIFIED) {
    asked.set_numerics_policy(v1::NUMERICS_POLICY_REASSOCIATE);
  }
  return asked;
}

std::optional<v1::MatchKind> Match(const v1::KernelKey& asked, const v1::KernelKey& found) {
  const bool is_same_computation =
      asked.expression_digest() == found.expression_digest() &&
      (asked.canonical_form().empty() || asked.canonical_form() == found.canonical_form()) &&
      asked.numerics_policy() == found.numerics_policy();
  if (!is_same_computation || asked.device_fingerprint() != found.device_fingerprint()) {
    return std::nullopt;
  }
  const bool is_same_code = (asked.compiler().empty() || asked.compiler() == found.compiler()) &&
                            asked.generator_version() == found.generator_version();
  return is_same_code ? v1::MATCH_KIND_EXACT : v1::MATCH_KIND_COMPATIBLE;
}

std::string KernelId(const v1::KernelKey& key) {
  // Lengths before texts: two different keys never give the same bytes.
  std::string bytes;
  for (const std::string& field :
       {key.expression_digest(), key.canonical_form(), key.device_fingerprint(), key.compiler()}) {
    absl::StrAppend(&bytes, field.size(), ":", field);
  }
  absl::StrAppend(&bytes, key.generator_version(), ":", static_cast<int>(key.numerics_policy()));
  return Sha256Hex(bytes).substr(0, 32);
}

}  // namespace mdh
