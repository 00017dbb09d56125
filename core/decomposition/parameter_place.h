// Which tuning parameters an error of Validate is about: schedules map it to their lines. In
// validate.cc.
#pragma once

#include <optional>
#include <string>

#include "core/base/status.h"

namespace mdh {

struct ParameterPlace {
  enum class Kind {
    kTile,    // extents, of `layer` and `dimension`
    kOrder,   // of loops
    kInput,   // what is said of `buffer`: all of it, or `choice`, as layout, padding or width
    kOutput,  // idem
    kChoice,  // the row of Choices() with the key `choice`
    kFused,   // groups of dimensions
  };
  static constexpr int kAny = -1;

  Kind kind;
  int layer = kAny;
  int dimension = kAny;
  int buffer = kAny;
  std::string choice = {};

  friend bool operator==(const ParameterPlace&, const ParameterPlace&) = default;
};

// An error with the place attached, as a payload, unless it has one, which is nearer.
Status AtParameter(Status status, const ParameterPlace& place);

// The place that AtParameter attached; nullopt if there is none.
std::optional<ParameterPlace> ParameterPlaceOf(const Status& status);

}  // namespace mdh
