#include "codegen/choose/tiles/tile_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "codegen/lower/tiles/combine_lanes.h"
#include "codegen/lower/tiles/reduced_rest.h"
#include "codegen/program/operation_cost.h"
#include "codegen/program/shuffled_stride.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"

namespace mdh {
namespace {

constexpr double kLoadsPerCycle = 2;
constexpr double kInstructionsPerCycle = 4.5;
constexpr double kLatency = 4;  // of a multiplication with addition
constexpr double kSpillCycles = 3;
constexpr double kSharedOperands = 6;
constexpr double kLoopCycles = 1.5;  // an iteration

// Of elements for all lanes of vectors as long, for which it was measured; shorter ones load so.
constexpr int64_t kBroadcastBytes = 64;
constexpr double kBroadcast = 0.08;        // beside its load
constexpr double kOperandsPerCycle = 1.8;  // of arithmetic, from memory
constexpr int64_t kLeastDotLanes = 4;      // that instructions have
constexpr ScalarType kHalves = ScalarType::kBfloat16;
constexpr double kSlowHalves = 4;    // of vectors of bf16 beside tile registers: measured, 2 cycles
constexpr int64_t kComputedDot = 2;  // of each product of a lane, without such
constexpr double kUnalignedLoad = 1.3;
constexpr double kWidened = 3;  // what is shorter than a word in memory, beside its load
// Of a word, to load, widen and shift it: of one for all lanes, and of vectors.
constexpr double kJoinedElement = 2.5, kJoinedVector = 5;

constexpr double kFunction = 20;  // as many operations as exp or a logarithm stands for

bool IsFunction(ScalarOp op) { return OperationCost(op) >= kFunctionCost; }

// What a place is as it was read is as often converted as it is read.
bool IsOfPlace(const ScalarFunction& function, const ScalarInstruction& instruction) {
  return instruction.op == ScalarOp::kParameter || instruction.op == ScalarOp::kConstant ||
         (instruction.op == ScalarOp::kCast &&
          function.instructions()[instruction.operands[0]].op == ScalarOp::kParameter);
}

// Of floating-point numbers an addition takes a multiplication along. `additions`: those that there
// are besides.
double OperationsOf(const ScalarFunction& function, double additions) {
  double multiplications = 0, others = 0;
  for (const auto& instruction : function.instructions()) {
    if (IsOfPlace(function, instruction)) continue;
    (instruction.op == ScalarOp::kMul   ? multiplications
     : instruction.op == ScalarOp::kAdd ? additions
                                        : others) += IsFunction(instruction.op) ? kFunction : 1;
  }
  const bool fuses = IsFloatingPoint(function.results()[0].type);
  return std::max(
      1.0, (fuses ? std::max(multiplications, additions) : multiplications + additions) + others);
}

// Of one combination; 0 without a reduction.
double CombineOperationsOf(const Expression& expression) {
  if (!expression.has_reduction()) return 0;
  const CombineOperator& combine = expression.reduction();
  return combine.kind() == PointWiseKind::kCustom ? OperationsOf(combine.function(), 0) : 1;
}

// Of one point, with its combination.
double OperationsOf(const Expression& expression, double combine) {
  const bool is_addition = expression.has_reduction() && combine <= 1;
  return OperationsOf(expression.function(), is_addition ? combine : 0) +
         (is_addition ? 0 : combine);
}

}  // namespace

TileCost::TileCost(const Expression& expression, const DeviceDescription& device,
                   NumericsPolicy numerics, absl::Span<const int64_t> runs)
    : e_(expression),
      device_(device),
      parts_(expression, device),
      reached_(expression, numerics),
      narrow_(NarrowReductionOf(expression)),
      combine_operations_(CombineOperationsOf(expression)),
      operations_(OperationsOf(expression, combine_operations_)),
      has_slow_halves_(HasInstruction(*TileInstruction(kHalves, kHalves), device)),
      factors_(FactorOrder::Of(expression, numerics)) {
  for (int d = 0; d < e_.rank(); ++d) rests_have_lanes_.push_back(AddNothingAsZeros(e_, d));
  for (const Buffer& buffer : e_.inputs()) {
    const double of_copy = RunsOf(runs, inputs_.size());
    Input input{&buffer, {}, BytesUsed(e_, buffer), ReuseOf(e_, buffer), of_copy};
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      input.strides.push_back(buffer.Linearized(static_cast<int>(a)).coefficients);
    }
    inputs_.push_back(std::move(input));
  }
  for (const Buffer& buffer : e_.outputs()) {
    outputs_.push_back({buffer.Linearized(0).coefficients, BytesUsed(e_, buffer)});
  }
}

