#include "codegen/choose/tiles/tile_choice.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "codegen/choose/tiles/counted_expression.h"
#include "codegen/choose/tiles/tile_cost.h"
#include "codegen/choose/tiles/tile_register_choice.h"
#include "codegen/lower/tiles/narrow_reduction.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/index_box.h"

namespace mdh {
namespace {

constexpr int64_t kMaxLaneVectors = 8, kMostOfWholeRow = 16;
constexpr size_t kMaxRowDimensions = 4;
constexpr int64_t kMostTileRows = 16;
constexpr double kPackedReuse = 8, kMuchReuse = 64, kLeastReuseOfWords = 2;
// Of an input in memory: how often it is read where memory is what limits.
constexpr double kReadOnce = 9, kWordsReadOnce = 32;
constexpr int64_t kShortReduction = 8;       // to be unrolled whole
constexpr int64_t kUnrolledReductions = 32;  // together
// Vectors of a row along a reduction beside which combining its lanes takes long.
constexpr int64_t kShortRow = 16;
constexpr int kMostHalved = 2;
constexpr int64_t kLeastReducedLanes = 4;
constexpr size_t kMostOfWidth = 1;   // of these, with the same points along the lanes
constexpr size_t kMostOfInputs = 5;  // choices with the same lanes and packed inputs

class Ranking {
 public:
  Ranking(const Expression& e, const SystemModel& model, const DeviceDescription& device,
          NumericsPolicy numerics, const std::optional<ExchangeablePair>& pair,
          absl::Span<const int64_t> runs)
      : e_(e),
        device_(device),
        is_ordered_(!Reassociates(numerics)),
        has_lanes_(model.LayerWith(LayerRole::kLanes) > 0),
        has_registers_(model.LayerWith(LayerRole::kRegisters) >= 0),
        uses_all_again_(std::ranges::all_of(
            e.inputs(),
            [&](const Buffer& buffer) { return ReuseOf(e, buffer) >= kLeastReuseOfShortParts; })),
        narrow_(NarrowReductionOf(e)),
        runs_(runs),
        pair_(pair),
        cost_(e, device, numerics, runs) {}

  std::vector<TileChoice> Run(size_t most) {
    TileChoice plain;
    plain.tile.assign(e_.rank(), 1);
    plain.packed.assign(e_.inputs().size(), false);
    TryRows(plain);
    for (int d = 0; has_lanes_ && d < e_.rank(); ++d) TryLanes(d, plain);
    for (int d = 0; has_lanes_ && !is_ordered_ && d < e_.rank(); ++d) TryDots(d, plain);
    for (int d = 0; has_registers_ && !is_ordered_ && d < e_.rank(); ++d) {
      for (TileChoice& choice : ChoicesOnTiles(e_, device_, d)) {
        choice.cycles = CyclesOf(choice);
        found_.push_back(std::move(choice));
      }
    }
    std::ranges::stable_sort(found_, {}, &TileChoice::cycles);
    std::map<std::tuple<int, int, std::vector<bool>, DotUnit>, size_t> alike;
    std::map<std::tuple<int, int, int64_t, DotUnit>, size_t> of_width;
    std::vector<TileChoice> best;
    for (TileChoice& choice : found_) {
      if (best.size() == most) break;
      const int v = choice.vector_dimension;
      size_t& as_wide = of_width[{choice.dot, v, v < 0 ? 0 : choice.tile[v], choice.dot_unit}];
      size_t& as_packed = alike[{choice.dot, v, choice.packed, choice.dot_unit}];
      if (as_wide >= kMostOfWidth || as_packed >= kMostOfInputs) continue;
      ++as_wide;
      ++as_packed;
      best.push_back(std::move(choice));
    }
    return best;
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }

  // Neighbours of short integers are added up in vectors of these.
  int64_t LanesAlong(int d) const {
    const int64_t lanes = FullLanes(e_, device_);
    if (!narrow_.has_value() || !e_.is_reduction(d)) return lanes;
    for (const Buffer& buffer : e_.inputs()) {
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        const int64_t stride = StrideAlong(buffer, static_cast<int>(a), d);
        if (stride > 1 && !(ReuseOf(e_, buffer) >= kPackedReuse && CanPack(buffer, d)))
          return lanes;
      }
    }
    return std::max<int64_t>(lanes, device_.simd_bytes / narrow_->widest_bytes);
  }

