#include "core/schedule/names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

struct Alias {
  absl::string_view name;
  LayerRole role;
};
constexpr Alias kAliases[] = {
    {"cores", LayerRole::kCores},         {"blocks", LayerRole::kCores},
    {"warps", LayerRole::kWarps},         {"threads", LayerRole::kThreads},
    {"registers", LayerRole::kRegisters}, {"lanes", LayerRole::kLanes},
};

Status Unknown(ScheduleCursor* cursor, size_t at, absl::string_view what, absl::string_view name,
               absl::string_view whose, const std::vector<std::string>& known) {
  return cursor->ErrorAt(at, "unknown ", what, " '", name, "'; ", whose, " has ",
                         known.empty() ? "none" : absl::StrJoin(known, ", "));
}

template <typename Items>
std::vector<std::string> NamesOf(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

}  // namespace

int ScheduleNames::LayerOf(absl::string_view name) const {
  const int layer = model_.LayerNamed({name.data(), name.size()});
  if (layer >= 0) return layer;
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return model_.LayerWith(alias.role);
  }
  if (name != "shared" || SharedRegion() < 0) return -1;
  const std::string region = model_.memory_regions()[SharedRegion()];
  for (size_t l = 0; l < model_.layers.size(); ++l) {
    if (model_.layers[l].memory_region == region) return static_cast<int>(l);
  }
  return -1;
}

int ScheduleNames::SharedRegion() const {
  return is_explicit() ? static_cast<int>(model_.memory_regions().size()) - 2 : -1;
}

Result<int> ScheduleNames::Layer(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor->ExpectName("the name of a layer"));
  const int layer = LayerOf(name);
  if (layer >= 0) return layer;
  return Unknown(cursor, at, "layer", name, model_.name, NamesOf(model_.layers));
}

Result<int> ScheduleNames::Dimension(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor->ExpectName("the name of a dimension"));
  for (int d = 0; d < expression_.rank(); ++d) {
    if (DimensionName(d) == name) return d;
  }
  return Unknown(cursor, at, "dimension", name, expression_.name(),
                 NamesOf(expression_.dimensions()));
}

Result<MdhLevel> ScheduleNames::Level(ScheduleCursor* cursor) const {
  MdhLevel level;
  MDH_ASSIGN_OR_RETURN(level.layer, Layer(cursor));
  MDH_RETURN_IF_ERROR(cursor->Expect("."));
  MDH_ASSIGN_OR_RETURN(level.dimension, Dimension(cursor));
  return level;
}

Result<int> ScheduleNames::Buffer(bool is_output, ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  const absl::string_view what = is_output ? "output" : "input";
  MDH_ASSIGN_OR_RETURN(const absl::string_view name,
                       cursor->ExpectName(absl::StrCat("the name of an ", what)));
  const auto& buffers = is_output ? expression_.outputs() : expression_.inputs();
  for (size_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].name == name) return static_cast<int>(b);
  }
  return Unknown(cursor, at, what, name, expression_.name(), NamesOf(buffers));
}

Result<int> ScheduleNames::Region(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  MDH_ASSIGN_OR_RETURN(const absl::string_view name,
                       cursor->ExpectName("the name of a memory region"));
  const std::vector<std::string> regions = model_.memory_regions();
  for (size_t r = 0; r < regions.size(); ++r) {
    if (regions[r] == name) return static_cast<int>(r);
  }
  return Unknown(cursor, at, "memory region", name, model_.name, regions);
}

Result<int> ScheduleNames::Axis(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  const absl::string_view word = cursor->Word(",;{}");
  std::vector<std::string> axes;
  for (int axis = 0; axis < expression_.rank(); ++axis) {
    axes.push_back(model_.DimensionName(axis));
    if (axes.back() == word) return axis;
  }
  return Unknown(cursor, at, "axis", word, model_.name, axes);
}

