#include "codegen/staging.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "codegen/scalar_code.h"
#include "core/constraints.h"

namespace mdh {
namespace {

// Where a copy starts in one dimension of the buffer, and how many indices it covers.
struct CopiedRange {
  Index origin;
  Index length;
};

CopiedRange CopiedRangeOf(const Buffer& buffer, size_t x,
                          const std::vector<DimensionRange>& ranges) {
  const ConstantRange constants = ConstantsOf(buffer, static_cast<int>(x));
  CopiedRange range{Index(constants.low), Index(constants.high - constants.low + 1)};
  const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
  for (size_t d = 0; d < coefficients.size(); ++d) {
    if (coefficients[d] == 0) continue;
    range.origin = ranges[d].begin * coefficients[d] + range.origin;
    range.length = (ranges[d].length - Index(1)) * coefficients[d] + range.length;
  }
  return range;
}

class PackingBuilder {
 public:
  PackingBuilder(const LoopPlan& plan, const StagedCopy& copy,
                 const std::vector<DimensionRange>& ranges, bool shared)
      : plan_(plan), buffer_(plan.expression().inputs()[copy.input]), copy_(copy), shared_(shared) {
    const std::vector<int64_t> strides = buffer_.strides();
    for (size_t x = 0; x < buffer_.extents.size(); ++x) {
      const bool whole = copy.layer == InputParameters::kWholeBuffer;
      ranges_.push_back(whole ? CopiedRange{Index(0), Index(buffer_.extents[x])}
                              : CopiedRangeOf(buffer_, x, ranges));
      position_.push_back(Index(0));
      source_ = source_ + ranges_[x].origin * strides[x];
    }
  }

  Block Build() {
    Block block;
    block.push_back({Comment{absl::StrCat("Pack ", plan_.input_name(copy_.input), ".")}});
    if (!source_.is_constant() && buffer_.boundary.kind == Boundary::Kind::kNone) {
      const std::string name = copy_.name + "_from";
      block.push_back({DeclareIndex{name, source_}});
      source_ = Index::Variable(name);
    }
    EmitDimension(0, block);
    return block;
  }

 private:
  std::string Variable(int x) const { return absl::StrCat("at", x); }

  void EmitDimension(size_t n, Block& block) {
    if (n == copy_.layout.size()) return EmitElements(block);
    const int x = copy_.layout[n];
    const int64_t step = x == copy_.strip_dimension ? copy_.strip : 1;
    Index begin(0), end = ranges_[x].length;
    if (n == 0 && shared_) {
      const int64_t strips = copy_.extents[x] / step;
      begin = Share(strips, "thread") * step;
      end = Min(Share(strips, "thread + 1") * step, end);
    }
    if (n > 0 && end == Index(1)) return EmitDimension(n + 1, block);
    position_[x] = Index::Variable(Variable(x));
    Block body;
    EmitDimension(n + 1, body);
    position_[x] = Index(0);
    block.push_back({For{Variable(x), begin, end, step, false,
                         std::make_shared<const Block>(std::move(body))}});
  }

  static Index Share(int64_t of, const std::string& thread) {
    return Index::Variable(absl::StrCat("mdh_share(", of, ", ", thread, ", threads)"));
  }

  // One element, or one strip: of constant width where it is complete.
  void EmitElements(Block& block) {
    if (copy_.strip_dimension < 0) return EmitCopy(Index(0), 0, block);
    const int x = copy_.strip_dimension;
    const Index length = ranges_[x].length;
    auto strip_loop = [&](const Index& width, int64_t earlier = 0) {
      Block body, loop;
      EmitCopy(Index::Variable("lane"), earlier, body);
      loop.push_back(
          {For{"lane", Index(0), width, 1, false, std::make_shared<const Block>(std::move(body))}});
      return loop;
    };
    if (length.is_constant() && length.constant() % copy_.strip == 0) {
      for (Statement& statement : strip_loop(Index(copy_.strip)))
        block.push_back(std::move(statement));
      return;
    }
    const Index rest = length - position_[x];
    const int64_t left_over = plan_.size(copy_.strip_of) % copy_.strip;
    Block last = copy_.strip_shift == 0
                     ? strip_loop(rest)
                     : strip_loop(Index(left_over + copy_.strip_shift), copy_.strip_shift);
    block.push_back({If{{{Condition::Kind::kLess, rest, Index(copy_.strip), ""}},
                        std::make_shared<const Block>(std::move(last)),
                        std::make_shared<const Block>(strip_loop(Index(copy_.strip)))}});
  }

  // The element `earlier` elements before its place in the strip dimension.
  void EmitCopy(const Index& lane, int64_t earlier, Block& block) {
    Index to(0);
    for (size_t x = 0; x < position_.size(); ++x) to = to + position_[x] * copy_.strides[x];
    block.push_back({StoreElements{copy_.name, to + lane, Element(lane - Index(earlier)), 1}});
  }

  LoopValue Element(const Index& lane) const {
    if (buffer_.boundary.kind == Boundary::Kind::kNone) {
      const std::vector<int64_t> strides = buffer_.strides();
      Index from = source_;
      for (size_t x = 0; x < position_.size(); ++x) from = from + position_[x] * strides[x];
      if (copy_.strip_dimension >= 0) from = from + lane * strides[copy_.strip_dimension];
      return MakeLoad(plan_.input_name(copy_.input), from, {buffer_.type.scalar(), 1}, 1);
    }
    std::vector<Index> indices;
    for (size_t x = 0; x < position_.size(); ++x) {
      const bool strip = static_cast<int>(x) == copy_.strip_dimension;
      indices.push_back(ranges_[x].origin + position_[x] + (strip ? lane : Index(0)));
    }
    const LoopValue value = LoadInsideValue(buffer_, plan_.input_name(copy_.input), 0, indices,
                                            std::vector<int64_t>(indices.size(), 0), 1);
    return StoredValue(value, buffer_.type.scalar());
  }

  const LoopPlan& plan_;
  const Buffer& buffer_;
  const StagedCopy& copy_;
  const bool shared_;
  std::vector<CopiedRange> ranges_;
  std::vector<Index> position_;
  Index source_ = Index(0);
};

}  // namespace

Block BuildPacking(const LoopPlan& plan, const StagedCopy& copy,
                   const std::vector<DimensionRange>& ranges, bool shared) {
  return PackingBuilder(plan, copy, ranges, shared).Build();
}

}  // namespace mdh
