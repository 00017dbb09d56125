// What may be a name in an expression.
#include "core/base/identifier.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace mdh {

bool IsIdentifier(absl::string_view name) {
  constexpr size_t kLongest = 128;
  for (absl::string_view reserved : {"true", "false", "inf", "nan", "let"}) {
    if (name == reserved) return false;
  }
  const auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  return !name.empty() && name.size() <= kLongest && !absl::ascii_isdigit(name[0]) &&
         std::ranges::all_of(name, is_word);
}

}  // namespace mdh
