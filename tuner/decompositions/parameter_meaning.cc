#include "tuner/decompositions/parameter_meaning.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/schedule/names.h"
#include "core/schedule/printer.h"

namespace mdh {
namespace {

using Kind = Decision::Kind;

// What the rest of a parameter's name is.
enum class About : uint8_t {
  kNothing,
  kLevel,        // LAYER_DIMENSION
  kInput,        // BUFFER
  kInputNumber,  // BUFFER_NUMBER
};

// What the values are.
enum class Values : uint8_t {
  kNumbers,
  kParts,       // 0: what is left; less than 0: so many, and nothing inside is cut
  kDimensions,  // less than 0: none
  kOfSchedule,  // those of the decision of schedules
  kWords,       // 0, 1, ...: words of their own
};

// Parameters by what their names begin with. $L, $D, $B and $N stand for layer, dimension, buffer
// and number.
struct Family {
  absl::string_view prefix;
  About about;
  absl::string_view text;
  absl::string_view schedule = {};
  Values values = Values::kNumbers;
  std::optional<Kind> kind = std::nullopt;
  std::vector<absl::string_view> words = {};
};

const std::vector<Family>& Families() {
  static const auto* const families = new std::vector<Family>{
      {"parts", About::kLevel, "into how many parts layer $L cuts dimension $D", "$L: parts $D",
       Values::kParts, Kind::kParts},
      {"order", About::kLevel,
       "the place of the loop over $D among those of layer $L, counted from the inside",
       "$L: order"},
      {"kept_loops_innermost",
       About::kNothing,
       "whether loops over dimensions that are kept are inside of those of reductions",
       "order",
       Values::kWords,
       std::nullopt,
       {"no", "yes"}},
      {"threads_place",
       About::kNothing,
       "where the threads are among the loops of the outermost memory layer",
       "order",
       Values::kWords,
       std::nullopt,
       {"inside_all", "outside_all", "kept_innermost", "kept_outside"}},
      {"results",
       About::kNothing,
       "where results accumulate, and from which loops on",
       "output: in",
       Values::kWords,
       std::nullopt,
       {"device", "registers_inside", "registers_around", "shared_inside", "shared_around"}},
      {"threads_combine",
       About::kNothing,
       "in what threads along a reduction combine results",
       "output: across",
       Values::kWords,
       std::nullopt,
       {"device", "shared", "shuffle"}},
      {"grid_x", About::kNothing, "the dimension along x of the grid of blocks", "blocks: on",
       Values::kDimensions},
      {"grid_y", About::kNothing, "the dimension along y of the grid of blocks", "blocks: on",
       Values::kDimensions},
      {"block_x", About::kNothing, "the dimension along x of the threads of a block", "threads: on",
       Values::kDimensions},
      {"block_y", About::kNothing, "the dimension along y of the threads of a block", "threads: on",
       Values::kDimensions},
      {"copy_width", About::kInput, "elements of $B that a thread copies at once",
       "input $B: width", Values::kOfSchedule, Kind::kWidth},
      {"copy_stages", About::kInput, "parts of $B that have room in shared memory",
       "input $B: stages", Values::kOfSchedule, Kind::kStages},
      {"copy_mode", About::kInput, "how threads copy parts of $B", "input $B: mode",
       Values::kOfSchedule, Kind::kMode},
      {"copy",
       About::kInput,
       "where copies of parts of input $B are made",
       "input $B: in",
       Values::kWords,
       std::nullopt,
       {"none", "shared", "registers", "both"}},
      {"padding", About::kInput, "elements that rows of the copy of $B are longer than needed",
       "input $B: padding", Values::kOfSchedule, Kind::kPadding},
      {"layout", About::kInputNumber,
       "which of the dimensions of $B that are left is number $N of its copy, from the outside",
       "input $B: layout"},
      {"stage", About::kInput, "of which layer each part has a packed copy of its part of $B",
       "input $B: copy", Values::kOfSchedule, Kind::kCopy},
      {"strip", About::kInput, "the dimension of $B whose tiles are innermost in its copy",
       "input $B: strips", Values::kOfSchedule, Kind::kStrips},
      {"vector_dimension", About::kNothing, "the dimension that lanes of SIMD units run along",
       "lanes: along", Values::kOfSchedule, Kind::kAlong},
      {"lanes", About::kNothing,
       "how many lanes run along that dimension, or the number of a tile "
       "of neighbouring threads",
       "lanes"},
  };
  return *families;
}

// What a name is made of; indices in the expression and the model, -1 for none.
struct NameParts {
  int layer = -1, dimension = -1, buffer = -1, number = -1;
};

// Names of layers, dimensions and buffers may have underscores: a name is compared with all that
// there can be.
std::optional<NameParts> ReadName(const Family& family, absl::string_view name,
                                  const ScheduleNames& names) {
  if (!absl::ConsumePrefix(&name, family.prefix)) return std::nullopt;
  if (family.about == About::kNothing)
    return name.empty() ? std::optional(NameParts()) : std::nullopt;
  if (!absl::ConsumePrefix(&name, "_")) return std::nullopt;
  const Expression& e = names.expression();
  if (family.about == About::kLevel) {
    for (int l = 0; l < std::ssize(names.model().layers); ++l) {
      for (int d = 0; d < e.rank(); ++d) {
        if (name == absl::StrCat(names.LayerName(l), "_", names.DimensionName(d)))
          return NameParts{.layer = l, .dimension = d};
        // Tiles of registers are called after their region.
        const bool is_tile = names.model().layers[l].role == LayerRole::kRegisters;
        if (is_tile && name == absl::StrCat("RM_", names.DimensionName(d)))
          return NameParts{.layer = l, .dimension = d};
      }
    }
    return std::nullopt;
  }
  for (int b = 0; b < std::ssize(e.inputs()); ++b) {
    const Buffer& buffer = e.inputs()[b];
    if (family.about == About::kInput && name == buffer.name) return NameParts{.buffer = b};
    for (int n = 0; n < std::ssize(buffer.extents); ++n) {
      if (family.about == About::kInputNumber && name == absl::StrCat(buffer.name, "_", n))
        return NameParts{.buffer = b, .number = n};
    }
  }
  return std::nullopt;
}

// What the value with that code is in schedules.
std::optional<ChoiceValue> ScheduleValue(Values values, int64_t code) {
  if (values != Values::kParts) return ChoiceValue{code};
  if (code == 0) return std::nullopt;
  return ChoiceValue{code < 0 ? -code : code};
}

std::string NameOf(const Family& family, int64_t code, const Decision& decision,
                   const ScheduleNames& names) {
  switch (family.values) {
    case Values::kNumbers:
      return absl::StrCat(code);
    case Values::kParts:
      return code == 0 ? "rest" : code < 0 ? absl::StrCat(-code, "_alone") : absl::StrCat(code);
    case Values::kDimensions:
      return code < 0 ? "none" : names.DimensionName(static_cast<int>(code));
    case Values::kOfSchedule: {
      const std::string text = ValueText(decision, {code}, names);
      return std::string(absl::StripPrefix(text, "at "));
    }
    case Values::kWords:
      return std::string(family.words.at(static_cast<size_t>(code)));
  }
  return "";
}

}  // namespace

ParameterMeaning MeaningOfChoice(const Choice& row, const std::vector<ChoiceValue>& values) {
  ParameterMeaning meaning;
  const std::string key(row.key);
  meaning.text = absl::StrCat("option ", key, " of the generated code",
                              row.has_several() ? absl::StrCat(", ", row.form) : "");
  meaning.schedule = key;
  meaning.decision = Decision{.kind = Kind::kOption};
  meaning.decision->option = &row;
  for (const ChoiceValue& value : values) {
    meaning.names.push_back(row.Text(value));
    meaning.values.push_back(value);
  }
  return meaning;
}

ParameterMeaning MeaningOf(const TuningParameter& parameter, const Expression& divided,
                           const SystemModel& model) {
  const ScheduleNames names(divided, model);
  for (const Family& family : Families()) {
    const std::optional<NameParts> parts = ReadName(family, parameter.name, names);
    if (!parts) continue;
    ParameterMeaning meaning;
    if (parts->layer >= 0) meaning.layer = names.LayerName(parts->layer);
    if (parts->dimension >= 0) meaning.dimension = names.DimensionName(parts->dimension);
    if (parts->buffer >= 0) meaning.buffer = divided.inputs()[parts->buffer].name;
    const auto filled = [&](absl::string_view text) {
      return absl::StrReplaceAll(text, {{"$L", meaning.layer},
                                        {"$D", meaning.dimension},
                                        {"$B", meaning.buffer},
                                        {"$N", absl::StrCat(parts->number)}});
    };
    meaning.text = filled(family.text);
    meaning.schedule = filled(family.schedule);
    Decision decision = {.kind = family.kind.value_or(Kind::kRequire)};
    decision.layer = parts->layer;
    decision.dimension = parts->dimension;
    decision.buffer = parts->buffer;
    if (decision.kind == Kind::kAlong) decision.layer = model.LayerWith(LayerRole::kLanes);
    for (uint32_t n = 0; n < parameter.range.size(); ++n) {
      const int64_t code = parameter.range.CodeAt(n);
      meaning.names.push_back(NameOf(family, code, decision, names));
      meaning.values.push_back(ScheduleValue(family.values, code));
    }
    if (family.kind) meaning.decision = std::move(decision);
    return meaning;
  }
  return {};
}

std::vector<ValueNames> ValueNamesOf(const std::vector<ParameterMeaning>& meanings) {
  std::vector<ValueNames> names;
  for (const ParameterMeaning& meaning : meanings) names.push_back(meaning.names);
  return names;
}

}  // namespace mdh
