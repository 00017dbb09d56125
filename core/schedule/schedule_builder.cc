#include "core/schedule/schedule_builder.h"

#include "absl/strings/str_join.h"
#include "core/base/text_view.h"

namespace mdh {
namespace {

std::string List(absl::Span<const std::string> names) { return absl::StrJoin(names, ", "); }

}  // namespace

ScheduleBuilder& ScheduleBuilder::For(absl::Span<const std::string> models) {
  return Line("for ", List(models), ":");
}
ScheduleBuilder& ScheduleBuilder::Tile(std::string_view layer, std::string_view dimension,
                                       const Value& choice) {
  return Line(View(layer), ": tile ", View(dimension), "=", choice.text());
}
ScheduleBuilder& ScheduleBuilder::Parts(std::string_view layer, std::string_view dimension,
                                        const Value& choice) {
  return Line(View(layer), ": parts ", View(dimension), "=", choice.text());
}
ScheduleBuilder& ScheduleBuilder::On(std::string_view layer, std::string_view dimension,
                                     const Value& axis) {
  return Line(View(layer), ": on ", View(dimension), "=", axis.text());
}
ScheduleBuilder& ScheduleBuilder::Along(const Value& dimension) {
  return Line("lanes: along ", dimension.text());
}
ScheduleBuilder& ScheduleBuilder::Order(std::string_view layer,
                                        absl::Span<const std::string> dimensions) {
  return Line(View(layer), ": order ", List(dimensions));
}
ScheduleBuilder& ScheduleBuilder::OrderAcross(absl::Span<const std::string> levels) {
  return Line("order ", List(levels));
}
ScheduleBuilder& ScheduleBuilder::Copy(std::string_view input, const Value& choice) {
  return Line("input ", View(input), ": copy ", choice.text());
}
ScheduleBuilder& ScheduleBuilder::Input(std::string_view name, std::string_view places) {
  return Line("input ", View(name), ": ", View(places));
}
ScheduleBuilder& ScheduleBuilder::Output(std::string_view name, std::string_view places) {
  return Line("output ", View(name), ": ", View(places));
}
ScheduleBuilder& ScheduleBuilder::Option(std::string_view name, const Value& choice) {
  return Line(View(name), "=", choice.text());
}
ScheduleBuilder& ScheduleBuilder::Require(std::string_view condition) {
  return Line("require ", View(condition));
}
ScheduleBuilder& ScheduleBuilder::Fuse(absl::Span<const std::string> dimensions) {
  return Line("fuse (", List(dimensions), ")");
}
ScheduleBuilder& ScheduleBuilder::Separate(absl::Span<const std::string> dimensions) {
  return Line("separate (", List(dimensions), ")");
}

}  // namespace mdh
