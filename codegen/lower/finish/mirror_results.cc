#include "codegen/lower/finish/mirror_results.h"

#include <algorithm>
#include <utility>

#include "codegen/lower/finish/transpose_tile.h"
#include "codegen/program/digits.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kVectorBytes = 64;
constexpr int64_t kRows = 8;  // of an item, without vectors

class Mirror {
 public:
  Mirror(const Expression& expression, const MirroredResults& results)
      : expression_(expression),
        results_(results),
        row_(results.dimensions.row),
        column_(results.dimensions.column),
        size_(expression.dimensions()[row_].size),
        lanes_(Lanes()),
        rows_(lanes_ > 1 ? lanes_ : kRows) {
    for (const std::string& name : results.index_names) names_.Reserve(name);
    for (const ResultTarget& output : results.outputs) names_.Reserve(output.pointer);
  }

  // Items are so many rows each, of which the later ones have more below the diagonal.
  Block Items() {
    std::vector<int> others;
    for (int d = 0; d < expression_.rank(); ++d) {
      if (!expression_.is_reduction(d) && d != row_ && d != column_) others.push_back(d);
    }
    const int64_t of_one = CeilDivide(size_, rows_);
    const int64_t items = of_one * PointsAlong(expression_, others);
    const Index number = Folded(Index::Variable("item"), items);
    const Index first = Index::Variable("part");
    Block body;
    body.push_back({DeclareIndex{"part", DigitAt(number, 1, of_one, items) * rows_}});
    body.push_back({DeclareIndex{"part_end", Min(first + Index(rows_), Index(size_))}});
    at_ = DeclarePoint(expression_, others, number / of_one, results_.index_names, &body);
    Append(Rows(), &body);
    return {{ShareLoop{"item", items, ShareBlock(std::move(body))}}};
  }

 private:
  Index Variable(int d) const { return Index::Variable(results_.index_names[d]); }

  // Of the vectors that rows of a square are; 1: none.
  int64_t Lanes() const {
    int64_t lanes = results_.lanes;
    for (const ResultTarget& output : results_.outputs) {
      const std::vector<int64_t>& steps = output.offset.coefficients;
      if (steps[row_] != 1 && steps[column_] != 1) return 1;
      lanes = std::min(lanes, kVectorBytes / SizeBytes(output.type));
    }
    return size_ > lanes ? lanes : 1;
  }

  Index Offset(const ResultTarget& output, const Index& row, const Index& column) const {
    Index offset = row * output.offset.coefficients[row_];
    offset = offset + column * output.offset.coefficients[column_];
    for (size_t d = 0; d < at_.size(); ++d)
      offset = offset + at_[d] * output.offset.coefficients[d];
    return offset + Index(output.offset.constant);
  }

  // The last rows may be fewer than a square has.
  Block Rows() {
    const Index first = Index::Variable("part");
    if (lanes_ == 1) return Elements(Index(0));
    Block whole = Squares(), part = Elements(Index(0));
    Append(Elements(first), &whole);
    if (size_ % rows_ == 0) return whole;
    return {{If{{Less(first + Index(rows_ - 1), Index(size_))},
                ShareBlock(std::move(whole)),
                ShareBlock(std::move(part))}}};
  }

  // Left of the one on the diagonal.
  Block Squares() {
    Block squares;
    const Index first = Index::Variable("part");
    for (const ResultTarget& output : results_.outputs) {
      const std::vector<int64_t>& steps = output.offset.coefficients;
      const int64_t apart = steps[row_] == 1 ? steps[column_] : steps[row_];
      TransposeTile({.type = {output.type, static_cast<int>(lanes_)},
                     .from = output.pointer,
                     .from_offset = Offset(output, first, Variable(column_)),
                     .from_stride = apart,
                     .to = output.pointer,
                     .to_offset = Offset(output, Variable(column_), first),
                     .to_stride = apart},
                    names_, squares);
    }
    return {{For{results_.index_names[column_], Index(0), first, lanes_, /*whole_steps=*/false,
                 ShareBlock(std::move(squares))}}};
  }

  // From that column on to the diagonal.
  Block Elements(const Index& begin) const {
    Block element, row;
    for (const ResultTarget& output : results_.outputs) {
      LoopValue value = MakeLoad(output.pointer, Offset(output, Variable(row_), Variable(column_)),
                                 {output.type, 1}, 1);
      element.push_back({StoreElements{
          output.pointer, Offset(output, Variable(column_), Variable(row_)), std::move(value), 1}});
    }
    row.push_back({For{results_.index_names[column_], begin, Variable(row_), 1,
                       /*whole_steps=*/false, ShareBlock(std::move(element))}});
    return {{For{results_.index_names[row_], Index::Variable("part"), Index::Variable("part_end"),
                 1, /*whole_steps=*/false, ShareBlock(std::move(row))}}};
  }

  const Expression& expression_;
  const MirroredResults& results_;
  const int row_, column_;
  const int64_t size_;
  const int64_t lanes_, rows_;
  std::vector<Index> at_;  // of all dimensions but these two, which are 0
  NameAllocator names_;
};

}  // namespace

Stage MirrorStage(const Expression& expression, const MirroredResults& results) {
  return {.comment = "Results below the diagonal are those above it, too.",
          .body = Mirror(expression, results).Items()};
}

}  // namespace mdh
