// Validate for configurations of register tiles (paper, Section 3.4, and limits of CPUs).
#include <algorithm>
#include <optional>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"
#include "core/decomposition/dot_plan.h"
#include "core/decomposition/index_box.h"
#include "core/decomposition/validate.h"

namespace mdh {
namespace {

class Validator {
 public:
  Validator(const NestShape& nest, const DeviceDescription& device)
      : nest_(nest),
        e_(nest.expression()),
        m_(nest.model()),
        device_(device),
        p_(nest.parameters()) {}

  Status Run() const {
    if (m_.LayerWith(LayerRole::kCores) != 0 || InnermostMemoryLayer(m_) < 1) {
      return InvalidParameters(
          "model ", m_.name,
          " cannot be lowered to OpenMP: cores must be outermost, around memory");
    }
    using Kind = ParameterPlace::Kind;
    MDH_RETURN_IF_ERROR(
        AtParameter(LanesAndRegisters(), {.kind = Kind::kTile, .layer = InnermostMemoryLayer(m_)}));
    MDH_RETURN_IF_ERROR(AtParameter(Dots(), {.kind = Kind::kChoice, .choice = "dot"}));
    if (!Reassociates(p_.numerics)) {
      MDH_RETURN_IF_ERROR(AtParameter(Order(), {.kind = Kind::kOrder}));
    }
    for (int b = 0; b < std::ssize(p_.inputs); ++b) {
      MDH_RETURN_IF_ERROR(
          AtParameter(Staging(b), {.kind = Kind::kInput, .buffer = OwnerOf(e_, b)}));
    }
    return Scratch();
  }

 private:
  Status LanesAndRegisters() const {
    const int lanes_layer = m_.LayerWith(LayerRole::kLanes);
    bool has_lanes = false;
    for (int d = 0; lanes_layer > 0 && d < e_.rank(); ++d) {
      const int64_t lanes = p_.tile[lanes_layer - 1][d];
      if (lanes == 1) continue;
      MDH_RETURN_IF_ERROR(AtParameter(
          Lanes(d, lanes, has_lanes),
          {.kind = ParameterPlace::Kind::kTile, .layer = lanes_layer - 1, .dimension = d}));
      has_lanes = true;
    }
    if (const int64_t operations = UnrolledOperations(e_, m_, p_);
        operations > kMaxUnrolledOperations) {
      return InvalidParameters("the register tile unrolls to ", operations,
                               " operations, the limit is ", kMaxUnrolledOperations);
    }
    return absl::OkStatus();
  }

  // A short dimension can be one vector, some lanes of which are off: where no lanes are combined,
  // and no instruction has its own.
  Status Lanes(int d, int64_t lanes, bool has_others) const {
    if (has_others) return InvalidParameters("lanes on more than one dimension");
    const bool has_masks = lanes != RoundUpToPowerOfTwo(lanes);
    if (lanes > kMaxLanes ||
        (has_masks && (lanes != e_.dimensions()[d].size || e_.is_reduction(d) || p_.dot != 0))) {
      return InvalidParameters("lanes must be a power of two up to ", kMaxLanes, ", not ", lanes);
    }
    return absl::OkStatus();
  }

  // Words have lanes, and no tile but the last one ends within one.
  Status Dots() const {
    const std::optional<DotPlan> plan = DotOf(e_, p_);
    if (p_.dot == 0 && p_.dot_unit != DotUnit::kVectors) {
      return InvalidParameters("dot_unit=tiles: no dot instructions are used");
    }
    if (!plan.has_value()) return absl::OkStatus();
    const int v = LaneDimension(m_, p_);
    const std::optional<DotSides> sides = SidesOf(e_, *plan, v);
    if (!sides.has_value() || e_.is_reduction(v)) {
      return InvalidParameters("dot=", p_.dot,
                               " needs lanes along a dimension of one operand that is not reduced");
    }
    const Dimension& dimension = e_.dimensions()[plan->dimension];
    for (int l = 0; l <= InnermostMemoryLayer(m_); ++l) {
      const int64_t tile = p_.tile[l][plan->dimension];
      if (tile % plan->group == 0 || tile == dimension.size) continue;
      return InvalidParameters("dot=", p_.dot, ": tiles of dimension ", dimension.name,
                               " must be multiples of ", plan->group, ", not ", tile);
    }
    for (const DotOperand& operand : {plan->a, plan->b}) MDH_RETURN_IF_ERROR(Words(*plan, operand));
    return plan->on_tiles()
               ? AtParameter(Tiles(*plan, *sides, v),
                             {.kind = ParameterPlace::Kind::kChoice, .choice = "dot_unit"})
               : absl::OkStatus();
  }