  // ---- Lanes and packing ----

  // Whether some access reads or writes neighbours.
  bool HasNeighbours(int d) const {
    for (const auto* buffers : {&e_.inputs(), &e_.outputs()}) {
      for (const Buffer& buffer : *buffers) {
        for (size_t a = 0; a < buffer.accesses.size(); ++a) {
          if (StrideAlong(buffer, static_cast<int>(a), d) == 1) return true;
        }
      }
    }
    return false;
  }

  bool CanPack(const Buffer& buffer, int d) const {
    if (!CanStageWhole(buffer) || buffer.size_bytes() > kMaxSharedScratchBytes / 4) return false;
    for (size_t x = 0; x < buffer.extents.size(); ++x) {
      if (StripDimension(e_, buffer, static_cast<int>(x)) == d) return true;
    }
    return false;
  }

  // Whether strips along d are whole groups of neighbours only.
  bool HasGroupsAlong(const Buffer& buffer, int d) const {
    for (size_t x = 0; x < buffer.extents.size(); ++x) {
      if (LoneDimension(e_, buffer, static_cast<int>(x)) == d) return false;
    }
    return true;
  }

  void TryLanes(int d, TileChoice choice) {
    const int64_t lanes = RoundDownToPowerOfTwo(std::min(size(d), LanesAlong(d)));
    if (lanes == 1 || !HasNeighbours(d)) return;
    if (e_.is_reduction(d) && is_ordered_) return;
    choice.vector_dimension = d;
    choice.lanes = lanes;
    choice.tile[d] = lanes;
    // Columns, and rows that are far apart and often read.
    for (size_t b = 0; b < e_.inputs().size(); ++b) {
      const Buffer& buffer = e_.inputs()[b];
      const int64_t stride = StrideAlong(buffer, 0, d);
      const double reuse = ReuseOf(e_, buffer) * RunsOf(runs_, b);
      if (stride == 0 || reuse < kPackedReuse || !CanPack(buffer, d)) continue;
      if (stride != 1) {
        choice.packed[b] = true;
      } else if (!e_.is_reduction(d) && buffer.extents.size() > 1 &&
                 ReuseOf(e_, buffer) >= kMuchReuse && buffer.size_bytes() > device_.l1_bytes) {
        choice.packed[b] = true;
      }
    }
    TryVectors(choice);
    // What fills no vector is reduced point by point: half as many lanes may leave less over.
    const bool halves = e_.is_reduction(d) && !narrow_.has_value();
    for (int n = 0; halves && n < kMostHalved && size(d) % choice.lanes != 0; ++n) {
      if (choice.lanes <= kLeastReducedLanes) break;
      choice.lanes /= 2;
      choice.tile[d] = choice.lanes;
      TryVectors(choice);
    }
    // A vector that has all of a short dimension, and lanes that are off.
    if (e_.is_reduction(d) || size(d) >= FullLanes(e_, device_)) return;
    if (size(d) == lanes || !HasMaskedVectors(e_, device_, d)) return;
    choice.lanes = choice.tile[d] = size(d);
    TryVectors(choice);
  }

  void TryVectors(TileChoice choice) {
    const int v = choice.vector_dimension;
    if (e_.is_reduction(v)) {
      TryRows(choice);
      if (2 * choice.lanes > size(v)) return;
      choice.independent_accumulators = true;
      for (const int64_t vectors : {2, 4, 8}) {
        if (vectors * choice.lanes > size(v)) break;
        choice.tile[v] = vectors * choice.lanes;
        TryRows(choice);
      }
      return;
    }
    for (int64_t vectors = 1; vectors <= kMaxLaneVectors; ++vectors) {
      choice.tile[v] = std::min(size(v), vectors * choice.lanes);
      TryRows(choice.tile[v] == size(v) ? choice : WithoutGroups(choice));
      if (choice.tile[v] == size(v)) return;
    }
    if (!ReadsWindowsFromMemory()) return;
    if (size(v) <= kMostOfWholeRow * choice.lanes) {
      choice.tile[v] = size(v);
      TryRows(choice);
    } else if (!is_ordered_ && !e_.finishes_results()) {
      choice.accumulates_in_output = true;
      Add(choice);
    }
  }

