#include "codegen/choose/block_candidates.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "codegen/choose/block_design_set.h"
#include "codegen/choose/block_moves.h"
#include "codegen/choose/counting/early_choice.h"
#include "codegen/choose/product_tiles.h"
#include "codegen/choose/stencil_columns.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

using Copy = BlockDesign::Copy;
using Cut = BlockDesign::Cut;
using Ranked = std::pair<double, size_t>;

constexpr double kNever = 1e300;
constexpr double kWorthTrying = 2.5;     // times the cost of the best one
constexpr double kWorthKeeping = 8;      // idem: the best one may turn out to be invalid
constexpr int kLeastWarpOfModel = 16;    // of devices that the model speaks of
constexpr int kSizes = 8;                // of blocks that share the candidates
constexpr int64_t kFewThreads = 128;     // of a block
constexpr double kReservedBytes = 1024;  // of shared memory, per block
constexpr int kMostAlike = 2;            // candidates with the same threads and tiles

class Climber {
 public:
  Climber(const Expression& e, const SystemModel& m, const DeviceDescription& device,
          const BlockCandidateOptions& options)
      : e_(e),
        m_(m),
        device_(device),
        options_(options),
        model_(e, device),
        moves_(e, device),
        reductions_(static_cast<int>(ReductionOrder(e).size())),
        designs_(e.dimensions().size(), e.inputs().size()) {}

  std::vector<BlockCandidate> Run() {
    ClimbAll(/*mirrors=*/false);
    if (model_.has_equal_results()) ClimbAll(/*mirrors=*/true);
    if (options_.evaluations_in_all >= options_.evaluations) {
      FillWaves();
      FitTiles();
    }
    return Best();
  }

 private:
  struct ClimbStart {
    BlockDesign design;
    double most_threads;  // of a block
  };

  void ClimbAll(bool mirrors) {
    int left = options_.evaluations_in_all;
    for (ClimbStart start : Starts()) {
      start.design.mirrors = mirrors;
      if (left > 0) left -= Climb(start, std::min(options_.evaluations, left));
    }
  }

  std::vector<ClimbStart> Starts() const {
    const double most = device_.blocks.max_threads_per_block;
    std::vector<ClimbStart> starts;
    const auto add = [&](const BlockDesign& start) {
      starts.push_back({start, most});
      // The model knows least of how many threads a block should have.
      for (double threads = 64; options_.count > 1 && threads < most; threads *= 2) {
        starts.push_back({WithThreads(start, threads), threads});
      }
    };
    for (const int lane : LaneDimensions()) {
      add(Start(lane));
      if (!e_.has_reduction()) continue;
      add(WithCopies(Start(lane)));
      for (const Cut& points : Tiles()) add(WithTiles(WithCopies(Start(lane)), points));
      if (HasFewResults()) add(WithReducingThreads(Start(lane)));
    }
    return starts;
  }

  // Of threads that climbs start from: of neighbours, or of points as far apart as there are
  // threads, whose rows in copies can stay as they are in memory; for tuning larger ones, too, and
  // both.
  absl::Span<const Cut> Tiles() const {
    static constexpr Cut kTiles[] = {{.strided = 4},
                                     {.vector = 4},
                                     {.vector = 4, .strided = 2},
                                     {.vector = 2, .strided = 4},
                                     {.vector = 8}};
    return absl::MakeConstSpan(kTiles).subspan(0, options_.count > 1 ? std::size(kTiles) : 2);
  }

  // With no more than so many threads: fewer along the dimension that has most.
  static BlockDesign WithThreads(BlockDesign design, double most) {
    while (ThreadsOf(design) > most) {
      std::ranges::max_element(design.cuts, {}, &Cut::threads)->threads /= 2;
    }
    return design;
  }

  static double ThreadsOf(const BlockDesign& design) {
    double threads = 1;
    for (const Cut& cut : design.cuts) threads *= static_cast<double>(cut.threads);
    return threads;
  }

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
        if (closest >= 0 && std::ranges::find(lanes, closest) == lanes.end()) {
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
    if (AtomicsObstacle(e_, device_, NumericsPolicy::kReassociate).empty()) {
      design.combine_blocks = CombineBlocks::kAtomics;
    }
    design.cuts[lane].threads = RoundDownToPowerOfTwo(std::min<int64_t>(size(lane), 64));
    return design;
  }

