// Reads values of decisions: "128", "{128, 256}", "256..1024*2", "!overlap", "?".
#pragma once

#include <optional>

#include "absl/functional/function_ref.h"
#include "core/base/status.h"
#include "core/schedule/cursor.h"
#include "core/schedule/decision.h"
#include "core/schedule/names.h"

namespace mdh {

// Does not own its arguments.
class ValueParser {
 public:
  ValueParser(const ScheduleNames& names, ScheduleCursor* cursor)
      : names_(names), cursor_(cursor) {}

  using One = absl::FunctionRef<Result<ChoiceValue>()>;

  // nullopt: "?". `one` reads a value, `high` the end of a range.
  Result<std::optional<ValueSet>> Choice(bool has_ranges, One one, One high);

  // Extents of parts, or their number: sizes, "whole", "^".
  Result<ChoiceValue> Extent(bool is_tile, int dimension);
  Result<ChoiceValue> Number();
  // A number in front of a factor.
  Result<ChoiceValue> High();
  // "never", "whole", "at LAYER".
  Result<ChoiceValue> Copy();
  // "(j, l)": the buffer's dimensions, outermost first.
  Result<ChoiceValue> Layout(int buffer);
  // "registers", "async".
  Result<ChoiceValue> Mode();
  Result<ChoiceValue> OfOption(const mdh::Choice& row);

 private:
  Result<ValueSet::Span> Span(bool has_ranges, One one, One high);

  const ScheduleNames& names_;
  ScheduleCursor* cursor_;
};

}  // namespace mdh