  // What tile registers need: sums in them, whole units along k but for the last one, and operands
  // whose words are where their loads take them from.
  Status Tiles(const DotPlan& plan, const DotSides& sides, int v) const {
    constexpr absl::string_view kWhat = "dot_unit=tiles";
    if (p_.accumulate_in == AccumulateIn::kOutput || p_.independent_accumulators) {
      return InvalidParameters(kWhat, " needs accumulate=registers and chains=one");
    }
    const int lanes_layer = m_.LayerWith(LayerRole::kLanes);
    if (const int64_t lanes = p_.tile[lanes_layer - 1][v]; lanes != kTileWords) {
      return InvalidParameters(kWhat, " needs ", kTileWords, " lanes, not ", lanes);
    }
    const Dimension& k = e_.dimensions()[plan.dimension];
    for (int l = 0; l <= InnermostMemoryLayer(m_); ++l) {
      const int64_t tile = p_.tile[l][plan.dimension];
      if (tile % (kTileWords * plan.group) == 0 || tile == k.size) continue;
      return InvalidParameters(kWhat, ": tiles of dimension ", k.name, " must be multiples of ",
                               kTileWords * plan.group, ", not ", tile);
    }
    const Result<DotTiles> tiles = PlanTiles(e_, plan, v, p_.tile[InnermostMemoryLayer(m_)]);
    if (!tiles.ok()) return InvalidParameters(kWhat, ": ", tiles.status().message());
    const InputParameters& lanes = p_.inputs[sides.vector.buffer];
    const Buffer& of_lanes = e_.inputs()[sides.vector.buffer];
    if (lanes.strip_dimension < 0 || PlainDimension(of_lanes, lanes.strip_dimension) != v) {
      return InvalidParameters(kWhat, " needs a copy of ", of_lanes.name, " in strips along ",
                               e_.dimensions()[v].name);
    }
    const InputParameters& rows = p_.inputs[sides.broadcast.buffer];
    const Buffer& of_rows = e_.inputs()[sides.broadcast.buffer];
    const bool is_in_place = rows.stage_layer == InputParameters::kInPlace;
    const bool has_neighbours =
        is_in_place ? HasRowsInPlace(e_, sides.broadcast, plan.dimension)
                    : rows.strip_dimension < 0 &&
                          rows.layout.back() == WordDimension(e_, plan, sides.broadcast);
    if (has_neighbours) return absl::OkStatus();
    return InvalidParameters(kWhat, " needs neighbours of ", of_rows.name, " along ", k.name,
                             is_in_place ? ", without a boundary, or a copy that has them"
                                         : " in a copy, which has no strips");
  }

  // What is copied is copied as words.
  Status Words(const DotPlan& plan, const DotOperand& operand) const {
    const InputParameters& input = p_.inputs[operand.buffer];
    const Buffer& buffer = e_.inputs()[operand.buffer];
    if (input.stage_layer == InputParameters::kInPlace) return absl::OkStatus();
    const int x = WordDimension(e_, plan, operand);
    if (x >= 0 && x != input.strip_dimension) return absl::OkStatus();
    return InvalidParameters("dot=", p_.dot, ": a copy of ", buffer.name,
                             " needs an index of its own, which no strips are along, for ",
                             e_.dimensions()[plan.dimension].name);
  }

  // Every value is combined in the order that the numerics policy says.
  Status Order() const {
    const int lanes_layer = m_.LayerWith(LayerRole::kLanes);
    for (int d = 0; d < e_.rank(); ++d) {
      if (e_.combine_operators()[d].is_concat()) continue;
      const std::string& name = e_.dimensions()[d].name;
      const int64_t part = OrderedPart(e_, p_.numerics, d);
      if (p_.tile[0][d] != part) {
        return AtParameter(InvalidParameters("numerics=", Name(p_.numerics), " needs parts of ",
                                             part, " points on the core layer in dimension ", name,
                                             ", not ", p_.tile[0][d]),
                           {.kind = ParameterPlace::Kind::kTile, .layer = 0, .dimension = d});
      }
      if (e_.is_reduction(d) && lanes_layer > 0 && p_.tile[lanes_layer - 1][d] > 1) {
        return AtParameter(
            InvalidParameters("numerics=", Name(p_.numerics), " does not allow lanes on dimension ",
                              name),
            {.kind = ParameterPlace::Kind::kTile, .layer = lanes_layer - 1, .dimension = d});
      }
    }
    return LexicographicOrder();
  }

