#include "core/schedule/value_parser.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace mdh {

Result<ValueSet::Span> ValueParser::Span(bool has_ranges, One one, One high) {
  const size_t at = cursor_->offset();
  ValueSet::Span span;
  MDH_ASSIGN_OR_RETURN(span.low, one());
  span.high = span.low;
  if (!has_ranges || !cursor_->Accept("..")) return span;
  MDH_ASSIGN_OR_RETURN(span.high, high());
  if (span.low[0] == Decision::kAsOutside) {
    return cursor_->ErrorAt(at, "a range begins with a number");
  }
  if (span.high[0] < span.low[0]) {
    return cursor_->ErrorAt(at, "the range ", span.low[0], "..", span.high[0], " has nothing");
  }
  const bool is_factor = cursor_->Accept("*");
  if (!is_factor && !cursor_->Accept("step")) return span;
  const size_t step_at = cursor_->offset();
  MDH_ASSIGN_OR_RETURN(span.step, cursor_->ExpectNumber("a number"));
  if (span.step < (is_factor ? 2 : 1)) {
    return cursor_->ErrorAt(step_at, is_factor ? "the factor of a range is at least 2"
                                               : "the step of a range is at least 1");
  }
  span.is_factor = is_factor;
  return span;
}

Result<std::optional<ValueSet>> ValueParser::Choice(bool has_ranges, One one, One high) {
  if (cursor_->Accept("?")) return std::optional<ValueSet>();
  const bool is_negated = cursor_->Accept("!");
  std::vector<ValueSet::Span> spans;
  if (!cursor_->Accept("{")) {
    MDH_ASSIGN_OR_RETURN(ValueSet::Span span, Span(has_ranges, one, high));
    spans.push_back(std::move(span));
  } else {
    do {
      MDH_ASSIGN_OR_RETURN(ValueSet::Span span, Span(has_ranges, one, high));
      spans.push_back(std::move(span));
    } while (cursor_->Accept(","));
    MDH_RETURN_IF_ERROR(cursor_->Expect("}"));
  }
  return std::optional(ValueSet(std::move(spans), is_negated));
}

Result<ChoiceValue> ValueParser::Extent(bool is_tile, int dimension) {
  const int64_t size = names_.expression().dimensions()[dimension].size;
  if (cursor_->Accept("whole")) return ChoiceValue{is_tile ? size : 1};
  if (cursor_->Accept("^")) return ChoiceValue{is_tile ? Decision::kAsOutside : 1};
  const size_t at = cursor_->offset();
  MDH_ASSIGN_OR_RETURN(const int64_t value, names_.Size(cursor_));
  if (value >= 1 && value <= size) return ChoiceValue{value};
  return cursor_->ErrorAt(at, is_tile ? "a part" : "the number of parts", " of ",
                          names_.DimensionName(dimension), " is in 1..", size, ", not ", value);
}

Result<ChoiceValue> ValueParser::Number() {
  MDH_ASSIGN_OR_RETURN(const int64_t value, names_.Size(cursor_));
  return ChoiceValue{value};
}

Result<ChoiceValue> ValueParser::High() {
  MDH_ASSIGN_OR_RETURN(const int64_t value, names_.Size(cursor_, /*takes_factor=*/false));
  return ChoiceValue{value};
}

Result<ChoiceValue> ValueParser::Copy() {
  if (cursor_->Accept("never")) return ChoiceValue{InputParameters::kInPlace};
  if (cursor_->Accept("whole")) return ChoiceValue{InputParameters::kWholeBuffer};
  cursor_->Accept("at");
  const size_t at = cursor_->offset();
  MDH_ASSIGN_OR_RETURN(const int layer, names_.Layer(cursor_));
  if (names_.model().layers[layer].role == LayerRole::kMemory) return ChoiceValue{layer};
  return cursor_->ErrorAt(at, "copies are made for parts of memory layers; ",
                          names_.LayerName(layer), " is none");
}

Result<ChoiceValue> ValueParser::Layout(int buffer) {
  const size_t at = cursor_->offset();
  MDH_RETURN_IF_ERROR(cursor_->Expect("("));
  const Buffer& b = names_.BufferAt(buffer, /*is_output=*/false);
  ChoiceValue layout;
  while (!cursor_->Accept(")")) {
    if (!layout.empty()) MDH_RETURN_IF_ERROR(cursor_->Expect(","));
    MDH_ASSIGN_OR_RETURN(const int x, names_.BufferDimension(buffer, false, cursor_));
    layout.push_back(x);
  }
  ChoiceValue sorted = layout;
  std::ranges::sort(sorted);
  for (size_t x = 0; x < sorted.size(); ++x) {
    if (sorted[x] != static_cast<int64_t>(x)) sorted.clear();
  }
  if (sorted.size() == b.extents.size()) return layout;
  return cursor_->ErrorAt(at, "a layout of ", b.name, " has each of its ", b.extents.size(),
                          " dimensions once");
}

Result<ChoiceValue> ValueParser::Mode() {
  if (cursor_->Accept("registers")) {
    return ChoiceValue{static_cast<int64_t>(CopyMode::kThroughRegisters)};
  }
  if (!cursor_->Accept("async")) return cursor_->Unexpected("'registers' or 'async'");
  return ChoiceValue{static_cast<int64_t>(CopyMode::kAsynchronous)};
}

Result<ChoiceValue> ValueParser::OfOption(const mdh::Choice& row) {
  const size_t at = cursor_->offset();
  if (row.is_number()) {
    MDH_ASSIGN_OR_RETURN(ChoiceValue value, Number());
    if (value[0] >= row.low && value[0] <= row.high) return value;
    return cursor_->ErrorAt(at, row.key, " is in ", row.low, "..",
                            row.high == INT_MAX ? "" : absl::StrCat(row.high), ", not ", value[0]);
  }
  const Result<ChoiceValue> value = row.Parse(cursor_->Word(",;{}"));
  if (value.ok()) return *value;
  constexpr absl::string_view kPrefix = "tuning parameters: ";
  absl::string_view message = value.status().message();
  if (message.substr(0, kPrefix.size()) == kPrefix) message.remove_prefix(kPrefix.size());
  return cursor_->ErrorAt(at, message);
}

}  // namespace mdh
