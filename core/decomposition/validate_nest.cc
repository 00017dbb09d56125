// Validate for configurations that are lowered level by level: the constraints of programming
// models (paper, appendix C.1, Tables 2-4) and the limits of memories, blocks and grids.
#include <algorithm>
#include <memory>

#include "core/decomposition/constraints.h"
#include "core/decomposition/validate.h"
#include "core/expression/touched_elements.h"

namespace mdh {
namespace {

constexpr int64_t kMaxParts = int64_t{1} << 56;

int64_t Saturated(double value) { return static_cast<int64_t>(std::min(value, 9e18)); }

TuningParameters OfFirstPhase(TuningParameters p) {
  p.outputs.clear();
  return p;
}

TuningParameters OfLaterPhase(TuningParameters p, const std::optional<PhaseParameters>& phase,
                              bool is_last) {
  if (phase) p.phase = *phase;
  for (InputParameters& input : p.inputs) input.memory = {};
  if (!is_last) p.outputs.clear();
  return p;
}

// Phases that are set apart, each with what concerns it alone, as a nest of its own.
struct PhasesApart {
  explicit PhasesApart(const NestShape& whole)
      : of_inputs(OfFirstPhase(whole.parameters())),
        of_scalars(OfLaterPhase(whole.parameters(), whole.parameters().scalar_phase, false)),
        of_results(OfLaterPhase(whole.parameters(), whole.parameters().recomposition_phase, true)),
        decomposition(whole.expression(), whole.model(), of_inputs),
        scalar(whole.expression(), whole.model(), of_scalars),
        recomposition(whole.expression(), whole.model(), of_results) {}
  PhasesApart(const PhasesApart&) = delete;
  PhasesApart& operator=(const PhasesApart&) = delete;

  const TuningParameters of_inputs, of_scalars, of_results;
  const NestShape decomposition, scalar, recomposition;
};

class Nest {
 public:
  Nest(const NestShape& whole, const DeviceDescription& device)
      : e_(whole.expression()),
        m_(whole.model()),
        device_(device),
        limits_(device.blocks),
        p_(whole.parameters()),
        apart_(HasFusedPhases(p_) ? nullptr : std::make_unique<PhasesApart>(whole)),
        inputs_(apart_ ? apart_->decomposition : whole),
        results_(apart_ ? apart_->recomposition : whole),
        nests_{&whole} {
    if (apart_) nests_ = {&inputs_, &apart_->scalar, &results_};
  }

  Status Run() const {
    if (m_.LayerWith(LayerRole::kCores) < 0) {
      return InvalidParameters("model ", m_.name, " has no layer of cores");
    }
    MDH_RETURN_IF_ERROR(AtParameter(Parts(), Tiles(ParameterPlace::kAny)));
    MDH_RETURN_IF_ERROR(AtParameter(UnrolledLoops(), Tiles(m_.LayerWith(LayerRole::kRegisters))));
    MDH_RETURN_IF_ERROR(ValidateCopies(inputs_, device_));
    MDH_RETURN_IF_ERROR(ResultRegions());
    MDH_RETURN_IF_ERROR(AtParameter(BlockCombination(), ChoicePlace("combine")));
    MDH_RETURN_IF_ERROR(ValidateNumerics(results_));
    if (m_.memory == MemoryKind::kExplicit) {
      MDH_RETURN_IF_ERROR(AtParameter(Lanes(), ChoicePlace("lanes")));
      MDH_RETURN_IF_ERROR(Tables());
      for (const NestShape* nest : nests_) MDH_RETURN_IF_ERROR(Launch(*nest));
      MDH_RETURN_IF_ERROR(FastMemory());
    }
    return AtParameter(Scratch(), Tiles(0));
  }

 private:
  static ParameterPlace Tiles(int layer) {
    return {.kind = ParameterPlace::Kind::kTile, .layer = layer};
  }
  static ParameterPlace TileOf(MdhLevel level) {
    return {
        .kind = ParameterPlace::Kind::kTile, .layer = level.layer, .dimension = level.dimension};
  }
  static ParameterPlace ChoicePlace(const char* key) {
    return {.kind = ParameterPlace::Kind::kChoice, .choice = key};
  }
  static ParameterPlace OutputPlace(int b) {
    return {.kind = ParameterPlace::Kind::kOutput, .buffer = b};
  }

  // So few that products of part counts can be computed below.
  Status Parts() const {
    double parts = 1;
    for (const NestShape::Level& level : inputs_.levels()) {
      parts *= static_cast<double>(level.parts);
    }
    return Limit("parts of all levels together (0)", Saturated(parts), kMaxParts);
  }

