#include "codegen/block_candidates.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "codegen/block_moves.h"
#include "core/constraints.h"
#include "core/round.h"

namespace mdh {
namespace {

using Copy = BlockDesign::Copy;
using Cut = BlockDesign::Cut;

constexpr double kNever = 1e300;
constexpr double kWorthTrying = 2.5;   // times the cost of the best one
constexpr double kWorthKeeping = 8;    // idem: the best one may turn out to be invalid
constexpr int kLeastWarpOfModel = 16;  // of devices that the model speaks of
constexpr int kSizes = 8;              // of blocks that share the candidates
constexpr int64_t kFewThreads = 128;   // of a block
constexpr int kMostAlike = 2;          // candidates with the same threads and tiles

class Climber {
 public:
  Climber(const Expression& e, const SystemModel& m, const DeviceDescription& device,
          const BlockCandidateOptions& options)
      : e_(e),
        m_(m),
        device_(device),
        options_(options),
        model_(e, device),
        moves_(e, device, {.async_copies = options.async_copies}),
        reductions_(static_cast<int>(ReductionOrder(e).size())) {}

  std::vector<BlockCandidate> Run() {
    const double most = device_.blocks.max_threads_per_block;
    const auto climb = [&](const BlockDesign& start) {
      Climb(start, most);
      // The model knows least of how many threads a block should have.
      for (double threads = 64; options_.count > 1 && threads < most; threads *= 2) {
        Climb(start, threads);
      }
    };
    for (const int lane : LaneDimensions()) {
      climb(Start(lane));
      if (!e_.has_reduction()) continue;
      climb(WithCopies(Start(lane)));
      if (HasFewResults()) climb(WithReducingThreads(Start(lane)));
    }
    return Best();
  }

 private:
  bool IsKept(int d) const { return e_.combine_operators()[d].is_concat(); }
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  // Along which memory is contiguous.
  std::vector<int> LaneDimensions() const {
    std::vector<int> lanes;
    const auto add = [&](const Buffer& buffer) {
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        const AffineIndex offset = buffer.Linearized(static_cast<int>(a));
        int closest = -1;
        for (int d = 0; d < e_.rank(); ++d) {
          const int64_t stride = offset.coefficients[d];
          if (stride <= 0 || size(d) == 1) continue;
          if (closest < 0 || stride < offset.coefficients[closest]) closest = d;
        }
        if (closest >= 0 && std::find(lanes.begin(), lanes.end(), closest) == lanes.end()) {
          lanes.push_back(closest);
        }
      }
    };
    for (const Buffer& output : e_.outputs()) add(output);
    for (const Buffer& input : e_.inputs()) add(input);
    if (lanes.empty()) lanes.push_back(0);
    return lanes;
  }

  // Threads along the lanes.
  BlockDesign Start(int lane) const {
    BlockDesign design;
    design.cuts.assign(e_.rank(), {});
    design.copies.assign(e_.inputs().size(), Copy::kNone);
    design.lane_dimension = lane;
    design.unrolled = reductions_;
    // Which matters once blocks share a reduction: partial results would keep them from doing so.
    if (AtomicsObstacle(e_, device_.kind, NumericsPolicy::kReassociate).empty()) {
      design.combine_blocks = CombineBlocks::kAtomics;
    }
    design.cuts[lane].threads = RoundDownToPowerOfTwo(std::min<int64_t>(size(lane), 64));
    return design;
  }

  // And along the other dimensions of the results; inputs are copied.
  BlockDesign WithCopies(BlockDesign design) const {
    for (size_t b = 0; b < design.copies.size(); ++b) {
      if (CanStage(e_.inputs()[b])) design.copies[b] = Copy::kChunk;
    }
    int64_t threads = design.cuts[design.lane_dimension].threads;
    for (int d = 0; d < e_.rank(); ++d) {
      Cut& cut = design.cuts[d];
      if (!IsKept(d)) cut.vector = std::min<int64_t>(size(d), 8);
      if (IsKept(d) && d != design.lane_dimension && size(d) >= 8 && threads < 128) {
        cut.threads = 8;
        threads *= 8;
      }
    }
    return design;
  }

  // Of which those of all multiprocessors have one or two each.
  bool HasFewResults() const {
    double results = 1;
    for (int d = 0; d < e_.rank(); ++d) results *= IsKept(d) ? static_cast<double>(size(d)) : 1;
    return results < 2.0 * kFewThreads * device_.blocks.multiprocessors;
  }

