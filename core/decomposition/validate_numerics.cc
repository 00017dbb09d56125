// Validate: orders in which results may be combined with numerics policies other than
// kReassociate (core/expression/numerics.h).
#include "core/base/round.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

class Order {
 public:
  explicit Order(const NestShape& shape)
      : e_(shape.expression()),
        shape_(shape),
        numerics_(shape.parameters().numerics),
        prefix_(absl::StrCat("numerics=", Name(numerics_))) {}

  Status Run() const {
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.combine_operators()[d].is_concat()) continue;
      MDH_RETURN_IF_ERROR(
          AtParameter(Parts(d), {.kind = ParameterPlace::Kind::kTile, .layer = 0, .dimension = d}));
    }
    return AtParameter(Loops(), {.kind = ParameterPlace::Kind::kOrder});
  }

 private:
  const std::string& DimensionName(int d) const { return e_.dimensions()[d].name; }

  // Cores get the parts that the policy fixes; nobody else runs in parallel along d.
  Status Parts(int d) const {
    const int64_t size = e_.dimensions()[d].size;
    const int64_t needed = OrderedPart(e_, numerics_, d);
    int64_t part = size;  // of a core
    for (int n = 0; n < shape_.count(); ++n) {
      const NestShape::Level& level = shape_.levels()[n];
      if (level.level.dimension != d || level.parts == 1) continue;
      if (level.role == LayerRole::kCores) {
        // Two core levels, or one inside of a loop, cut a part that is not whole.
        const bool is_whole = level.parts == CeilDivide(size, level.tile);
        part = is_whole && part == size ? level.tile : 0;
      } else if (shape_.is_parallel(n) || level.role == LayerRole::kLanes) {
        return InvalidParameters(prefix_, ": ", level.parts, " parts at level ",
                                 LevelText(level.level), " run in parallel along dimension ",
                                 DimensionName(d), ", 1 is allowed");
      }
      if (part == 0) break;
    }
    if (part == needed) return absl::OkStatus();
    return InvalidParameters(prefix_, " needs parts of ", needed,
                             " points on the core layer in dimension ", DimensionName(d), ", not ",
                             part == 0 ? "smaller ones of several levels" : absl::StrCat(part));
  }

  Status Loops() const {
    MdhLevel latest = {-1, -1};
    for (int n = 0; n < shape_.count(); ++n) {
      const NestShape::Level& level = shape_.levels()[n];
      if (level.parts == 1 || !shape_.is_reduced(n) || shape_.is_parallel(n)) continue;
      if (n < shape_.AccumulatorPlace()) {
        return InvalidParameters(prefix_, ": the loop of level ", LevelText(level.level),
                                 " at place ", n + 1, " runs outside of place ",
                                 shape_.AccumulatorPlace() + 1, ", where results accumulate (R3)");
      }
      const MdhLevel now = level.level;
      if (now.dimension < latest.dimension ||
          (now.dimension == latest.dimension && now.layer < latest.layer)) {
        return InvalidParameters(prefix_, ": the loop of level ", LevelText(now),
                                 " runs inside of that of level ", LevelText(latest),
                                 ", not in lexicographic order");
      }
      latest = now;
    }
    return absl::OkStatus();
  }

  const Expression& e_;
  const NestShape& shape_;
  const NumericsPolicy numerics_;
  const std::string prefix_;
};

}  // namespace

Status ValidateNumerics(const NestShape& recomposition) {
  if (Reassociates(recomposition.parameters().numerics)) return absl::OkStatus();
  return Order(recomposition).Run();
}

}  // namespace mdh
