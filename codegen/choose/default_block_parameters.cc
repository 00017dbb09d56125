#include "codegen/choose/default_block_parameters.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "codegen/choose/block_candidates.h"
#include "codegen/choose/block_levels.h"
#include "codegen/choose/keyed_variants.h"
#include "codegen/choose/unit_variants.h"
#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/nest_shape.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

constexpr int64_t kMaxBlock = 256;             // threads
constexpr int64_t kThreadsPerProcessor = 512;  // that keep a multiprocessor busy
constexpr int64_t kMaxChunk = 32;              // points of reductions between two copies
constexpr double kMinReuse = 4;                // of what is copied to shared memory
// Of reductions on CPUs work-items are lanes of vectors: as many as the widest have of fp32. One
// block has several results of each in registers, but so many blocks are left for a core. Without a
// reduction compilers make vectors of many work-items by themselves.
constexpr int64_t kHostBlock = 16;
constexpr int64_t kHostBlocksOfCore = 4;
constexpr int64_t kHostResults = 16;
// Callers wait for default parameters. Six climbs with as many buffers are never cut short; there
// are less where an evaluation, which goes through all buffers, takes longer.
constexpr int kMostEvaluations = 4200;
constexpr int kUsualBuffers = 4;
constexpr int kMostRounds = 4;       // of prefix sums in registers, for a line to fit into a block
constexpr int kMostBeforeScans = 8;  // designs that are tried for reductions before prefix sums

// How a dimension is cut: blocks, then loops around and inside of the threads.
struct DimensionCut {
  int64_t blocks = 1;     // along a reduction
  int64_t threads = 1;    // of a block
  int64_t registers = 1;  // results of a thread, threads apart from each other
  int64_t chunk = 1;      // points of a reduction between two copies
};

// How blocks compute prefix sums in registers: as suits the device, or in blocks that are larger by
// so much that a line fits into one. Then no block waits for another one.
ScanParameters ScanOfLines(const Expression& e, const DeviceDescription& device,
                           TuningParameters p) {
  const ChoiceTarget target = {e, device, LoweringTarget::kBlocks};
  const ScanParameters usual = ScanOf(target, p);
  int64_t line = 0;
  for (int d = 0; d < e.rank(); ++d) {
    const bool is_line = e.is_prefix_sum(d) && e.outputs()[0].Linearized(0).coefficients[d] == 1;
    if (is_line) line = e.dimensions()[d].size;
  }
  if (usual.threads == 0) return usual;
  for (const int threads : {usual.threads, 2 * usual.threads}) {
    for (int rounds = usual.rounds; rounds <= std::max(usual.rounds, kMostRounds); rounds *= 2) {
      p.scan = usual;
      p.scan.threads = threads;
      p.scan.rounds = rounds;
      const int64_t room = int64_t{threads} * rounds * usual.run;
      if (room >= line && ScanObstacle(target, p).empty()) return p.scan;
    }
  }
  return usual;
}

class BlockRules {
 public:
  // What to leave out, the next more of it, until the parameters are valid.
  enum Simplicity { kEverything, kNoParallelReduction, kNoRegisterTile, kOneThread, kNoRegisters };

  BlockRules(const Expression& e, const SystemModel& m, const DeviceDescription& device,
             NumericsPolicy numerics, Simplicity simplicity)
      : e_(e),
        m_(m),
        device_(device),
        simplicity_(simplicity),
        is_ordered_(!Reassociates(numerics)),
        on_host_(RunsOnHost(device) && e.has_reduction()),
        levels_(e, m, numerics),
        p_(levels_.parameters),
        cuts_(e.rank()) {
    p_.scan = ScanOfLines(e, device, p_);
  }

  TuningParameters Run() {
    ChooseThreadDimensions();
    if (simplicity_ < kOneThread) ChooseThreads();
    ChooseReductions();
    SetTiles();
    SetOrder();
    SetAssignment();
    if (simplicity_ < kNoRegisters) SetResults();
    for (const Buffer& buffer : e_.inputs()) p_.inputs.push_back(ReadInPlace(buffer));
    return p_;
  }

