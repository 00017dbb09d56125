#include "codegen/choose/part_design.h"

#include <algorithm>
#include <vector>

#include "codegen/choose/block_design.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kWarpOfPart = 32;
constexpr int64_t kVector = 4;

class PartDesigner {
 public:
  PartDesigner(const Expression& e, int64_t threads) : e_(e), left_(threads) {}

  BlockDesign Run(int64_t vector) {
    design_.cuts.resize(e_.rank());
    design_.copies.assign(e_.inputs().size(), BlockDesign::Copy::kNone);
    const std::vector<int> order = ResultOrder(e_);
    design_.lane_dimension = order.front();
    if (const int reduced = Reduced(); reduced >= 0) {
      const int64_t own = ThreadsAlong(reduced);
      design_.cuts[reduced].threads = own;
      if (ReadsRowsAlong(reduced) && own > 1) {
        design_.lane_dimension = reduced;
        if (size(reduced) % (own * vector) == 0) design_.cuts[reduced].vector = vector;
      }
      left_ /= own;
    }
    for (const int d : order) {
      if (e_.is_reduction(d)) continue;
      BlockDesign::Cut& cut = design_.cuts[d];
      cut.threads = std::min(left_, RoundDownToPowerOfTwo(size(d)));
      left_ /= cut.threads;
      const bool is_lane = d == design_.lane_dimension;
      if (is_lane && size(d) % (cut.threads * vector) == 0) cut.vector = vector;
      cut.loops = CeilDivide(size(d), cut.threads * cut.vector);
    }
    return design_;
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  // The innermost reduction.
  int Reduced() const {
    const std::vector<int> order = ReductionOrder(e_);
    return order.empty() ? -1 : order.back();
  }

  // Whether some input is contiguous along it, and no result.
  bool ReadsRowsAlong(int d) const {
    return std::any_of(e_.inputs().begin(), e_.inputs().end(), [&](const Buffer& input) {
      return input.Linearized(0).coefficients[d] == 1;
    });
  }

  // As many as results leave over; of rows those of a warp at least.
  int64_t ThreadsAlong(int reduced) const {
    int64_t results = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.is_reduction(d)) results = MultiplyOrLargest(results, size(d));
    }
    int64_t along = left_ / std::min(left_, RoundDownToPowerOfTwo(results));
    if (ReadsRowsAlong(reduced) && results < kWarpOfPart * left_)
      along = std::max(along, kWarpOfPart);
    return std::min({along, left_, RoundDownToPowerOfTwo(size(reduced))});
  }

  const Expression& e_;
  int64_t left_;  // threads
  BlockDesign design_;
};

}  // namespace

std::optional<TuningParameters> DesignPart(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads) {
  const bool has_warps = model.LayerWith(LayerRole::kWarps) >= 0;
  if (has_warps || part.is_empty() || part.has_prefix_sum()) return std::nullopt;
  for (const int64_t vector : {kVector, int64_t{1}}) {
    TuningParameters parameters =
        ToParameters(part, model, device, PartDesigner(part, threads).Run(vector));
    if (Validate(part, model, device, parameters).ok()) return parameters;
  }
  return std::nullopt;
}

}  // namespace mdh
