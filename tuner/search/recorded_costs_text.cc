// The file format of recorded costs.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "tuner/search/range_text.h"
#include "tuner/search/recorded_costs.h"
#include "tuner/space/formula/formula_text.h"

namespace mdh {
namespace {

constexpr absl::string_view kFirstLine = "mdh recorded costs 1";

// 4 significant digits, in the shorter notation.
std::string CostText(const Cost& cost) {
  if (!cost) return "-";
  const std::string rounded = absl::StrFormat("%.4g", *cost);
  double value = 0;
  if (!absl::SimpleAtod(rounded, &value)) return rounded;
  char shortest[40];
  return std::string(shortest, std::to_chars(shortest, shortest + sizeof(shortest), value).ptr);
}

bool HasPredicate(const Formula& formula) {
  if (formula.op() == FormulaOp::kPredicate) return true;
  return std::ranges::any_of(formula.operands(),
                             [&](const Formula& operand) { return HasPredicate(operand); });
}

class Reader {
 public:
  explicit Reader(absl::string_view text) : rest_(text) {}

  Result<RecordedCosts> Read() {
    if (!NextLine() || line_ != kFirstLine) return Error("'", kFirstLine, "' is expected");
    MDH_RETURN_IF_ERROR(ReadHeader());
    const Result<SearchSpace> space =
        SearchSpace::Create(parameters_, constraints_, {.order = ParameterOrder::kDeclared});
    if (!space.ok()) return Error(space.status().message());
    MDH_RETURN_IF_ERROR(CheckCount(*space));
    std::vector<RecordedCosts::Row> rows;
    while (NextLine()) {
      if (static_cast<int64_t>(rows.size()) == count_) return Error("more than ", count_, " rows");
      MDH_ASSIGN_OR_RETURN(RecordedCosts::Row row, ReadRow(*space, rows.size()));
      rows.push_back(std::move(row));
    }
    if (static_cast<int64_t>(rows.size()) < count_) {
      return Error("the file ends after ", rows.size(), " of ", count_, " rows");
    }
    Result<RecordedCosts> costs = RecordedCosts::Create(name_, *space, std::move(rows));
    if (!costs.ok()) return Error(costs.status().message());
    return costs;
  }

 private:
  // The next line that says something; false at the end.
  bool NextLine() {
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (absl::EndsWith(line_, "\r")) line_.remove_suffix(1);
      if (!line_.empty() && line_[0] != '#') return true;
    }
    return false;
  }

  Status ReadHeader() {
    while (NextLine()) {
      const absl::string_view keyword = TakeWord();
      if (keyword == "name") {
        name_ = std::string(line_);
      } else if (keyword == "parameter") {
        MDH_RETURN_IF_ERROR(ReadParameter());
      } else if (keyword == "constraint") {
        Result<Formula> formula = ParseFormula(std::string_view(line_.data(), line_.size()));
        if (!formula.ok()) return Error(formula.status().message());
        constraints_.push_back(*std::move(formula));
      } else if (keyword == "rows") {
        const absl::string_view kind = TakeWord();
        is_all_ = kind == "all";
        if ((is_all_ || kind == "some") && absl::SimpleAtoi(line_, &count_) && count_ > 0 &&
            count_ <= RecordedCosts::kMaxRows) {
          return absl::OkStatus();
        }
        return Error("'rows all N' or 'rows some N' is expected, N 1 to ", RecordedCosts::kMaxRows);
      } else {
        return Error("'", keyword, "' is unknown; there are name, parameter, constraint and rows");
      }
    }
    return Error("the file ends before 'rows'");
  }

  Status ReadParameter() {
    const absl::string_view name = TakeWord();
    Result<Range> range = ParseRange(std::string_view(line_.data(), line_.size()));
    if (!range.ok()) return Error(range.status().message());
    parameters_.push_back({.name = std::string(name), .range = *std::move(range)});
    return absl::OkStatus();
  }

  Status CheckCount(const SearchSpace& space) const {
    if (space.is_lazy()) return Error("the space is too large to have indices");
    if (is_all_ && space.count() != Count(static_cast<signed long>(count_))) {
      return Error("the space has ", space.count().get_str(), " configurations, not ", count_);
    }
    return absl::OkStatus();
  }

  Result<RecordedCosts::Row> ReadRow(const SearchSpace& space, size_t position) {
    RecordedCosts::Row row;
    Count index = static_cast<unsigned long>(position);
    if (!is_all_) {
      const std::string digits(TakeWord());
      if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos ||
          digits.size() > 10000) {
        return Error("an index and a cost are expected");
      }
      index = Count(digits);
      if (index >= space.count()) {
        return Error("the space has only ", space.count().get_str(), " configurations");
      }
      if (!indices_.insert(index).second) return Error("index ", digits, " is repeated");
    }
    row.configuration = space.At(index);
    if (line_ == "-") return row;
    double cost = 0;
    if (!absl::SimpleAtod(line_, &cost) || !std::isfinite(cost)) {
      return Error("'", line_, "' is no cost");
    }
    row.cost = cost;
    return row;
  }

  // Removes the line's first word and the space behind it.
  absl::string_view TakeWord() {
    const size_t end = std::min(line_.find(' '), line_.size());
    const absl::string_view word = line_.substr(0, end);
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return word;
  }

  template <typename... Parts>
  Status Error(const Parts&... message) const {
    return InvalidArgument("line ", number_, ": ", message...);
  }

  absl::string_view rest_;
  absl::string_view line_;
  int64_t number_ = 0;
  std::string name_;
  std::vector<TuningParameter> parameters_;
  std::vector<Constraint> constraints_;
  bool is_all_ = true;
  int64_t count_ = 0;
  std::set<Count> indices_;
};

}  // namespace

Result<RecordedCosts> RecordedCosts::Parse(std::string_view text) {
  return Reader(absl::string_view(text.data(), text.size())).Read();
}

Result<RecordedCosts> RecordedCosts::Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in.is_open() || in.bad()) return NotFound(path, ": cannot be read");
  Result<RecordedCosts> costs = Parse(text);
  if (costs.ok()) return costs;
  return Status(costs.status().code(), absl::StrCat(path, ", ", costs.status().message()));
}

Result<std::string> RecordedCosts::ToText() const {
  const bool is_all = !whole_.is_lazy() && whole_.count() == space_.count();
  if (whole_.is_lazy()) return FailedPrecondition("the space is too large to have indices");
  std::string text = absl::StrCat(kFirstLine, "\n");
  if (!name_.empty()) absl::StrAppend(&text, "name ", name_, "\n");
  for (const TuningParameter& parameter : whole_.parameters()) {
    absl::StrAppend(&text, "parameter ", parameter.name, " ", RangeToText(parameter.range), "\n");
  }
  for (const Constraint& constraint : whole_.constraints()) {
    const std::string formula = constraint.formula.ToText();
    if (HasPredicate(constraint.formula)) {
      return FailedPrecondition("a constraint without a text cannot be recorded: ", formula);
    }
    absl::StrAppend(&text, "constraint ", formula, "\n");
  }
  absl::StrAppend(&text, "rows ", is_all ? "all " : "some ", costs_.size(), "\n");
  for (size_t i = 0; i < costs_.size(); ++i) {
    if (!is_all) {
      const Configuration configuration = space_.At(Count(static_cast<unsigned long>(i)));
      absl::StrAppend(&text, whole_.IndexOf(configuration)->get_str(), " ");
    }
    absl::StrAppend(&text, CostText(costs_[i]), "\n");
  }
  return text;
}

}  // namespace mdh