  // Copies in shared memory of the inputs that are worth it and fit.
  TuningParameters WithCopies(TuningParameters p) const {
    // Shared memory of CPUs is memory.
    if (on_host_ || simplicity_ >= kOneThread || !Validate(e_, m_, device_, p).ok()) return p;
    for (size_t b = 0; b < e_.inputs().size(); ++b) {
      if (!CanStageApart(e_.inputs()[b])) continue;
      TuningParameters copied = p;
      copied.inputs[b].memory.regions = levels_.RegionsFrom(chunk_begin_, levels_.shared);
      if (Reuse(copied, static_cast<int>(b)) < kMinReuse) continue;
      if (!Validate(e_, m_, device_, copied).ok()) continue;
      p = copied;
      for (const int width : {4, 2}) {
        copied.inputs[b].copy_width = width;
        if (!Validate(e_, m_, device_, copied).ok()) continue;
        p = copied;
        break;
      }
    }
    return p;
  }

 private:
  int64_t size(int d) const { return e_.dimensions()[d].size; }
  // Also a dimension whose prefix sums are computed afterwards, in tiles of their own.
  bool IsKept(int d) const {
    const bool is_scanned_later = p_.scan.threads > 0 && e_.is_prefix_sum(d);
    return is_scanned_later || e_.combine_operators()[d].is_concat();
  }

  int64_t Points(bool kept) const {
    int64_t points = 1;
    for (int d = 0; d < e_.rank(); ++d) {
      if (IsKept(d) == kept) points *= size(d);
    }
    return points;
  }
  int64_t WantedThreads() const {
    return int64_t{device_.blocks.multiprocessors} * (on_host_ ? kHostBlock : kThreadsPerProcessor);
  }
  int64_t MaxBlock() const {
    return std::min<int64_t>(on_host_ ? kHostBlock : kMaxBlock,
                             device_.blocks.max_threads_per_block);
  }

  // ---- Threads ----

  // How many accesses are contiguous along d; those of results and of large inputs count more.
  double Contiguity(int d) const {
    double score = 0;
    const auto add = [&](const Buffer& buffer, double weight) {
      for (size_t a = 0; a < buffer.accesses.size(); ++a) {
        const int64_t stride = buffer.Linearized(static_cast<int>(a)).coefficients[d];
        const double share = weight / static_cast<double>(buffer.accesses.size());
        if (stride == 1) score += share;
        if (stride > 1) score -= share / 8;
      }
    };
    double all = 1;
    for (const Buffer& input : e_.inputs()) all += static_cast<double>(input.size_bytes());
    for (const Buffer& input : e_.inputs()) {
      add(input, 0.5 + static_cast<double>(input.size_bytes()) / all);
    }
    for (const Buffer& output : e_.outputs()) {
      if (IsKept(d)) add(output, Points(false) > 64 ? 0.5 : 2);
    }
    return size(d) < 4 ? score / 4 : score;
  }

  // x_: the dimension of the result along which neighbouring threads run; y_: the other one. -1:
  // there is none.
  void ChooseThreadDimensions() {
    for (int d = 0; d < e_.rank(); ++d) {
      if (IsKept(d) && (x_ < 0 || Contiguity(d) > Contiguity(x_))) x_ = d;
    }
    for (int d = 0; d < e_.rank(); ++d) {
      if (d != x_ && IsKept(d) && (y_ < 0 || size(d) > size(y_))) y_ = d;
    }
  }

