// Tuning parameters (paper, Table 1, and code-level parameters beyond it): one value each is a
// configuration, which fixes a decomposition completely.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/device_description.h"
#include "core/device/system_model.h"
#include "core/expression/expression.h"
#include "core/expression/numerics.h"

namespace mdh {

// Definition 16. Zero-based.
struct MdhLevel {
  int layer;
  int dimension;

  friend auto operator<=>(const MdhLevel&, const MdhLevel&) = default;
};

// Definition 14. Zero-based: layer of the system model and dimension of its arrangement (x, y, z of
// CUDA's blocks and threads; memory layers ignore it).
struct AsmLevel {
  int layer;
  int dimension;

  friend auto operator<=>(const AsmLevel&, const AsmLevel&) = default;
};

// One value per MDH level: [layer][dimension].
template <typename T>
using LevelTable = std::vector<std::vector<T>>;

// When and by whom the parts of a phase are processed: D1 and D2, S1 and S2, or R1 and R2.
struct PhaseParameters {
  // All MDH levels, the outermost loop first.
  std::vector<MdhLevel> order;
  // A bijection; empty: level (l, d) belongs to layer l of the model, whose dimensions are numbered
  // in `order`.
  LevelTable<AsmLevel> assignment;

  friend bool operator==(const PhaseParameters&, const PhaseParameters&) = default;
};

// Where a buffer's parts are kept and how they are laid out there: D3 and D4 of an input, R3 and R4
// of an output.
struct MemoryParameters {
  // Number of a memory region of the model (SystemModel::memory_regions()); going inwards in the
  // order of the phase, regions only get faster. Where the region changes, the part that the levels
  // from there on need is copied (inputs) or kept (outputs). Empty: the outermost region
  // everywhere. Caches copy by themselves: there, regions say what is intended and have no effect
  // on code.
  LevelTable<int> regions;
  // Order of the buffer's dimensions, outermost first: a permutation of 0..D_b-1. Where the data is
  // in the user's buffer: 0..D_b-1. Empty: that everywhere.
  LevelTable<std::vector<int>> layouts;

  friend bool operator==(const MemoryParameters&, const MemoryParameters&) = default;
};

// Region and layout of one operand of the scalar function: S3 and S4, or S5 and S6.
struct ScalarMemory {
  int region;
  std::vector<int> layout;

  friend bool operator==(const ScalarMemory&, const ScalarMemory&) = default;
};

// How the threads of a block move elements to a copy that they share: through registers, or by
// copies that run beside what the thread does next and need none.
enum class CopyMode : uint8_t { kThroughRegisters = 1, kAsynchronous = 2 };

// Where an input buffer is read from. On targets whose memory is explicit (CUDA, OpenCL), `memory`
// says it all. On targets with caches: in place, or from a packed copy of the part of the buffer
// that one part of layer `stage_layer` needs.
struct InputParameters {
  static constexpr int kInPlace = -2;      // no copy
  static constexpr int kWholeBuffer = -1;  // one copy, packed by all threads before the computation
  int stage_layer = kInPlace;              // or the number of a memory layer (role kMemory)
  std::vector<int> layout;                 // D4: order of the buffer's dimensions in the copy,
                                           // outermost first; a permutation of 0..D_b-1
  // Buffer dimension whose register tile is stored innermost ("strips"), or -1.
  int strip_dimension = -1;

  MemoryParameters memory = {};
  // Of the copy that the threads of a block share: elements that rows of its innermost dimension
  // are longer than needed (against bank conflicts), elements that a thread moves at once, how, and
  // parts that have room there (1: copy, then compute; more: copy the next parts during the
  // computation). Through registers 1 or 2, asynchronously 2 to kMaxAsyncStages.
  static constexpr int kMaxPadding = 64;
  static constexpr int kMaxAsyncStages = 4;
  int padding = 0;
  int copy_width = 1;
  int copy_stages = 1;
  CopyMode copy_mode = CopyMode::kThroughRegisters;

