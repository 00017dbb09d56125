#include "codegen/choose/aligned_parts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/choose/block_design.h"
#include "codegen/choose/part_design.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"

namespace mdh {
namespace {

constexpr int64_t kReducedVector = 4;
constexpr int64_t kNeighboursOfLane = 4;
constexpr int64_t kMostLanes = 32;
// Registers of a thread for results, of those that there are.
constexpr int64_t kMostResults = 160;

// The dimensions of a step on its part that have several points; -1: none.
struct StepDimensions {
  int row = -1;      // the common one
  int kept = -1;     // the other one that is kept
  int reduced = -1;  // and the one that is reduced

  int of_lanes() const { return kept >= 0 ? kept : reduced; }
};

class Aligner {
 public:
  Aligner(const JointSteps& joint, const SystemModel& model, const DeviceDescription& device,
          int64_t threads)
      : joint_(joint), model_(model), device_(device), threads_(threads) {}

  std::optional<std::vector<TuningParameters>> Run(int64_t asked) {
    if (!SetDimensions()) return std::nullopt;
    SetStrided();
    const std::optional<int64_t> lanes = BestLanes(asked);
    if (!lanes) return std::nullopt;
    std::vector<TuningParameters> parameters;
    for (size_t n = 0; n < steps().size(); ++n) {
      parameters.push_back(ParametersOf(n, *lanes));
      if (!Validate(expression(n), model_, device_, parameters.back()).ok()) return std::nullopt;
    }
    return parameters;
  }

 private:
  const std::vector<JointPart::Step>& steps() const { return joint_.part.steps; }
  const Expression& expression(size_t n) const { return steps()[n].expression; }
  int64_t size(size_t n, int d) const { return expression(n).dimensions()[d].size; }
  bool IsContraction(size_t n) const { return of_[n].kept >= 0 && of_[n].reduced >= 0; }
  int64_t rows() const { return joint_.group.part[row_]; }

  // Which ones steps have; false: some have others.
  bool SetDimensions() {
    const std::vector<int64_t>& part = joint_.group.part;
    const auto has_points = [](int64_t points) { return points > 1; };
    if (std::ranges::count_if(part, has_points) != 1) return false;
    row_ = std::ranges::find_if(part, has_points) - part.begin();
    bool has_contraction = false;
    for (size_t n = 0; n < steps().size(); ++n) {
      const Expression& e = expression(n);
      if (e.is_empty() || e.has_prefix_sum()) return false;
      StepDimensions& own = of_.emplace_back();
      own.row = joint_.group.dimensions[n][row_];
      for (int d = 0; d < e.rank(); ++d) {
        if (d == own.row || size(n, d) == 1) continue;
        int& place = e.is_reduction(d) ? own.reduced : own.kept;
        if (place >= 0) return false;
        place = d;
      }
      const bool is_of_chunks = static_cast<int>(n) < joint_.body;
      if (is_of_chunks && own.of_lanes() < 0) return false;
      has_contraction |= is_of_chunks && IsContraction(n);
    }
    return has_contraction;
  }

  // Whether lanes are along the streamed dimension, and its points.
  std::pair<bool, int64_t> LanesKey(size_t n) const {
    const std::vector<int>& streamed = joint_.group.streamed;
    const int d = of_[n].of_lanes();
    return {n < streamed.size() && streamed[n] == d, size(n, d)};
  }

  // Whether points of a lane are neighbours or those of all lanes are: the same along dimensions of
  // the same key, so that steps find what others have left. Contractions load neighbours as
  // vectors; where inputs have none along the lanes, lanes read one row each, which begin at other
  // banks.
  void SetStrided() {
    for (size_t n = 0; n < steps().size(); ++n) {
      const int lanes = of_[n].of_lanes();
      if (lanes < 0 || !IsContraction(n)) continue;
      const std::vector<Buffer>& inputs = expression(n).inputs();
      const bool has_rows = std::ranges::all_of(inputs, [&](const Buffer& input) {
        return !input.DependsOn(lanes) || input.Linearized(0).coefficients[lanes] == 1;
      });
      if (!has_rows) strided_.insert(LanesKey(n));
    }
  }

