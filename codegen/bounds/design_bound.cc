#include "codegen/bounds/design_bound.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"
#include "codegen/bounds/unit_cycles.h"
#include "codegen/program/contraction_units.h"

namespace mdh {

struct DesignFloor {
  const char* resource;
  ProofClass proof;
  double (*cycles)(const DesignBound::Facts&, const DesignRanges&);
  const char* reason;
};

namespace {

using Facts = DesignBound::Facts;

// Of NVIDIA's multiprocessors: schedulers, each of which issues an instruction of a warp in a
// cycle.
constexpr double kSchedulers = 4;
constexpr double kWarp = 32;
// Of an instruction that reads memory, in bytes; from compute capability 10.0 on.
constexpr double kWidestAccess = 16, kWiderAccess = 32;
// Of hosts: what a core loads into its registers in a cycle, two of the widest vectors, and what
// these hold, in bytes: twice 32 of them.
constexpr double kHostLoadBytes = 128, kHostRegisterBytes = 4096;
// Shorter elements may be put together in registers that are no vectors.
constexpr int kLeastJoinedBytes = 4;

// ---- Counts, each the least of all that ranges allow ----

double Ceil(double a, double b) { return std::ceil(a / b * (1 - kRounding)); }

// Points of a box.
double Points(const ExtentRanges& box) {
  double points = 1;
  for (const ExtentRange& extent : box) points *= static_cast<double>(extent.low);
  return points;
}

// Along these dimensions.
double Points(const ExtentRanges& box, DimensionSet dimensions) {
  double points = 1;
  for (size_t d = 0; d < box.size(); ++d) {
    if ((dimensions >> d & 1) != 0) points *= static_cast<double>(box[d].low);
  }
  return points;
}

// Whole parts of that extent in another one, of which it has one at least.
int64_t Whole(int64_t outer, int64_t inner) { return std::max<int64_t>(1, outer / inner); }

double WholeParts(const ExtentRanges& outer, const ExtentRanges& inner) {
  double parts = 1;
  for (size_t d = 0; d < outer.size(); ++d) {
    parts *= static_cast<double>(Whole(outer[d].low, inner[d].high));
  }
  return parts;
}

// Of so many points along a dimension those of whole parts: a part is left out at most, which has
// less than half of all points.
double PointsOfWholeParts(int64_t size, const ExtentRange& part) {
  const auto [low, high] = part;
  return static_cast<double>(low == high ? Whole(size, low) * low
                                         : std::max({low, size - high + 1, size / 2 + size % 2}));
}

double PointsOfWholeParts(const ExtentRanges& sizes, const ExtentRanges& part) {
  double points = 1;
  for (size_t d = 0; d < sizes.size(); ++d) points *= PointsOfWholeParts(sizes[d].low, part[d]);
  return points;
}

// Of the points of a box, which combines all but one for each of its results.
double CyclesOfPoint(const Facts::Cycles& cycles, const ExtentRanges& box, DimensionSet reduced) {
  const double combined = 1 - 1 / Points(box, reduced);
  return std::max(cycles.least, combined * cycles.combined);
}

double Workers(const Facts& facts, const DesignRanges& ranges) {
  if (!facts.is_host || ranges.most_threads <= 0) return facts.cores;
  return std::min(facts.cores, static_cast<double>(ranges.most_threads));
}

// Whole parts that some core has. Of parts on the diagonal of exchangeable dimensions cores of
// hosts may leave out some points, so that these are shared, not parts.
double PartsOfOne(const Facts& facts, const DesignRanges& ranges) {
  const double parts = WholeParts(facts.sizes, ranges.part), workers = Workers(facts, ranges);
  const bool shares_points = facts.is_host && facts.equal_results > 1;
  return std::max(1.0, shares_points ? parts / workers : Ceil(parts, workers));
}

// Points that some core computes.
double PointsOfOne(const Facts& facts, const DesignRanges& ranges) {
  return std::max(PartsOfOne(facts, ranges) * Points(ranges.part),
                  PointsOfWholeParts(facts.sizes, ranges.part) / Workers(facts, ranges));
}

// What a thread computes along each dimension in a whole block, if its share is whole.
ExtentRanges OfThread(const DesignRanges& ranges) {
  ExtentRanges extents = ranges.thread;
  for (size_t d = 0; d < extents.size(); ++d) {
    extents[d].low *= Whole(ranges.part[d].low, ranges.around_threads[d].high);
  }
  return extents;
}

// Warps in which a thread has a whole share, in the blocks of some multiprocessor.
double WarpsOfOne(const Facts& facts, const DesignRanges& ranges) {
  return PartsOfOne(facts, ranges) * Ceil(WholeParts(ranges.around_threads, ranges.thread), kWarp);
}

bool HasWarps(const Facts& facts, const DesignRanges& ranges) {
  return facts.has_warps && !ranges.thread.empty();
}

// ---- Floors, in cycles of a core ----

// What f takes at all points, one of the cores has its share of, however they are cut.
double CyclesOfOne(const Facts& facts, const DesignRanges& ranges, const Facts::Cycles& cycles) {
  return std::max(PointsOfOne(facts, ranges) * CyclesOfPoint(cycles, ranges.part, facts.reduced),
                  Points(facts.sizes) / Workers(facts, ranges) * cycles.least);
}

double CoresCycles(const Facts& facts, const DesignRanges& ranges) {
  return CyclesOfOne(facts, ranges, facts.of_core);
}

double SchedulerCycles(const Facts& facts, const DesignRanges& ranges) {
  if (!HasWarps(facts, ranges)) return 0;
  const ExtentRanges own = OfThread(ranges);
  const double warps = Ceil(WarpsOfOne(facts, ranges), kSchedulers);
  const double of_point = CyclesOfPoint(facts.of_scheduler, own, facts.reduced);
  return warps * Points(own) * kWarp * kSchedulers * of_point;
}

double LoadCycles(const Facts& facts, const DesignRanges& ranges) {
  if (!HasWarps(facts, ranges)) return 0;
  const ExtentRanges own = OfThread(ranges);
  double accesses = 0;
  for (const PointWork::Read& read : facts.reads) {
    accesses += Ceil(Points(own, read.distinct) * read.element_bytes, facts.access_bytes);
  }
  return WarpsOfOne(facts, ranges) * accesses;
}

// Of the points of a part along a dimension those that are in whole vectors, at least, or less
// than 1. Lanes are powers of two.
int64_t InVectors(const ExtentRange& extent, int64_t most_lanes) {
  const int64_t whole = extent.low == extent.high ? extent.low / most_lanes * most_lanes : 0;
  return std::max(whole, extent.low - most_lanes + 1);
}

// Every part has at least one vector, so that fewer points than half of it are in none.
double ShareInVectors(const ExtentRange& extent, int64_t most_lanes) {
  return std::max(
      0.5, static_cast<double>(InVectors(extent, most_lanes)) / static_cast<double>(extent.low));
}

double VectorCycles(const Facts& facts, const DesignRanges& ranges) {
  if (!facts.is_host || (ranges.vectors_along == 0 && !ranges.may_be_scalar)) return 0;
  const size_t n = std::bit_width(static_cast<uint64_t>(ranges.most_lanes) - 1);
  if (n >= facts.of_lanes.size()) return 0;
  const Facts::Cycles& cycles = facts.of_lanes[n];
  const double all = PointsOfOne(facts, ranges);
  double least = INFINITY;
  if (ranges.may_be_scalar) least = CyclesOfOne(facts, ranges, facts.of_lanes[0]);
  for (const int d : Members(ranges.vectors_along)) {
    const double share = ShareInVectors(ranges.part[d], ranges.most_lanes);
    ExtentRanges whole = ranges.part;
    whole[d].low = std::max({int64_t{1}, InVectors(whole[d], ranges.most_lanes), whole[d].low / 2});
    // What f takes where parts are whole along this dimension, however they are cut along others.
    const int64_t size = facts.sizes[d].low;
    const double along = Points(facts.sizes) / static_cast<double>(size) *
                         PointsOfWholeParts(size, ranges.part[d]) / Workers(facts, ranges);
    const double most =
        std::max(all * CyclesOfPoint(cycles, whole, facts.reduced), along * cycles.least);
    least = std::min(least, most * share);
  }
  return least;
}

// Of the points of parts in an outer box along a dimension, those in whole inner ones.
double ShareInWhole(const ExtentRange& outer, const ExtentRange& inner) {
  const auto size = static_cast<double>(outer.low);
  if (outer.low == outer.high && inner.low == inner.high) {
    return std::min(1.0, static_cast<double>(Whole(outer.low, inner.low) * inner.low) / size);
  }
  return std::max(0.5, 1 - static_cast<double>(inner.high - 1) / size);
}

// Loops that put so many elements into vectors, or more, are not unrolled whole; nor are so many
// iterations where code must not get longer.
constexpr double kMostUnrolledElements = 256, kMostUnrolledIterations = 4;

// Iterations of the reductions in a register tile, where what is read differs in each; 0: somewhere
// it may not.
double Iterations(const Facts& facts, const DesignRanges& ranges, const PointWork::Read& read) {
  double iterations = 1;
  for (const int r : Members(facts.reduced)) {
    const ExtentRange &around = ranges.around_tile[r], &tile = ranges.tile[r];
    if ((read.depends >> r & 1) != 0) {
      iterations *= static_cast<double>(Whole(around.low, tile.high));
    } else if (around.high > tile.low) {
      return 0;
    }
  }
  return iterations;
}

// Of the points of such a box those in whole iterations of whole loops, and in whole vectors.
double SharePutTogether(const Facts& facts, const DesignRanges& ranges, const ExtentRanges& box,
                        int along) {
  double share = ShareInVectors(ranges.part[along], ranges.most_lanes);
  for (const int r : Members(facts.reduced)) {
    share *= ShareInWhole(box[r], ranges.around_tile[r]) *
             ShareInWhole(ranges.around_tile[r], ranges.tile[r]);
  }
  return share;
}

// Elements that are put beside others in a vector of so many, of each that is in one.
double JoinsOfElement(const Facts& facts, const DesignRanges& ranges, const PointWork::Read& read) {
  const double lanes =
      std::min(static_cast<double>(ranges.least_lanes), facts.vector_bytes / read.element_bytes);
  return std::max(0.0, 1 - 1 / lanes);
}

// Whether the reductions in a tile are loops that no compiler unrolls whole.
bool StaysLoop(const Facts& facts, const DesignRanges& ranges, const PointWork::Read& read) {
  if (!ranges.reduces_in_tile) return false;
  const double iterations = Iterations(facts, ranges, read);
  return iterations * static_cast<double>(ranges.least_lanes) >= kMostUnrolledElements ||
         (ranges.never_grows && iterations >= kMostUnrolledIterations);
}

// Points in a box that do not differ along the dimensions in which each has an element of its own.
double Sharing(const ExtentRanges& box, const PointWork::Read& read) {
  double points = 1;
  for (size_t d = 0; d < box.size(); ++d) {
    if ((read.distinct >> d & 1) == 0) points *= static_cast<double>(box[d].high);
  }
  return points;
}

// What is put into vectors along a dimension. Of loops that stay such a tile has an element, in one
// iteration, for all its points that share it; else it is whatever all points of the problem share.
double JoinsOfRead(const Facts& facts, const DesignRanges& ranges, const PointWork::Read& read,
                   int along) {
  const int64_t size = facts.sizes[along].low;
  const double of_parts = PartsOfOne(facts, ranges) * Points(ranges.part);
  const double of_all = Points(facts.sizes) / static_cast<double>(size) *
                        PointsOfWholeParts(size, ranges.part[along]) / Workers(facts, ranges);
  double elements = std::max(of_parts, of_all) *
                    ShareInVectors(ranges.part[along], ranges.most_lanes) /
                    Sharing(facts.sizes, read);
  if (StaysLoop(facts, ranges, read)) {
    const double in_loops = std::max(of_parts * SharePutTogether(facts, ranges, ranges.part, along),
                                     of_all * SharePutTogether(facts, ranges, facts.sizes, along));
    elements = std::max(elements, in_loops / Sharing(ranges.tile, read));
  }
  return elements * JoinsOfElement(facts, ranges, read);
}

double JoinCycles(const Facts& facts, const DesignRanges& ranges) {
  if (facts.joins <= 0 || ranges.tile.empty()) return 0;
  if (ranges.may_be_scalar || ranges.vectors_along == 0) return 0;
  double least = INFINITY;
  for (const int along : Members(ranges.vectors_along)) {
    double joins = 0;
    for (const PointWork::Read& read : facts.reads) {
      const bool is_apart = (ranges.apart[read.input] >> along & 1) != 0;
      if (is_apart && read.element_bytes >= kLeastJoinedBytes) {
        joins += JoinsOfRead(facts, ranges, read, along);
      }
    }
    least = std::min(least, joins);
  }
  return least / facts.joins;
}

double CoreLoadCycles(const Facts& facts, const DesignRanges& ranges) {
  if (!facts.is_host) return 0;
  // Which may be there from parts before, however little of equal results a part has.
  double bytes = -kHostRegisterBytes * facts.equal_results;
  for (const PointWork::Read& read : facts.reads) {
    bytes += Points(ranges.part, read.distinct) * read.element_bytes;
  }
  return PartsOfOne(facts, ranges) * std::max(0.0, bytes) / kHostLoadBytes;
}

constexpr DesignFloor kFloors[] = {
    {"the busiest core", ProofClass::kCompiler, CoresCycles, "whole parts that one of them has"},
    {"a scheduler of warps", ProofClass::kCompiler, SchedulerCycles,
     "instructions of the warps that one of them has"},
    {"loads of threads", ProofClass::kCompiler, LoadCycles,
     "what every thread reads, an instruction of a warp in each cycle"},
    {"vectors of a core", ProofClass::kCompiler, VectorCycles,
     "vectors and scalars that one of them computes"},
    {"elements put into vectors", ProofClass::kCompiler, JoinCycles,
     "elements that are no neighbours, of which each is put beside others"},
    {"loads of a core", ProofClass::kCompiler, CoreLoadCycles,
     "what the parts of one of them read, 128 bytes in each cycle"},
};

// Of both kinds of units the faster one, as hosts have instructions for products of vectors.
double OnFastestUnits(const PointWork& work, const Expression& expression,
                      const DeviceDescription& device, const DeviceRates& rates,
                      NumericsPolicy numerics) {
  const NumericsPolicy policy = PolicyFor(expression, numerics);
  if (!work.is_contraction || !RunsOnHost(device) || !Reassociates(policy)) return INFINITY;
  const double flops = UnitPeak(expression, device, rates.clock_hz, policy);
  return flops > 0 ? 2 * rates.clock_hz * rates.cores / flops : INFINITY;
}

Facts::Cycles CyclesOfPoints(const PointWork& work, const DeviceRates& rates, bool may_fuse) {
  std::array<ArithmeticWork, 3> both = work.function;
  for (const RealKind kind : kRealKinds) {
    const auto n = static_cast<size_t>(kind);
    both[n] = both[n] + work.combining[n];
  }
  return {.least = UnitCycles(work.function, rates, may_fuse),
          .combined = UnitCycles(both, rates, may_fuse)};
}

// Of instructions on vectors of so many lanes, however wide those of the host are.
DeviceRates WithLanes(DeviceRates rates, double lanes) {
  const ArithmeticRate& started = rates.instructions;
  for (ArithmeticRate& rate : rates.arithmetic) {
    rate.multiplications = std::min(rate.multiplications, started.multiplications * lanes);
    rate.additions = std::min(rate.additions, started.additions * lanes);
    rate.all = std::min(rate.all, started.all * lanes);
  }
  return rates;
}

// Without what all schedulers of a multiprocessor may share.
PointWork OfSchedulers(PointWork work, const DeviceRates& rates) {
  for (const RealKind kind : kRealKinds) {
    if (rates.of(kind).multiplications >= kWarp) continue;
    work.function[static_cast<size_t>(kind)] = {};
    work.combining[static_cast<size_t>(kind)] = {};
  }
  return work;
}

}  // namespace

int ThreadLayer(const SystemModel& model) {
  return model.LayerWith(LayerRole::kWarps) < 0 ? model.LayerWith(LayerRole::kThreads) : -1;
}

DesignBound::DesignBound(const Expression& expression, const DeviceDescription& device,
                         const DeviceRates& rates, NumericsPolicy numerics)
    : clock_hz_(rates.clock_hz), assumption_(rates.clock_assumption) {
  for (const Dimension& dimension : expression.dimensions()) {
    facts_.sizes.push_back({dimension.size, dimension.size});
  }
  if (clock_hz_ <= 0) return;
  const PointWork work = PointWorkOf(expression);
  const bool may_fuse = Reassociates(numerics);
  const double on_units = OnFastestUnits(work, expression, device, rates, numerics);
  facts_.reduced = ReducedDimensions(expression);
  facts_.of_core = CyclesOfPoints(work, rates, may_fuse);
  facts_.of_core.least = std::min(facts_.of_core.least, on_units);
  facts_.of_core.combined = std::min(facts_.of_core.combined, on_units);
  facts_.of_scheduler = CyclesOfPoints(OfSchedulers(work, rates), rates, may_fuse);
  facts_.reads = work.reads;
  facts_.cores = rates.cores;
  facts_.is_host = RunsOnHost(device);
  facts_.equal_results = MostEqualResults(expression);
  facts_.joins = rates.joins;
  facts_.vector_bytes = std::max(facts_.vector_bytes, static_cast<double>(device.simd_bytes));
  for (size_t n = 0; n < facts_.of_lanes.size() && facts_.is_host; ++n) {
    const auto lanes = static_cast<double>(int64_t{1} << n);
    facts_.of_lanes[n] = CyclesOfPoints(work, WithLanes(rates, lanes), may_fuse);
  }
  const int capability = ComputeCapability(device);
  facts_.has_warps = !facts_.is_host && capability >= 70;
  facts_.access_bytes = capability >= 100 ? kWiderAccess : kWidestAccess;
}

double DesignBound::CyclesOf(const DesignFloor& floor, const DesignRanges& ranges) const {
  return clock_hz_ <= 0 || ranges.part.empty()
             ? 0
             : floor.cycles(facts_, ranges) / facts_.equal_results;
}

double DesignBound::TimeNs(const DesignRanges& ranges) const {
  double cycles = 0;
  for (const DesignFloor& floor : kFloors) cycles = std::max(cycles, CyclesOf(floor, ranges));
  return cycles > 0 ? cycles / clock_hz_ * 1e9 * (1 - kRounding) : 0;
}

std::vector<Floor> DesignBound::Floors(const DesignRanges& ranges) const {
  std::vector<Floor> floors;
  for (const DesignFloor& floor : kFloors) {
    const double cycles = CyclesOf(floor, ranges);
    if (cycles <= 0) continue;
    floors.push_back({.resource = floor.resource,
                      .time_ns = cycles / clock_hz_ * 1e9 * (1 - kRounding),
                      .reason = absl::StrFormat("%.3g cycles: %s", cycles, floor.reason),
                      .proof = floor.proof,
                      .assumption = assumption_});
  }
  std::ranges::stable_sort(floors, std::ranges::greater{}, &Floor::time_ns);
  return floors;
}

}  // namespace mdh