  friend bool operator==(const InputParameters&, const InputParameters&) = default;
};

// Where results accumulate (R3).
enum class AccumulateIn : uint8_t {
  kRegisters = 1,  // reductions of the innermost memory layer run inside the register tile
  kOutput = 2,     // the loop order is free; results go to memory after every register tile
};

// How register tiles cover the points that are left over at the end of a dimension that is not
// reduced. A last tile may begin earlier than they do and compute some points once more where it
//   - overwrites results: no loop of a reduction runs around the tiles,
//   - stays within what one core has, and within its copies of parts of inputs.
enum class Remainder : uint8_t {
  kVariants = 1,  // by a smaller tile, with narrower vectors for what fills none
  // Along the lanes, by as few whole vectors as hold them: those of a tile that begins earlier; or
  // where it must not, the last vector of a tile begins earlier, and the tile before leaves it
  // points that it needs. Without lanes, as kVariants.
  kVectors = 2,
  kOverlap = 3,  // by a whole tile that begins earlier; where it must not, as kVectors
};

// How the parts of a reduction that several blocks compute become one result (explicit memory).
enum class CombineBlocks : uint8_t {
  kPartials = 1,  // partial results in device memory, which another stage combines
  kAtomics = 2,   // a stage before sets the outputs to zero, and blocks add to them atomically
  // Partial results in device memory; of the blocks that have results in common, the one that ends
  // last combines them. A stage before sets the counters of these blocks to zero.
  kLastBlock = 3,
  // Blocks that have results in common are a cluster, and read each other's shared memory: no other
  // stage.
  kCluster = 4,
};

// Which launches may begin before what is in front of them in the stream has ended (CUDA's
// programmatic dependent launch). They wait themselves, before they touch what may not be ready.
enum class EarlyLaunches : uint8_t {
  kStages = 1,  // all of a call but the first
  kCalls = 2,   // all of a call: the first one waits before it reads inputs, which what is in front
                // of it may write
  kNone = 3,
  kPrefetches = 4,  // as kCalls, and brings inputs to the cache of all blocks before it waits
};
inline constexpr int64_t kMostPrefetchedBytes = int64_t{16} << 20;  // of all inputs
// Whether the first launch of a call may.
inline bool AreCallsEarly(EarlyLaunches early) {
  return early == EarlyLaunches::kCalls || early == EarlyLaunches::kPrefetches;
}

// How blocks of threads compute prefix sums along a dimension: parts of it, which one block scans,
// are summed up first and scanned once the sums of all parts before them are known. Neither needs
// the values of f in memory: where nothing is reduced, f is evaluated for the sum of the part, and
// evaluated again for its prefix sums.
struct ScanParameters {
  int threads = 0;  // of a block; 0: all numbers are what suits the device (validate.h, ScanOf)
  // A thread keeps `rounds` runs of `run` neighbouring points in registers; those of the threads of
  // a warp are neighbours. Short lines have fewer, and runs that no vector can move are cut up.
  int rounds = 1;
  int run = 1;

  friend bool operator==(const ScanParameters&, const ScanParameters&) = default;
};

// How blocks of threads combine results by key (core/decomposition/keyed_form.h): a block has a
// table of the keys in shared memory, looks every element of its part up once, combines there, and
// then its results with those of other blocks. Parts are of whole tiles: `threads` x `rounds` x
// `run` elements.
struct KeyedParameters {
  int threads = 0;  // of a block; 0: every element is compared with every key
  // A thread has `rounds` runs of `run` neighbouring elements in registers; those of the threads of
  // a warp are neighbours. Runs that no vector can move are cut up.
  int rounds = 1;
  int run = 1;
  int tiles = 1;  // of a part, one after the other
  // Of every result in shared memory: neighbouring threads combine with different ones.
  int copies = 1;

  friend bool operator==(const KeyedParameters&, const KeyedParameters&) = default;
};

// Operands of a contraction; a bit each.
enum class UnitOperands : uint8_t { kNone = 0, kA = 1, kB = 2, kBoth = 3 };
inline bool Has(UnitOperands set, UnitOperands one) {
  return (static_cast<int>(set) & static_cast<int>(one)) != 0;
}

// Warps of a block that multiply by instructions of their own, with operands in registers: so many
// along m, and along n, each with a part of the block's tile; and the shape of the instruction
// (core/device/matrix_instruction.h), whose n is 8. All 0: groups of 128 threads multiply together.
struct UnitWarps {
  int along_m = 0;
  int along_n = 0;
  int m = 0;
  int k = 0;

