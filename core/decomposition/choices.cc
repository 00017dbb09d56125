#include "core/decomposition/choices.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/keyed_form.h"
#include "core/decomposition/unit_use.h"
#include "core/decomposition/validate.h"
#include "core/device/backends.h"
#include "core/expression/contraction_form.h"
#include "core/expression/dependences.h"

namespace mdh {
namespace {

// ---- Members of TuningParameters as values ----

template <auto kMember>
ChoiceValue GetNumber(const TuningParameters& p) {
  return {static_cast<int64_t>(p.*kMember)};
}
template <auto kMember>
void SetNumber(absl::Span<const int64_t> value, TuningParameters* p) {
  p->*kMember = static_cast<std::remove_reference_t<decltype(p->*kMember)>>(value[0]);
}
template <auto kMember>
int64_t GetOfBlocks(const BlockChoices& choices) {
  return static_cast<int64_t>(choices.*kMember);
}
template <auto kMember>
void SetOfBlocks(int64_t value, BlockChoices* choices) {
  choices->*kMember = static_cast<std::remove_reference_t<decltype(choices->*kMember)>>(value);
}

// The row of one word or number; of BlockChoices' too, if it is one of them.
template <auto kMember>
constexpr Choice Number(Choice row) {
  row.get = GetNumber<kMember>;
  row.set = SetNumber<kMember>;
  if constexpr (std::is_invocable_v<decltype(kMember), BlockChoices&>) {
    row.get_of_blocks = GetOfBlocks<kMember>;
    row.set_of_blocks = SetOfBlocks<kMember>;
  }
  return row;
}

ChoiceValue GetScan(const TuningParameters& p) {
  return {p.scan.threads, p.scan.rounds, p.scan.run};
}
void SetScan(absl::Span<const int64_t> v, TuningParameters* p) {
  p->scan = {static_cast<int>(v[0]), static_cast<int>(v[1]), static_cast<int>(v[2])};
}

ChoiceValue GetKeyed(const TuningParameters& p) {
  return {p.keyed.threads, p.keyed.rounds, p.keyed.run, p.keyed.tiles, p.keyed.copies};
}
void SetKeyed(absl::Span<const int64_t> v, TuningParameters* p) {
  p->keyed = {static_cast<int>(v[0]), static_cast<int>(v[1]), static_cast<int>(v[2]),
              static_cast<int>(v[3]), static_cast<int>(v[4])};
}

// Of groups; setting the default leaves warps as they are, and the other way round.
ChoiceValue GetUnit(const TuningParameters& p) {
  const UnitParameters u = p.unit.has_warps() ? UnitParameters() : p.unit;
  return {u.rows, u.columns, u.groups, u.stages, u.parts};
}
// One that is not used has nothing else.
UnitParameters UnitOf(absl::Span<const int64_t> v, UnitParameters unit) {
  if (v[0] == 0) unit = {};
  unit.rows = static_cast<int>(v[0]);
  unit.columns = static_cast<int>(v[1]);
  return unit;
}
void SetUnit(absl::Span<const int64_t> v, TuningParameters* p) {
  if (v[0] == 0 && p->unit.has_warps()) return;
  p->unit = UnitOf(v, p->unit);
  p->unit.groups = static_cast<int>(v[2]);
  p->unit.stages = static_cast<int>(v[3]);
  p->unit.parts = static_cast<int>(v[4]);
  p->unit.warps = {};
}

ChoiceValue GetWarps(const TuningParameters& p) {
  const UnitParameters u = p.unit.has_warps() ? p.unit : UnitParameters();
  return {u.rows,   u.columns, u.warps.along_m, u.warps.along_n,
          u.stages, u.parts,   u.warps.m,       u.warps.k};
}
void SetWarps(absl::Span<const int64_t> v, TuningParameters* p) {
  if (v[0] == 0 && !p->unit.has_warps()) return;
  p->unit = UnitOf(v, p->unit);
  const auto number = [&](size_t n) { return static_cast<int>(v[n]); };
  p->unit.groups = UnitParameters().groups;
  p->unit.stages = number(4);
  p->unit.parts = number(5);
  p->unit.warps = {number(2), number(3), number(6), number(7)};
}

template <auto kMember>
ChoiceValue GetOfUnit(const TuningParameters& p) {
  return {static_cast<int64_t>(p.unit.*kMember)};
}
template <auto kMember>
void SetOfUnit(absl::Span<const int64_t> v, TuningParameters* p) {
  p->unit.*kMember = static_cast<std::remove_reference_t<decltype(p->unit.*kMember)>>(v[0]);
}
bool UsesUnit(const Expression&, const TuningParameters& p) { return p.unit.rows > 0; }
std::string OfUnitObstacle(const ChoiceTarget&, const TuningParameters& p) {
  return p.unit.rows > 0 ? "" : "no matrix unit is used";
}
template <auto kMember>
constexpr Choice OfUnit(Choice row) {
  row.get = GetOfUnit<kMember>;
  row.set = SetOfUnit<kMember>;
  row.lowerings = static_cast<uint8_t>(LoweringTarget::kBlocks);
  row.needs_fused_phases = true;
  row.may_differ = UsesUnit;
  row.own_obstacle = OfUnitObstacle;
  row.first_word = 0;
  return row;
}
constexpr std::array<absl::string_view, 4> kOperandSets = {"none", "a", "b", "both"};
ChoiceValue GetLanes(const TuningParameters& p) { return {p.lanes.begin(), p.lanes.end()}; }
void SetLanes(absl::Span<const int64_t> v, TuningParameters* p) {
  p->lanes.assign(v.begin(), v.end());
}

ChoiceValue UsualLoweringValue(const TuningParameters& p) {
  return {static_cast<int64_t>(UsualLowering(p))};
}

// ---- Obstacles ----

// Of tiles that are not the usual lowering.
std::string LoweringObstacle(const ChoiceTarget&, const TuningParameters& p) {
  return p.lowering == Lowering::kLevels
             ? ""
             : "tiles need nested layers in one nest, without assignments, regions and layouts";
}

std::string ChainsObstacle(const ChoiceTarget& t, const TuningParameters& p) {
  if (!t.expression.has_reduction()) return "";
  return Reassociates(p.numerics)
             ? ""
             : absl::StrCat("numerics=", Name(p.numerics), " fixes the order of values");
}

std::string CombineLack(const DeviceDescription& device, absl::Span<const int64_t> value) {
  switch (static_cast<CombineBlocks>(value[0])) {
    case CombineBlocks::kPartials:
      return "";
    case CombineBlocks::kAtomics:
      return HasAtomicAdd(device, ScalarType::kFloat32) ? "" : "the device does not add atomically";
    case CombineBlocks::kLastBlock:
      return device.features.last_block
                 ? ""
                 : "the last block does not see what others have written on this device";
    case CombineBlocks::kCluster:
      return device.features.clusters ? ""
                                      : "the device has no clusters of blocks (CUDA's have them "
                                        "from compute capability 9.0 on)";
  }
  return "";
}

std::string CombineObstacle(const ChoiceTarget& t, const TuningParameters& p) {
  return p.combine_blocks == CombineBlocks::kAtomics
             ? AtomicsObstacle(t.expression, t.device, p.numerics)
             : CooperationObstacle(t.expression, t.device, p.numerics, p.combine_blocks);
}

std::string ResidentLack(const DeviceDescription& device, absl::Span<const int64_t>) {
  if (HasResidentBlocks(device)) return "";
  return absl::StrCat("compilers for devices of kind ", BackendOf(device.kind).title,
                      " cannot be told how many blocks are resident");
}

std::string EarlyLack(const DeviceDescription& device, absl::Span<const int64_t>) {
  if (HasEarlyLaunches(device)) return "";
  return absl::StrCat("launches on devices of kind ", BackendOf(device.kind).title,
                      " never begin early");
}

std::string EarlyObstacle(const ChoiceTarget& t, const TuningParameters& p) {
  if (p.early_launches != EarlyLaunches::kPrefetches) return "";
  int64_t bytes = 0;
  for (const Buffer& input : t.expression.inputs()) bytes += input.size_bytes();
  if (bytes <= kMostPrefetchedBytes) return "";
  return absl::StrCat("inputs have ", bytes, " bytes, more than ", kMostPrefetchedBytes);
}

std::string OverlapLack(const DeviceDescription& device, absl::Span<const int64_t>) {
  return HasAsyncCopies(device) ? "" : "the device does not copy to shared memory asynchronously";
}

std::string OverlapObstacle(const ChoiceTarget&, const TuningParameters& p) {
  if (p.unit.rows > 0) return "matrix units have copies of their own";
  const auto count =
      std::ranges::count(p.inputs, CopyMode::kAsynchronous, &InputParameters::copy_mode);
  return count > 0 || p.tile.empty() ? "" : "no input is copied asynchronously";
}

std::string SwizzleObstacle(const ChoiceTarget& t, const TuningParameters& p) {
  if (p.unit.rows > 0) return "";  // of tiles, which clusters have as single blocks do
  if (p.combine_blocks == CombineBlocks::kCluster) return "blocks of a cluster are neighbours";
  int axes = 0;  // with several blocks
  for (int d = 0; !p.tile.empty() && d < std::ssize(p.tile[0]) && d < t.expression.rank(); ++d) {
    axes += p.tile[0][d] < t.expression.dimensions()[d].size ? 1 : 0;
  }
  const bool are_in_a_row = p.scan.threads > 0 || p.keyed.threads > 0 || axes < 2;
  return are_in_a_row && !p.tile.empty() ? "blocks are in one row" : "";
}

std::string MirrorsObstacle(const ChoiceTarget& t, const TuningParameters& p) {
  if (p.unit.rows > 0) return "matrix units compute all results";
  return ExchangeableDimensions(t.expression).empty() ? "no results are equal" : "";
}

// ---- Which computations have alternatives ----

bool Reduces(const Expression& e, const TuningParameters&) { return e.has_reduction(); }
bool HasPrefixSums(const Expression& e, const TuningParameters&) { return e.has_prefix_sum(); }
bool HasEqualResults(const Expression& e, const TuningParameters&) {
  return !ExchangeableDimensions(e).empty();
}
bool HasKeys(const Expression& e, const TuningParameters&) { return FindKeyedForm(e).ok(); }
bool IsContraction(const Expression& e, const TuningParameters&) {
  return FindContractionForm(e).ok();
}
// What is usual depends on tables that only the configuration's own device has.
bool GoesLevelByLevel(const Expression&, const TuningParameters& p) {
  return p.lowering == Lowering::kLevels;
}

// ---- What spaces offer ----

bool HasReduction(const ChoiceTarget& t) { return t.expression.has_reduction(); }

// Only outputs that caches do not keep anyway are worth to go past them.
bool HasLongOutputs(const ChoiceTarget& t) {
  int64_t bytes = 0;
  for (const Buffer& buffer : t.expression.outputs()) bytes += buffer.size_bytes();
  return bytes > t.device.l2_bytes && !t.expression.has_prefix_sum();
}

// Not on CPUs, whose compilers unroll themselves.
std::vector<ChoiceValue> OfferUnrolled(const ChoiceTarget& t) {
  if (t.lowering != LoweringTarget::kBlocks) return {};
  std::vector<ChoiceValue> values;
  for (const int points : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}) {
    values.push_back({points});
  }
  return values;
}

std::vector<ChoiceValue> OfferCompilers(const ChoiceTarget& t) {
  std::vector<ChoiceValue> values;
  for (const Compiler compiler : CompilersOf(t.device)) {
    values.push_back({static_cast<int64_t>(compiler)});
  }
  return values;
}

std::vector<ChoiceValue> OfferScans(const ChoiceTarget& t) {
  std::vector<ChoiceValue> values;
  if (!t.expression.has_prefix_sum()) return values;
  values.push_back(GetScan({}));
  // Those of narrow warps are threads of a CPU.
  const int least = t.device.blocks.warp_size < 16 ? 32 : 128;
  for (const int threads : {least, 2 * least, 4 * least, 8 * least}) {
    for (const int rounds : {1, 2, 4, 8}) {
      for (const int run : {1, 2, 4, 8}) values.push_back({threads, rounds, run});
    }
  }
  return values;
}

std::vector<ChoiceValue> OfferKeyed(const ChoiceTarget& t) {
  std::vector<ChoiceValue> values;
  const Result<KeyedForm> form = FindKeyedForm(t.expression);
  if (!form.ok()) return values;
  values.push_back(GetKeyed({}));
  for (const KeyedParameters& k : UsefulCuts(t.expression, *form)) {
    values.push_back({k.threads, k.rounds, k.run, k.tiles, k.copies});
  }
  return values;
}

constexpr int64_t kFlags[] = {0, 1}, kFirstTwo[] = {1, 2}, kFirstThree[] = {1, 2, 3};
constexpr int64_t kPrefetched[] = {0, 2, 8, 32}, kCombinations[] = {1, 2, 3, 4};
constexpr int64_t kResident[] = {0, 2, 4}, kResidentSteps[] = {0, 1, 2, 3, 4, 6, 8};
constexpr int64_t kEarlySteps[] = {2, 4, 1, 3}, kSwizzles[] = {1, 2, 4, 8, 16};

// ---- The table ----

constexpr uint8_t kTiles = static_cast<uint8_t>(LoweringTarget::kRegisterTiles);
constexpr uint8_t kBlocks = static_cast<uint8_t>(LoweringTarget::kBlocks);
constexpr uint8_t kLevels = kBlocks | static_cast<uint8_t>(LoweringTarget::kCacheLevels);
constexpr uint8_t kCaches = kTiles | static_cast<uint8_t>(LoweringTarget::kCacheLevels);

constexpr Choice kChoices[] = {
    // Spaces are of one lowering.
    Number<&TuningParameters::lowering>({.key = "lowering",
                                         .words = {"levels", "tiles"},
                                         .usual = UsualLoweringValue,
                                         .lowerings = kCaches,
                                         .may_differ = GoesLevelByLevel,
                                         .own_obstacle = LoweringObstacle}),
    Number<&TuningParameters::accumulate_in>({.key = "accumulate",
                                              .words = {"registers", "output"},
                                              .is_always_printed = true,
                                              .lowerings = kTiles,
                                              .is_ignored_elsewhere = true,
                                              .offered = kFirstTwo,
                                              .may_pay = HasReduction}),
    Number<&TuningParameters::independent_accumulators>({.key = "chains",
                                                         .words = {"one", "independent"},
                                                         .first_word = 0,
                                                         .is_always_printed = true,
                                                         .lowerings = kTiles,
                                                         .may_differ = Reduces,
                                                         .own_obstacle = ChainsObstacle,
                                                         .offered = kFlags,
                                                         .may_pay = HasReduction}),
    Number<&TuningParameters::compiler>({.key = "compiler",
                                         .words = {"gcc", "clang"},
                                         .is_always_printed = true,
                                         .lowerings = kCaches,
                                         .is_ignored_elsewhere = true,
                                         .offered_for = OfferCompilers}),
    Number<&TuningParameters::streams_results>({.key = "stores",
                                                .words = {"cached", "streaming"},
                                                .first_word = 0,
                                                .lowerings = kTiles,
                                                .offered = kFlags,
                                                .may_pay = HasLongOutputs}),
    Number<&TuningParameters::prefetch>({.key = "prefetch",
                                         .high = kMaxPrefetch,
                                         .lowerings = kTiles,
                                         .offered = kPrefetched,
                                         .may_pay = HasReduction}),
    Number<&TuningParameters::remainder>({.key = "remainder",
                                          .words = {"variants", "vectors", "overlap"},
                                          .lowerings = kTiles,
                                          .offered = kFirstThree}),
    Number<&TuningParameters::dot>({.key = "dot",
                                    .lowerings = kTiles,
                                    .may_differ = HasWords,
                                    .lack = DotLack,
                                    .own_obstacle = DotObstacle,
                                    .offered_for = OfferDots}),
    Number<&TuningParameters::dot_unit>({.key = "dot_unit",
                                         .words = {"vectors", "tiles"},
                                         .lowerings = kTiles,
                                         .may_differ = HasWords,
                                         .lack = DotUnitLack,
                                         .own_obstacle = DotUnitObstacle,
                                         .offered_for = OfferDotUnits}),
    Number<&BlockChoices::combine_blocks>(
        {.key = "combine",
         .words = {"partials", "atomics", "last_block", "cluster"},
         .lowerings = kBlocks,
         .needs_fused_phases = true,
         .may_differ = Reduces,
         .lack = CombineLack,
         .own_obstacle = CombineObstacle,
         // That blocks combine results themselves is for designs: whether they can depends on much.
         .offered = kFirstTwo,
         .steps = kCombinations}),
    {.key = "scan",
     .separator = ':',
     .form = "THREADS:ROUNDS:RUN",
     .get = GetScan,
     .set = SetScan,
     .lowerings = kBlocks,
     .needs_fused_phases = true,
     .may_differ = HasPrefixSums,
     .own_obstacle = ScanObstacle,
     .offered_for = OfferScans},
    Number<&BlockChoices::resident_blocks>({.key = "resident",
                                            .high = kMaxResidentBlocks,
                                            .lowerings = kBlocks,
                                            .lack = ResidentLack,
                                            .offered = kResident,
                                            .steps = kResidentSteps}),
    // Validate has the constraints of these on the nest; spaces, which axes threads run along.
    {.key = "lanes",
     .separator = 'x',
     .get = GetLanes,
     .set = SetLanes,
     .lowerings = kBlocks,
     .needs_fused_phases = true},
    {.key = "keyed",
     .separator = ':',
     .form = "THREADS:ROUNDS:RUN:TILES:COPIES",
     .get = GetKeyed,
     .set = SetKeyed,
     .lowerings = kBlocks,
     .needs_fused_phases = true,
     .may_differ = HasKeys,
     .own_obstacle = KeyedObstacle,
     .offered_for = OfferKeyed},
    // For designs and rules, too: which tiles there are depends on too much at once.
    {.key = "unit",
     .separator = ':',
     .form = "ROWS:COLUMNS:GROUPS:STAGES:PARTS",
     .get = GetUnit,
     .set = SetUnit,
     .lowerings = kBlocks,
     .needs_fused_phases = true,
     .may_differ = IsContraction,
     .lack = UnitLack,
     .own_obstacle = UnitObstacle},
    {.key = "warps",
     .separator = ':',
     .form = "ROWS:COLUMNS:ALONG_M:ALONG_N:STAGES:PARTS:M:K",
     .get = GetWarps,
     .set = SetWarps,
     .lowerings = kBlocks,
     .needs_fused_phases = true,
     .may_differ = IsContraction,
     .lack = WarpsLack,
     .own_obstacle = UnitObstacle},
    OfUnit<&UnitParameters::packed>({.key = "packs", .words = kOperandSets}),
    OfUnit<&UnitParameters::computed>({.key = "computes", .words = kOperandSets}),
    OfUnit<&UnitParameters::turns>({.key = "turns", .low = 1, .high = kMostUnitTurns}),
    OfUnit<&UnitParameters::tensors>({.key = "tensor", .words = kOperandSets}),
    OfUnit<&UnitParameters::producer>({.key = "producer", .words = {"none", "warp", "group"}}),
    OfUnit<&UnitParameters::cluster_m>({.key = "cluster_m", .low = 1, .high = kMaxClusterBlocks}),
    OfUnit<&UnitParameters::cluster_n>({.key = "cluster_n", .low = 1, .high = kMaxClusterBlocks}),
    Number<&BlockChoices::early_launches>({.key = "early",
                                           .words = {"stages", "calls", "none", "prefetches"},
                                           .lowerings = kBlocks,
                                           .lack = EarlyLack,
                                           .own_obstacle = EarlyObstacle,
                                           .offered = kFirstThree,
                                           .steps = kEarlySteps}),
    // Spaces offer numbers of threads by the device's cores.
    Number<&TuningParameters::threads>({.key = "threads", .lowerings = kCaches}),
    Number<&TuningParameters::unroll>({.key = "unroll",
                                       .low = 1,
                                       .high = kMaxUnroll,
                                       .lowerings = kLevels,
                                       .is_ignored_elsewhere = true,
                                       .offered_for = OfferUnrolled}),
    // For designs: spaces have no room for one more choice.
    Number<&BlockChoices::swizzle>({.key = "swizzle",
                                    .low = 1,
                                    .high = 64,
                                    .lowerings = kBlocks,
                                    .needs_fused_phases = true,
                                    .own_obstacle = SwizzleObstacle,
                                    .steps = kSwizzles}),
    Number<&BlockChoices::copy_overlap>({.key = "overlap",
                                         .words = {"none", "copies", "values"},
                                         .lowerings = kBlocks,
                                         .needs_fused_phases = true,
                                         .lack = OverlapLack,
                                         .own_obstacle = OverlapObstacle,
                                         .steps = kFirstThree}),
    // Spaces of tiles offer both, of blocks it is for designs.
    Number<&BlockChoices::mirrors>({.key = "results_of",
                                    .words = {"all", "half"},
                                    .first_word = 0,
                                    .lowerings = kBlocks | kTiles,
                                    .needs_fused_phases = true,
                                    .may_differ = HasEqualResults,
                                    .own_obstacle = MirrorsObstacle,
                                    .steps = kFlags}),
};

}  // namespace

LoweringTarget LoweringTargetOf(const SystemModel& model, const TuningParameters& parameters) {
  if (model.memory == MemoryKind::kExplicit) return LoweringTarget::kBlocks;
  return parameters.lowering == Lowering::kTiles ? LoweringTarget::kRegisterTiles
                                                 : LoweringTarget::kCacheLevels;
}

absl::Span<const Choice> Choices() { return kChoices; }

const Choice& ChoiceOf(absl::string_view key) {
  const auto* const row = std::ranges::find(kChoices, key, &Choice::key);
  if (row == std::end(kChoices)) std::abort();  // a bug of the caller
  return *row;
}

void LeaveOutWhatDeviceLacks(const DeviceDescription& device, TuningParameters* parameters) {
  for (const Choice& choice : kChoices) {
    if (choice.lack == nullptr || choice.is_default(*parameters)) continue;
    if (choice.lack(device, choice.get(*parameters)).empty()) continue;
    choice.set(choice.DefaultFor(*parameters), parameters);
  }
}

}  // namespace mdh