  // Of which the lines should come row by row.
  bool ReadsWindowsFromMemory() const {
    return std::ranges::any_of(e_.inputs(), [&](const Buffer& buffer) {
      return buffer.size_bytes() > device_.l2_bytes && ReadsWindowsOnce(e_, buffer);
    });
  }

  // What is packed but groups of which the tile has a part.
  TileChoice WithoutGroups(TileChoice choice) const {
    for (int b = 0; b < std::ssize(choice.packed); ++b) {
      if (choice.packed[b] && HasGroupsAlong(e_.inputs()[b], choice.vector_dimension))
        choice.packed[b] = false;
    }
    return choice;
  }

  // ---- Dot instructions ----

  // Words along dimension d.
  void TryDots(int d, TileChoice choice) {
    if (!e_.is_reduction(d) || !device_.features.dot_products) return;
    const Result<DotPlan> plan = PlanDot(e_, d);
    if (!plan.ok()) return;
    const MatrixInstruction* instruction = DotInstructionFor(*plan, device_);
    if (instruction == nullptr) return;
    choice.dot = d + 1;
    choice.group = plan->group;
    choice.tile[d] = std::min<int64_t>(size(d), plan->group);
    for (int v = 0; v < e_.rank(); ++v) {
      const std::optional<DotSides> sides = SidesOf(e_, *plan, v);
      const int64_t lanes = RoundDownToPowerOfTwo(std::min(size(v), instruction->n));
      if (!sides.has_value() || e_.is_reduction(v) || lanes == 1) continue;
      TileChoice along = choice;
      along.vector_dimension = v;
      along.lanes = lanes;
      along.tile[v] = lanes;
      const int b = sides->vector.buffer;
      const Buffer& buffer = e_.inputs()[b];
      const double reuse = ReuseOf(e_, buffer);
      const bool can_pack = WordDimension(e_, *plan, sides->vector) >= 0 && CanPack(buffer, v) &&
                            !HasGroupsAlong(buffer, v);
      const bool must_pack =
          can_pack && reuse >= kMuchReuse && buffer.size_bytes() > device_.l1_bytes;
      if (!must_pack) TryVectors(along);
      if (!can_pack || reuse < kLeastReuseOfWords) continue;
      along.packed[b] = true;
      TryVectors(along);
    }
  }

  // ---- Rows ----

  // Concatenated dimensions along which inputs are used again.
  std::vector<int> RowDimensions(const TileChoice& choice) const {
    std::vector<std::pair<double, int>> ranked;
    for (int d = 0; d < e_.rank(); ++d) {
      if (d == choice.vector_dimension || !e_.combine_operators()[d].is_concat()) continue;
      if (size(d) == 1) continue;
      double again = 0;
      for (const Buffer& buffer : e_.inputs()) {
        if (StrideAlong(buffer, 0, d) == 0 || buffer.accesses.size() > 1) again += 1;
        for (const AffineIndex& index : buffer.accesses[0].indices) {
          const auto used =
              std::ranges::count_if(index.coefficients, [](int64_t c) { return c != 0; });
          if (index.coefficients[d] != 0 && used > 1) again += 0.5;
        }
      }
      if (again > 0) ranked.push_back({-again, d});
    }
    std::ranges::stable_sort(ranked);
    std::vector<int> dimensions;
    for (const auto& [again, d] : ranked) {
      if (dimensions.size() < kMaxRowDimensions) dimensions.push_back(d);
    }
    return dimensions;
  }

  // Of `usual` and of what divides the extent, so that no row is left over, in rising order.
  std::vector<int64_t> RowCounts(int d, std::initializer_list<int64_t> usual) const {
    std::vector<int64_t> counts;
    for (int64_t count = 2; count <= std::min(kMostTileRows, size(d)); ++count) {
      const bool is_usual = std::ranges::find(usual, count) != usual.end();
      if (is_usual || size(d) % count == 0) counts.push_back(count);
    }
    return counts;
  }

