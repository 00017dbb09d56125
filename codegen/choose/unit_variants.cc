#include "codegen/choose/unit_variants.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "codegen/choose/counting/early_choice.h"
#include "codegen/choose/counting/unit_parts.h"
#include "codegen/choose/warp_unit_variants.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/unit_tensor.h"
#include "core/decomposition/unit_use.h"

namespace mdh {
namespace {

// Of a multiprocessor and cycle, as measured on an H100: multiply-adds of the unit; bytes that
// stages get from the second-level cache; bytes of results on their way out, and of parts of them,
// until they are combined.
constexpr double kMultiplyAdds = 2048, kStageBytes = 44, kResultBytes = 20, kPartBytes = 10;
constexpr double kArrivingBytes = 64;   // of stages, also from copies of other blocks
constexpr double kColumnsAgain = 1.02;  // of the time of a stage
// Of all multiprocessors together: bytes from memory.
constexpr double kBytesFromMemory = 2000;
// Cycles until the first stage is there, or that of a block's next tile beside its results, until
// another is beside what its bytes take, from one launch to the next, and until all blocks of a
// cluster are at a barrier.
constexpr double kFirstStage = 1300, kStageOfNext = 450, kStageLatency = 1000, kToNextLaunch = 4000,
                 kMeeting = 1500;
constexpr double kRoles = 500;  // until a producer begins, of a block
// That a stage takes longer whose operands no block has read before, and less if threads copy them.
constexpr double kFirstRead = 700, kLessByThreads = 300;
// Bytes that a multiprocessor gets from those of its cluster, and moves itself, in a cycle.
constexpr double kClusterBytes = 32, kLocalBytes = 128;
// Of a thread, for a copy of neighbours, and for one of a single element, which it waits for.
constexpr double kCopyInstructions = 6, kSingleInstructions = 50;
// Of an element that is computed, while which the unit waits.
constexpr double kComputedInstructions = 20;
constexpr double kThreadInstructions = 128;  // that begin in a cycle
constexpr double kUneven = 6;  // of the power mean of a stage's cycles and those that it waits
constexpr int kSwizzle = 8;
constexpr int kWideCopy = 4;             // narrower ones may be worth a copy of the operand
constexpr double kPackingLaunch = 5000;  // cycles until stages can be copied from there
// Shorter sides leave most of a tile empty; shorter sums are over before the first stage is there,
// unless there are so many of them that storing halves takes longer.
constexpr int64_t kFewestPoints = 8, kFewestDepth = 32, kManyResults = int64_t{1} << 20;

// What the model of threads expects of what they take, in the mean.
constexpr double kMoreForThreads = 1.6;

struct UnitShape {
  int rows, columns, groups;

