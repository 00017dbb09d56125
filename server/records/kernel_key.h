// Keys of kernels: everything that decides which kernel is right and best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "core/device/device_description.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// What a key says of a device of this daemon, apart from the expression.
struct KeyEnvironment {
  std::string device_fingerprint;  // without the compiler
  std::string compiler;            // empty: there is none here

  static KeyEnvironment Of(const DeviceDescription& device);

  friend bool operator==(const KeyEnvironment&, const KeyEnvironment&) = default;
};

// A v1::KernelKey somewhere else in memory, which must outlive this.
struct KernelKeyView {
  std::string_view expression_digest;
  std::string_view canonical_form;
  std::string_view device_fingerprint;
  std::string_view compiler;
  int32_t generator_version = 0;
  v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED;
  std::string_view schedule;  // canonical text; empty: free

  static KernelKeyView Of(const v1::KernelKey& key);
  // Of a serialised key. nullopt if the bytes are none, or have something that keys do not have.
  static std::optional<KernelKeyView> Parse(std::string_view bytes);
  // A copy.
  v1::KernelKey ToProto() const;

  friend bool operator==(const KernelKeyView&, const KernelKeyView&) = default;
};

// What a key says of a computation that is done with a policy.
v1::KernelKey KeyOfComputation(const ComputationView& computation, v1::NumericsPolicy numerics);

// The exact key of a computation in this environment.
v1::KernelKey MakeKernelKey(const ComputationView& computation, const KeyEnvironment& environment,
                            v1::NumericsPolicy numerics = v1::NUMERICS_POLICY_REASSOCIATE);

// Fills the fields that `asked` leaves empty, but for the canonical form: the device with the first
// of `environments`, the compiler with that of the environment that has the device. The compiler
// stays empty if that is unknown here.
v1::KernelKey CompleteKey(v1::KernelKey asked, absl::Span<const KeyEnvironment> environments);
// The same; views of `environments` are filled in.
KernelKeyView CompleteKey(KernelKeyView asked, absl::Span<const KeyEnvironment> environments);

// Without its schedule.
v1::KernelKey FreeKey(v1::KernelKey key);

// How `found` fits `asked`; nullopt if it may not be handed out. An empty canonical form or
// compiler in `asked` fits every one.
std::optional<v1::MatchKind> Match(const KernelKeyView& asked, const KernelKeyView& found);

// Identifies a key in names of resources: 32 hexadecimal digits.
std::string KernelId(const v1::KernelKey& key);

}  // namespace mdh
