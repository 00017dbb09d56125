// Text as Abseil's functions take it: their string_view may be another type than the standard's.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace mdh {

inline absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace mdh