  bool ReductionIsContiguous() const {
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.is_reduction(d) && (x_ < 0 || Contiguity(d) > Contiguity(x_))) return true;
    }
    return false;
  }

  // As scans in registers cut the first prefix sum that they compute. They alone compute then: what
  // the parameters say beyond `scan` describes it, and decides on nothing.
  void ChooseThreadsOfScan() {
    x_ = e_.rank() - 1;
    y_ = -1;
    while (!e_.is_prefix_sum(x_)) --x_;
    DimensionCut& cut = cuts_[x_];
    cut.threads = RoundDownToPowerOfTwo(std::min<int64_t>(size(x_), p_.scan.threads));
    while (cut.registers < p_.scan.rounds * p_.scan.run &&
           size(x_) / 2 >= cut.registers * cut.threads) {
      cut.registers *= 2;
    }
  }

  void ChooseThreads() {
    if (x_ < 0) return;
    const bool only_scans = p_.scan.threads > 0 && !e_.has_reduction();
    if (only_scans && simplicity_ == kEverything) return ChooseThreadsOfScan();
    const int64_t points = Points(true);
    // Rows of a matrix times a vector: threads belong on the reduction.
    const int64_t many = (on_host_ ? 1 : 16) * WantedThreads();
    const bool leave_room = simplicity_ == kEverything && !is_ordered_ && e_.has_reduction() &&
                            ReductionIsContiguous() && points < many && Points(false) >= 256;
    const int64_t most = leave_room ? (on_host_ ? 1 : 4) : MaxBlock();
    const int64_t wide = y_ >= 0 && size(y_) >= 8 ? 16 : 64;
    cuts_[x_].threads = std::min(RoundDownToPowerOfTwo(std::min(size(x_), wide)), most);
    if (y_ >= 0) {
      cuts_[y_].threads = std::min(RoundDownToPowerOfTwo(std::min<int64_t>(size(y_), 16)),
                                   most / cuts_[x_].threads);
    }
    if (simplicity_ >= kNoRegisterTile || leave_room) return;
    if (on_host_) return ChooseResultsOnHost(points);
    if (Points(false) < 8) return;
    int64_t threads = points;
    for (const int d : {y_, x_}) {
      while (d >= 0 && cuts_[d].registers < 4 && threads / 2 >= WantedThreads() &&
             size(d) >= 2 * cuts_[d].registers * cuts_[d].threads) {
        cuts_[d].registers *= 2;
        threads /= 2;
      }
    }
  }

  // Of every work-item.
  void ChooseResultsOnHost(int64_t points) {
    int64_t left = points / (cuts_[x_].threads * kHostBlocksOfCore);
    const int d = y_ >= 0 ? y_ : x_;
    while (cuts_[d].registers < kHostResults && left / 2 >= device_.blocks.multiprocessors &&
           size(d) >= 2 * cuts_[d].registers * cuts_[d].threads) {
      cuts_[d].registers *= 2;
      left /= 2;
    }
  }

  // ---- Reductions and prefix sums ----

  void ChooseReductions() {
    int64_t chunk = 1, wanted = 1, threads = 1;
    if (simplicity_ == kEverything && !is_ordered_) {
      wanted = CeilDivide(WantedThreads(), std::max<int64_t>(1, Points(true)));
    }
    for (const DimensionCut& cut : cuts_) threads *= cut.threads;
    std::vector<int> dimensions;
    for (int d = e_.rank() - 1; d >= 0; --d) {
      if (!IsKept(d)) dimensions.push_back(d);
    }
    std::ranges::stable_sort(dimensions,
                             [&](int a, int b) { return Contiguity(a) > Contiguity(b); });
    for (const int d : dimensions) {
      DimensionCut& cut = cuts_[d];
      if (e_.is_reduction(d)) {
        if (wanted > 1) {
          const int64_t most = std::min({MaxBlock() / threads, size(d), wanted});
          cut.threads = RoundDownToPowerOfTwo(std::max<int64_t>(1, most));
          threads *= cut.threads;
          wanted = CeilDivide(wanted, cut.threads);
        }
        // Neighbouring work-items of a CPU, which are one vector, read neighbours.
        const bool has_lanes = on_host_ && cut.threads > 1;
        if (!is_ordered_ && !has_lanes) {
          cut.chunk = std::min(CeilDivide(size(d), cut.threads), CeilDivide(kMaxChunk, chunk));
        }
        chunk *= cut.chunk;
      }
      if (wanted > 1) {
        cut.blocks = std::min(wanted, CeilDivide(size(d), 16 * cut.threads * cut.chunk));
        wanted = CeilDivide(wanted, cut.blocks);
      }
    }
  }

  // ---- Table 1 ----

  void SetTiles() {
    for (int d = 0; d < e_.rank(); ++d) {
      const DimensionCut& cut = cuts_[d];
      const int threads = levels_.warps >= 0 && d == y_ ? levels_.warps : levels_.threads;
      const int64_t inside = levels_.Cut(
          d, {{levels_.inner, cut.chunk}, {threads, cut.threads}, {levels_.outer, cut.registers}});
      levels_.CutBlocks(d, IsKept(d)     ? inside
                           : is_ordered_ ? OrderedPart(e_, p_.numerics, d)
                                         : levels_.ShareOf(d, cut.blocks, inside));
    }
  }

  // Blocks, the loops of prefix sums, whose results no thread could keep, threads, then the loops
  // of reductions, and inside those of results.
  void SetOrder() {
    const int layers = levels_.layers, outer = levels_.outer;
    const auto is_core = [&](int l) { return m_.layers[l].memory_region.empty(); };
    for (int l = 0; l <= levels_.blocks; ++l) levels_.Add(l);
    levels_.Add(outer, [&](int d) { return !IsKept(d) && !e_.is_reduction(d); });
    for (int l = levels_.blocks + 1; l < layers; ++l) {
      if (is_core(l)) levels_.Add(l);
    }
    levels_.Add(outer, [&](int d) { return !IsKept(d) && e_.is_reduction(d); });
    chunk_begin_ = levels_.place();
    for (int l = levels_.blocks + 1; l < layers; ++l) {
      if (l != outer && !is_core(l)) levels_.Add(l);
    }
    levels_.Add(outer, [&](int d) { return IsKept(d); });
  }

  // A block's x along x_.
  void SetAssignment() {
    std::vector<int> grid(e_.rank());
    std::iota(grid.begin(), grid.end(), 0);
    std::vector<int> inside = grid;
    std::ranges::stable_sort(inside, [&](int a, int b) { return Rank(a) < Rank(b); });
    levels_.Assign(inside, grid);
  }

  int Rank(int d) const {
    if (x_ >= 0 && cuts_[x_].threads >= 8) return d == x_ ? 0 : d == y_ ? 1 : 2;
    if (!IsKept(d)) return cuts_[d].threads > 1 ? 0 : 3;
    return d == x_ ? 1 : d == y_ ? 2 : 3;
  }

  void SetResults() {
    levels_.SetResults([](int) { return false; },
                       [&](int d) { return e_.is_prefix_sum(d) && !IsKept(d); });
  }

  // How often a block reads each element of the copy.
  double Reuse(const TuningParameters& p, int b) const {
    const NestShape shape(e_, m_, p);
    const std::vector<int> places = shape.CopyPlaces(b);
    if (places.empty()) return 0;
    double reads = static_cast<double>(e_.inputs()[b].accesses.size());
    for (int n = 0; n < shape.count(); ++n) {
      if (shape.IsInBox(n, places[0], /*shared=*/true)) {
        reads *= static_cast<double>(shape.levels()[n].parts);
      }
    }
    return reads / static_cast<double>(shape.CopyBox(b, places[0], /*shared=*/true).elements());
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const Simplicity simplicity_;
  const bool is_ordered_;
  const bool on_host_;  // a reduction on a CPU
  BlockLevels levels_;
  TuningParameters& p_;  // theirs
  std::vector<DimensionCut> cuts_;
  int x_ = -1, y_ = -1;
  int chunk_begin_ = 0;  // place in the order
};