std::string ScheduleNames::BufferDimensionName(int buffer, bool is_output, int x) const {
  const mdh::Buffer& b = BufferAt(buffer, is_output);
  const int d = PlainDimension(b, x);
  if (d < 0) return absl::StrCat(x);
  for (int other = 0; other < std::ssize(b.extents); ++other) {
    if (other != x && PlainDimension(b, other) == d) return absl::StrCat(x);
  }
  return DimensionName(d);
}

Result<int> ScheduleNames::BufferDimension(int buffer, bool is_output,
                                           ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  const absl::string_view word = cursor->Word(",;{}()");
  const mdh::Buffer& b = BufferAt(buffer, is_output);
  std::vector<std::string> known;
  for (int x = 0; x < std::ssize(b.extents); ++x) {
    known.push_back(BufferDimensionName(buffer, is_output, x));
    if (known.back() == word || absl::StrCat(x) == word) return x;
  }
  return Unknown(cursor, at, "dimension", word, absl::StrCat("buffer ", b.name), known);
}

bool ScheduleNames::HasOption(const Choice& row) const {
  constexpr auto kBlocks = static_cast<uint8_t>(LoweringTarget::kBlocks);
  const uint8_t lowerings = is_explicit() ? kBlocks : static_cast<uint8_t>(~kBlocks);
  return row.key != "lanes" && (row.lowerings & lowerings) != 0;
}

Result<const Choice*> ScheduleNames::Option(ScheduleCursor* cursor) const {
  const size_t at = cursor->offset();
  MDH_ASSIGN_OR_RETURN(const absl::string_view name, cursor->ExpectName("the name of an option"));
  std::vector<std::string> known;
  for (const Choice& row : Choices()) {
    if (!HasOption(row)) continue;
    if (row.key == name) return &row;
    known.push_back(std::string(row.key));
  }
  return Unknown(cursor, at, "option", name, model_.name, known);
}

std::string ScheduleNames::LevelName(MdhLevel level) const {
  return absl::StrCat(LayerName(level.layer), ".", DimensionName(level.dimension));
}

// ---- Sizes ----

Result<int64_t> ScheduleNames::Factor(ScheduleCursor* cursor) const {
  if (cursor->NextIsDigit()) return cursor->ExpectNumber("a size");
  if (cursor->PeekName().empty()) return cursor->Unexpected("a size");
  MDH_ASSIGN_OR_RETURN(const int d, Dimension(cursor));
  return expression_.dimensions()[d].size;
}

Result<int64_t> ScheduleNames::Term(ScheduleCursor* cursor, bool takes_factor) const {
  MDH_ASSIGN_OR_RETURN(int64_t value, Factor(cursor));
  while (true) {
    const size_t at = cursor->offset();
    if (takes_factor && cursor->Accept("*")) {
      MDH_ASSIGN_OR_RETURN(const int64_t other, Factor(cursor));
      if (__builtin_mul_overflow(value, other, &value)) {
        return cursor->ErrorAt(at, "the number is too large");
      }
    } else if (cursor->Accept("/")) {
      MDH_ASSIGN_OR_RETURN(const int64_t other, Factor(cursor));
      if (other == 0) return cursor->ErrorAt(at, "division by zero");
      value /= other;
    } else {
      return value;
    }
  }
}

Result<int64_t> ScheduleNames::Size(ScheduleCursor* cursor, bool takes_factor) const {
  MDH_ASSIGN_OR_RETURN(int64_t value, Term(cursor, takes_factor));
  while (true) {
    const size_t at = cursor->offset();
    const bool adds = cursor->Accept("+");
    if (!adds && !cursor->Accept("-")) return value;
    MDH_ASSIGN_OR_RETURN(const int64_t other, Term(cursor, takes_factor));
    const bool is_too_large = adds ? __builtin_add_overflow(value, other, &value)
                                   : __builtin_sub_overflow(value, other, &value);
    if (is_too_large) return cursor->ErrorAt(at, "the number is too large");
  }
}

}  // namespace mdh
