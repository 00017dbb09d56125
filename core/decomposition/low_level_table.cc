// Printing a low-level expression as the tables of Figures 20-23.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/decomposition/low_level_expression.h"
#include "core/decomposition/low_level_summary.h"

namespace mdh {
namespace {

std::string OneBasedLayout(std::vector<int> layout) {
  for (int& x : layout) ++x;  // as in the figures
  return absl::StrCat("[", absl::StrJoin(layout, ","), "]");
}

// Layouts of all buffers at one level; one for all of them if they are the same in every row.
class LayoutColumn {
 public:
  void Add(const std::vector<std::vector<int>>& layouts) {
    rows_.push_back(layouts);
    for (const std::vector<int>& layout : layouts) all_same_ = all_same_ && layout == layouts[0];
  }
  std::string Text(size_t row) const {
    if (all_same_ && !rows_[row].empty()) return OneBasedLayout(rows_[row][0]);
    return absl::StrJoin(rows_[row], " ", [](std::string* out, const std::vector<int>& layout) {
      out->append(OneBasedLayout(layout));
    });
  }

 private:
  std::vector<std::vector<std::vector<int>>> rows_;
  bool all_same_ = true;
};

class Table {
 public:
  explicit Table(const LowLevelExpression& low)
      : low_(low), e_(low.expression()), regions_(low.model().memory_regions()) {
    for (const LowLevelOperator& row : low.operators()) {
      d4_.Add(row.input_layout);
      r4_.Add(row.output_layout);
    }
    s4_.Add(Layouts(low.scalar_inputs()));
    s6_.Add(Layouts(low.scalar_outputs()));
  }

  // A header, then the rows with at least so many parts.
  std::vector<std::vector<std::string>> Cells(int64_t least_parts) const {
    const std::string in = Names(e_.inputs()), out = Names(e_.outputs());
    std::vector<std::vector<std::string>> cells;
    cells.push_back({"0", "D1", "D2", "D3" + in, "D4" + in, "S1", "S2", "S3" + in, "S4" + in,
                     "S5" + out, "S6" + out, "R1", "R2", "R3" + out, "R4" + out});
    for (size_t n = 0; n < low_.operators().size(); ++n) {
      const LowLevelOperator& row = low_.operators()[n];
      if (row.parts < least_parts) continue;
      cells.push_back({absl::StrCat(row.parts), Place(row.position[0]), Assigned(row.assigned[0]),
                       Regions(row.input_region), d4_.Text(n), Place(row.position[1]),
                       Assigned(row.assigned[1]), Regions(low_.scalar_inputs()), s4_.Text(0),
                       Regions(low_.scalar_outputs()), s6_.Text(0), Place(row.position[2]),
                       Assigned(row.assigned[2]), Regions(row.output_region), r4_.Text(n)});
    }
    return cells;
  }

 private:
  static std::string Names(const std::vector<Buffer>& buffers) {
    const auto name = [](std::string* out, const Buffer& buffer) { out->append(buffer.name); };
    return absl::StrCat(" ", absl::StrJoin(buffers, ",", name));
  }
  static std::vector<std::vector<int>> Layouts(const std::vector<ScalarMemory>& memory) {
    std::vector<std::vector<int>> layouts;
    for (const ScalarMemory& one : memory) layouts.push_back(one.layout);
    return layouts;
  }

  // The MDH level with this place in lexicographic order.
  std::string Place(int position) const {
    return absl::StrCat("(", position / e_.rank() + 1, ",", position % e_.rank() + 1, ")");
  }
  std::string Assigned(AsmLevel level) const {
    return absl::StrCat(low_.model().layers[level.layer].name, ",",
                        low_.model().DimensionName(level.dimension));
  }
  std::string Regions(const std::vector<int>& regions) const {
    return absl::StrJoin(regions, " ",
                         [&](std::string* out, int region) { out->append(regions_[region]); });
  }
  std::string Regions(const std::vector<ScalarMemory>& memory) const {
    return absl::StrJoin(memory, " ", [&](std::string* out, const ScalarMemory& one) {
      out->append(regions_[one.region]);
    });
  }

  const LowLevelExpression& low_;
  const Expression& e_;
  std::vector<std::string> regions_;
  LayoutColumn d4_, s4_, s6_, r4_;
};

std::string Aligned(const std::vector<std::vector<std::string>>& cells) {
  std::vector<size_t> width(cells[0].size(), 0);
  for (const std::vector<std::string>& row : cells) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string table;
  for (size_t r = 0; r < cells.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < cells[r].size(); ++c) {
      // A rule between the phases: after 0, after D4, after S6.
      const char* separator = c == 0 ? "" : c == 1 || c == 5 || c == 11 ? " | " : "  ";
      absl::StrAppend(&line, separator, cells[r][c],
                      std::string(width[c] - cells[r][c].size(), ' '));
    }
    absl::StripTrailingAsciiWhitespace(&line);
    absl::StrAppend(&table, line, "\n");
    if (r == 0) absl::StrAppend(&table, std::string(line.size(), '-'), "\n");
  }
  return table;
}

std::string Heading(const LowLevelExpression& low) {
  const std::string dimensions = absl::StrJoin(
      low.expression().dimensions(), ", ",
      [](std::string* out, const Dimension& d) { absl::StrAppend(out, d.name, " = ", d.size); });
  return absl::StrCat("(De/re)-composition of ", low.expression().name(), " (", dimensions,
                      ") for ", low.model().name, "\n");
}

}  // namespace

std::string LowLevelExpression::ToTable() const {
  return absl::StrCat(Heading(*this), Aligned(Table(*this).Cells(0)));
}

std::string TableOfCuts(const LowLevelExpression& low) {
  const std::vector<std::vector<std::string>> cells = Table(low).Cells(2);
  return cells.size() == 1 ? std::string() : absl::StrCat(Heading(low), Aligned(cells));
}

}  // namespace mdh
