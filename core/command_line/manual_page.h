// A program's manual page.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/command_line/command_tree.h"

namespace mdh {

struct ManualPageOptions {
  int section = 1;
  std::string version;  // "mdhd 0.1.0"
  // Sections after the options: heading and text, paragraphs apart by empty lines. A paragraph
  // whose lines begin with blanks is kept as it is.
  std::vector<std::pair<std::string, std::string>> sections = {};
  std::string see_also;  // "mdhd(8)"
};

// In the language of man(7).
std::string ManualPage(const CommandEntry& program, const ManualPageOptions& options);

}  // namespace mdh
