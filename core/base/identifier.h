// What may be a name in an expression.
#pragma once

#include "absl/strings/string_view.h"

namespace mdh {

// A letter or underscore, then letters, digits and underscores, at most 128 characters; and none of
// the words that the scalar language keeps: true, false, inf, nan, let.
bool IsIdentifier(absl::string_view name);

}  // namespace mdh