  // The loops on the register layer.
  Status UnrolledLoops() const {
    if (m_.LayerWith(LayerRole::kRegisters) < 0) return absl::OkStatus();
    double operations = 0;  // of the phase that has most
    for (const NestShape* phase : nests_) {
      auto own = static_cast<double>(OperationsOfPoint(e_));
      for (const NestShape::Level& level : phase->levels()) {
        if (level.role == LayerRole::kRegisters) own *= static_cast<double>(level.parts);
      }
      operations = std::max(operations, own);
    }
    return Limit(
        absl::StrCat("operations of the loops on layer ",
                     m_.layers[m_.LayerWith(LayerRole::kRegisters)].name, ", which are unrolled"),
        Saturated(operations), kMaxUnrolledOperations);
  }

  // ---- R3 ----

  Status ResultRegions() const {
    const PhaseParameters& phase = results_.parameters().phase;
    for (size_t b = 0; b < p_.outputs.size(); ++b) {
      const MemoryParameters& memory = p_.outputs[b];
      const std::string& buffer = e_.outputs()[b].name;
      const ParameterPlace place = OutputPlace(static_cast<int>(b));
      MDH_RETURN_IF_ERROR(AtParameter(
          ValidateRegions(m_, phase, memory, absl::StrCat("memory regions of ", buffer, " (R3)")),
          place));
      if (m_.memory != MemoryKind::kExplicit) continue;
      MDH_RETURN_IF_ERROR(AtParameter(
          ValidateUserLayouts(memory, absl::StrCat("layouts of ", buffer, " (R4)")), place));
      for (int n = 0; n < results_.count(); ++n) {
        MDH_RETURN_IF_ERROR(AtParameter(SameAsFirst(static_cast<int>(b), n), place));
      }
    }
    return absl::OkStatus();
  }

  Status SameAsFirst(int b, int n) const {
    const int first = results_.OutputRegion(0, n), region = results_.OutputRegion(b, n);
    if (region == first) return absl::OkStatus();
    return InvalidParameters("memory regions of ", e_.outputs()[b].name, " (R3): ", Region(region),
                             " at level ", LevelText(results_.levels()[n].level), ", but ",
                             Region(first), " of ", e_.outputs()[0].name,
                             "; results are combined together");
  }

  std::string Region(int region) const { return m_.memory_regions()[region]; }

  // Tables 2-4: where parallel parts of a reduced dimension combine their results.
  Status Tables() const {
    for (int n = 0; n < results_.count(); ++n) {
      const NestShape::Level& level = results_.levels()[n];
      if (!results_.is_reduced(n) || !results_.is_parallel(n) || level.parts == 1) continue;
      const int region = results_.OutputRegion(0, n), shared = results_.shared_region();
      const int slowest_private = results_.is_thread(n) ? shared : shared - 1;
      const bool is_device = level.role == LayerRole::kDevices;
      if (region > (is_device ? 0 : slowest_private)) {
        const bool may_shuffle = level.role == LayerRole::kThreads && HasShuffles(device_);
        if (!may_shuffle) {
          return AtParameter(MayNotCombine(level, region, is_device ? 0 : slowest_private),
                             OutputPlace(0));
        }
        MDH_RETURN_IF_ERROR(AtParameter(Shuffle(n), TileOf(level.level)));
      }
    }
    return absl::OkStatus();
  }

  Status MayNotCombine(const NestShape::Level& level, int region, int allowed) const {
    std::string regions;
    for (int r = 0; r <= allowed; ++r) absl::StrAppend(&regions, r == 0 ? "" : "/", Region(r));
    return InvalidParameters(m_.layers[level.assigned.layer].name, " combine in ", regions,
                             " (R3, appendix C.1): ", level.parts, " parts of level ",
                             LevelText(level.level), " along reduced dimension ",
                             e_.dimensions()[level.level.dimension].name, " combine in ",
                             Region(region));
  }

  Status Shuffle(int n) const {
    const NestShape::Level& level = results_.levels()[n];
    const std::string name =
        absl::StrCat("shuffles (R3) over level ", LevelText(level.level), ": ");
    if ((level.parts & (level.parts - 1)) != 0 || level.parts > limits_.warp_size) {
      return InvalidParameters(name, level.parts,
                               " parts are no power of two <= ", limits_.warp_size,
                               ", the warp size");
    }
    if (level.assigned.dimension != 0) {
      return InvalidParameters(name, "threads along ", m_.DimensionName(level.assigned.dimension),
                               " are not those along ", m_.DimensionName(0));
    }
    if (results_.ThreadsPerBlock() % limits_.warp_size != 0) {
      return InvalidParameters(name, results_.ThreadsPerBlock(),
                               " threads per block are no multiple of ", limits_.warp_size,
                               ", the warp size");
    }
    return absl::OkStatus();
  }