  // Few threads along the lanes, many along the longest reduction.
  BlockDesign WithReducingThreads(BlockDesign design) const {
    Cut& lanes = design.cuts[design.lane_dimension];
    lanes.threads = std::min<int64_t>(lanes.threads, 8);
    int longest = -1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!IsKept(d) && (longest < 0 || size(d) > size(longest))) longest = d;
    }
    const int64_t threads = RoundDownToPowerOfTwo(std::min<int64_t>(size(longest), kFewThreads));
    if (design.lane_dimension != longest) design.cuts[longest].threads = threads;
    return design;
  }

  // ---- Climbing ----

  double CostOf(const BlockDesign& design, double most_threads) {
    double threads = 1;
    for (const Cut& cut : design.cuts) threads *= static_cast<double>(cut.threads);
    if (threads > most_threads) return kNever;
    std::string key;
    for (const Cut& cut : design.cuts) {
      for (const int64_t v : {cut.threads, cut.vector, cut.strided, cut.loops, cut.blocks}) {
        key.append(reinterpret_cast<const char*>(&v), 2);
      }
    }
    for (const Copy copy : design.copies) key.push_back(static_cast<char>(copy));
    for (size_t b = 0; b < design.copies.size(); ++b) {
      key.push_back(static_cast<char>(design.AsyncStages(static_cast<int>(b))));
    }
    key.push_back(static_cast<char>(design.lane_dimension));
    for (const int64_t lanes : design.lane_tile) key.push_back(static_cast<char>(lanes));
    key.push_back(static_cast<char>(design.unrolled));
    key.push_back(static_cast<char>(design.combine_blocks));
    const auto [at, is_new] = seen_.try_emplace(std::move(key), 0);
    if (!is_new) return at->second;
    const BlockCost cost = model_.Estimate(design);
    at->second = cost.fits ? cost.total : kNever;
    if (cost.fits && cost.total <= kWorthKeeping * cheapest_) {
      cheapest_ = std::min(cheapest_, cost.total);
      all_.push_back({cost.total, design});
    }
    ++evaluations_;
    return at->second;
  }

  // Every change that helps is made at once, and those after it are tried next, until none of all
  // helps; blocks have at most so many threads.
  void Climb(BlockDesign design, double most_threads) {
    evaluations_ = 0;
    double cost = CostOf(design, most_threads);
    std::vector<BlockDesign> neighbours = moves_.Neighbours(design);
    size_t at = 0, tried = 0;
    while (tried < neighbours.size() && evaluations_ < options_.evaluations) {
      at = at < neighbours.size() ? at : 0;
      const BlockDesign& next = neighbours[at++];
      const double next_cost = CostOf(next, most_threads);
      ++tried;
      if (next_cost >= cost * 0.9999) continue;
      cost = next_cost;
      design = next;
      neighbours = moves_.Neighbours(design);
      tried = 0;
    }
  }

  // ---- Selection ----

  // What makes candidates alike.
  static std::vector<int64_t> KindOf(const BlockDesign& design) {
    std::vector<int64_t> kind;
    for (const Cut& cut : design.cuts) {
      kind.push_back(cut.threads);
      kind.push_back(cut.vector * cut.strided);
    }
    kind.push_back(design.async_stages.empty() ? 0 : 1);
    return kind;
  }

  // Calls begin early whose first stage reads no inputs, which would be no constants then.
  TuningParameters WithEarlyCalls(TuningParameters p) const {
    const bool zeroes_first = p.combine_blocks == CombineBlocks::kAtomics;
    if (zeroes_first && HasEarlyLaunches(device_.kind)) p.early_launches = EarlyLaunches::kCalls;
    return p;
  }

  std::vector<BlockCandidate> Best() {
    std::vector<const std::pair<double, BlockDesign>*> ranked;
    for (const auto& costed : all_) {
      if (costed.first <= kWorthKeeping * cheapest_) ranked.push_back(&costed);
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto* a, const auto* b) { return a->first < b->first; });
    std::vector<BlockCandidate> best;
    std::map<std::vector<int64_t>, int> kinds;
    std::map<double, int> sizes;  // threads of a block
    const int most_of_size = std::max(kMostAlike, options_.count / kSizes);
    absl::flat_hash_set<std::string> texts;
    for (const auto* costed : ranked) {
      const auto& [cost, design] = *costed;
      if (static_cast<int>(best.size()) >= options_.count) break;
      if (!best.empty() && cost > kWorthTrying * best.front().cost.total) break;
      int& alike = kinds[KindOf(design)];
      int& of_size = sizes[model_.Estimate(design).threads];
      if (options_.count > 1 && (alike >= kMostAlike || of_size >= most_of_size)) continue;
      TuningParameters parameters = WithEarlyCalls(ToParameters(e_, m_, device_, design));
      if (!Validate(e_, m_, device_, parameters).ok()) continue;
      if (!texts.insert(ToText(parameters)).second) continue;
      ++alike;
      ++of_size;
      BlockDesign chosen = design;
      chosen.early_launches = parameters.early_launches;
      best.push_back({chosen, model_.Estimate(chosen), std::move(parameters)});
    }
    return best;
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const BlockCandidateOptions options_;
  const BlockCostModel model_;
  const BlockMoves moves_;
  const int reductions_;  // reduced dimensions
  absl::flat_hash_map<std::string, double> seen_;
  std::deque<std::pair<double, BlockDesign>> all_;  // worth keeping
  double cheapest_ = kNever;
  int evaluations_ = 0;
};

}  // namespace

std::vector<BlockCandidate> BlockCandidates(const Expression& expression, const SystemModel& model,
                                            const DeviceDescription& device,
                                            const BlockCandidateOptions& options) {
  const bool has_levels = model.memory == MemoryKind::kExplicit && model.layers.size() == 5;
  const bool is_gpu = device.blocks.warp_size >= kLeastWarpOfModel;
  if (!has_levels || !is_gpu || expression.has_prefix_sum()) return {};
  return Climber(expression, model, device, options).Run();
}

}  // namespace mdh
