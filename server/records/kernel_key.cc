#include "server/records/kernel_key.h"

#include "absl/strings/str_cat.h"
#include "codegen/program/kernel.h"
#include "core/expression/canonical.h"
#include "core/pipeline/pipeline_canonical.h"
#include "server/records/wire_reader.h"

namespace mdh {

KeyEnvironment KeyEnvironment::Of(const DeviceDescription& device) {
  DeviceDescription without_compiler = device;
  without_compiler.compiler.clear();
  return {without_compiler.Fingerprint(), device.compiler};
}

v1::KernelKey KeyOfComputation(const ComputationView& computation, v1::NumericsPolicy numerics) {
  v1::KernelKey key;
  key.set_numerics_policy(numerics);
  key.set_canonical_form(computation.pipeline() != nullptr
                             ? CanonicalForm(*computation.pipeline())
                             : CanonicalForm(*computation.expression()));
  key.set_expression_digest(Sha256Hex(key.canonical_form()));
  return key;
}

v1::KernelKey MakeKernelKey(const ComputationView& computation, const KeyEnvironment& environment,
                            v1::NumericsPolicy numerics) {
  return CompleteKey(KeyOfComputation(computation, numerics), {environment});
}

KernelKeyView KernelKeyView::Of(const v1::KernelKey& key) {
  return {key.expression_digest(), key.canonical_form(),    key.device_fingerprint(),
          key.compiler(),          key.generator_version(), key.numerics_policy(),
          key.schedule()};
}

std::optional<KernelKeyView> KernelKeyView::Parse(std::string_view bytes) {
  KernelKeyView key;
  WireReader fields(bytes);
  while (fields.Next()) {
    const bool is_number = fields.number() == v1::KernelKey::kGeneratorVersionFieldNumber ||
                           fields.number() == v1::KernelKey::kNumericsPolicyFieldNumber;
    if (is_number ? !fields.is_varint() : !fields.is_bytes()) return std::nullopt;
    switch (fields.number()) {
      case v1::KernelKey::kExpressionDigestFieldNumber:
        key.expression_digest = fields.bytes();
        break;
      case v1::KernelKey::kCanonicalFormFieldNumber:
        key.canonical_form = fields.bytes();
        break;
      case v1::KernelKey::kDeviceFingerprintFieldNumber:
        key.device_fingerprint = fields.bytes();
        break;
      case v1::KernelKey::kCompilerFieldNumber:
        key.compiler = fields.bytes();
        break;
      case v1::KernelKey::kGeneratorVersionFieldNumber:
        key.generator_version = static_cast<int32_t>(fields.varint());
        break;
      case v1::KernelKey::kNumericsPolicyFieldNumber:
        key.numerics_policy = static_cast<v1::NumericsPolicy>(fields.varint());
        break;
      case v1::KernelKey::kScheduleFieldNumber:
        key.schedule = fields.bytes();
        break;
      default:
        return std::nullopt;
    }
  }
  if (fields.has_failed()) return std::nullopt;
  return key;
}

v1::KernelKey KernelKeyView::ToProto() const {
  v1::KernelKey key;
  key.set_expression_digest(std::string(expression_digest));
  key.set_canonical_form(std::string(canonical_form));
  key.set_device_fingerprint(std::string(device_fingerprint));
  key.set_compiler(std::string(compiler));
  key.set_generator_version(generator_version);
  key.set_numerics_policy(numerics_policy);
  key.set_schedule(std::string(schedule));
  return key;
}

v1::KernelKey CompleteKey(v1::KernelKey asked, absl::Span<const KeyEnvironment> environments) {
  const KernelKeyView complete = CompleteKey(KernelKeyView::Of(asked), environments);
  if (asked.device_fingerprint().empty()) {
    asked.set_device_fingerprint(std::string(complete.device_fingerprint));
  }
  if (asked.compiler().empty()) asked.set_compiler(std::string(complete.compiler));
  asked.set_generator_version(complete.generator_version);
  asked.set_numerics_policy(complete.numerics_policy);
  return asked;
}

KernelKeyView CompleteKey(KernelKeyView asked, absl::Span<const KeyEnvironment> environments) {
  if (asked.device_fingerprint.empty() && !environments.empty()) {
    asked.device_fingerprint = environments.front().device_fingerprint;
  }
  for (const KeyEnvironment& environment : environments) {
    if (asked.compiler.empty() && environment.device_fingerprint == asked.device_fingerprint) {
      asked.compiler = environment.compiler;
    }
  }
  if (asked.generator_version == 0) asked.generator_version = kGeneratorVersion;
  if (asked.numerics_policy == v1::NUMERICS_POLICY_UNSPECIFIED) {
    asked.numerics_policy = v1::NUMERICS_POLICY_REASSOCIATE;
  }
  return asked;
}

v1::KernelKey FreeKey(v1::KernelKey key) {
  key.clear_schedule();
  return key;
}

std::optional<v1::MatchKind> Match(const KernelKeyView& asked, const KernelKeyView& found) {
  const bool is_same_computation =
      asked.expression_digest == found.expression_digest &&
      (asked.canonical_form.empty() || asked.canonical_form == found.canonical_form) &&
      asked.numerics_policy == found.numerics_policy && asked.schedule == found.schedule;
  if (!is_same_computation || asked.device_fingerprint != found.device_fingerprint) {
    return std::nullopt;
  }
  const bool is_same_code = (asked.compiler.empty() || asked.compiler == found.compiler) &&
                            asked.generator_version == found.generator_version;
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
  // Free ones are called as they were before there were schedules.
  if (!key.schedule().empty()) {
    absl::StrAppend(&bytes, ":", key.schedule().size(), ":", key.schedule());
  }
  return Sha256Hex(bytes).substr(0, 32);
}

}  // namespace mdh