  friend bool operator==(const UnitWarps&, const UnitWarps&) = default;
};

// A warp; or a group of 128 threads, of which one works, and which leaves its registers to those
// that multiply: sums of large tiles need them.
enum class UnitProducer : uint8_t { kNone, kWarp, kGroup };

// How blocks of threads compute contractions on matrix units (core/decomposition/unit_plan.h): a
// block has a tile of rows (m) by columns (n), whose sums are in registers: groups of 128 threads
// have those of as many rows each, or warps those of a part each. Operands come to shared memory in
// stages of 128 bytes along k, by asynchronous copies that begin up to `stages` stages ahead
// (UnitPlan::ahead), or one fewer of warps, which have what they multiply in registers.
struct UnitParameters {
  int rows = 0;  // of a tile; 0: the unit is not used
  int columns = 0;
  int groups = 1;
  int stages = 4;
  int parts = 1;  // blocks among which k is divided
  // A stage before copies operands to scratch memory, as rows that are multiples of 16 bytes.
  UnitOperands packed = UnitOperands::kNone;
  // Threads load what operands are made of, compute the elements and write them to shared memory,
  // where others are copied as they are.
  UnitOperands computed = UnitOperands::kNone;
  UnitWarps warps = {};  // instead of groups
  // Tiles that a block computes one after the other (persistent blocks): it begins the copies for
  // the next one before it stores the results of one.
  int turns = 1;
  // Operands whose stages the tensor copy engine brings (core/decomposition/unit_tensor.h): a
  // thread begins a copy of the whole stage, where others copy a piece each.
  UnitOperands tensors = UnitOperands::kNone;
  // Further threads begin the copies, of both operands by the engine, as places become free:
  // groups need not meet at every stage, and the next tile's come while results are stored.
  UnitProducer producer = UnitProducer::kNone;
  // Blocks of a cluster: so many along m, which have stages of B in common, by so many along n,
  // which have those of A. The producer of each brings a part of these, to all of them (multicast).
  int cluster_m = 1;
  int cluster_n = 1;

  bool has_warps() const { return !(warps == UnitWarps()); }
  // That multiply; and of the block.
  int threads() const { return has_warps() ? 32 * warps.along_m * warps.along_n : 128 * groups; }
  int launched_threads() const {
    return threads() + (producer == UnitProducer::kGroup ? 128 : has_producer() ? 32 : 0);
  }
  bool has_producer() const { return producer != UnitProducer::kNone; }
  int cluster() const { return cluster_m * cluster_n; }
  // Blocks that have the stages of an operand in common.
  int sharers_of(bool is_a) const { return is_a ? cluster_n : cluster_m; }

  friend bool operator==(const UnitParameters&, const UnitParameters&) = default;
};

// kNvcc: of kernels in CUDA C++, where it is better than NVRTC; no value of a parameter.
enum class Compiler : uint8_t { kGcc = 1, kClang = 2, kNvcc = 3 };
// Those of C that the device's description names, gcc first; gcc if it names none.
std::vector<Compiler> CompilersOf(const DeviceDescription& device);

// What multiplies words of neighbours: vector registers, or the tile registers that some CPUs have
// beside them (AMX).
enum class DotUnit : uint8_t { kVectors = 1, kTiles };

inline constexpr int kMostUnitTurns = 256;
inline constexpr int kMaxPrefetch = 64;  // iterations
inline constexpr int kMaxUnroll = 4096;  // points; compilers take long for more

// How levels become loops.
enum class Lowering : uint8_t {
  kLevels = 1,  // each of them a loop, or the number of a core
  // On targets with caches: the innermost memory layer is a tile of results in registers, in
  // vectors along one dimension. Layers are nested, and levels, phases and regions are the usual
  // ones.
  kTiles = 2,
};

// What runs beside asynchronous copies of a part that is needed later
// (codegen/passes/pass_overlap_copies.h).
enum class CopyOverlap : uint8_t {
  kNone = 1,  // all begin, then the part at hand is computed
  kCopies,    // they begin between the points of the part at hand
  kValues,    // and values of the next part are loaded before the last points of this one
};

// What kernels of blocks of threads have beside how they are cut; designs for them
// (codegen/choose/block_design.h) have it, too.
struct BlockChoices {
  // What is possible is what AtomicsObstacle, CooperationObstacle
  // (core/decomposition/constraints.h) and Validate say.
  CombineBlocks combine_blocks = CombineBlocks::kPartials;
  // Blocks of the computation for which a multiprocessor shall have room at a time: the compiler
  // uses fewer registers, if need be. 0: as many registers as it likes.
  int resident_blocks = 0;
  EarlyLaunches early_launches = EarlyLaunches::kStages;
  // Rows of the grid, along y, that blocks run through together, column by column (threadblock
  // swizzling): those that run at the same time are near each other along both axes and have more
  // of what they read in common. As many of them as divide the grid; 1: row by row.
  int swizzle = 1;
  CopyOverlap copy_overlap = CopyOverlap::kNone;
  // Of two exchangeable dimensions (ExchangeableDimensions), blocks, or register tiles, compute
  // results on and below the diagonal, and those below it are stored twice; those above it do not.
  // Without effect where results go to arrays of partial results first, and in joint groups.
  bool mirrors = false;