  Status Lanes() const {
    if (p_.lanes.empty()) return absl::OkStatus();
    const std::string name = ChoiceOf("lanes").About(p_) + ": ";
    if (m_.LayerWith(LayerRole::kWarps) >= 0) {
      return InvalidParameters(name, "model ", m_.name, " has a layer of warps");
    }
    if (static_cast<int>(p_.lanes.size()) != e_.rank()) {
      return InvalidParameters(name, "threads have ", e_.rank(), " dimensions, not ",
                               p_.lanes.size());
    }
    int64_t left = limits_.warp_size;
    for (const int64_t count : p_.lanes) {
      if (count < 1 || left % count != 0) {
        return InvalidParameters(name, "such a tile does not divide ", limits_.warp_size,
                                 ", the warp size");
      }
      left /= count;
    }
    for (int n = 0; n < results_.count(); ++n) {
      if (results_.is_thread(n)) MDH_RETURN_IF_ERROR(LanesAlong(n, name));
    }
    return absl::OkStatus();
  }

  // Threads that shuffle are neighbours.
  Status LanesAlong(int n, const std::string& name) const {
    const int64_t parts = results_.levels()[n].parts, lanes = results_.Lanes(n);
    const std::string threads = absl::StrCat(
        parts, " threads along ", m_.DimensionName(results_.levels()[n].assigned.dimension));
    if (parts % lanes != 0) return InvalidParameters(name, lanes, " do not divide ", threads);
    if (!results_.IsShuffled(n) || lanes == parts) return absl::OkStatus();
    return InvalidParameters(name, threads, " shuffle (R3), but ", lanes, " are in a tile");
  }

  Status BlockCombination() const {
    const CombineBlocks how = p_.combine_blocks;
    // Those of matrix units have parts of their own (unit_plan.h).
    if (how == CombineBlocks::kPartials || p_.unit.rows > 0) return absl::OkStatus();
    const std::string name = ChoiceOf("combine").About(p_) + ": ";
    if (results_.Slots() == 1) {
      return InvalidParameters(name, "reduced dimensions have 1 part whose results meet in ",
                               Region(0), ", more than 1 are needed");
    }
    if (how == CombineBlocks::kAtomics) return absl::OkStatus();
    const std::string obstacle = CooperationObstacle(results_, how);
    return obstacle.empty() ? absl::OkStatus() : InvalidParameters(name, obstacle);
  }

  // ---- Limits of the device ----

  static Status Limit(const std::string& name, int64_t value, int64_t limit) {
    if (value <= limit) return absl::OkStatus();
    return InvalidParameters(name, ": ", value, " > ", limit);
  }

  Status Launch(const NestShape& shape) const {
    const char* table =
        m_.kind == DeviceKind::kOpenCl ? "0: number of PEs, Table 4" : "0: number of CCs, Table 2";
    const ParameterPlace threads = Tiles(m_.LayerWith(LayerRole::kThreads));
    MDH_RETURN_IF_ERROR(AtParameter(Limit(absl::StrCat("threads per block (", table, ")"),
                                          shape.ThreadsPerBlock(), limits_.max_threads_per_block),
                                    threads));
    for (int axis = 0; axis < 3; ++axis) {
      MDH_RETURN_IF_ERROR(AtParameter(Limit("threads per block along " + m_.DimensionName(axis),
                                            shape.Block()[axis], limits_.max_block[axis]),
                                      threads));
      MDH_RETURN_IF_ERROR(AtParameter(Limit("blocks of the grid along " + m_.DimensionName(axis),
                                            shape.Grid()[axis], limits_.max_grid[axis]),
                                      Tiles(m_.LayerWith(LayerRole::kCores))));
    }
    if (m_.LayerWith(LayerRole::kWarps) < 0) return absl::OkStatus();
    return AtParameter(Limit("threads of a warp", shape.Block()[0], limits_.warp_size), threads);
  }

