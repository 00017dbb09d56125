// Where in an expression an error is: front ends map it to a position in their input.
#pragma once

#include <optional>

#include "core/base/status.h"

namespace mdh {

struct ExpressionPlace {
  enum class Kind {
    kDimension,
    kInput,
    kOutput,
    kFunction,
    kCombineOperator,
    kStoreFunction,
    kStoreInput,  // what the store function reads
  };
  Kind kind;
  int number = 0;   // of the dimension, buffer or combine operator
  int access = -1;  // of the buffer; -1: the buffer itself
  int index = -1;   // of the access; -1: the access itself

  friend bool operator==(const ExpressionPlace&, const ExpressionPlace&) = default;
};

// `status` with the place attached, as a payload.
Status AtPlace(Status status, const ExpressionPlace& place);

// The place that AtPlace attached; nullopt if there is none.
std::optional<ExpressionPlace> PlaceOf(const Status& status);

}  // namespace mdh
