// What was meant by a command or option that there is not.
#pragma once

#include <string>
#include <vector>

#include "core/command_line/command_tree.h"

namespace mdh {

// Insertions, deletions, replacements and exchanges of neighbours that make one word the other.
int EditDistance(const std::string& a, const std::string& b);

// Of the first word that is no command where one is expected, or no option where it stands: a
// sentence that names it, and the nearest one that there is, if one is near. Empty if all words are
// known. `words`: the command line without the program's name.
std::string ExplainUnknownWord(const CommandEntry& program, const std::vector<std::string>& words);

}  // namespace mdh
