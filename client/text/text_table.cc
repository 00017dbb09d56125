#include "client/text/text_table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/text/terminal.h"
#include "core/base/wrap_lines.h"

namespace mdh {
namespace {

constexpr int kGap = 2;

// Which columns are shown and how wide.
class Layout {
 public:
  Layout(const std::vector<TextColumn>& table, const std::vector<std::vector<std::string>>& rows)
      : table_(table), natural_(table.size()), shown_(table.size()) {
    std::iota(shown_.begin(), shown_.end(), size_t{0});
    for (size_t c = 0; c < table.size(); ++c) {
      natural_[c] = std::max(table[c].usual, CharactersIn(table[c].heading));
      for (const std::vector<std::string>& row : rows) {
        natural_[c] = std::max(natural_[c], CharactersIn(row[c]));
      }
    }
    width_ = natural_;
  }

  void FitInto(int columns) {
    while (!Shorten(Total() - columns) && LeaveOneOut()) width_ = natural_;
  }

  const std::vector<size_t>& shown() const { return shown_; }
  int width(size_t column) const { return width_[column]; }

 private:
  int Total() const {
    int total = kGap * (static_cast<int>(shown_.size()) - 1);
    for (const size_t c : shown_) total += width_[c];
    return total;
  }

  // Takes so many characters away, each from the column that is widest then. False if they cannot
  // be had.
  bool Shorten(int excess) {
    for (; excess > 0; --excess) {
      size_t widest = table_.size();
      for (const size_t c : shown_) {
        const bool can = table_[c].least > 0 && width_[c] > table_[c].least;
        if (can && (widest == table_.size() || width_[c] > width_[widest])) widest = c;
      }
      if (widest == table_.size()) return false;
      --width_[widest];
    }
    return true;
  }

  bool LeaveOneOut() {
    const auto most = std::ranges::max_element(
        shown_, [&](size_t a, size_t b) { return table_[a].dispensable < table_[b].dispensable; });
    if (most == shown_.end() || table_[*most].dispensable == 0) return false;
    shown_.erase(most);
    return true;
  }

  const std::vector<TextColumn>& table_;
  std::vector<int> natural_;
  std::vector<int> width_;
  std::vector<size_t> shown_;
};

std::string RowText(const std::vector<TextColumn>& table, const Layout& layout,
                    const std::vector<std::string>& cells, int columns) {
  std::string line;
  for (const size_t c : layout.shown()) {
    const std::string cell = ElideMiddle(Printable(cells[c]), layout.width(c));
    const std::string blanks(static_cast<size_t>(layout.width(c) - CharactersIn(cell)), ' ');
    if (!line.empty()) line.append(kGap, ' ');
    absl::StrAppend(&line, table[c].is_number ? blanks : "", cell,
                    table[c].is_number ? "" : blanks);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return ElideEnd(line, columns);
}

}  // namespace

std::string Printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

std::vector<std::string> LayOutTable(const std::vector<TextColumn>& table,
                                     const std::vector<std::vector<std::string>>& rows,
                                     int columns) {
  Layout layout(table, rows);
  layout.FitInto(columns);
  std::vector<std::string> headings;
  for (const TextColumn& column : table) headings.push_back(column.heading);
  std::vector<std::string> lines = {RowText(table, layout, headings, columns)};
  for (const std::vector<std::string>& row : rows) {
    lines.push_back(RowText(table, layout, row, columns));
  }
  return lines;
}

void PrintTable(const std::vector<TextColumn>& table,
                const std::vector<std::vector<std::string>>& rows) {
  for (const std::string& line : LayOutTable(table, rows, ColumnsOfOutput(STDOUT_FILENO))) {
    std::printf("%s\n", line.c_str());
  }
}

void PrintWrapped(const std::string& text, int hang) {
  std::fputs(WrapLines(text, ColumnsOfOutput(STDOUT_FILENO), hang).c_str(), stdout);
}

}  // namespace mdh