int MostEvaluations(const Expression& expression) {
  const auto buffers = static_cast<int>(expression.inputs().size() + expression.outputs().size());
  return kMostEvaluations * kUsualBuffers / std::max(kUsualBuffers, buffers);
}

// What blocks compute where prefix sums of it follow in registers: all of their dimensions stay.
Expression WithoutPrefixSums(const Expression& expression) {
  ExpressionSpec spec = expression.spec();
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_prefix_sum(d)) spec.combine_operators[d] = CombineOperator::Concat();
  }
  return Expression::Unchecked(std::move(spec));
}

// Without a unit, without keys; cycles that they take by the cost model, if it knows.
struct ThreadParameters {
  TuningParameters parameters;
  double cycles = std::numeric_limits<double>::infinity();
};

// What the cost model of designs holds to be best; of prefix sums it knows the reductions before
// them.
std::optional<ThreadParameters> ParametersOfModel(const Expression& expression,
                                                  const SystemModel& model,
                                                  const DeviceDescription& device,
                                                  NumericsPolicy numerics) {
  BlockCandidateOptions options = {.evaluations_in_all = MostEvaluations(expression)};
  ScanParameters scan;
  std::optional<Expression> reduced;
  if (expression.has_prefix_sum()) {
    TuningParameters any;
    any.numerics = numerics;
    scan = ScanOfLines(expression, device, any);
    if (scan.threads == 0 || !expression.has_reduction()) return std::nullopt;
    reduced = WithoutPrefixSums(expression);
    options.count = kMostBeforeScans;
    options.shares_reductions = false;
  }
  for (BlockCandidate& candidate :
       BlockCandidates(reduced ? *reduced : expression, model, device, options)) {
    candidate.parameters.scan = scan;
    candidate.parameters.numerics = numerics;
    if (!reduced || Validate(expression, model, device, candidate.parameters).ok()) {
      return ThreadParameters{std::move(candidate.parameters), candidate.cost.total};
    }
  }
  return std::nullopt;
}