  Status FastMemory() const {
    const int64_t bytes =
        apart_ ? std::max(inputs_.SharedBytes(), results_.SharedBytes()) : inputs_.SharedBytes();
    MDH_RETURN_IF_ERROR(AtParameter(
        Limit("bytes of shared memory of a block (D3, R3)", bytes, limits_.shared_bytes_per_block),
        {.kind = ParameterPlace::Kind::kInput}));
    const int64_t words = PrivateWords(inputs_, results_);
    MDH_RETURN_IF_ERROR(AtParameter(Limit("registers of a thread (D3, R3), in words of 32 bits",
                                          words, MostPrivateWords(limits_)),
                                    OutputPlace(0)));
    if (limits_.registers_per_block == 0) return absl::OkStatus();
    const int64_t threads = std::max(inputs_.ThreadsPerBlock(), results_.ThreadsPerBlock());
    MDH_RETURN_IF_ERROR(AtParameter(Limit("registers of a block (D3, R3), in words of 32 bits",
                                          words * threads, limits_.registers_per_block),
                                    Tiles(m_.LayerWith(LayerRole::kThreads))));
    // Blocks that compute on matrix units need what these do (unit_plan.h).
    if (p_.resident_blocks == 0 || p_.unit.rows > 0) return absl::OkStatus();
    return AtParameter(Residency(bytes, words), ChoicePlace("resident"));
  }

  // All of the blocks that shall be on a multiprocessor have room there.
  Status Residency(int64_t shared_bytes, int64_t words) const {
    const int blocks = p_.resident_blocks;
    int64_t threads = 1;
    for (const NestShape* nest : nests_) threads = std::max(threads, nest->ThreadsPerBlock());
    const std::string of = absl::StrCat(" with resident=", blocks);
    MDH_RETURN_IF_ERROR(Limit(absl::StrCat("registers of a thread", of, " and ", threads,
                                           " threads per block, of which it needs"),
                              std::max(words, kFewestRegisters),
                              RegistersPerThread(limits_, threads, blocks)));
    return Limit(absl::StrCat("bytes of shared memory of a multiprocessor", of),
                 blocks * (shared_bytes + kReservedSharedBytes),
                 limits_.shared_bytes_per_block + kReservedSharedBytes);
  }

  // ---- Device memory ----

  // Of parts along reductions; those of blocks that combine them themselves have a place for every
  // result of every thread.
  double PartialBytes() const {
    switch (p_.combine_blocks) {
      case CombineBlocks::kPartials:
        return static_cast<double>(results_.Slots()) * ResultArrayBytes(e_);
      case CombineBlocks::kLastBlock: {
        const std::array<int64_t, 3> grid = results_.Grid();
        double results = static_cast<double>(results_.AccumulatorElements()) *
                         static_cast<double>(results_.ThreadsPerBlock());
        for (const int64_t blocks : grid) results *= static_cast<double>(blocks);
        double bytes = 0;
        for (const ScalarType type : results_.PartialTypes()) {
          bytes += results * static_cast<double>(std::max(4, SizeBytes(type)));
        }
        return bytes;
      }
      default:
        return 0;
    }
  }

  // MDAs that a phase leaves to the next one, if that runs in another order.
  double BytesBetweenPhases() const {
    if (apart_ == nullptr) return 0;
    const auto phase = [](const NestShape& nest) -> const PhaseParameters& {
      return nest.parameters().phase;
    };
    double element = 0;
    if (phase(inputs_) != phase(apart_->scalar)) {
      for (const TypedName& parameter : e_.function().parameters()) {
        element += SizeBytes(parameter.type);
      }
    }
    if (phase(apart_->scalar) != phase(results_)) {
      for (const TypedName& result : e_.function().results()) {
        element += SizeBytes(Info(result.type).computed);
      }
    }
    return element * static_cast<double>(e_.points());
  }

  Status Scratch() const {
    double bytes = BytesBetweenPhases();
    if (results_.Slots() > 1 || e_.has_prefix_sum()) bytes += PartialBytes();
    MDH_RETURN_IF_ERROR(Limit("bytes of partial results and of MDAs between phases",
                              Saturated(bytes), kMaxSharedScratchBytes));
    if (m_.memory != MemoryKind::kExplicit) return absl::OkStatus();
    return Limit("bytes of device memory, with buffers and scratch",
                 Saturated(bytes + static_cast<double>(BufferBytesOf(e_))), limits_.memory_bytes);
  }

  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const BlockLimits& limits_;
  const TuningParameters& p_;
  const std::unique_ptr<PhasesApart> apart_;  // if phases are
  const NestShape &inputs_, &results_;
  std::vector<const NestShape*> nests_;  // of all phases
};

}  // namespace

Status ValidateNest(const NestShape& nest, const DeviceDescription& device) {
  if (HasSeparateCopies(nest)) {
    const Expression separate = WithSeparateAccesses(nest.expression());
    const TuningParameters parameters = WithSeparateAccesses(nest.parameters(), separate);
    return Nest(NestShape(separate, nest.model(), parameters), device).Run();
  }
  return Nest(nest, device).Run();
}

}  // namespace mdh