  void TryRows(const TileChoice& choice) {
    TryReductions(choice);
    const std::vector<int> rows = RowDimensions(choice);
    const int v = choice.vector_dimension;
    const bool has_reduced_lanes = v >= 0 && e_.is_reduction(v);
    if (has_reduced_lanes && rows.empty()) TryManyRows(choice);
    for (size_t n = 0; n < rows.size(); ++n) {
      for (const int64_t count : RowCounts(rows[n], {2, 3, 4, 5, 6, 7, 8, 10, 12, 14})) {
        TileChoice one = choice;
        one.tile[rows[n]] = count;
        if (!Fits(one)) break;
        TryReductions(one);
        // Stencils: few rows at a time, that are neighbours. With lanes along a reduction also as
        // many neighbours as are combined at once.
        for (size_t m = n + 1; e_.has_reduction() && m < rows.size(); ++m) {
          for (const int64_t others : has_reduced_lanes ? RowCounts(rows[m], {2, 3, 4, 8, 16})
                                                        : RowCounts(rows[m], {2, 3, 4})) {
            TileChoice two = one;
            two.tile[rows[m]] = others;
            if (!Fits(two)) break;
            TryReductions(two);
          }
        }
      }
    }
  }

  // Of reductions that use nothing again as many rows as results have lanes, which are combined for
  // all of them at once: of short rows, and of long ones that come from memory, which has more to
  // do then.
  void TryManyRows(TileChoice choice) {
    const bool is_short = size(choice.vector_dimension) <= kShortRow * choice.lanes;
    if (!is_short && !IsReadOnceInRows(kReadOnce)) return;
    for (int d = e_.rank() - 1; d >= 0; --d) {
      if (!e_.combine_operators()[d].is_concat() || size(d) < choice.lanes) continue;
      choice.tile[d] = choice.lanes;
      return Add(choice);
    }
  }

  // ---- Reductions ----

  void TryReductions(const TileChoice& choice) {
    Add(choice);
    const int v = choice.vector_dimension;
    // Lanes along a reduction read long rows; several at a time would be short again.
    if (!e_.has_reduction() || (v >= 0 && e_.is_reduction(v))) return;
    // Short reductions from the innermost on, unrolled whole.
    TileChoice unrolled = choice;
    int64_t steps = 1;
    int innermost = -1;
    for (int d = e_.rank() - 1; d >= 0; --d) {
      if (!e_.is_reduction(d) || size(d) == 1) continue;
      if (innermost < 0) innermost = d;
      steps *= size(d);
      if (is_ordered_ || size(d) > kShortReduction || steps > kUnrolledReductions) break;
      unrolled.tile[d] = size(d);
      Add(unrolled);
    }
    if (innermost < 0 || is_ordered_ || choice.independent_accumulators) return;
    TileChoice some = choice;
    const int64_t group = choice.dot == innermost + 1 ? choice.group : 1;
    some.tile[innermost] = 4 * group;
    if (size(innermost) >= 32 * group) {
      Add(some);
      // Where few results are too short a chain of operations to wait for.
      some.independent_accumulators = true;
      Add(some);
      some.independent_accumulators = false;
    }
    if (v < 0 || size(innermost) < 64 || e_.finishes_results()) return;
    const double once = choice.dot > 0 ? kWordsReadOnce : kReadOnce;
    if (!IsReadOnceInRows(once) || cost_.MemoryCycles(choice) == 0) return;
    some.accumulates_in_output = true;
    some.tile[innermost] = std::min<int64_t>(8 * group, 16);
    Add(some);
  }

  // Whether an input that no cache keeps is read so seldom that memory is what limits.
  bool IsReadOnceInRows(double reuse) const {
    return std::ranges::any_of(e_.inputs(), [&](const Buffer& buffer) {
      return buffer.size_bytes() > device_.l2_bytes && ReuseOf(e_, buffer) < reuse;
    });
  }

  bool Fits(const TileChoice& choice) const {
    return cost_.Accumulators(choice) <= device_.vector_registers &&
           cost_.Operations(choice) *
                   static_cast<double>(e_.function().instructions().size() + 1) <=
               static_cast<double>(kMaxUnrolledOperations) / 4;
  }

  // Where results are equal, those of half of them if that is less.
  double CyclesOf(TileChoice choice) const {
    const double all = cost_.Cycles(choice);
    choice.mirrors = pair_;
    return choice.mirrors ? std::min(all, cost_.Cycles(choice)) : all;
  }

