#include "codegen/choose/part_design.h"

#include <algorithm>
#include <utility>

#include "codegen/choose/block_candidates.h"
#include "codegen/choose/default_parameters.h"
#include "core/base/round.h"
#include "core/decomposition/nest_shape.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"

namespace mdh {
namespace {

constexpr int64_t kWarpOfPart = 32;
constexpr int64_t kVector = 4;

class PartDesigner {
 public:
  PartDesigner(const Expression& e, int64_t threads, const std::vector<bool>& in_part)
      : e_(e), left_(threads), in_part_(in_part) {}

  BlockDesign Run(int64_t vector) {
    design_.cuts.resize(e_.rank());
    design_.copies.assign(e_.inputs().size(), BlockDesign::Copy::kNone);
    const std::vector<int> order = ResultOrder(e_);
    design_.lane_dimension = order.front();
    if (const int reduced = Reduced(); reduced >= 0) {
      const int64_t own = ThreadsAlong(reduced, vector);
      design_.cuts[reduced].threads = own;
      if (ReadsRowsAlong(reduced) && (own > 1 || HasOwnRows(reduced))) {
        if (own > 1) design_.lane_dimension = reduced;
        if (size(reduced) % (own * vector) == 0) {
          design_.cuts[reduced].vector = vector;
          design_.unrolled = 1;
        }
      }
      left_ /= own;
    }
    for (const int d : order) {
      if (e_.is_reduction(d)) continue;
      BlockDesign::Cut& cut = design_.cuts[d];
      const bool is_lane = d == design_.lane_dimension;
      const bool has_vectors = is_lane && size(d) % vector == 0 && Results() >= left_ * vector;
      cut.threads =
          std::min(left_, RoundDownToPowerOfTwo(has_vectors ? size(d) / vector : size(d)));
      left_ /= cut.threads;
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

  // Whether the input of which most is read is contiguous along it.
  bool ReadsRowsAlong(int d) const {
    const int most = MostRead();
    return most >= 0 && e_.inputs()[most].Linearized(0).coefficients[d] == 1;
  }
  // -1: there are no inputs.
  int MostRead() const {
    const auto most = std::ranges::max_element(
        e_.inputs(), [&](const Buffer& a, const Buffer& b) { return PointsOf(a) < PointsOf(b); });
    return most == e_.inputs().end() ? -1 : static_cast<int>(most - e_.inputs().begin());
  }
  // Whether what is read most is in memory of the part, with rows along d that begin at different
  // banks, so that each thread can read one of its own.
  bool HasOwnRows(int d) const {
    constexpr int64_t kBanks = 32;
    const int most = MostRead();
    if (most < 0 || in_part_.empty() || !in_part_[most]) return false;
    const AffineIndex row = e_.inputs()[most].Linearized(0);
    for (int other = 0; other < e_.rank(); ++other) {
      if (other != d && row.coefficients[other] % kBanks != 0) return true;
    }
    return false;
  }
  int64_t PointsOf(const Buffer& input) const {
    int64_t points = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (input.DependsOn(d)) points = MultiplyOrLargest(points, size(d));
    }
    return points;
  }

  // As many as results leave over; of rows those of a warp at least, unless threads can have rows
  // of their own.
  int64_t ThreadsAlong(int reduced, int64_t vector) const {
    const int64_t results = Results();
    int64_t along = left_ / std::min(left_, RoundDownToPowerOfTwo(results));
    if (ReadsRowsAlong(reduced) && !HasOwnRows(reduced) && results < kWarpOfPart * left_)
      along = std::max(along, kWarpOfPart);
    const int64_t points = size(reduced);
    const bool has_vectors = ReadsRowsAlong(reduced) && points % vector == 0 &&
                             MultiplyOrLargest(results, points / vector) >= left_;
    return std::min({along, left_, RoundDownToPowerOfTwo(has_vectors ? points / vector : points)});
  }
  int64_t Results() const {
    int64_t results = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.is_reduction(d)) results = MultiplyOrLargest(results, size(d));
    }
    return results;
  }

  const Expression& e_;
  int64_t left_;  // threads
  const std::vector<bool>& in_part_;
  BlockDesign design_;
};

// A contraction's results along two dimensions: threads, and each one's tile.
class ContractionDesigner {
 public:
  ContractionDesigner(const Expression& e, const DeviceDescription& device, int64_t threads,
                      const std::vector<bool>& in_part)
      : e_(e), device_(device), threads_(threads), in_part_(in_part) {}

