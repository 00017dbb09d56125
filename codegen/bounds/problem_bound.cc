#include "codegen/bounds/problem_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/bounds/pipeline_work.h"
#include "codegen/bounds/unit_cycles.h"
#include "codegen/program/contraction_units.h"

namespace mdh {
namespace {

constexpr const char* kMemory = "memory";
constexpr const char* kLaunch = "launch";

const char* NameOfUnits(RealKind kind) {
  switch (kind) {
    case RealKind::kHalf:
      return "fp16 units";
    case RealKind::kSingle:
      return "fp32 units";
    default:
      return "fp64 units";
  }
}

// A contraction of a step, in core-cycles.
struct ContractionCycles {
  double units, vectors;  // on the fastest matrix units, without them
  RealKind kind;          // of sums
};

class BoundMaker {
 public:
  BoundMaker(ComputationView computation, const DeviceDescription& device, const DeviceRates& rates,
             const BoundQuestion& question)
      : work_(WorkOfComputation(computation)),
        device_(device),
        rates_(rates),
        question_(question) {}

  ProblemBound Make() {
    if (rates_.clock_hz > 0) {
      AddUpWork();
      for (const RealKind kind : kRealKinds) AddUnits(kind);
      AddContractions();
      AddSpecial();
      AddIssue();
    }
    AddMemory();
    if (rates_.launch_ns > 0) {
      Add({.resource = kLaunch,
           .time_ns = rates_.launch_ns,
           .reason = absl::StrFormat("an empty call takes %.3g us", rates_.launch_ns / 1e3),
           .assumption = rates_.launch_assumption});
    }
    std::ranges::stable_sort(bound_.floors, std::ranges::greater{}, &Floor::time_ns);
    return std::move(bound_);
  }

 private:
  bool may_fuse() const { return Reassociates(question_.numerics); }

  void AddUpWork() {
    for (const StepWork& step : work_.steps) {
      for (const RealKind kind : kRealKinds) vector_of(kind) = vector_of(kind) + step.work.of(kind);
      const ArithmeticWork& contraction = step.work.contraction;
      const double fused = std::max(contraction.multiplications, contraction.additions);
      if (fused == 0) continue;
      const NumericsPolicy numerics = PolicyFor(*step.expression, question_.numerics);
      // They add up in an order of their own, and do not round in between.
      const double unit_flops_per_s =
          Reassociates(numerics) ? UnitPeak(*step.expression, device_, rates_.clock_hz, numerics)
                                 : 0;
      const double unit_rate = unit_flops_per_s / 2 / rates_.clock_hz;  // of all cores, per cycle
      ArithmeticWork& on_vectors = vector_of(step.work.contracted);
      if (unit_rate == 0) {
        on_vectors = on_vectors + contraction;
        continue;
      }
      contractions_.push_back(
          {.units = fused / (unit_rate / rates_.cores),
           .vectors = CyclesOf(contraction, rates_.of(step.work.contracted), may_fuse()),
           .kind = step.work.contracted});
    }
  }

  ArithmeticWork& vector_of(RealKind kind) { return vector_[static_cast<size_t>(kind)]; }

  double NsOf(double core_cycles) const {
    return core_cycles / rates_.cores / rates_.clock_hz * 1e9;
  }

  std::string RateText(double per_cycle) const {
    return absl::StrFormat("%.3g a second", per_cycle * rates_.cores * rates_.clock_hz);
  }

  void AddUnits(RealKind kind) {
    const ArithmeticWork& work = vector_of(kind);
    const ArithmeticRate& rate = rates_.of(kind);
    AddCompute(
        NameOfUnits(kind), CyclesOf(work, rate, may_fuse()),
        absl::StrFormat("%.3g multiplications and %.3g additions at %s", work.multiplications,
                        work.additions, RateText(rate.multiplications)));
  }

  // Each contraction takes the faster of both; several may share both kinds of units: in T seconds
  // vectors take over what units do in at most T * (the largest quotient of both) seconds.
  void AddContractions() {
    double least = 0, sum = 0, quotient = 0;
    for (const ContractionCycles& one : contractions_) {
      least = std::max(least, std::min(one.units, one.vectors));
      sum += one.units;
      quotient = std::max(quotient, one.units / one.vectors);
    }
    if (contractions_.size() > 1) least = std::max(least, sum / (1 + quotient));
    const bool are_slower = quotient >= 1;  // than vectors
    const std::string where =
        are_slower ? NameOfUnits(contractions_.front().kind) : std::string("matrix units");
    AddCompute(where, least,
               absl::StrFormat("%d contraction%s at the fastest rate of all units",
                               contractions_.size(), contractions_.size() == 1 ? "" : "s"));
  }