bool TileCost::ReducesNarrow(const TileChoice& choice) const {
  return ReducesNarrowVectors(narrow_, e_, choice.vector_dimension, choice.lanes);
}

double TileCost::Pieces(const TileChoice& choice, int d, int64_t points) const {
  if (d + 1 == choice.dot) return static_cast<double>(CeilDivide(points, choice.group));
  if (d != choice.vector_dimension) return static_cast<double>(points);
  const int64_t vectors = points / choice.lanes, rest = points % choice.lanes;
  if (e_.is_reduction(d)) {
    return static_cast<double>(vectors +
                               (rests_have_lanes_[d] ? std::min<int64_t>(1, rest) : rest));
  }
  // The last vector may begin earlier, if there is another one.
  if (vectors > 0) return static_cast<double>(CeilDivide(points, choice.lanes));
  if (choice.dot == 0) return static_cast<double>(__builtin_popcountll(rest));
  const int64_t computed = rest % kLeastDotLanes;
  return static_cast<double>(__builtin_popcountll(rest - computed) +
                             kComputedDot * choice.group * computed);
}

double TileCost::Operations(const TileChoice& choice) const {
  double pieces = 1;
  for (int d = 0; d < e_.rank(); ++d) pieces *= Pieces(choice, d, choice.tile[d]);
  return pieces;
}

double TileCost::Accumulators(const TileChoice& choice) const {
  double vectors = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d) && !choice.independent_accumulators) continue;
    vectors *= Pieces(choice, d, choice.tile[d]);
  }
  double registers = 0;
  for (const TypedName& result : e_.function().results()) {
    const int64_t each = ReducesNarrow(choice) ? narrow_->operand_bytes : SizeBytes(result.type);
    const auto bytes = static_cast<double>(choice.lanes * each);
    registers += vectors * std::ceil(bytes / device_.simd_bytes);
  }
  return registers + ExcessRegisters(choice);
}

// Multiplications per point that points of a tile have in common.
double TileCost::SharedProducts(const TileChoice& choice) const {
  if (!factors_) return 0;
  std::vector<int64_t> tile;
  for (int d = 0; d < e_.rank(); ++d) {
    const double pieces = e_.is_reduction(d) ? 1 : Pieces(choice, d, choice.tile[d]);
    tile.push_back(static_cast<int64_t>(pieces));
  }
  return factors_->AsWritten() - factors_->PerPoint(tile);
}

// Per point: a dot instruction, and its share of counting what flipped signs add, which the first
// of the tiles with the same words does.
double TileCost::PointOperations(const TileChoice& choice) const {
  if (choice.dot == 0) return operations_ - SharedProducts(choice);
  double tiles = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!HasWordsAlong(choice, d) && !e_.is_reduction(d))
      tiles *= static_cast<double>(CeilDivide(e_.dimensions()[d].size, choice.tile[d]));
  }
  const double each = choice.group == 2 && has_slow_halves_ ? kSlowHalves : 1;
  return each + ExcessVectors(choice) / tiles / std::max(1.0, Operations(choice));
}

// Whether words of the operand with lanes depend on dimension d.
bool TileCost::HasWordsAlong(const TileChoice& choice, int d) const {
  return std::ranges::any_of(inputs_, [&](const Input& input) {
    return input.strides[0][choice.vector_dimension] != 0 && input.strides[0][d] != 0;
  });
}

// Beside the results of bytes whose signs are alike: as many as there are vectors of lanes.
double TileCost::ExcessVectors(const TileChoice& choice) const {
  constexpr int64_t kBytes = 4;
  if (choice.dot == 0 || choice.group != kBytes || inputs_.empty()) return 0;
  const ScalarType first = inputs_.front().buffer->type.scalar();
  const bool are_alike = first == inputs_.back().buffer->type.scalar();
  const int v = choice.vector_dimension;
  return are_alike ? Pieces(choice, v, choice.tile[v]) : 0;
}

// Registers of these while the results' are in use, none if other tiles have counted them, and of
// the signs.
double TileCost::ExcessRegisters(const TileChoice& choice) const {
  const double vectors = ExcessVectors(choice);
  if (vectors == 0) return 0;
  for (int d = 0; d < e_.rank(); ++d) {
    const bool repeats = !HasWordsAlong(choice, d) && !e_.is_reduction(d);
    if (repeats && choice.tile[d] < e_.dimensions()[d].size) return 1;
  }
  return vectors + 1;
}