  friend bool operator==(const BlockChoices&, const BlockChoices&) = default;
};

// Groups of dimensions that are run through as one (core/decomposition/fuse_dimensions.h), each
// from the outside in: the last one has all points of its group.
using FusedDimensions = std::vector<std::vector<int>>;

// The order of dimensions in the user's buffer, and an input that is read there.
std::vector<int> RowMajor(const Buffer& buffer);
InputParameters ReadInPlace(const Buffer& buffer);

// One value for every parameter. Plain data; whether it is valid for an expression, a system model
// and a device is what Validate says. Those beyond Table 1 that are a word or numbers have rows in
// core/decomposition/choices.h.
struct TuningParameters : BlockChoices {
  std::string system_model;  // by name
  Lowering lowering = Lowering::kLevels;
  // All other parameters are for the expression that FuseDimensions makes of these groups.
  FusedDimensions fused = {};
  // 0: extent of one part on [layer][dimension] in points. Decreasing along the layers; a part of
  // layer l is cut into ceil(extent[l-1] / extent[l]) parts, the last one perhaps smaller.
  std::vector<std::vector<int64_t>> tile;
  // D1 = S1 = R1 and D2 = S2 = R2: the three phases are one fused loop nest.
  PhaseParameters phase;
  // The scalar phase's, and the re-composition phase's, where they are set apart from the
  // de-composition phase: then the phases are loop nests of their own.
  std::optional<PhaseParameters> scalar_phase = {};
  std::optional<PhaseParameters> recomposition_phase = {};
  std::vector<InputParameters> inputs;         // one per input buffer
  std::vector<MemoryParameters> outputs = {};  // one per output buffer, or none: the outermost
                                               // region (R3; accumulate_in with register tiles)
  // One per input, and one per output, or none: the innermost region, as the buffer is laid out.
  std::vector<ScalarMemory> scalar_inputs = {}, scalar_outputs = {};
  // Sequential loops are unrolled, the innermost first, while their bodies have at most so many
  // points, 1 to kMaxUnroll (explicit memory).
  int unroll = 64;
  AccumulateIn accumulate_in = AccumulateIn::kRegisters;
  // Unrolled reductions keep one accumulator per unrolled step instead of one chain.
  bool independent_accumulators = false;
  // Register tiles: results that are final when a tile stores them go past the caches. Elsewhere,
  // and where lanes are not along neighbours in the output, without effect.
  bool streams_results = false;
  // Register tiles: so many iterations ahead the innermost loop over points requests what it reads
  // in place; tiles that add to what is in memory already request it before they begin; and where
  // one tile uses what is copied, it requests what is copied next. 0: not.
  int prefetch = 0;
  // Register tiles.
  Remainder remainder = Remainder::kVariants;
  // Register tiles of contractions on dot instructions (core/decomposition/dot_plan.h): the number,
  // counted from 1, of the dimension whose neighbours one instruction multiplies and adds up. 0: no
  // such instructions.
  int dot = 0;
  DotUnit dot_unit = DotUnit::kVectors;
  ScanParameters scan = {};
  // How many threads of a tile of lanes lie along each dimension of the layer of threads: x, y, z
  // and further ones. Neighbouring threads of a block fill one tile after the other, in both cases
  // along x first; tiles divide warps. Empty: threads are numbered without tiles.
  std::vector<int64_t> lanes = {};
  KeyedParameters keyed = {};
  UnitParameters unit = {};
  // Targets with caches: threads of a call at most, of those that OpenMP gives. 1: the caller's,
  // without a parallel region.
  static constexpr int kAllThreads = 0;
  int threads = kAllThreads;
  Compiler compiler = Compiler::kGcc;
  // Not searched for, but given: which decompositions are valid depends on it.
  NumericsPolicy numerics = NumericsPolicy::kReassociate;