  // With the tile of the nth least cost. nullopt: it is no contraction, or so many tiles do not
  // fit. `copies`: rows are copied to shared memory.
  std::optional<BlockDesign> Run(bool copies, size_t nth = 0) const {
    const std::optional<std::pair<int, int>> plane = Plane();
    if (!plane) return std::nullopt;
    const auto [m, n] = *plane;
    const std::vector<Tile> tiles = TilesByCost(m, n);
    if (nth >= tiles.size()) return std::nullopt;
    const Tile* const tile = &tiles[nth];
    BlockDesign design;
    design.cuts.resize(e_.rank());
    design.copies.assign(e_.inputs().size(), BlockDesign::Copy::kNone);
    design.lane_dimension = n;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!e_.is_reduction(d) && d != m && d != n) design.cuts[d].loops = size(d);
    }
    design.cuts[m] = {.threads = tile->along_m,
                      .vector = tile->m,
                      .loops = CeilDivide(size(m), tile->along_m * tile->m)};
    BlockDesign::Cut& lanes = design.cuts[n];
    lanes.threads = tile->along_n;
    if (IsContiguous(n)) {
      lanes.vector = tile->n;
      lanes.loops = CeilDivide(size(n), tile->along_n * tile->n);
    } else {
      lanes.strided = tile->n;
    }
    BlockDesign::Cut& reduced = design.cuts[ReductionOrder(e_).back()];
    reduced.vector = kVector;
    while (size(ReductionOrder(e_).back()) % reduced.vector != 0) reduced.vector /= 2;
    design.unrolled = 1;
    for (int b = 0; copies && b < std::ssize(e_.inputs()); ++b) {
      if (IsCopied(b, n)) design.copies[b] = BlockDesign::Copy::kBlock;
    }
    return design;
  }

 private:
  // Points of a thread, and threads.
  struct Tile {
    int64_t m, n, along_m, along_n;
  };

  int64_t size(int d) const { return e_.dimensions()[d].size; }
  bool Uses(int b, int d) const { return e_.inputs()[b].DependsOn(d); }
  bool IsKept(int d) const { return !e_.is_reduction(d) && size(d) > 1; }

  // The dimension of the lanes, along which results are closest, and the largest one for which
  // inputs are used again along it.
  std::optional<std::pair<int, int>> Plane() const {
    if (!e_.has_reduction() || e_.is_empty()) return std::nullopt;
    const std::vector<int> order = ResultOrder(e_);
    const auto lanes = std::ranges::find_if(order, [&](int d) { return IsKept(d); });
    if (lanes == order.end()) return std::nullopt;
    int m = -1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (!IsKept(d) || d == *lanes || !IsReused(d, *lanes) || !IsReused(*lanes, d)) continue;
      if (m < 0 || size(d) > size(m)) m = d;
    }
    if (m < 0) return std::nullopt;
    return std::pair(m, *lanes);
  }
  // Whether an input moves along the first dimension and not along the second one.
  bool IsReused(int moves, int stays) const {
    for (int b = 0; b < std::ssize(e_.inputs()); ++b) {
      if (Uses(b, moves) && !Uses(b, stays)) return true;
    }
    return false;
  }

  bool IsContiguous(int n) const {
    return std::ranges::all_of(e_.inputs(), [&](const Buffer& input) {
      return !input.DependsOn(n) || input.Linearized(0).coefficients[n] == 1;
    });
  }

  // What all threads read that are neighbours along n: several warps the same, or, where rows lie
  // along the reduction, each lane of another row.
  bool IsCopied(int b, int n) const {
    const Buffer& input = e_.inputs()[b];
    const bool is_in_part = !in_part_.empty() && in_part_[b];
    const int reduced = ReductionOrder(e_).back();
    if (is_in_part || !Uses(b, n) || !Uses(b, reduced) || input.accesses.size() != 1) return false;
    const AffineIndex row = input.Linearized(0);
    return row.coefficients[n] == 1 || row.coefficients[reduced] == 1;
  }

  // By counting, in cycles of a multiprocessor per point of the reduction: products, and the shared
  // memory or cache that delivers operands.
  std::vector<Tile> TilesByCost(int m, int n) const {
    const bool is_contiguous = IsContiguous(n);
    std::vector<std::pair<double, Tile>> tiles;
    for (const int64_t of_m : {1, 2, 4, 8, 16}) {
      for (const int64_t of_n : {1, 2, 4, 8}) {
        if (is_contiguous && of_n > kVector) continue;
        if (!FitRegisters(of_m, of_n)) continue;
        for (int64_t along_n = 1; along_n <= threads_; along_n *= 2) {
          const Tile tile{of_m, of_n, threads_ / along_n, along_n};
          if (!FitsResults(tile.along_m * of_m, size(m)) || !FitsResults(along_n * of_n, size(n))) {
            continue;
          }
          const int64_t rounds_n = CeilDivide(size(n), along_n * of_n);
          if (!is_contiguous && rounds_n > 1) continue;
          const double rounds =
              static_cast<double>(CeilDivide(size(m), tile.along_m * of_m) * rounds_n);
          tiles.emplace_back(rounds * CyclesOf(tile), tile);
        }
      }
    }
    std::ranges::stable_sort(tiles, {}, &std::pair<double, Tile>::first);
    std::vector<Tile> by_cost;
    for (const auto& [cost, tile] : tiles) by_cost.push_back(tile);
    return by_cost;
  }

  static bool FitsResults(int64_t points, int64_t size) { return points == 1 || points < 2 * size; }

  bool FitRegisters(int64_t m, int64_t n) const {
    constexpr int64_t kOtherRegisters = 40;  // indices and the like
    const BlockLimits& limits = device_.blocks;
    int64_t registers = limits.registers_per_thread > 0 ? limits.registers_per_thread : 128;
    if (limits.registers_per_block > 0) {
      registers = std::min(registers, limits.registers_per_block / threads_);
    }
    const int64_t words = e_.function().results()[0].type == ScalarType::kFloat64 ? 2 : 1;
    return words * (m * n + kVector * (m + n)) + kOtherRegisters <= registers;
  }

  static double CyclesOf(const Tile& tile) {
    constexpr double kUnits = 4, kBanks = 32;  // warps at once; words of a cycle
    const auto m = static_cast<double>(tile.m), n = static_cast<double>(tile.n);
    const auto lanes = static_cast<double>(std::min<int64_t>(tile.along_n, kWarpOfPart));
    const double products = m * n / kUnits;
    const double operands = std::max(n * lanes / kBanks, n / kVector) +
                            m / kVector * static_cast<double>(kWarpOfPart) / lanes;
    return std::max(products, operands) + 0.25 * std::min(products, operands) + 0.5;
  }

  const Expression& e_;
  const DeviceDescription& device_;
  const int64_t threads_;
  const std::vector<bool>& in_part_;
};