  void AddSpecial() {
    if (rates_.special == 0) return;
    const double count = vector_of(RealKind::kSingle).special;
    AddCompute(
        "special units", count / rates_.special,
        absl::StrFormat("%.3g exponentials and roots at %s", count, RateText(rates_.special)));
  }

  void AddIssue() {
    double cycles = 0, instructions = 0;
    for (const RealKind kind : kRealKinds) {
      const ArithmeticWork& work = vector_of(kind);
      const double all = Fused(work, may_fuse()) + work.others + work.special;
      instructions += all;
      cycles += all / rates_.of(kind).all;
    }
    AddCompute("issue", cycles, absl::StrFormat("%.3g floating-point instructions", instructions));
  }

  // What is in caches at the beginning of a call need not be read, what is at the end need not have
  // been written, and both together never exceed the caches.
  void AddMemory() {
    if (rates_.memory_bytes_per_s <= 0) return;
    if (rates_.cache_bytes < 0 && !question_.has_cold_caches) return;
    // Where nothing is known of them they may keep all results.
    // A turn of all sets reads and writes different bytes, as one call of more would.
    const double read = work_.read_bytes * question_.sets;
    const double written = work_.written_bytes * question_.sets;
    const double cache = rates_.cache_bytes < 0 ? written : rates_.cache_bytes;
    const double turns = question_.calls / question_.sets;
    const double kept = question_.has_cold_caches ? 0 : cache;
    const double one_turn = std::max(0.0, read - kept) + std::max(0.0, written - cache);
    const double on_average =
        read + written - (question_.has_cold_caches ? cache / turns : cache * (1 + 1 / turns));
    const double bytes = std::max(one_turn, on_average) / question_.sets;
    Add({.resource = kMemory,
         .time_ns = bytes / rates_.memory_bytes_per_s * 1e9,
         .reason =
             absl::StrFormat("%.4g MB at %.3g TB/s", bytes / 1e6, rates_.memory_bytes_per_s / 1e12),
         .assumption = Both(rates_.memory_assumption, rates_.cache_assumption)});
  }

  static std::string Both(const std::string& a, const std::string& b) {
    return absl::StrCat(a, a.empty() || b.empty() ? "" : "; ", b);
  }

  void AddCompute(const std::string& resource, double core_cycles, std::string reason) {
    Add({.resource = resource,
         .time_ns = NsOf(core_cycles),
         .reason = std::move(reason),
         .proof = ProofClass::kCompiler,
         .assumption = rates_.clock_assumption});
  }

  void Add(Floor floor) {
    floor.time_ns *= 1 - kRounding;
    if (floor.time_ns > 0) bound_.floors.push_back(std::move(floor));
  }

  const ComputationWork work_;
  const DeviceDescription& device_;
  const DeviceRates& rates_;
  const BoundQuestion& question_;
  std::array<ArithmeticWork, 3> vector_ = {};  // of all steps
  std::vector<ContractionCycles> contractions_;
  ProblemBound bound_;
};

}  // namespace

MachinePeaks RaisedBy(const Floor& floor, double time_ns, const DeviceRates& rates,
                      MachinePeaks peaks) {
  const double faster = floor.time_ns / time_ns;
  if (floor.resource == kMemory) {
    peaks.memory_bytes_per_s = rates.memory_bytes_per_s * faster;
  } else if (floor.resource == kLaunch) {
    peaks.launch_overhead_ns = time_ns;
  } else {
    // Whatever is wrong with what units do in a cycle, with more cycles the bound holds.
    peaks.clock_hz = rates.clock_hz * faster;
  }
  return peaks;
}

ProblemBound ProblemBoundOf(ComputationView computation, const DeviceDescription& device,
                            const DeviceRates& rates, const BoundQuestion& question) {
  return BoundMaker(computation, device, rates, question).Make();
}

}  // namespace mdh