  // Inside a part: the loops of a reduced dimension, the unrolled register tile included, are all
  // around those of the reduced dimensions after it.
  Status LexicographicOrder() const {
    int latest = -1;
    const auto enter = [&](int d, bool has_parts) -> Status {
      if (!has_parts || !e_.is_reduction(d)) return absl::OkStatus();
      if (d < latest) {
        return InvalidParameters("numerics=", Name(p_.numerics), ": loops of dimension ",
                                 e_.dimensions()[d].name, " run inside of those of dimension ",
                                 e_.dimensions()[latest].name);
      }
      latest = d;
      return absl::OkStatus();
    };
    const int innermost = InnermostMemoryLayer(m_);
    for (int l = 1; l <= innermost; ++l) {
      for (const int d : OrderOfLayer(p_.phase, l)) {
        MDH_RETURN_IF_ERROR(enter(d, p_.tile[l][d] < p_.tile[l - 1][d]));
      }
    }
    for (int d = 0; d < e_.rank(); ++d) MDH_RETURN_IF_ERROR(enter(d, p_.tile[innermost][d] > 1));
    return absl::OkStatus();
  }

  // An error about one word of what is said of an input.
  Status AtWord(Status status, int b, const char* word) const {
    return AtParameter(
        std::move(status),
        {.kind = ParameterPlace::Kind::kInput, .buffer = OwnerOf(e_, b), .choice = word});
  }

  // What of copies in shared memory is said of an input; empty: nothing.
  static const char* SharedWord(const InputParameters& input) {
    if (input.padding != 0) return "padding";
    if (input.copy_width != 1) return "width";
    if (input.copy_stages != 1) return "stages";
    return input.copy_mode != CopyMode::kThroughRegisters ? "mode" : "";
  }

  Status Staging(int b) const {
    const InputParameters& input = p_.inputs[b];
    const Buffer& buffer = e_.inputs()[b];
    if (!IsPermutation(input.layout, buffer.extents.size())) {
      return AtWord(
          InvalidParameters("layout of ", buffer.name, " is no permutation of its dimensions"), b,
          "layout");
    }
    if (const std::string word = SharedWord(input); !word.empty()) {
      return AtWord(InvalidParameters("padding, width and stages of the copy of ", buffer.name,
                                      " need shared memory, which model ", m_.name, " has not"),
                    b, word.c_str());
    }
    if (input.stage_layer == InputParameters::kInPlace) {
      if (input.strip_dimension == -1) return absl::OkStatus();
      return AtWord(InvalidParameters("strips of ", buffer.name, " need a packed copy"), b,
                    "strips");
    }
    if (!CanStage(buffer)) {
      return InvalidParameters(
          buffer.name,
          " cannot be packed: its accesses differ in more than constants, or run backwards");
    }
    if (input.stage_layer == InputParameters::kWholeBuffer && !CanStageWhole(buffer)) {
      return InvalidParameters(buffer.name,
                               " cannot be packed as a whole: it is read outside of its extents");
    }
    if (input.stage_layer != InputParameters::kWholeBuffer &&
        (input.stage_layer < 0 || input.stage_layer >= InnermostMemoryLayer(m_) ||
         m_.layers[input.stage_layer].role != LayerRole::kMemory)) {
      return InvalidParameters(buffer.name, " is packed at layer ", input.stage_layer,
                               ", which is no memory layer around the register tile");
    }
    if (input.strip_dimension == -1) return absl::OkStatus();
    if (input.strip_dimension < 0 ||
        input.strip_dimension >= static_cast<int>(buffer.extents.size()) ||
        StripDimension(e_, buffer, input.strip_dimension) < 0) {
      return AtWord(InvalidParameters("strip dimension ", input.strip_dimension, " of ",
                                      buffer.name, " is not one plain index"),
                    b, "strips");
    }
    const int along = StripDimension(e_, buffer, input.strip_dimension);
    const bool is_plain = LoneDimension(e_, buffer, input.strip_dimension) == along;
    const bool is_whole = p_.tile[InnermostMemoryLayer(m_)][along] == e_.dimensions()[along].size;
    if (!is_plain && (!is_whole || p_.dot != 0)) {
      return AtWord(InvalidParameters("strips of ", buffer.name, " are groups of ",
                                      e_.dimensions()[along].name, ", of which register tiles ",
                                      p_.dot != 0 ? "make words" : "have a part"),
                    b, "strips");
    }
    return absl::OkStatus();
  }

