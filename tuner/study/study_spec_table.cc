// Tables as predicates.
#include "tuner/study/study_spec_table.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/space/formula/formula_names.h"
#include "tuner/study/study_spec.h"

namespace mdh {
namespace {

struct Table {
  std::vector<Range> ranges;
  std::string satisfied;
};

// Whether the bit of these codes is set. Codes are those of the ranges.
bool Holds(const Table& table, absl::Span<const int64_t> codes) {
  uint64_t tuple = 0;
  for (size_t i = 0; i < table.ranges.size(); ++i) {
    const std::optional<uint32_t> position = table.ranges[i].PositionOf(codes[i]);
    if (!position.has_value()) return false;
    tuple = tuple * table.ranges[i].size() + *position;
  }
  return (static_cast<unsigned char>(table.satisfied[tuple / 8]) >> (tuple % 8) & 1) != 0;
}

Result<std::vector<Range>> RangesOf(const v1::TableConstraint& table,
                                    const std::vector<TuningParameter>& parameters) {
  if (table.parameters_size() == 0) return InvalidArgument("parameters: there are none");
  std::vector<Range> ranges;
  for (int i = 0; i < table.parameters_size(); ++i) {
    const std::string& name = table.parameters(i);
    const auto begin = table.parameters().begin();
    if (std::find(begin, begin + i, name) != begin + i) {
      return InvalidArgument("parameters[", i, "]: '", name, "' is given twice");
    }
    const auto found = std::ranges::find(parameters, name, &TuningParameter::name);
    if (found == parameters.end()) {
      std::vector<std::string> names;
      for (const TuningParameter& parameter : parameters) names.push_back(parameter.name);
      return InvalidArgument("parameters[", i, "]: there is no parameter '", name, "'",
                             Suggestion(name, names));
    }
    ranges.push_back(found->range);
  }
  return ranges;
}

}  // namespace

Result<Constraint> ReadTableConstraint(const v1::TableConstraint& table,
                                       const std::vector<TuningParameter>& parameters) {
  MDH_ASSIGN_OR_RETURN(std::vector<Range> ranges, RangesOf(table, parameters));
  int64_t tuples = 1;
  for (const Range& range : ranges) {
    // Neither factor has more than 32 bits.
    tuples *= range.size();
    if (tuples > kMaxTableTuples) {
      return InvalidArgument("parameters: there are more than ", kMaxTableTuples, " tuples");
    }
  }
  const int64_t bytes = (tuples + 7) / 8;
  if (static_cast<int64_t>(table.satisfied().size()) != bytes) {
    return InvalidArgument("satisfied: ", tuples, " tuples take ", bytes, " bytes, but ",
                           table.satisfied().size(), " are given");
  }
  const std::vector<std::string> names(table.parameters().begin(), table.parameters().end());
  const auto shared = std::make_shared<const Table>(Table{std::move(ranges), table.satisfied()});
  Predicate predicate{
      .text = !table.text().empty() ? table.text()
                                    : absl::StrCat("table of ", absl::StrJoin(names, ", ")),
      .holds = [shared](absl::Span<const int64_t> codes) { return Holds(*shared, codes); }};
  return Constraint(Formula::Of(std::move(predicate), names));
}

}  // namespace mdh