  void Add(TileChoice choice) {
    if (!Fits(choice)) return;
    choice.cycles = CyclesOf(choice);
    found_.push_back(choice);
    const int v = choice.vector_dimension;
    if (v < 0 || !e_.is_reduction(v) || !uses_all_again_) return;
    choice.has_short_parts = true;
    choice.cycles = CyclesOf(choice);
    if (choice.cycles < found_.back().cycles) found_.back() = std::move(choice);
  }

  const Expression& e_;
  const DeviceDescription& device_;
  const bool is_ordered_;
  const bool has_lanes_, has_registers_;
  const bool uses_all_again_;  // every input
  const std::optional<NarrowReduction> narrow_;
  const absl::Span<const int64_t> runs_;
  const std::optional<ExchangeablePair> pair_;
  const TileCost cost_;
  std::vector<TileChoice> found_;
};

}  // namespace

int64_t FullLanes(const Expression& expression, const DeviceDescription& device) {
  int64_t bytes = 1;
  const ScalarFunction& f = expression.function();
  for (const auto* list : {&f.parameters(), &f.results()}) {
    for (const TypedName& t : *list) {
      bytes = std::max<int64_t>(bytes, SizeBytes(RegisterType(t.type)));
    }
  }
  return std::max<int64_t>(1, device.simd_bytes / bytes);
}

bool HasMaskedVectors(const Expression& expression, const DeviceDescription& device, int v) {
  constexpr int kLeastBytes = 4;  // of an element
  std::vector<Buffer> buffers = expression.inputs();
  buffers.insert(buffers.end(), expression.outputs().begin(), expression.outputs().end());
  if (expression.store() != nullptr) {
    const std::vector<Buffer>& stored = expression.store()->inputs;
    buffers.insert(buffers.end(), stored.begin(), stored.end());
  }
  return device.simd_bytes >= kMaskedBytes &&
         std::ranges::all_of(buffers, [v](const Buffer& buffer) {
           const bool is_wide =
               std::ranges::all_of(buffer.type.fields(), [](const ElementType::Field& field) {
                 return SizeBytes(field.type) >= kLeastBytes;
               });
           const bool is_clamped = buffer.boundary.kind == Boundary::Kind::kClamp;
           return !buffer.DependsOn(v) || (is_wide && !is_clamped);
         });
}

int64_t StrideAlong(const Buffer& buffer, int access, int d) {
  return buffer.Linearized(access).coefficients[d];
}

bool HasRowsOfVectors(const Expression& expression, int v, int64_t lanes) {
  constexpr int64_t kLongRow = 32;  // vectors
  const bool is_long = expression.dimensions()[v].size >= kLongRow * lanes;
  return std::ranges::all_of(expression.outputs(), [&](const Buffer& buffer) {
    bool begins_at_vectors = true;
    for (int d = 0; d < expression.rank(); ++d) {
      begins_at_vectors &= d == v || StrideAlong(buffer, 0, d) % RoundUpToPowerOfTwo(lanes) == 0;
    }
    return StrideAlong(buffer, 0, v) == 1 && (is_long || begins_at_vectors);
  });
}

bool StoresRows(const Expression& expression, const SystemModel& model,
                const TuningParameters& parameters) {
  const int layer = model.LayerWith(LayerRole::kLanes) - 1;
  for (int d = 0; layer >= 0 && d < expression.rank(); ++d) {
    const int64_t lanes = parameters.tile[layer][d];
    if (lanes > 1) return !expression.is_reduction(d) && HasRowsOfVectors(expression, d, lanes);
  }
  return false;
}

bool HasStrips(const Buffer& buffer, int v, const TileChoice& choice) {
  const int64_t points = choice.tile[v];
  return choice.dot == 0 && StrideAlong(buffer, 0, v) == 1 && buffer.extents.back() == points &&
         points % choice.lanes == 0;
}

std::vector<TileChoice> RankTiles(const Expression& expression, const SystemModel& model,
                                  const DeviceDescription& device, NumericsPolicy numerics,
                                  size_t most, absl::Span<const int64_t> runs) {
  const Expression counted = CountedExpression(expression, device);
  return Ranking(counted, model, device, numerics, FirstExchangeablePair(expression), runs)
      .Run(most);
}

double RunsOf(absl::Span<const int64_t> runs, size_t input) {
  return input < runs.size() ? static_cast<double>(runs[input]) : 1;
}

}  // namespace mdh
