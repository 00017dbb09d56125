// The search space of one expression on one device: every tuning parameter of a decomposition, with
// its constraints, generated from expression and system model.
#pragma once

#include <memory>
#include <optional>

#include "absl/types/span.h"
#include "core/device_description.h"
#include "core/expression.h"
#include "core/system_model.h"
#include "core/tuning_parameters.h"
#include "tuner/old/search_space.h"

namespace mdh::old {

// Immutable after construction; thread-safe.
class MdhSpace {
 public:
  // Only decompositions that keep to the numerics policy.
  MdhSpace(Expression expression, SystemModel model, DeviceDescription device,
           NumericsPolicy numerics = NumericsPolicy::kReassociate);

  const SearchSpace& space() const { return *space_; }
  // The decomposition that a configuration of space() stands for. Valid for Lower.
  TuningParameters Decode(absl::Span<const int64_t> configuration) const;
  // Inverse of Decode; nullopt if the parameters are not in the space.
  std::optional<Configuration> Encode(const TuningParameters& parameters) const;

 private:
  struct Layout;
  static TuningParameters DecodeWith(const Layout& layout, absl::Span<const int64_t> configuration);
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const SearchSpace> space_;
};

}  // namespace mdh::old
