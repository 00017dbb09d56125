#include "codegen/lower/tiles/combine_lanes.h"

#include <algorithm>

#include "core/base/round.h"

namespace mdh {
namespace {

using Tuple = std::vector<LoopValue>;

// Instructions that move lanes within so many bytes of a vector are the cheapest.
constexpr int kPartBytes = 16;

class LaneCombiner {
 public:
  LaneCombiner(const CombineOperator& combine, const std::vector<Tuple>& results,
               NameAllocator& names, Block& block)
      : combine_(combine),
        results_(results),
        lanes_(results[0][0]->type.lanes),
        names_(names),
        block_(block) {}

  Tuple Run() {
    std::vector<int> all(results_.size());
    for (size_t n = 0; n < all.size(); ++n) all[n] = static_cast<int>(n);
    Tuple values = Together(all);
    for (int group = lanes_ / static_cast<int>(all.size()); group > 1; group /= 2) {
      Tuple lower, upper;
      for (const LoopValue& value : Named(std::move(values))) {
        lower.push_back(MakeGroupHalves(value, group, /*is_upper=*/false));
        upper.push_back(MakeGroupHalves(value, group, /*is_upper=*/true));
      }
      values = Combine(lower, upper);
    }
    return values;
  }

 private:
  // Vectors of lanes_ lanes: a group of lanes for each of these results, in that order.
  Tuple Together(const std::vector<int>& results) {
    if (results.size() == 1) return results_[results[0]];
    const int group = 2 * lanes_ / static_cast<int>(results.size());
    const int part = PartOf(group);
    // The order in which halves of two vectors are taken decides on which results go into which.
    std::vector<int> in_first, in_second;
    for (size_t n = 0; n < results.size(); ++n) {
      const bool is_second = static_cast<int>(n) / (part / group) % 2 == 1;
      (is_second ? in_second : in_first).push_back(results[n]);
    }
    const Tuple first = Named(Together(in_first)), second = Named(Together(in_second));
    Tuple lower, upper;
    for (size_t r = 0; r < first.size(); ++r) {
      lower.push_back(MakeGroupHalves(first[r], second[r], group, part, /*is_upper=*/false));
      upper.push_back(MakeGroupHalves(first[r], second[r], group, part, /*is_upper=*/true));
    }
    return Combine(lower, upper);
  }

  // The same for all vectors of a tuple, however wide their elements: results must stay together.
  int PartOf(int group) const {
    int bytes = 1;
    for (const LoopValue& value : results_[0])
      bytes = std::max(bytes, SizeBytes(value->type.scalar));
    return group * bytes > kPartBytes ? lanes_ : std::min(lanes_, kPartBytes / bytes);
  }

  Tuple Combine(const Tuple& lower, const Tuple& upper) {
    Tuple values = EmitCombination(combine_, lower, upper, names_, block_);
    // An operation may ignore its operands.
    for (LoopValue& value : values) {
      if (value->type.lanes == 1) value = MakeSplat(value, lower[0]->type.lanes);
    }
    return values;
  }

  Tuple Named(Tuple values) {
    for (LoopValue& value : values) value = NamedInBlock(value, names_, block_);
    return values;
  }

  const CombineOperator& combine_;
  const std::vector<Tuple>& results_;
  const int lanes_;
  NameAllocator& names_;
  Block& block_;
};

}  // namespace

std::vector<int> LaneRuns(int64_t results, int64_t lanes) {
  std::vector<int> runs;
  while (results > 0) {
    runs.push_back(static_cast<int>(RoundDownToPowerOfTwo(std::min(results, lanes))));
    results -= runs.back();
  }
  return runs;
}

int64_t LaneCombinations(int64_t results, int64_t lanes) {
  int64_t combinations = 0;
  for (const int run : LaneRuns(results, lanes)) {
    combinations += run - 1;
    for (int64_t group = lanes / run; group > 1; group /= 2) ++combinations;
  }
  return combinations;
}

std::vector<LoopValue> CombineLanes(const CombineOperator& combine,
                                    const std::vector<std::vector<LoopValue>>& results,
                                    NameAllocator& names, Block& block) {
  return LaneCombiner(combine, results, names, block).Run();
}

}  // namespace mdh