  // And along the other dimensions of the results; inputs are copied.
  BlockDesign WithCopies(BlockDesign design) const {
    for (size_t b = 0; b < design.copies.size(); ++b) {
      if (CanStageApart(e_.inputs()[b])) design.copies[b] = Copy::kChunk;
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

  // Threads have tiles of results.
  BlockDesign WithTiles(BlockDesign design, const Cut& points) const {
    for (int d = 0; d < e_.rank(); ++d) {
      Cut& cut = design.cuts[d];
      if (!IsKept(d) || cut.threads == 1) continue;
      cut.vector = points.vector;
      cut.strided = points.strided;
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

  // `times`: of a design that is new, how many times what the model says it costs. That is more
  // than nothing, or a climb would never end: of what is no such number nothing is known.
  double CostOf(const BlockDesign& design, double most_threads, double times = 1) {
    if (ThreadsOf(design) > most_threads) return kNever;
    if (!options_.shares_reductions && HasSharedReduction(design)) return kNever;
    const auto [number, is_new] = designs_.Insert(design);
    if (!is_new) return costs_[number];
    const BlockCost cost = model_.Estimate(design);
    const bool is_known = cost.fits && cost.total > 0;
    costs_.push_back(is_known ? cost.total * times : kNever);
    cheapest_ = std::min(cheapest_, costs_.back());
    ++evaluations_;
    return costs_[number];
  }

  // Where a climb is: every change that helps is made at once, and those after it are tried next.
  struct Place {
    BlockDesign design;
    double cost;
    size_t next = 0;  // number of the neighbour that is tried next
  };

  // Goes to the first neighbour that helps, if one does: those before the next one come last.
  bool Improve(double most_threads, Place* place) {
    std::optional<BlockDesign> better;
    size_t end = SIZE_MAX;
    const auto visit = [&](const BlockDesign& next) {
      if (place->next == end || evaluations_ >= most_evaluations_) return false;
      ++place->next;
      const double cost = CostOf(next, most_threads);
      if (cost >= place->cost * 0.9999) return true;
      place->cost = cost;
      better = next;
      return false;
    };
    const size_t begin = place->next;
    moves_.VisitNeighbours(place->design, begin, visit);
    if (!better.has_value() && evaluations_ < most_evaluations_) {
      end = begin;
      place->next = 0;
      moves_.VisitNeighbours(place->design, /*first=*/0, visit);
    }
    if (!better.has_value()) return false;
    place->design = *std::move(better);
    return true;
  }

  // Until no change helps, or that often; returns how many evaluations it took.
  int Climb(const ClimbStart& start, int most_evaluations) {
    evaluations_ = 0;
    most_evaluations_ = most_evaluations;
    Place place{start.design, CostOf(start.design, start.most_threads)};
    while (evaluations_ < most_evaluations_ && Improve(start.most_threads, &place)) {
    }
    return evaluations_;
  }

  // Climbs go through powers of two and divisors; of the best designs that have been met, parts of
  // reductions may be any few, so that the last wave of blocks is fuller.
  void FillWaves() {
    constexpr int64_t kMostParts = 16;
    constexpr size_t kMostDesigns = 8;
    std::vector<Ranked> ranked = RankedDesigns();
    most_evaluations_ = INT_MAX;
    const size_t designs = std::min(ranked.size(), options_.count > 1 ? kMostDesigns : 1);
    for (size_t n = 0; n < designs; ++n) {
      std::pop_heap(ranked.begin(), ranked.end(), std::greater<>());
      const BlockDesign design = designs_.At(ranked.back().second);
      ranked.pop_back();
      for (int d = 0; d < e_.rank(); ++d) {
        BlockDesign next = design;
        for (int64_t parts = 1; !IsKept(d) && parts <= std::min(size(d), kMostParts); ++parts) {
          next.cuts[d].blocks = parts;
          CostOf(next, device_.blocks.max_threads_per_block);
        }
      }
    }
  }

  // The same for tiles: of the best designs, as long as the cost of one falls. Measured beside the
  // others, what the model says of these is too little by so much in the mean.
  void FitTiles() {
    constexpr int kMostDesigns = 16;
    constexpr double kMore = 1.07;
    std::vector<Ranked> ranked = RankedDesigns();
    most_evaluations_ = INT_MAX;
    const int designs = options_.count > 1 ? kMostDesigns : 1;
    for (int n = 0; n < designs && !ranked.empty(); ++n) {
      std::pop_heap(ranked.begin(), ranked.end(), std::greater<>());
      std::optional<BlockDesign> best = designs_.At(ranked.back().second);
      double cost = ranked.back().first;
      ranked.pop_back();
      while (best.has_value()) {
        const BlockDesign from = *std::exchange(best, std::nullopt);
        moves_.VisitFits(from, [&](const BlockDesign& next) {
          const double of_next = CostOf(next, device_.blocks.max_threads_per_block, kMore);
          if (of_next < cost * 0.9999) {
            cost = of_next;
            best = next;
          }
          return true;
        });
      }
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

  TuningParameters WithEarlyCalls(TuningParameters p, double cycles) const {
    p.early_launches = EarlyByCounting(e_, device_, p.combine_blocks, cycles);
    return p;
  }

  // Asynchronous copies begin between points. The compiler is told how many blocks are resident
  // without that, about: it would take a few registers more, and leave room for fewer of them.
  BlockDesign WithOverlap(BlockDesign design) const {
    constexpr int64_t kFewestResults = 16, kFewestPoints = 4;  // of a thread between two copies
    int64_t results = 1, points = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      const Cut& cut = design.cuts[d];
      (IsKept(d) ? results : points) *= cut.vector * cut.strided;
    }
    const bool has_points = design.unrolled > 0 && points >= kFewestPoints;
    if (design.async_stages.empty() || !has_points || results < kFewestResults) return design;
    const BlockCost before = model_.Estimate(design);
    design.copy_overlap = CopyOverlap::kCopies;
    const double threads =
        RoundUp(static_cast<int64_t>(before.threads), int64_t{device_.blocks.warp_size});
    const auto registers = RoundUp(static_cast<int64_t>(std::ceil(before.registers)), 8);
    const double resident = std::floor(
        std::min(device_.blocks.registers_per_block / (threads * static_cast<double>(registers)),
                 static_cast<double>(device_.blocks.shared_bytes_per_block) /
                     (before.shared_bytes + kReservedBytes)));
    if (resident >= 2 && HasResidentBlocks(device_) && design.resident_blocks == 0) {
      design.resident_blocks = std::min(static_cast<int>(resident), kMaxResidentBlocks);
    }
    return design;
  }

  // Costs and numbers of the designs that are worth keeping, as a heap with the best one in front,
  // of the same cost the one that was found first: mostly, the first few are all that is asked for.
  std::vector<Ranked> RankedDesigns() const {
    std::vector<Ranked> ranked;
    for (size_t n = 0; n < costs_.size(); ++n) {
      const bool is_kept = costs_[n] < kNever && costs_[n] <= kWorthKeeping * cheapest_;
      if (is_kept) ranked.emplace_back(costs_[n], n);
    }
    std::make_heap(ranked.begin(), ranked.end(), std::greater<>());
    return ranked;
  }

  std::vector<BlockCandidate> Best() {
    std::vector<BlockCandidate> best;
    std::map<std::vector<int64_t>, int> kinds;
    std::map<double, int> sizes;  // threads of a block
    const int most_of_size = std::max(kMostAlike, options_.count / kSizes);
    absl::flat_hash_set<std::string> texts;
    if (const std::optional<BlockDesign> columns = StencilColumns(e_, device_)) {
      TuningParameters parameters = ToParameters(e_, m_, device_, *columns);
      if (Validate(e_, m_, device_, parameters).ok()) {
        texts.insert(ToText(parameters));
        best.push_back({*columns, model_.Estimate(*columns), std::move(parameters)});
      }
    }
    const size_t before = best.size();
    double cheapest = kNever;  // of what follows, before its copies overlap
    for (std::vector<Ranked> ranked = RankedDesigns(); !ranked.empty(); ranked.pop_back()) {
      if (static_cast<int>(best.size()) >= options_.count) break;
      std::pop_heap(ranked.begin(), ranked.end(), std::greater<>());
      const double cost = ranked.back().first;
      if (cost > kWorthTrying * cheapest) break;
      const BlockDesign plain = model_.WithMirrors(designs_.At(ranked.back().second));
      const BlockDesign design = WithOverlap(plain);
      const BlockCost of_plain = model_.Estimate(plain);
      int& alike = kinds[KindOf(design)];
      int& of_size = sizes[of_plain.threads];
      if (options_.count > 1 && (alike >= kMostAlike || of_size >= most_of_size)) continue;
      TuningParameters parameters =
          WithEarlyCalls(ToParameters(e_, m_, device_, design), of_plain.total);
      if (!Validate(e_, m_, device_, parameters).ok()) continue;
      if (!texts.insert(ToText(parameters)).second) continue;
      ++alike;
      ++of_size;
      cheapest = std::min(cheapest, cost);
      BlockDesign chosen = design;
      chosen.early_launches = parameters.early_launches;
      BlockCost of_chosen = model_.Estimate(chosen);
      of_chosen.total *= cost / of_plain.total;
      best.push_back({chosen, of_chosen, std::move(parameters)});
    }
    const auto sort = [&] {
      std::stable_sort(best.begin() + static_cast<std::ptrdiff_t>(before), best.end(),
                       [](const BlockCandidate& a, const BlockCandidate& b) {
                         return a.cost.total < b.cost.total;
                       });
    };
    sort();
    if (best.size() > before) AddProducts(best[before].cost, best);
    sort();
    if (std::ssize(best) > options_.count) best.resize(options_.count);
    return best;
  }

  // The best of the usual tiles of products: as many as a quarter of all. Their costs are those
  // beside which `found`, of what climbs found, is right: with partial results, of which climbs
  // know nothing. Measured, the model is right about the two where they differ by more than this.
  void AddProducts(const BlockCost& found, std::vector<BlockCandidate>& best) const {
    constexpr double kMore = 1.1;
    constexpr int kShare = 4;
    const bool has_grid = device_.blocks.multiprocessors > 1;
    if (!has_grid || options_.evaluations_in_all < options_.evaluations) return;
    const double times = kMore * found.total / (found.total + found.partial);
    std::vector<BlockCandidate> tiles = Products(1 + options_.count / kShare);
    const size_t others = std::max<size_t>(1, options_.count - tiles.size());
    if (best.size() > others) best.resize(others);
    for (BlockCandidate& tile : tiles) {
      tile.cost.total = (tile.cost.total + tile.cost.partial) * times;
      const auto is_same = [&](const BlockCandidate& b) { return b.parameters == tile.parameters; };
      if (std::ranges::none_of(best, is_same)) best.push_back(std::move(tile));
    }
  }

  std::vector<BlockCandidate> Products(int count) const {
    using Tile = std::pair<double, BlockDesign>;
    std::vector<Tile> tiles;
    for (const int lane : LaneDimensions()) {
      VisitProductTiles(e_, device_, lane, [&](const BlockDesign& tile) {
        const BlockDesign design = model_.WithMirrors(tile);
        const BlockCost cost = model_.Estimate(design);
        if (cost.fits) tiles.emplace_back(cost.total + cost.partial, design);
      });
    }
    std::ranges::stable_sort(tiles, {}, &Tile::first);
    std::vector<BlockCandidate> products;
    std::map<std::vector<int64_t>, int> kinds;
    for (const auto& [cost, plain] : tiles) {
      if (std::ssize(products) == count) break;
      const BlockDesign design = WithOverlap(plain);
      const BlockCost cost_of_design = model_.Estimate(design);
      TuningParameters parameters =
          WithEarlyCalls(ToParameters(e_, m_, device_, design), cost_of_design.total);
      if (kinds[KindOf(design)] >= kMostAlike) continue;
      if (!Validate(e_, m_, device_, parameters).ok()) continue;
      ++kinds[KindOf(design)];
      products.push_back({design, cost_of_design, std::move(parameters)});
      products.back().design.early_launches = products.back().parameters.early_launches;
    }
    return products;
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const BlockCandidateOptions options_;
  const BlockCostModel model_;
  const BlockMoves moves_;
  const int reductions_;       // reduced dimensions
  BlockDesignSet designs_;     // that were met
  std::vector<double> costs_;  // idem; kNever: does not fit
  double cheapest_ = kNever;
  int evaluations_ = 0, most_evaluations_ = 0;  // of the climb
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