  // Errors are about the largest copy of the kind of which there is too much.
  Status Scratch() const {
    double thread_bytes = 0, shared_bytes = 0;
    struct Largest {
      int buffer = ParameterPlace::kAny;
      double bytes = 0;
    } of_thread, of_all;
    const std::vector<int64_t>& registers = p_.tile[InnermostMemoryLayer(m_)];
    for (size_t b = 0; b < p_.inputs.size(); ++b) {
      const InputParameters& input = p_.inputs[b];
      if (input.stage_layer == InputParameters::kInPlace) continue;
      const Buffer& buffer = e_.inputs()[b];
      double bytes =
          static_cast<double>(StagedElements(e_, p_, static_cast<int>(b), input.stage_layer)) *
          buffer.type.size_bytes();
      if (input.strip_dimension >= 0) {  // the last strip is stored whole
        const int64_t strip = registers[StripDimension(e_, buffer, input.strip_dimension)];
        bytes *= 1 + static_cast<double>(strip - 1) /
                         static_cast<double>(std::max<int64_t>(
                             1, std::min(strip, buffer.extents[input.strip_dimension])));
      }
      const bool is_whole = input.stage_layer == InputParameters::kWholeBuffer;
      (is_whole ? shared_bytes : thread_bytes) += bytes;
      Largest& largest = is_whole ? of_all : of_thread;
      if (bytes > largest.bytes) largest = {OwnerOf(e_, static_cast<int>(b)), bytes};
    }
    if (nest_.Slots() > 1 || e_.has_prefix_sum()) {
      shared_bytes += static_cast<double>(nest_.Slots()) * ResultArrayBytes(e_);
    }
    if (thread_bytes > MostStagedBytes(device_)) {
      return AtParameter(InvalidParameters("packed copies take ", thread_bytes,
                                           " bytes a thread, more than 4 times its caches"),
                         {.kind = ParameterPlace::Kind::kInput, .buffer = of_thread.buffer});
    }
    if (shared_bytes > static_cast<double>(kMaxSharedScratchBytes)) {
      const Status too_many =
          InvalidParameters("packed copies and partial results take ", shared_bytes,
                            " bytes, the limit is ", kMaxSharedScratchBytes);
      // Partial results are as many as parts on cores are.
      return of_all.buffer == ParameterPlace::kAny
                 ? AtParameter(too_many, {.kind = ParameterPlace::Kind::kTile, .layer = 0})
                 : AtParameter(too_many,
                               {.kind = ParameterPlace::Kind::kInput, .buffer = of_all.buffer});
    }
    return absl::OkStatus();
  }

  const NestShape& nest_;
  const Expression& e_;
  const SystemModel& m_;
  const DeviceDescription& device_;
  const TuningParameters& p_;
};

// Some access of an input that is copied has lanes along the strips; words are of all accesses.
Status SeparateStrips(const Expression& e, const TuningParameters& p, const Expression& separate,
                      const TuningParameters& apart) {
  for (int b = 0; b < std::ssize(e.inputs()); ++b) {
    const Buffer& buffer = e.inputs()[b];
    if (CanStage(buffer) || p.inputs[b].stage_layer == InputParameters::kInPlace) continue;
    bool is_copied = false;
    for (int c = 0; p.dot == 0 && c < std::ssize(separate.inputs()); ++c) {
      const bool stays = apart.inputs[c].stage_layer == InputParameters::kInPlace;
      is_copied = is_copied || (OwnerOf(separate, c) == b && !stays);
    }
    if (is_copied) continue;
    return AtParameter(
        InvalidParameters(buffer.name,
                          " cannot be packed: its accesses differ in more than constants, "
                          "or run backwards, and none of them has lanes along strips of the copy"),
        {.kind = ParameterPlace::Kind::kInput, .buffer = b});
  }
  return absl::OkStatus();
}

}  // namespace

Status ValidateRegisterTiles(const NestShape& nest, const DeviceDescription& device) {
  const Expression& e = nest.expression();
  const TuningParameters& p = nest.parameters();
  if (p.inputs.size() == e.inputs().size() && HasSeparateStrips(e, p)) {
    const Expression separate = WithSeparateAccesses(e);
    const TuningParameters apart = WithSeparateStrips(p, separate, nest.model());
    MDH_RETURN_IF_ERROR(SeparateStrips(e, p, separate, apart));
    return Validator(NestShape(separate, nest.model(), apart), device).Run();
  }
  return Validator(nest, device).Run();
}

}  // namespace mdh