ThreadParameters ParametersOfThreads(const Expression& expression, const SystemModel& model,
                                     const DeviceDescription& device, NumericsPolicy numerics) {
  if (Reassociates(numerics)) {
    std::optional<ThreadParameters> modelled =
        ParametersOfModel(expression, model, device, numerics);
    if (modelled.has_value()) return *std::move(modelled);
  }
  TuningParameters p;
  for (const BlockRules::Simplicity simplicity :
       {BlockRules::kEverything, BlockRules::kNoParallelReduction, BlockRules::kNoRegisterTile,
        BlockRules::kOneThread, BlockRules::kNoRegisters}) {
    BlockRules rules(expression, model, device, numerics, simplicity);
    p = rules.WithCopies(rules.Run());
    if (Validate(expression, model, device, p).ok()) break;
  }
  return {std::move(p)};
}

// GPUs combine integers in shared memory at once, even if all elements have the same key; others by
// loops, which take long then.
bool AreKeysSafe(const Expression& expression, const DeviceDescription& device) {
  return device.blocks.warp_size > 1 &&
         std::ranges::all_of(expression.outputs(), [](const Buffer& b) {
           return std::ranges::all_of(b.type.fields(), [](const ElementType::Field& field) {
             return !IsFloatingPoint(field.type);
           });
         });
}

}  // namespace

TuningParameters DefaultBlockParameters(const Expression& expression, const SystemModel& model,
                                        const DeviceDescription& device, NumericsPolicy numerics) {
  auto [p, cycles] =
      ParametersOfThreads(expression, model, device, PolicyFor(expression, numerics));
  // What the parameters say beyond `unit` and `keyed` decides on little then.
  std::vector<TuningParameters> units = UnitVariants(expression, model, device, p, /*most=*/1);
  if (!units.empty() && PrefersUnit(expression, device, units.front(), cycles)) {
    return std::move(units.front());
  }
  if (!AreKeysSafe(expression, device)) return p;
  std::vector<TuningParameters> keyed = KeyedVariants(expression, model, device, p);
  return keyed.empty() ? p : std::move(keyed.front());
}

std::vector<TuningParameters> ScanVariants(const Expression& expression, const SystemModel& model,
                                           const DeviceDescription& device,
                                           const TuningParameters& parameters) {
  std::vector<TuningParameters> variants;
  if (parameters.scan.threads == 0) return variants;
  const std::vector<int> like_it = {parameters.scan.threads, 2 * parameters.scan.threads};
  const bool is_narrow = parameters.scan.threads < 128;
  for (const int threads : is_narrow ? like_it : std::vector{256, 512, 128, 1024}) {
    for (const int rounds : {4, 2, 8, 1}) {
      TuningParameters variant = parameters;
      variant.scan.threads = threads;
      variant.scan.rounds = rounds;
      if (variant == parameters || !Validate(expression, model, device, variant).ok()) continue;
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

}  // namespace mdh