// Rows of copies begin at different banks.
void RefineCopies(const BlockDesign& design, const SystemModel& model,
                  TuningParameters* parameters) {
  for (size_t b = 0; b < design.copies.size(); ++b) {
    if (design.copies[b] == BlockDesign::Copy::kNone) continue;
    parameters->inputs[b].padding = BlockDesign::kPadding;
    LoadIntoRegisters(design, model, static_cast<int>(b), parameters);
  }
}

BlockDesign SerialDesign(const Expression& e, int64_t threads) {
  BlockDesign design;
  design.cuts.resize(e.rank());
  design.copies.assign(e.inputs().size(), BlockDesign::Copy::kNone);
  const std::vector<int> order = ResultOrder(e);
  design.lane_dimension = order.front();
  for (const int d : order) {
    if (e.is_reduction(d)) continue;
    const int64_t size = e.dimensions()[d].size;
    BlockDesign::Cut& cut = design.cuts[d];
    cut.threads = std::min(threads, RoundDownToPowerOfTwo(size));
    cut.loops = CeilDivide(size, cut.threads);
    threads /= cut.threads;
  }
  return design;
}

}  // namespace

void LoadIntoRegisters(const BlockDesign& design, const SystemModel& model, int input,
                       TuningParameters* parameters) {
  const std::vector<MdhLevel>& order = parameters->phase.order;
  size_t inside = 0;  // behind the loop of the reduction
  for (size_t n = 0; n < order.size(); ++n) {
    const bool is_reduced =
        design.cuts[order[n].dimension].vector > 1 && design.cuts[order[n].dimension].threads == 1;
    if (is_reduced && inside == 0 && order[n].layer == model.LayerWith(LayerRole::kThreads) + 1) {
      inside = n;
    }
  }
  LevelTable<int>& regions = parameters->inputs[input].memory.regions;
  if (regions.empty())
    regions.assign(model.layers.size(), std::vector<int>(order.size() / model.layers.size(), 0));
  for (size_t n = inside; inside > 0 && n < order.size(); ++n) {
    regions[order[n].layer][order[n].dimension] = model.num_memory_layers() - 1;
  }
}