// Of a word or a vector of words that is made of elements where they are.
double TileCost::WordCost(const TileChoice& choice, int input) const {
  const std::vector<int64_t>& strides = inputs_[input].strides[0];
  const auto group = static_cast<double>(choice.group);
  const bool are_neighbours = strides[choice.dot - 1] == 1;
  const int64_t along = strides[choice.vector_dimension];
  // The last word of a row may have fewer elements.
  const int64_t size = e_.dimensions()[choice.dot - 1].size;
  const double joined =
      size % choice.group == 0 ? 0 : group / static_cast<double>(size + choice.group - 1);
  if (along == 0)
    return are_neighbours ? 1 + joined * kJoinedElement * group : kJoinedElement * group;
  if (are_neighbours) return kGatherPerLane * static_cast<double>(choice.lanes);
  return (along == 1 ? kJoinedVector : kGatherPerLane * static_cast<double>(choice.lanes)) * group;
}

// An outer product keeps the operands of one side, and one of the other; places that several steps
// read are kept as well, some of them.
double TileCost::LiveOperands(const TileChoice& choice) const {
  double steps = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) steps *= Pieces(choice, d, choice.tile[d]);
  }
  double least = 8, shared = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    const double distinct = DistinctVectors(choice, b);
    least = std::min(least, std::ceil(distinct / steps));
    if (steps > 1 && distinct < UsedVectors(choice, b)) shared = kSharedOperands;
  }
  return least + 1 + shared;
}

// Places that a tile reads of an input with one access, those that several points share counted for
// each of them.
double TileCost::UsedVectors(const TileChoice& choice, int input) const {
  const Buffer& buffer = *inputs_[input].buffer;
  if (buffer.accesses.size() > 1) return DistinctVectors(choice, input);
  double all = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    const bool is_used = std::ranges::any_of(
        buffer.accesses[0].indices, [d](const AffineIndex& i) { return i.coefficients[d] != 0; });
    if (is_used) all *= Pieces(choice, d, choice.tile[d]);
  }
  return all;
}

// Different places that a tile reads of an input, a vector counted as one.
double TileCost::DistinctVectors(const TileChoice& choice, int input) const {
  const Buffer& buffer = *inputs_[input].buffer;
  if (buffer.accesses.size() > 1) return DistinctOfStar(choice, input);
  double product = 1;
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
    double all = 1, range = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t c = std::abs(coefficients[d]);
      if (c == 0) continue;
      const double pieces = Pieces(choice, d, choice.tile[d]);
      all *= pieces;
      range += static_cast<double>(c) *
               (d == choice.vector_dimension ? static_cast<double>(choice.tile[d]) : pieces - 1);
    }
    product *= std::min(all, range);
  }
  return product;
}

// The same of an input with several accesses, which share places.
double TileCost::DistinctOfStar(const TileChoice& choice, int input) const {
  std::vector<int64_t> places;
  for (size_t a = 0; a < inputs_[input].strides.size(); ++a) {
    std::vector<int64_t> own = {inputs_[input].buffer->Linearized(static_cast<int>(a)).constant};
    for (int d = 0; d < e_.rank(); ++d) {
      const int64_t stride = inputs_[input].strides[a][d];
      const int64_t step = d == choice.vector_dimension ? choice.lanes : 1;
      if (stride == 0 || choice.tile[d] <= step) continue;
      const size_t count = own.size();
      for (int64_t at = step; at < choice.tile[d]; at += step) {
        for (size_t n = 0; n < count; ++n) own.push_back(own[n] + at * stride);
      }
    }
    places.insert(places.end(), own.begin(), own.end());
  }
  std::ranges::sort(places);
  return static_cast<double>(std::unique(places.begin(), places.end()) - places.begin());
}

// Of several accesses, that which costs most.
double TileCost::LoadCost(const TileChoice& choice, int input) const {
  if (choice.dot > 0) return choice.packed[input] ? 1 : WordCost(choice, input);
  const bool widens =
      inputs_[input].buffer->type.size_bytes() < kWordBytes && !ReducesNarrow(choice);
  const double widened = widens ? kWidened : 0;
  if (choice.vector_dimension < 0 || choice.packed[input]) return 1 + widened;
  double most = 1;
  for (const std::vector<int64_t>& strides : inputs_[input].strides) {
    most = std::max(most, CostOfLoad(choice, input, strides));
  }
  return most + widened;
}

double TileCost::CostOfLoad(const TileChoice& choice, int input,
                            const std::vector<int64_t>& strides) const {
  const int v = choice.vector_dimension;
  const int64_t along = strides[v];
  if (along == 0) return 1;
  if (along != 1) {
    return IsShuffledStride(along, choice.lanes)
               ? kUnalignedLoad * static_cast<double>(2 * std::abs(along) - 1)
               : kGatherPerLane * static_cast<double>(choice.lanes);
  }
  bool is_aligned = inputs_[input].strides.size() == 1;
  for (int d = 0; d < e_.rank(); ++d) {
    is_aligned &= d == v || strides[d] % RoundUpToPowerOfTwo(choice.lanes) == 0;
  }
  return is_aligned ? 1 : kUnalignedLoad;
}