  // Those of a row, by which contractions load least, or so many; 0: any.
  std::optional<int64_t> BestLanes(int64_t asked) {
    std::optional<int64_t> best;
    double least = 0;
    const int64_t most = HasShuffles(device_) ? device_.blocks.warp_size : kMostLanes;
    for (int64_t lanes = 2; lanes <= most && lanes < threads_; lanes *= 2) {
      if ((asked > 0 && lanes != asked) || !Divide(lanes)) continue;
      double loads = 0;
      for (size_t n = 0; n < steps().size(); ++n) {
        if (!IsContraction(n)) continue;
        loads += 1 / static_cast<double>(rows() * lanes / threads_) +
                 static_cast<double>(lanes) / static_cast<double>(size(n, of_[n].kept));
      }
      if (best && loads >= least) continue;
      best = lanes;
      least = loads;
    }
    return best;
  }

  // Whether so many divide all dimensions, and results fit.
  bool Divide(int64_t lanes) {
    const int64_t of_rows = threads_ / lanes;
    if (of_rows * lanes != threads_ || rows() % of_rows != 0) return false;
    int64_t results = 0;
    for (size_t n = 0; n < steps().size(); ++n) {
      const int d = of_[n].of_lanes();
      if (d < 0) continue;
      if (size(n, d) % lanes != 0) return false;
      if (IsContraction(n)) results += rows() / of_rows * (size(n, d) / lanes);
    }
    return results <= kMostResults;
  }

  TuningParameters ParametersOf(size_t n, int64_t lanes) const {
    const Expression& e = expression(n);
    const StepDimensions& own = of_[n];
    BlockDesign design;
    design.cuts.resize(e.rank());
    design.copies.assign(e.inputs().size(), BlockDesign::Copy::kNone);
    design.cuts[own.row] = {.threads = threads_ / lanes, .strided = rows() * lanes / threads_};
    design.lane_dimension = own.row;
    if (const int d = own.of_lanes(); d >= 0) {
      design.lane_dimension = d;
      const int64_t points = size(n, d) / lanes;
      design.cuts[d].threads = lanes;
      int64_t& vector = design.cuts[d].vector;
      while (!strided_.contains(LanesKey(n)) && vector < kNeighboursOfLane &&
             points % (2 * vector) == 0) {
        vector *= 2;
      }
      if (own.kept >= 0) design.cuts[d].strided = points / vector;
    }
    if (!IsContraction(n)) return ToParameters(e, model_, device_, design);
    BlockDesign::Cut& reduced = design.cuts[own.reduced];
    reduced.vector = kReducedVector;
    while (size(n, own.reduced) % reduced.vector != 0) reduced.vector /= 2;
    design.unrolled = 1;
    std::vector<int> loaded;
    for (int b = 0; b < std::ssize(e.inputs()); ++b) {
      const Buffer& input = e.inputs()[b];
      if (!input.DependsOn(own.reduced) || input.accesses.size() != 1) continue;
      loaded.push_back(b);
      const bool is_in_part = steps()[n].inputs[b].kind == PartBuffer::Kind::kPart;
      if (!is_in_part) design.copies[b] = BlockDesign::Copy::kBlock;
    }
    TuningParameters parameters = ToParameters(e, model_, device_, design);
    for (const int b : loaded) {
      const bool is_copied = design.copies[b] != BlockDesign::Copy::kNone;
      if (is_copied) parameters.inputs[b].padding = BlockDesign::kPadding;
      // Neighbours that are not all of them are loaded where they are used.
      const BlockDesign::Cut& lanes_cut = design.cuts[own.kept];
      const bool is_box = lanes_cut.vector == 1 || lanes_cut.strided == 1;
      if (is_box || !e.inputs()[b].DependsOn(own.kept)) {
        LoadIntoRegisters(design, model_, b, &parameters);
      }
    }
    return parameters;
  }

  const JointSteps& joint_;
  const SystemModel& model_;
  const DeviceDescription& device_;
  const int64_t threads_;
  std::ptrdiff_t row_ = 0;                      // among the common dimensions
  std::vector<StepDimensions> of_;              // per step
  std::set<std::pair<bool, int64_t>> strided_;  // keys
};

}  // namespace

std::optional<std::vector<TuningParameters>> AlignParts(const JointSteps& joint,
                                                        const SystemModel& model,
                                                        const DeviceDescription& device,
                                                        int64_t threads, int64_t lanes) {
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  if (!has_blocks || model.LayerWith(LayerRole::kWarps) >= 0 || joint.body == 0) {
    return std::nullopt;
  }
  if (threads % std::max(device.blocks.warp_size, 1) != 0) return std::nullopt;
  return Aligner(joint, model, OnePart(device, threads), threads).Run(lanes);
}

}  // namespace mdh