  friend bool operator==(const UnitShape&, const UnitShape&) = default;
};
// Fewer bytes of operands for a multiplication first.
constexpr std::array<UnitShape, 30> kShapes = {
    {{256, 192, 2}, {256, 160, 2}, {192, 192, 3}, {128, 256, 2}, {256, 128, 2}, {256, 128, 4},
     {192, 256, 3}, {128, 240, 2}, {192, 160, 3}, {128, 224, 2}, {128, 208, 2}, {128, 192, 2},
     {192, 128, 3}, {128, 176, 2}, {128, 160, 2}, {128, 128, 2}, {64, 256, 1},  {128, 128, 1},
     {64, 224, 1},  {64, 192, 1},  {128, 96, 1},  {64, 160, 1},  {64, 128, 1},  {128, 64, 2},
     {64, 96, 1},   {64, 64, 1},   {128, 64, 1},  {64, 48, 1},   {64, 32, 1},   {64, 16, 1}}};
// Of shapes whose cycles differ by less, the first one.
constexpr double kAlike = 1.02;
constexpr std::array<int, 5> kStages = {8, 6, 4, 3, 2};
// Of clusters of more blocks than two, a device runs so many at a time where it has room for one
// block a multiprocessor: they are neighbours (120 of 132, as its driver says).
constexpr int64_t kFewOfCluster = 2;
constexpr double kPlacedOfCluster = 10.0 / 11;
constexpr size_t kWithTensors = 9;  // variants, of which the engine copies two in three
constexpr int kMostResident = 3;    // blocks of a multiprocessor for which stages are fewer

// Blocks that a multiprocessor has at a time.
int64_t Resident(const UnitPlan& plan, const UnitParameters& unit,
                 const DeviceDescription& device) {
  if (unit.producer == UnitProducer::kGroup) return 1;
  constexpr int64_t kRegistersBesideSums = 24, kGranularity = 8;
  const BlockLimits& limits = device.blocks;
  const int64_t by_memory = (limits.shared_bytes_per_block + kReservedSharedBytes) /
                            (UnitSharedBytes(unit, plan) + kReservedSharedBytes);
  const int64_t registers = RoundUp(UnitRegisters(unit, plan) + kRegistersBesideSums, kGranularity);
  const int64_t by_registers =
      limits.registers_per_block / (registers * RoundUp(unit.launched_threads(), kUnitThreads));
  return std::max<int64_t>(1, std::min(by_memory, by_registers));
}

// Inputs come by copies, for which it does not matter that they are no constants. The way from
// memory is much of the time where these are small. Blocks of the next call take the room that
// further ones of a stage need, or those of a cluster beside each other.
EarlyLaunches EarlyOf(const Expression& expression, const UnitParameters& unit) {
  if (unit.packed != UnitOperands::kNone || unit.parts > 1) return EarlyLaunches::kStages;
  return HasFewInputBytes(expression) ? EarlyLaunches::kPrefetches : EarlyLaunches::kCalls;
}

// Beside so many registers of sums a warp leaves a thread too few for all else.
UnitProducer ProducerOf(const UnitParameters& unit, const UnitPlan& plan) {
  constexpr int64_t kMostOfSums = 128;
  return UnitRegisters(unit, plan) > kMostOfSums ? UnitProducer::kGroup : UnitProducer::kWarp;
}

// Multiprocessors that can have blocks of clusters.
int64_t PlacesOfClusters(int64_t blocks, const DeviceDescription& device) {
  const int64_t all = device.blocks.multiprocessors;
  if (blocks <= kFewOfCluster) return all;
  return std::max<int64_t>(1, static_cast<int64_t>(kPlacedOfCluster * static_cast<double>(all)));
}

int Turns(const UnitPlan& plan, const UnitParameters& unit, const DeviceDescription& device) {
  const int64_t at_once = Resident(plan, unit, device) * PlacesOfClusters(unit.cluster(), device);
  return static_cast<int>(
      std::min<int64_t>(CeilDivide(plan.blocks(unit), at_once), kMostUnitTurns));
}

// Of one stage of one block: what keeps a part of the multiprocessor busy, and all with waiting for
// what is copied ahead.
struct StageCycles {
  double busy, waited;
};

// `first`: share of the blocks that run while no other one has read the same. Of what comes from
// memory the engine brings half as much in a cycle, as measured.
StageCycles CyclesOfStage(const UnitPlan& plan, const UnitParameters& unit, double first) {
  const double rows = unit.rows, columns = unit.columns;
  const auto depth = static_cast<double>(plan.depth());
  const double halves = static_cast<double>(plan.element_bytes()) / kUnitElementBytes;
  const double multiply = rows * columns * depth * halves / kMultiplyAdds;
  // While threads add sums up the unit multiplies that much less, although it goes on.
  const auto promoted = static_cast<double>(plan.promoted_stages());
  const double adding = promoted > 0 ? rows * columns / kThreadInstructions / promoted : 0;
  // What does not exist is not read, but zeros arrive. What blocks of a cluster have in common is
  // read once, and comes to each; of whole lines that is no faster, as measured, but for fp8.
  const bool pays = plan.promoted_stages() == 1;
  double points = 0, arriving = 0;
  for (const bool is_a : {true, false}) {
    const UnitOperandPlan& operand = is_a ? plan.a : plan.b;
    const auto there = static_cast<double>(std::min(operand.rows, is_a ? plan.m : plan.n));
    // Lines of neighbouring rows are asked for at once by the engine.
    const double lines = operand.is_tensor ? (3 + operand.row_lines) / 4.0 : operand.row_lines;
    if (!is_a && plan.is_shared) continue;
    const double asked = pays || operand.row_lines > 1 ? unit.sharers_of(is_a) : 1;
    const auto readers = static_cast<double>(is_a ? plan.tiles_n : plan.tiles_m);
    points += there * lines / asked * (operand.is_tensor ? 1 + 1 / (readers * readers) : 1);
    arriving += there;
  }
  const double bytes = kUnitRowBytes * std::max(points / kStageBytes, arriving / kArrivingBytes);
  const auto copying = [&](double own, const UnitOperandPlan& operand) {
    if (operand.is_computed || operand.is_tensor) return 0.0;
    return own * depth / operand.width *
           (operand.width == 1 ? kSingleInstructions : kCopyInstructions);
  };
  const double of_b = plan.is_shared ? 0 : static_cast<double>(plan.b.rows);
  const double instructions = (copying(rows, plan.a) + copying(of_b, plan.b)) / kThreadInstructions;
  const double computed = depth *
                          ((plan.a.is_computed ? rows : 0) + (plan.b.is_computed ? of_b : 0)) *
                          kComputedInstructions / kThreadInstructions;
  // Where groups have several tiles one after the other, each reads the columns.
  const double again = unit.rows > kUnitRows * unit.groups ? kColumnsAgain : 1;
  // A group that need not meet the others adds while these multiply.
  const double apart = unit.has_producer() && unit.groups > 1 ? 0 : adding;
  // Copies of a producer and multiplications are in each other's way where both take as long.
  const double both = unit.has_producer() ? std::hypot(multiply * multiply, bytes * bytes) : 0;
  const double busy =
      std::max({multiply, bytes, std::sqrt(both), instructions, adding}) + computed + apart;
  // Copies that wait for multiplications are no further ahead than one stage is long; a producer
  // waits for those of the stage in whose place it copies.
  const auto ahead = static_cast<double>(plan.is_refilled      ? 1
                                         : unit.has_producer() ? std::max(1, unit.stages - 1)
                                                               : plan.ahead);
  // Neither is even: of stages that take as long as the others wait for them, some come late.
  const double latency = kStageLatency - (unit.has_producer() ? 0 : kLessByThreads);
  const double late = (latency + first * kFirstRead + bytes) / ahead;
  const double waited = std::pow(std::pow(busy, kUneven) + std::pow(late, kUneven), 1 / kUneven);
  return {again * busy, again * waited};
}

// Of operands that come from memory: those of blocks that run at the same time once, as the
// second-level cache has them for all; and everything at least once.
double MemoryBytes(const UnitPlan& plan, const TuningParameters& p, double at_once) {
  const auto tiles_m = static_cast<double>(plan.tiles_m),
             tiles_n = static_cast<double>(plan.tiles_n);
  const auto m = static_cast<double>(plan.m), n = static_cast<double>(plan.n);
  const double depth = static_cast<double>(plan.batches * plan.k * plan.element_bytes());
  const double blocks = std::max(1.0, at_once / p.unit.parts);
  const double rows = std::min({tiles_m, static_cast<double>(p.swizzle), blocks});
  const double columns = std::min(tiles_n, std::ceil(blocks / rows));
  const double rounds = tiles_m * tiles_n / (rows * columns);
  const double read = rounds * (rows * p.unit.rows + columns * p.unit.columns);
  const double once = plan.is_square ? m : m + n;
  return std::max(once, plan.is_shared ? m : std::min(read, m * tiles_n + n * tiles_m)) * depth;
}

// Blocks along m, and along n.
constexpr std::array<std::pair<int, int>, 5> kClusters = {{{2, 1}, {1, 2}, {4, 1}, {1, 4}, {2, 2}}};

struct OperandsOfUnit {
  UnitOperands packed, computed;
  bool is_produced = false;  // a warp has the engine copy both
  int cluster_m = 1, cluster_n = 1;
};

// Ways to get operands to groups: those that are not in memory as these take them are packed, or
// computed if that can be; those that are there, but not as they are copied well, may be packed.
std::vector<OperandsOfUnit> OperandsOf(const UnitPlan& plan) {
  const auto set = [&](const auto& is_one) {
    return (is_one(plan.a_in_memory) ? 1 : 0) | (is_one(plan.b_in_memory) ? 2 : 0);
  };
  const int made = set([&](const UnitOperandPlan& x) {
    return plan.is_converted() || x.is_made || (x.is_across && plan.element_bytes() == 1);
  });
  // Single elements that no asynchronous copy moves.
  const int single = set([&](const UnitOperandPlan& x) {
    return x.width * plan.element_bytes() < kFewestCopiedBytes;
  });
  const int unaligned =
      set([](const UnitOperandPlan& x) { return x.width < kWideCopy || x.row_lines > 1; });
  std::vector<OperandsOfUnit> ways;
  const auto add = [&](int packed, int computed) {
    const OperandsOfUnit way{static_cast<UnitOperands>(packed),
                             static_cast<UnitOperands>(computed)};
    const bool is_known = std::ranges::any_of(ways, [&](const OperandsOfUnit& other) {
      return other.packed == way.packed && other.computed == way.computed && !other.is_produced;
    });
    if (!is_known) ways.push_back(way);
  };
  if (made == 0) add(0, 0);
  if (made == 0) ways.push_back({UnitOperands::kNone, UnitOperands::kNone, true});
  // Blocks of a cluster ask once for rows that they have in common: those that lie across lines are
  // worth it, and those of fp8, which are multiplied in half of the time.
  if (made == 0 && (unaligned != 0 || plan.promoted_stages() == 1)) {
    for (const auto& [m, n] : kClusters) {
      ways.push_back({UnitOperands::kNone, UnitOperands::kNone, true, m, n});
    }
  }
  add(made | unaligned, 0);
  if (plan.has_parts()) return ways;
  for (const int computed :
       {made, made & 1, made & 2, single, single & 1, single & 2, made | single}) {
    add(made & ~computed, computed);
    add((made | unaligned) & ~computed, computed);
  }
  return ways;
}

// The usual ones, and those of which a whole number of rounds of blocks has just enough.
std::vector<UnitShape> ShapesFor(const UnitPlan& plan, const DeviceDescription& device) {
  constexpr std::array<std::pair<int, int>, 5> kRowsOfGroups = {
      {{256, 2}, {256, 4}, {192, 3}, {128, 2}, {64, 1}}};
  constexpr int64_t kFewestColumns = 48, kColumnStep = 16;
  constexpr int kMostRounds = 3;
  std::vector<UnitShape> shapes(kShapes.begin(), kShapes.end());
  for (const auto& [rows, groups] : kRowsOfGroups) {
    const int64_t tiles_m = plan.batches * CeilDivide(plan.m, int64_t{rows});
    for (int rounds = 1; rounds <= kMostRounds; ++rounds) {
      for (const int64_t blocks : {kFewOfCluster, kFewOfCluster + 1}) {
        const int64_t tiles_n = rounds * PlacesOfClusters(blocks, device) / tiles_m;
        if (tiles_n == 0) continue;
        const int64_t columns = RoundUp(CeilDivide(plan.n, tiles_n), kColumnStep);
        const UnitShape shape = {rows, static_cast<int>(columns), groups};
        const bool is_known = std::ranges::find(shapes, shape) != shapes.end();
        const bool is_tile = columns >= kFewestColumns && columns <= kUnitMostColumns;
        if (is_tile && !is_known) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

}  // namespace

double UnitCycles(const UnitPlan& plan, const TuningParameters& parameters,
                  const DeviceDescription& device) {
  const UnitParameters& unit = parameters.unit;
  if (unit.has_warps()) return WarpUnitCycles(plan, unit, device);
  const auto multiprocessors = static_cast<double>(device.blocks.multiprocessors);
  const int64_t together = std::max<int64_t>(unit.cluster(), plan.sharers);
  const auto places = static_cast<double>(PlacesOfClusters(together, device));
  const auto all = static_cast<double>(plan.launched(unit));
  const auto resident = static_cast<double>(Resident(plan, unit, device));
  // Blocks of whole rounds, and those of the last one.
  const double rounds = std::floor(all / (resident * places));
  const double rest = all - rounds * resident * places;
  const double last = std::ceil(rest / places);
  const auto stages = static_cast<double>(plan.part_stages);
  const auto sharers = static_cast<double>(plan.sharers);
  const double tile = static_cast<double>(unit.rows) * unit.columns;
  const double storing = tile * (plan.leaves_parts ? 4 : 2) / sharers / kResultBytes;
  const double meeting =
      plan.sharers == 1 ? 0 : 2 * kMeeting + 4 * tile * (2 / kLocalBytes + 1 / kClusterBytes);
  // Of what blocks ask for first, all wait for what one of them brings from memory.
  const double asked = all * unit.turns * stages * (unit.rows + unit.columns);
  const double once = static_cast<double>(plan.batches * (plan.m + plan.n) * plan.stages_k);
  const double first =
      std::min(1.0, resident * places / (all * unit.turns)) * (1 + std::min(1.0, once / asked)) / 2;
  const StageCycles stage = CyclesOfStage(plan, unit, first);
  // The first stages of a further tile come while results are stored.
  const double alone = kFirstStage + (unit.has_producer() ? kRoles : 0) +
                       unit.turns * (stages * stage.waited + meeting + storing) +
                       (unit.cluster() > 1 ? (unit.turns - 1) * kMeeting : 0) -
                       (unit.turns - 1) * std::min(storing, kStageOfNext);
  // While one waits, or stores, others compute.
  const auto of = [&](double blocks) {
    const double busy = unit.turns * blocks * std::max(stages * stage.busy, storing);
    return blocks == 0 ? 0 : std::max(alone, busy);
  };
  const double computing = rounds * of(resident) + of(last);
  const auto results = static_cast<double>(plan.batches * plan.m * plan.n);
  const double moved = MemoryBytes(plan, parameters, resident * multiprocessors) + 2 * results;
  // Neither runs without gaps where the other is about as long.
  double cycles = std::cbrt(std::pow(computing, 3) + std::pow(moved / kBytesFromMemory, 3));
  cycles += meeting;  // of the last blocks, beside which nothing runs
  if (unit.packed != UnitOperands::kNone) {
    const auto packed =
        static_cast<double>(plan.packed_elements(true) + plan.packed_elements(false));
    const auto bytes = static_cast<double>(2 * plan.element_bytes());
    cycles += kPackingLaunch + packed * bytes / (kResultBytes * multiprocessors);
  }
  if (plan.leaves_parts) {
    cycles += kToNextLaunch + results * 4 * unit.parts / (kPartBytes * multiprocessors);
  }
  return cycles;
}

std::vector<TuningParameters> UnitVariants(const Expression& expression, const SystemModel& model,
                                           const DeviceDescription& device,
                                           const TuningParameters& parameters, size_t most) {
  std::vector<TuningParameters> variants =
      WarpUnitVariants(expression, model, device, parameters, most);
  if (!variants.empty() || !device.features.group_units || !Reassociates(parameters.numerics)) {
    return variants;
  }
  Result<UnitPlan> plan = PlanUnit(expression, parameters.numerics);
  if (!plan.ok()) return variants;
  const std::vector<OperandsOfUnit> operands = OperandsOf(*plan);
  TuningParameters variant = parameters;
  static_cast<BlockChoices&>(variant) = {};
  variant.swizzle = kSwizzle;
  variant.scan = {};
  variant.keyed = {};
  std::vector<std::pair<double, TuningParameters>> ranked;
  // Whether it fits at all. What is copied behind a tile's columns is left to the search.
  const auto add = [&] {
    const bool fits = CutForUnit(variant.unit, device, variant, &*plan).empty() &&
                      TensorObstacle(expression, variant.unit, *plan).empty();
    if (!fits) return false;
    const bool is_whole =
        plan->b.is_tensor || plan->is_shared || plan->b.rows == variant.unit.columns;
    if (!is_whole) return false;
    const double cycles = UnitCycles(*plan, variant, device);
    variant.early_launches = EarlyOf(expression, variant.unit);
    ranked.emplace_back(std::floor(std::log(cycles) / std::log(kAlike)), variant);
    return true;
  };
  for (const UnitShape& shape : ShapesFor(*plan, device)) {
    for (const int parts : UnitPartsFor(*plan, shape.rows, shape.columns, device)) {
      for (const int stages : kStages) {
        variant.unit = {shape.rows, shape.columns, shape.groups, stages, parts};
        // Places that no stage has are none.
        if (stages != kStages.back() && CeilDivide(plan->k, plan->depth() * parts) < stages) {
          continue;
        }
        bool fits = false;
        for (const OperandsOfUnit& of : operands) {
          variant.unit.packed = of.packed;
          variant.unit.computed = of.computed;
          variant.unit.tensors = of.is_produced ? UnitOperands::kBoth : UnitOperands::kNone;
          variant.unit.producer =
              of.is_produced ? ProducerOf(variant.unit, *plan) : UnitProducer::kNone;
          variant.unit.cluster_m = of.cluster_m;
          variant.unit.cluster_n = of.cluster_n;
          // Groups that add sums up count the stages in time that no multiplication hides.
          const bool is_counted = of.is_produced && plan->promoted_stages() == 1;
          if (is_counted && !std::has_single_bit(static_cast<unsigned>(stages))) continue;
          if (variant.unit.cluster() > 1 && parts > 1) continue;
          for (const CombineBlocks combine : {CombineBlocks::kPartials, CombineBlocks::kCluster}) {
            variant.combine_blocks = combine;
            if (!add()) continue;
            fits = true;
            // All tiles by blocks that run at the same time.
            variant.unit.turns = parts == 1 ? Turns(*plan, variant.unit, device) : 1;
            if (variant.unit.turns > 1) add();
            variant.unit.turns = 1;
          }
        }
        // The most stages that fit; fewer where that makes room for more blocks.
        const int64_t bytes = UnitStageBytes(variant.unit) * stages;
        if (fits && bytes * kMostResident <= device.blocks.shared_bytes_per_block) break;
      }
    }
  }
  std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [cycles, ranked_variant] : ranked) {
    if (variants.size() >= most) break;
    if (!Validate(expression, model, device, ranked_variant).ok()) continue;
    variants.push_back(ranked_variant);
    // Of whole lines these copies are no faster by any rule, but may be by measurement.
    if (ranked_variant.unit.tensors != UnitOperands::kNone) continue;
    ranked_variant.unit.tensors = UnitOperands::kBoth;
    for (const bool has_producer : {true, false}) {
      ranked_variant.unit.producer =
          has_producer ? ProducerOf(ranked_variant.unit, *plan) : UnitProducer::kNone;
      if (variants.size() < std::min(most, kWithTensors) &&
          Validate(expression, model, device, ranked_variant).ok()) {
        variants.push_back(ranked_variant);
      }
    }
  }
  return variants;
}

bool PrefersUnit(const Expression& expression, const DeviceDescription& device,
                 const TuningParameters& variant, double thread_cycles) {
  const Result<UnitPlan> plan = PlanUnit(expression, variant.numerics);
  if (variant.unit.rows == 0 || !plan.ok()) return false;
  const bool are_many = plan->element_bytes() == kUnitElementBytes &&
                        plan->batches * plan->m * plan->n >= kManyResults;
  if (plan->m < kFewestPoints || plan->n < kFewestPoints) return false;
  if (plan->section_k < (are_many ? kFewestPoints : kFewestDepth)) return false;
  const UnitPlan cut = CutForUnit(variant.unit, variant.combine_blocks, *plan);
  return UnitCycles(cut, variant, device) < thread_cycles / kMoreForThreads;
}

}  // namespace mdh
