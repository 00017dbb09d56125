// Tables for people that fit their terminal, whatever the length of names.
#pragma once

#include <string>
#include <vector>

namespace mdh {

struct TextColumn {
  std::string heading;
  bool is_number = false;  // to the right
  // Shortened in the middle to no less than so many characters; 0: never shortened.
  int least = 0;
  // The column with the largest is left out first where all do not fit; 0: never.
  int dispensable = 0;
  // Not narrower than this, so that the columns of later tables stand below these.
  int usual = 0;
};

// The heading and one line for each row, which has a cell for each column; two spaces apart, at
// most `columns` characters. Wide columns are shortened first, then some are left out, last of all
// lines are cut. Cells have no control characters: those are blanks.
std::vector<std::string> LayOutTable(const std::vector<TextColumn>& table,
                                     const std::vector<std::vector<std::string>>& rows,
                                     int columns);

// Names and messages come from users and devices: nothing in them may move the cursor.
std::string Printable(std::string text);

// The lines to standard output, as wide as that is.
void PrintTable(const std::vector<TextColumn>& table,
                const std::vector<std::vector<std::string>>& rows);

// Text to standard output; on a terminal, lines that are too long go on below, indented by `hang`.
void PrintWrapped(const std::string& text, int hang);

}  // namespace mdh
