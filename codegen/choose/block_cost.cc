#include "codegen/choose/block_cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_format.h"
#include "codegen/choose/block_cost_shape.h"
#include "codegen/lower/levels/instruction_costs.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/expression/dependences.h"

namespace mdh {
namespace {

constexpr double kIssueWidth = 4;      // instructions of a warp per cycle
constexpr double kStalls = 0.45;       // of a scheduler with one warp, per instruction
constexpr double kStallsBeside = 0.3;  // idem where copies begin between points
constexpr double kMemoryBytes = 15.5;  // per cycle and multiprocessor
constexpr double kLevel2Bytes = 26;    // idem
constexpr double kMemoryLatency = 1000, kLevel2Latency = 500;  // cycles
// Where a point is loaded after another one's value is there; as measured for 1 / (1 + exp(-x)).
constexpr double kLatencyOfPoint = 1500;
constexpr double kMostLevel2 = 32 << 20;  // bytes that are likely to be there
constexpr double kBarrier = 40;
constexpr double kLaunch = 3000;       // until the first block runs, and after the last
constexpr double kNextLaunch = 5000;   // of the stage that reads partial results and combines them
constexpr double kZeroLaunch = 1200;   // of the stage before atomics, beside which blocks compute
constexpr double kEarlyLaunch = 700;   // that a launch takes less if it begins early
constexpr double kPartialBytes = 5.6;  // of parts of results, per cycle and multiprocessor
constexpr double kAtomicsPerCycle = 128;  // of all multiprocessors, wherever they add
constexpr double kSameElement = 4;        // between two additions to it
constexpr double kInstructionBytes = 16, kFetchedBytes = 16;  // of code that runs first, per cycle
constexpr double kMostThreads = 2048, kMostBlocks = 32;       // of a multiprocessor
constexpr double kMostUnrolledPoints = 1024;  // of a thread's loops: more never paid
constexpr double kMostRegisters = 250;
// Of the registers that a thread can have: compilers that need more than the model knows of spill.
constexpr double kCrowded = 0.85, kOfSpills = 2;
constexpr double kMostOverestimated = 1.2;  // registers, over what the compiler gets by with
// Of what is not the longest, what is not beside it; and of waiting that nothing is beside. Fitted
// to 1,700 designs of 38 kernels on an H200, as is what results of a thread hide.
constexpr double kBeside = 25, kMostBeside = 0.8, kResultsHide = 0.25, kShareExposed = 0.5;
// Farther apart makes no difference; the threads of a warp may be many times that apart.
constexpr int64_t kLongestStride = int64_t{1} << 32;
constexpr int64_t kMostAligned = 16;     // elements that are copied or loaded at once
constexpr double kMostIndependent = 64;  // results of a thread that hide waiting

double CeilQuotient(double a, double b) { return std::ceil(a / b); }

using Copy = BlockDesign::Copy;

// Of every access but for what moves along rows in steps of one: neighbours can be loaded at once
// where they begin at multiples.
int64_t AlignmentOf(const Expression& e, const Buffer& buffer) {
  int64_t alignment = kMostAligned;
  if (buffer.extents.empty()) return alignment;
  if (!KeepsToRows(e, buffer)) return 1;
  const int along_rows = OnlyDimension(buffer, static_cast<int>(buffer.extents.size()) - 1);
  for (size_t a = 0; a < buffer.accesses.size(); ++a) {
    const AffineIndex offset = buffer.Linearized(static_cast<int>(a));
    alignment = std::gcd(alignment, offset.constant);
    for (int d = 0; d < std::ssize(offset.coefficients); ++d) {
      if (d != along_rows) alignment = std::gcd(alignment, offset.coefficients[d]);
    }
  }
  return alignment;
}

}  // namespace

BlockCostModel::BufferModel BlockCostModel::ModelOf(const Expression& e, const Buffer& buffer) {
  BufferModel m;
  m.strides.assign(e.rank(), 0);
  std::vector<bool> is_used(e.rank(), false);
  m.accesses = static_cast<double>(buffer.accesses.size());
  m.bytes = static_cast<double>(buffer.type.size_bytes());
  m.total = static_cast<double>(buffer.elements());
  m.alignment = AlignmentOf(e, buffer);
  m.borders = DimensionsLeft(e, buffer);
  m.has_zeros_outside = ReadsZerosOutside(buffer);
  m.fragments = FragmentTable(buffer);
  const std::vector<int64_t> strides = buffer.strides();
  for (size_t x = 0; x < buffer.extents.size(); ++x) {
    const ConstantRange constants = ConstantsOf(buffer, static_cast<int>(x));
    IndexDimension index{{}, constants.high - constants.low, buffer.extents[x], strides[x]};
    const std::vector<int64_t>& coefficients = buffer.accesses[0].indices[x].coefficients;
    for (int d = 0; d < e.rank(); ++d) {
      if (coefficients[d] == 0) continue;
      index.terms.push_back({d, std::abs(coefficients[d])});
      is_used[d] = true;
      m.strides[d] =
          std::min(m.strides[d] + std::abs(coefficients[d]) * strides[x], kLongestStride);
    }
    m.dimensions.push_back(std::move(index));
  }
  for (int d = 0; d < e.rank(); ++d) {
    if (is_used[d]) m.used.push_back(d);
  }
  return m;
}

BlockCostModel::BlockCostModel(const Expression& e, const DeviceDescription& device)
    : expression_(e),
      limits_(device.blocks),
      factors_(FactorOrder::Of(e, NumericsPolicy::kReassociate)) {
  exchangeable_ = ExchangeableDimensions(e);
  for (const Dimension& d : e.dimensions()) sizes_.push_back(d.size);
  for (int d = 0; d < e.rank(); ++d) kept_.push_back(e.combine_operators()[d].is_concat());
  const Expression separate = WithSeparateAccesses(e);
  for (int b = 0; b < std::ssize(separate.inputs()); ++b) {
    inputs_.push_back(ModelOf(e, separate.inputs()[b]));
    designers_.emplace_back(separate, b);
    owners_.push_back(OwnerOf(separate, b));
    if (owners_.back() != b) inputs_.back().total = 0;  // memory has them once
  }
  for (const Buffer& buffer : e.outputs()) outputs_.push_back(ModelOf(e, buffer));
  for (int d = 0; d < e.rank(); ++d) {
    int64_t divisor = 0;
    for (int other = 0; other < e.rank(); ++other) {
      if (other != d) divisor = std::gcd(divisor, outputs_[0].strides[other]);
    }
    divisors_.push_back(divisor);
  }
  result_words_ = result_bytes_ = 0;
  for (const TypedName& result : e.function().results()) {
    result_bytes_ += static_cast<double>(SizeBytes(result.type));
    result_words_ += std::max(1.0, static_cast<double>(SizeBytes(result.type)) / 4);
  }
  reductions_ = ReductionOrder(e);
  result_order_ = ResultOrder(e);
  // A product and its sum are one instruction; of what users combine by, each operation counts.
  double instructions = 0;
  for (const ScalarInstruction& instruction : e.function().instructions()) {
    instructions += InstructionsOf(instruction);
    has_branches_ |= Branches(instruction);
  }
  const auto is_custom = [](const CombineOperator& combine) {
    return !combine.is_concat() && combine.kind() == PointWiseKind::kCustom;
  };
  combine_ = CombineInstructions(e);
  if (std::ranges::any_of(e.combine_operators(), is_custom)) instructions += combine_;
  has_shuffles_ = HasShuffles(device);
  operations_ = std::max(1.0, e.has_reduction() ? instructions : instructions * 0.6);
  const bool is_near = static_cast<double>(e.CompulsoryBytes()) < kMostLevel2;
  latency_ = has_branches_ ? kLatencyOfPoint : is_near ? kLevel2Latency : kMemoryLatency;
}

// What one thread waits for, one after the other, while the others of its multiprocessor work.
void BlockCostModel::AddWaiting(Shape& s) const {
  const double steps = s.iterations * s.tiles;
  double waiting = s.waits * latency_ + s.barriers * kBarrier + s.combining;
  // What is asked for behind copies that are on their way comes after them.
  const double queue = s.async_bytes * s.threads * s.at_once / kMemoryBytes;
  const double queued = std::max(latency_, queue),
               ahead = s.has_registers_ahead ? queued : latency_;
  if (s.parts_ahead > 0) {
    const double warps = std::ceil(s.threads / kWarp) * s.at_once;
    const double each =
        warps * std::max(s.instructions / kIssueWidth, s.local_cycles) / std::max(1.0, steps);
    waiting += latency_ + steps * std::max(0.0, ahead - s.parts_ahead * each);
  }
  // Barriers between copies keep the warps of a block together, which then wait at the same time
  // for what they load themselves, while other blocks compute.
  if (s.parts_ahead > 0 && s.direct_waits > 0) {
    const double each = std::ceil(s.threads / kWarp) *
                        std::max(s.instructions / kIssueWidth, s.local_cycles) / s.direct_waits;
    s.exposed = s.direct_waits * std::max(0.0, queued - (s.at_once - 1) * each) *
                std::ceil(s.busiest / s.at_once);
  }
  const double chain =
      s.points / std::max(1.0, s.results) * kOperationLatency + steps * kLocalLatency;
  s.cost.latency = (waiting + std::max(chain, s.instructions)) * std::ceil(s.busiest / s.at_once);
}

void BlockCostModel::Finish(Shape& s) const {
  const double processors = std::max(1, limits_.multiprocessors);
  BlockCost& cost = s.cost;
  cost.threads = s.threads;
  cost.registers = s.registers + s.prefetched;
  cost.shared_bytes = s.shared_bytes;
  const double per_block = limits_.registers_per_block > 0 ? limits_.registers_per_block : 1e9;
  // Each of the schedulers has its part of the registers, and some have a warp more than others.
  const double spread = CeilQuotient(s.threads, kIssueWidth * kWarp) * kIssueWidth * kWarp;
  const double most_registers =
      limits_.registers_per_thread > 0 ? std::min(kMostRegisters, per_block / spread) : 512.0;
  cost.fits = s.fits && s.threads <= limits_.max_threads_per_block &&
              s.shared_bytes <= static_cast<double>(limits_.shared_bytes_per_block) &&
              cost.registers <= most_registers;
  const int asked = s.design->resident_blocks;
  if (asked >
      0) {  // with fewer registers, the compiler would spill; what else it does is not known
    const auto threads = static_cast<int64_t>(s.threads);
    cost.fits =
        cost.fits && cost.registers <= kMostOverestimated * static_cast<double>(RegistersPerThread(
                                                                limits_, threads, asked));
  }
  if (!cost.fits) return;
  const double crowded = cost.registers / most_registers;
  cost.registers = std::min(std::max(cost.registers, most_registers), cost.registers + s.addresses);
  const double warps = std::ceil(s.threads / kWarp);
  const double allocated = std::ceil(cost.registers / 8) * 8 * warps * kWarp;
  const double shared = static_cast<double>(limits_.shared_bytes_per_block);
  // As many as the compiler is told to leave registers for, where that is more.
  const double resident = std::max(
      std::max(1.0, static_cast<double>(asked)),
      std::floor(std::min({kMostThreads / (warps * kWarp), kMostBlocks, per_block / allocated,
                           s.shared_bytes > 0 ? shared / (s.shared_bytes + 1024) : kMostBlocks})));
  // Blocks that the busiest multiprocessor computes.
  const double rounds = s.blocks / (processors * resident);
  s.busiest =
      rounds < 4 ? std::ceil(s.blocks / processors) : s.blocks / processors + 0.4 * resident;
  s.at_once = std::min(resident, std::ceil(s.blocks / processors));
  const double busy = std::min(1.0, s.blocks / processors);
  const double per_scheduler = std::max(0.25, s.at_once * warps / kIssueWidth);
  const bool is_beside = s.design->copy_overlap != CopyOverlap::kNone && s.parts_ahead > 0;
  const double efficiency = 1 / (1 + (is_beside ? kStallsBeside : kStalls) / per_scheduler);
  const double spilling = 1 + kOfSpills * std::max(0.0, crowded - kCrowded);
  cost.issue = spilling * s.busiest * warps * s.instructions / (kIssueWidth * efficiency);
  cost.local = spilling * s.busiest * warps * s.local_cycles;
  double level2_bytes = s.store_bytes;
  cost.memory = 0;
  for (const auto& [bytes, in_flight] : s.traffic) {
    level2_bytes += bytes;
    const double least = has_branches_ ? 0 : 16;
    const double reached = std::max(least, in_flight) * s.threads * s.at_once / latency_;
    cost.memory += bytes / (std::min(kLevel2Bytes, reached) * busy * processors);
  }
  cost.level2 = level2_bytes / (kLevel2Bytes * processors);
  if (s.adds_atomically()) cost.level2 = std::max(cost.level2, s.slots * kSameElement);
  for (const BufferModel& input : inputs_) s.memory_bytes += input.total * input.bytes;
  cost.memory = std::max(cost.memory, s.memory_bytes / (kMemoryBytes * processors));
  AddWaiting(s);
  // Parts of results are written where blocks end, the last ones at the same time, and read again.
  if (s.slots > 1 && !s.combines(CombineBlocks::kCluster)) {
    const double left = (1 / std::ceil(s.busiest / s.at_once) + 1) / 2;
    for (const BufferModel& output : outputs_) {
      cost.partial += left * s.slots * output.total * output.bytes / (kPartialBytes * processors);
    }
  }
  // Blocks that began together add at the same time, the last ones beside nothing else.
  s.exposed += s.atomics / kAtomicsPerCycle / std::ceil(s.busiest / s.at_once);
  cost.launches = kLaunch + s.code * kInstructionBytes / kFetchedBytes +
                  (s.slots == 1 || s.combines(CombineBlocks::kCluster) ? 0
                   : s.combines(CombineBlocks::kPartials)              ? kNextLaunch
                                                                       : kZeroLaunch);
  if (AreCallsEarly(s.design->early_launches)) cost.launches -= kEarlyLaunch;
  if (s.design->early_launches == EarlyLaunches::kNone && s.slots > 1) {
    cost.launches += kEarlyLaunch;
  }
  const double most = std::max({cost.issue, cost.local, cost.level2, cost.memory, cost.latency});
  const double sum = cost.issue + cost.local + cost.level2 + cost.memory + cost.latency;
  // The more warps and independent results there are, the better one waits while others work.
  const double hidden =
      s.at_once * warps * std::pow(std::min(s.results, kMostIndependent), kResultsHide);
  const double beside = std::min(kMostBeside, kBeside / hidden);
  // Blocks that begin together copy at the same time, and then compute.
  if (s.phases > 0 && s.parts_ahead == 0) {
    s.exposed += std::min(cost.memory, std::max(cost.issue, cost.local)) /
                 (s.phases * std::ceil(s.busiest / s.at_once));
  }
  cost.total = most + beside * (sum - most) + kShareExposed * s.exposed + cost.launches;
}

// Whether a block may have so many threads along each of its dimensions; from the third one on they
// share one.
bool BlockCostModel::IsBlock(const Shape& s) const {
  std::array<int64_t, 3> block = {1, 1, 1};
  for (size_t n = 0; n < s.lanes.size(); ++n) {
    block[std::min<size_t>(n, 2)] *= s.design->cuts[s.lanes[n]].threads;
  }
  for (size_t axis = 0; axis < block.size(); ++axis) {
    if (block[axis] > limits_.max_block[axis]) return false;
  }
  return true;
}

// Blocks on and below the diagonal are left: of a square of n x n, n (n+1) / 2.
void BlockCostModel::LeaveOutEqualResults(Shape& s) const {
  if (!s.design->mirrors || exchangeable_.empty() || s.has_partials()) return;
  double diagonal = 0;  // share of the blocks
  for (const int d : {exchangeable_[0][0], exchangeable_[0][1]}) {
    diagonal = std::max(diagonal, static_cast<double>(s.block[d]) / static_cast<double>(sizes_[d]));
  }
  s.is_mirrored = true;
  s.blocks = std::ceil(s.blocks * std::min(1.0, (1 + diagonal) / 2));
}

// Of one dimension that is kept.
void BlockCostModel::AddKept(size_t d, Shape& s) const {
  const BlockDesign::Cut& cut = s.design->cuts[d];
  const int64_t group = cut.threads * cut.vector;
  s.thread[d] = cut.vector * cut.strided;
  s.fragment[d] = s.fragment_of_one[d] = cut.vector;
  s.tile[d] = s.chunk[d] = std::min(sizes_[d], group * cut.strided);
  s.block[d] = std::min(sizes_[d], group * cut.strided * cut.loops);
  s.results *= static_cast<double>(s.thread[d]);
  s.tiles *= static_cast<double>(cut.loops);
  s.blocks *= CeilQuotient(static_cast<double>(sizes_[d]),
                           static_cast<double>(group * cut.strided * cut.loops));
}

// Of one that is reduced.
void BlockCostModel::AddReduced(size_t d, Shape& s) const {
  const BlockDesign::Cut& cut = s.design->cuts[d];
  const int64_t group = cut.threads * cut.vector;
  s.thread[d] = cut.vector;
  s.fragment_of_one[d] = 1;
  s.chunk[d] = std::min(sizes_[d], group);
  // In integers: as doubles, the largest sizes would be more than 64 bits hold.
  const int64_t whole_groups = RoundUp(CeilDivide(sizes_[d], cut.blocks), group);
  s.tile[d] = s.block[d] = std::min(sizes_[d], whole_groups);
  const double iterations =
      CeilQuotient(static_cast<double>(whole_groups), static_cast<double>(group));
  s.iterations *= iterations;
  const double slots =
      CeilQuotient(static_cast<double>(sizes_[d]), iterations * static_cast<double>(group));
  s.slots *= slots;
  s.blocks *= slots;
  s.reducing_threads *= static_cast<double>(cut.threads);
}

// Per point; a thread computes products that its points share once.
double BlockCostModel::Operations(const Shape& s) const {
  if (!factors_) return operations_;
  absl::InlinedVector<int64_t, 16> tile;
  for (size_t d = 0; d < sizes_.size(); ++d)
    tile.push_back(kept_[d] ? static_cast<int64_t>(s.thread[d]) : 1);
  return operations_ - factors_->AsWritten() + factors_->PerPoint(tile);
}

// Whether some threads have fewer points along d than others, so that no compiler knows how many.
bool BlockCostModel::IsRagged(size_t d, const Shape& s) const {
  const BlockDesign::Cut& cut = s.design->cuts[d];
  const int64_t part = CeilDivide(sizes_[d], cut.blocks);
  return cut.threads > 1 && cut.threads * cut.vector >= part && part % cut.vector != 0;
}

// Which loops of a thread are unrolled; points of those around them.
void BlockCostModel::Unroll(Shape& s) const {
  double body = s.results;
  size_t first = reductions_.size() - static_cast<size_t>(s.design->unrolled);
  for (size_t n = first; n < reductions_.size(); ++n) {
    if (IsRagged(reductions_[n], s)) first = n + 1;
  }
  for (size_t n = reductions_.size(); n-- > first;) {
    body *= static_cast<double>(s.thread[reductions_[n]]);
  }
  for (size_t n = 0; n < reductions_.size(); ++n) {
    const int d = reductions_[n];
    s.fragment[d] = n < first ? 1 : s.thread[d];
    if (n < first) s.rolled *= static_cast<double>(s.thread[d]);
  }
  s.fits = body <= kMostUnrolledPoints;
  s.code = body * Operations(s);
}

BlockCost BlockCostModel::Estimate(const BlockDesign& design) const {
  Shape s;
  s.design = &design;
  double points = 1;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    s.threads *= static_cast<double>(design.cuts[d].threads);
    kept_[d] ? AddKept(d, s) : AddReduced(d, s);
    points *= static_cast<double>(s.thread[d]);
  }
  LeaveOutEqualResults(s);
  Unroll(s);
  if (design.cuts[design.lane_dimension].threads > 1) s.lanes.push_back(design.lane_dimension);
  for (const int d : result_order_) {
    if (d != design.lane_dimension && design.cuts[d].threads > 1) s.lanes.push_back(d);
  }
  s.cost.threads = s.threads;
  s.cost.fits = s.fits && s.threads <= limits_.max_threads_per_block && IsBlock(s);
  if (!s.cost.fits) return s.cost;
  s.points = points * s.iterations * s.tiles;
  s.instructions = s.points * Operations(s) + s.iterations * s.tiles * (s.rolled * 6 + 14) + 60;
  for (int b = 0; b < static_cast<int>(inputs_.size()); ++b) {
    const DesignedInput designed = designers_[b].Run(design);
    const Copy copy = design.copies[owners_[b]];
    if (copy == Copy::kNone) {
      AddDirect(inputs_[b], designed, s);
    } else {
      AddCopied(inputs_[b], designed, copy, design.AsyncStages(owners_[b]), s);
    }
  }
  s.cost.fits = s.fits;
  if (!s.fits) return s.cost;
  AddResults(s);
  Finish(s);
  return s.cost;
}

BlockDesign BlockCostModel::WithMirrors(BlockDesign design) const {
  const auto cost = [&](bool mirrors) {
    design.mirrors = mirrors;
    const BlockCost of_design = Estimate(design);
    return of_design.total + of_design.partial;
  };
  const double of_all = cost(false);
  design.mirrors = has_equal_results() && cost(true) < of_all;
  return design;
}

std::string ToString(const BlockCost& cost) {
  if (!cost.fits) {
    return absl::StrFormat("does not fit: %.0f threads, %.0f registers, %.0f bytes shared",
                           cost.threads, cost.registers, cost.shared_bytes);
  }
  return absl::StrFormat(
      "%.0f cycles: issue %.0f, local %.0f, level 2 %.0f, memory %.0f, latency %.0f, launches "
      "%.0f; %.0f threads, %.0f registers, %.0f bytes shared",
      cost.total, cost.issue, cost.local, cost.level2, cost.memory, cost.latency, cost.launches,
      cost.threads, cost.registers, cost.shared_bytes);
}

}  // namespace mdh
