// Text that fits a number of columns: lines broken at spaces, names shortened in their middle.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace mdh {

// Characters of UTF-8.
int CharactersIn(absl::string_view text);

// Lines longer than `columns` characters are broken at their last space that fits, or behind the
// last " | "; what follows is indented by `hang` spaces, or as far as leaves half of the columns.
// Words longer than that stay whole. All other lines stay as they are.
std::string WrapLines(absl::string_view text, int columns, int hang);

// At most `columns` characters: "...", in the middle, stands for what is left out. Without room for
// more than dots, the beginning.
std::string ElideMiddle(absl::string_view text, int columns);
// The same, for what is said at the end.
std::string ElideEnd(absl::string_view text, int columns);

}  // namespace mdh