double TileCost::BodyCycles(const TileChoice& choice) const {
  const double bytes = ReducesNarrow(choice) ? narrow_->widest_bytes : 4;
  const double wide =
      std::max(1.0, std::ceil(bytes * static_cast<double>(choice.lanes) / device_.simd_bytes));
  const double arithmetic = PointOperations(choice) * Operations(choice) * wide;
  double loads = 0, broadcasts = 0, operands = 0, steps = 1;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    const double loaded = (DistinctVectors(choice, b) + UsedVectors(choice, b)) / 2;
    loads += loaded * LoadCost(choice, b) * wide;
    if (IsBroadcast(choice, b)) {
      (choice.tile[choice.vector_dimension] > choice.lanes ? broadcasts : operands) +=
          DistinctVectors(choice, b);
    }
  }
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) steps *= Pieces(choice, d, choice.tile[d]);
  }
  const double live = Accumulators(choice) + LiveOperands(choice);
  const double spilled = std::max(0.0, live + 1 - device_.vector_registers);
  const double chain = choice.accumulates_in_output || !e_.has_reduction() ? 0
                       : choice.independent_accumulators                   ? kLatency
                                                                           : kLatency * steps;
  return std::max({arithmetic / kArithmeticPerCycle + kBroadcast * broadcasts,
                   operands / kOperandsPerCycle, StreamCycles(choice), loads / kLoadsPerCycle,
                   (arithmetic + loads) / kInstructionsPerCycle, chain}) +
         kSpillCycles * spilled * steps;
}

// Elements for all lanes: several vectors are multiplied by one after an instruction that loads it,
// a single one by an operand in memory. Those that are the same for all tiles stay where they are.
bool TileCost::IsBroadcast(const TileChoice& choice, int input) const {
  const int v = choice.vector_dimension;
  if (v < 0 || device_.simd_bytes < kBroadcastBytes || inputs_[input].strides.size() > 1)
    return false;
  const std::vector<int64_t>& strides = inputs_[input].strides[0];
  if (strides[v] != 0) return false;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d) && strides[d] != 0) return true;
  }
  return false;
}

double TileCost::LoopCycles(const TileChoice& choice, double body) const {
  double iterations = 1, overhead = 0;
  for (int d = 0; d < e_.rank(); ++d) {
    if (!e_.is_reduction(d)) continue;
    const int64_t size = e_.dimensions()[d].size, tile = choice.tile[d];
    const double whole = static_cast<double>(size / tile);
    const double rest = Pieces(choice, d, size % tile) / Pieces(choice, d, tile);
    if (tile < size) overhead += iterations * std::ceil(whole + rest) * kLoopCycles;
    iterations *= whole + (rest > 0 ? std::max(rest, 0.35) : 0);
  }
  if (choice.accumulates_in_output) body += kTileCycles / 2 + Accumulators(choice);
  return iterations * body + overhead;
}

// Of the body, however few points a tile has along d: of what it reads for all of them.
double TileCost::CyclesWithout(const TileChoice& choice, int d) const {
  if (d == choice.vector_dimension) return 0;
  double loads = 0;
  for (int b = 0; b < std::ssize(inputs_); ++b) {
    if (inputs_[b].strides[0][d] == 0) loads += DistinctVectors(choice, b) * LoadCost(choice, b);
  }
  return std::max(StreamCycles(choice), loads / kLoadsPerCycle);
}

double TileCost::CyclesOfAll(const TileChoice& choice) const {
  if (choice.dot > 0 && choice.dot_unit == DotUnit::kTiles) return CyclesOnTiles(choice);
  const double body = BodyCycles(choice);
  double tiles = 1;
  for (int d = 0; d < e_.rank(); ++d) {
    if (e_.is_reduction(d)) continue;
    const int64_t size = e_.dimensions()[d].size, tile = choice.tile[d];
    const double rest = Pieces(choice, d, size % tile) / Pieces(choice, d, tile);
    const double least = std::max(0.35, CyclesWithout(choice, d) / body);
    tiles *= static_cast<double>(size / tile) + (rest > 0 ? std::max(rest, least) : 0);
  }
  return tiles * (LoopCycles(choice, body) * reached_.Of(choice) + StoreCycles(choice)) +
         PackingCycles(choice) + MemoryCycles(choice);
}

}  // namespace mdh