  friend bool operator==(const TuningParameters&, const TuningParameters&) = default;
};

// The order of nested layers, each with an order of its dimensions; `orders` has one per layer.
std::vector<MdhLevel> NestedOrder(const std::vector<std::vector<int>>& orders);
// The same with the dimensions of every layer in their order.
std::vector<MdhLevel> NestedOrder(size_t layers, int rank);
// The dimensions of one layer's levels, in the order of the phase.
std::vector<int> OrderOfLayer(const PhaseParameters& phase, int layer);
void SetOrderOfLayer(PhaseParameters& phase, int layer, const std::vector<int>& order);
// Whether all levels of a layer come before all those of the next one.
bool IsNested(const PhaseParameters& phase);
// The lowering that a text without one means: tiles of registers where a model with caches can have
// them.
Lowering UsualLowering(const TuningParameters& parameters);
// Whether the three phases are one nest.
bool HasFusedPhases(const TuningParameters& parameters);

// Parts of single points everywhere, layers nested, inputs in place, by the usual lowering: what
// others begin with.
TuningParameters SinglePoints(const Expression& expression, const SystemModel& model,
                              NumericsPolicy numerics);

// Text that reads back: `key=value` pairs separated by ';' on one line, dimensions by position,
// levels one-based. Fields beyond those of register tiles are left out if they have their default
// value, and so are the numerics policy and the lowering (UsualLowering).
//   model; tile; order, assign         system model, 0, D1 and D2
//   fused                              groups of dimensions that are run through as one
//   scalar_order, scalar_assign        S1 and S2, if that phase is set apart
//   recompose_order, recompose_assign  R1 and R2, idem
//   inputs; memory; copy               per input: staging for caches; D3 and D4; padding, copy
//                                      width and stages, and whether it is asynchronous
//   results; scalar_in; scalar_out     R3 and R4 per output; S3 and S4; S5 and S6
//   numerics; and those of Choices()   (core/decomposition/choices.h)
std::string ToText(const TuningParameters& parameters);
// Errors: InvalidArgument, naming the field or the item that cannot be read, and what there is.
Result<TuningParameters> ParseTuningParameters(std::string_view text);
// Also accepts `parts` in place of `tile`: #PRT of Table 1, per layer and dimension. Extents of
// parts are the products of the counts inside of them; the outermost count of more than one may
// leave a smaller last part. Errors: also InvalidArgument if so many parts do not partition the
// expression's sizes.
Result<TuningParameters> ParseTuningParameters(std::string_view text, const Expression& expression);

// Checks what is fused (WithFusedDimensions), the device's description, the algorithmic and model
// constraints (Section 3.4, appendix C.1), what the rows of Choices() have against their values,
// and the limits. With register tiles (Lowering::kTiles):
//   - one extent per layer and dimension, 1 <= extent <= that of the layer outside;
//   - an extent is a multiple of the next inner one, or the whole size of the dimension;
//   - lanes on one dimension at most, a power of two or all of it, if it is not reduced and there
//     are no dot instructions; registers and unrolling within bounds;
//   - layouts are permutations; strips are along what StripDimension gives;
//   - with NumericsPolicy::kExactOrder and kFixedTree: no lanes on reduced dimensions and one
//     chain, the points of a part are combined in lexicographic order, and parts of the core layer
//     along reduced dimensions and prefix sums are whole dimensions or those of FixedTreePart;
//   - staged copies fit: the private ones of a thread within 4 times its share of the caches.
// Level by level:
//   - extents as above; orders are permutations, assignments bijections, tables complete;
//   - regions only get faster inwards; what is copied can be described, and copies have the width,
//     stages and padding that memory and loops allow; asynchronous ones are of 4, 8 or 16 bytes
//     that are neighbours and aligned on both sides, on devices that have them;
//   - parallel parts of a reduced dimension combine in a region that all of them reach (Tables
//     2-4); with policies as above, they are those parts;
//   - blocks combine by atomics only what can be added atomically in any order, and where there are
//     several parts, in one nest (AtomicsObstacle); in the last one of them, or in clusters, where
//     the device can, no loop runs around the results of a thread, and these are in registers
//     (CooperationObstacle);
//   - `resident` blocks leave every thread registers for what it keeps, at least kFewestRegisters,
//     and find room in shared memory;
//   - tiles of lanes are for models without a layer of warps, divide warps and, along every
//     dimension, its threads; threads that shuffle are in one tile;
//   - blocks, grids, shared memory, registers and device memory are within the device's limits.
// Errors: InvalidArgument, naming the constraint and the values on both sides.
Status Validate(const Expression& expression, const SystemModel& model,
                const DeviceDescription& device, const TuningParameters& parameters);

}  // namespace mdh
