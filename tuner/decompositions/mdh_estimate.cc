#include "tuner/decompositions/mdh_estimate.h"

#include <utility>

#include "codegen/choose/tiles/tile_estimate.h"

namespace mdh {
namespace {

class MdhEstimate final : public CostEstimate {
 public:
  explicit MdhEstimate(MdhSpace space)
      : space_(std::move(space)),
        tiles_(space_.divided(), space_.model(), space_.device(), space_.numerics()) {}

  double Of(absl::Span<const int64_t> configuration) const override {
    return tiles_.Cycles(space_.Decode(configuration));
  }

 private:
  const MdhSpace space_;  // which tiles_ refers to
  const TileEstimate tiles_;
};

}  // namespace

std::shared_ptr<const CostEstimate> MdhEstimateOf(const MdhSpace& space) {
  const SystemModel& model = space.model();
  const bool has_tiles =
      model.memory == MemoryKind::kCaches && model.LayerWith(LayerRole::kRegisters) >= 0;
  if (!has_tiles) return nullptr;
  return std::make_shared<const MdhEstimate>(space);
}

}  // namespace mdh
