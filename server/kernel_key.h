// Keys of kernels: everything that decides which kernel is right and best.
#pragma once

#include <optional>
#include <string>

#include "absl/types/span.h"
#include "core/device_description.h"
#include "core/expression.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"

namespace mdh {

// What a key says of a device of this daemon, apart from the expression.
struct KeyEnvironment {
  std::string device_fingerprint;  // without the compiler
  std::string compiler;            // empty: there is none here

  static KeyEnvironment Of(const DeviceDescription& device);
};

// The exact key of an expression in this environment.
v1::KernelKey MakeKernelKey(const Expression& expression, const KeyEnvironment& environment,
                            v1::NumericsPolicy numerics = v1::NUMERICS_POLICY_REASSOCIATE);

// Fills the fields that `asked` leaves empty, but for the canonical form: the device with the first
// of `environments`, the compiler with that of the environment that has the device. The compiler
// stays empty if that is unknown here.
v1::KernelKey CompleteKey(v1::KernelKey asked, absl::Span<const KeyEnvironment> environments);

// How `found` fits `asked`; nullopt if it may not be handed out. An empty canonical form or
// compiler in `asked` fits every one.
std::optional<v1::MatchKind> Match(const v1::KernelKey& asked, const v1::KernelKey& found);

// Identifies a key in names of resources: 32 hexadecimal digits.
std::string KernelId(const v1::KernelKey& key);

}  // namespace mdh