std::optional<TuningParameters> DesignPart(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads,
                                           const std::vector<bool>& in_part) {
  const bool has_warps = model.LayerWith(LayerRole::kWarps) >= 0;
  if (has_warps || part.is_empty() || part.has_prefix_sum()) return std::nullopt;
  for (const bool copies : {true, false}) {
    const auto design = ContractionDesigner(part, device, threads, in_part).Run(copies);
    if (!design) break;
    TuningParameters parameters = ToParameters(part, model, device, *design);
    RefineCopies(*design, model, &parameters);
    if (Validate(part, model, device, parameters).ok()) return parameters;
  }
  for (const int64_t vector : {kVector, int64_t{1}}) {
    TuningParameters parameters =
        ToParameters(part, model, device, PartDesigner(part, threads, in_part).Run(vector));
    if (Validate(part, model, device, parameters).ok()) return parameters;
  }
  return std::nullopt;
}

std::vector<TuningParameters> OtherDesigns(const Expression& part, const SystemModel& model,
                                           const DeviceDescription& device, int64_t threads,
                                           const std::vector<bool>& in_part, size_t most) {
  constexpr size_t kTiles = 6;
  std::vector<TuningParameters> others;
  const bool has_warps = model.LayerWith(LayerRole::kWarps) >= 0;
  if (has_warps || part.is_empty() || part.has_prefix_sum()) return others;
  const auto add = [&](TuningParameters parameters) {
    const bool is_new = std::ranges::find(others, parameters) == others.end();
    if (is_new && others.size() < most && Validate(part, model, device, parameters).ok()) {
      others.push_back(std::move(parameters));
    }
  };
  const ContractionDesigner designer(part, device, threads, in_part);
  for (size_t nth = 0; nth < kTiles; ++nth) {
    const auto design = designer.Run(/*copies=*/true, nth);
    if (!design) break;
    TuningParameters parameters = ToParameters(part, model, device, *design);
    RefineCopies(*design, model, &parameters);
    add(std::move(parameters));
  }
  BlockCandidateOptions options = {.count = static_cast<int>(most)};
  for (BlockCandidate& candidate :
       BlockCandidates(part, model, OnePart(device, threads), options)) {
    add(std::move(candidate.parameters));
  }
  return others;
}

DeviceDescription OnePart(DeviceDescription device, int64_t threads) {
  device.cores = 1;
  if (!BackendOf(device.kind).has_blocks) return device;
  BlockLimits& limits = device.blocks;
  limits.multiprocessors = 1;
  // What has stages of its own: copies of a part the group begins ahead. And a part is no call.
  device.features.group_units = device.features.async_copies = false;
  device.features.early_launches = false;
  limits.max_grid = {1, 1, 1};
  limits.max_threads_per_block =
      static_cast<int>(std::min<int64_t>(threads, limits.max_threads_per_block));
  for (int64_t& most : limits.max_block) most = std::min(most, threads);
  return device;
}

int64_t ThreadsOfPart(const Expression& part, const SystemModel& model,
                      const DeviceDescription& device, const TuningParameters& parameters) {
  if (!BackendOf(device.kind).has_blocks || part.is_empty()) return 1;
  if (!Validate(part, model, device, parameters).ok()) return 1;
  return NestShape(part, model, parameters).ThreadsPerBlock();
}

TuningParameters ParametersBehindChunks(const Expression& part, const SystemModel& model,
                                        const DeviceDescription& device, int64_t threads) {
  const bool has_blocks = BackendOf(device.kind).has_blocks;
  if (has_blocks && model.LayerWith(LayerRole::kWarps) < 0) {
    TuningParameters parameters = ToParameters(part, model, device, SerialDesign(part, threads));
    if (Validate(part, model, device, parameters).ok()) return parameters;
  }
  TuningParameters parameters = DefaultParameters(part, model, OnePart(device, threads));
  if (!has_blocks) parameters.threads = 1;
  return parameters;
}

}  // namespace mdh
