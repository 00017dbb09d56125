// Writes schedules from programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "core/base/status.h"
#include "core/schedule/schedule.h"

namespace mdh {

// Every method adds a line and gives the builder:
//   ScheduleBuilder().Tile("L2", "k", "{128, 256}").Order("L2", {"k", "..", "j"}).Copy("A", "at
//   L2")
// Choices are as in texts ("64", "16..256*2", "!8"), numbers themselves. Whether names and values
// are right is what Build says.
class ScheduleBuilder {
 public:
  // What a line has: a number, or text.
  class Value {
   public:
    Value(int64_t number) : text_(absl::StrCat(number)) {}  // NOLINT: values are numbers or text
    Value(int number) : Value(int64_t{number}) {}           // NOLINT
    Value(std::string_view text) : text_(text) {}           // NOLINT
    Value(const char* text) : text_(text) {}                // NOLINT
    const std::string& text() const { return text_; }

   private:
    std::string text_;
  };

  // What follows is for these system models only; "all" ends that.
  ScheduleBuilder& For(absl::Span<const std::string> models);
  ScheduleBuilder& Tile(std::string_view layer, std::string_view dimension, const Value& choice);
  ScheduleBuilder& Parts(std::string_view layer, std::string_view dimension, const Value& choice);
  ScheduleBuilder& On(std::string_view layer, std::string_view dimension, const Value& axis);
  ScheduleBuilder& Along(const Value& dimension);
  // Of dimensions within a layer; across layers: of levels "LAYER.DIMENSION".
  ScheduleBuilder& Order(std::string_view layer, absl::Span<const std::string> dimensions);
  ScheduleBuilder& OrderAcross(absl::Span<const std::string> levels);
  // "never", "whole", "at LAYER".
  ScheduleBuilder& Copy(std::string_view input, const Value& choice);
  // Any places, as after "input NAME:".
  ScheduleBuilder& Input(std::string_view name, std::string_view places);
  ScheduleBuilder& Output(std::string_view name, std::string_view places);
  ScheduleBuilder& Option(std::string_view name, const Value& choice);
  ScheduleBuilder& Require(std::string_view condition);
  ScheduleBuilder& Fuse(absl::Span<const std::string> dimensions);
  ScheduleBuilder& Separate(absl::Span<const std::string> dimensions);

  const std::string& text() const { return text_; }
  // Errors: those of Schedule::Parse, lines counted as they were added.
  Result<Schedule> Build(const Expression& expression, const SystemModel& model) const {
    return Schedule::Parse(text_, expression, model);
  }

 private:
  template <typename... Parts>
  ScheduleBuilder& Line(const Parts&... parts) {
    absl::StrAppend(&text_, parts..., "\n");
    return *this;
  }

  std::string text_;
};

}  // namespace mdh
