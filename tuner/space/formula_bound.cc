#include "tuner/space/formula_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

namespace mdh {
namespace {

std::vector<Bounds> WholeRanges(const std::vector<ParameterValues>& values) {
  std::vector<Bounds> bounds;
  for (const ParameterValues& one : values) bounds.push_back(one.BoundsOf(0, one.size() - 1));
  return bounds;
}

std::vector<ParameterValues> ValuesOfRanges(const std::vector<TuningParameter>& parameters,
                                            const StringRanks& strings) {
  std::vector<ParameterValues> values;
  for (const TuningParameter& parameter : parameters) values.emplace_back(parameter.range, strings);
  return values;
}

// Of several values.
void Widen(ValueKind kind, const Bounds& more, Bounds& bounds) {
  bounds.can |= more.can;
  if (kind == ValueKind::kReal) {
    bounds.lo.r = std::min(bounds.lo.r, more.lo.r);
    bounds.hi.r = std::max(bounds.hi.r, more.hi.r);
  } else if (kind == ValueKind::kInteger) {
    bounds.lo.i = std::min(bounds.lo.i, more.lo.i);
    bounds.hi.i = std::max(bounds.hi.i, more.hi.i);
  }
}

}  // namespace

FormulaBound::FormulaBound(Formula formula, std::vector<TuningParameter> parameters)
    : formula_(std::move(formula)), parameters_(std::move(parameters)), graph_({}) {
  const StringRanks strings = RankStrings(parameters_, {Constraint(formula_)});
  values_ = ValuesOfRanges(parameters_, strings);
  graph_.SetParameterBounds(WholeRanges(values_));
  root_ = CompileNumber(formula_, parameters_, strings, graph_);
  const std::vector<std::string> names = formula_.Parameters();
  for (size_t n = 0; n < parameters_.size(); ++n) {
    const bool is_used = std::ranges::find(names, parameters_[n].name) != names.end();
    if (is_used) used_.push_back(static_cast<int>(n));
  }
}

double FormulaBound::OfCodes(absl::Span<const int64_t> configuration) const {
  const Result<Value> value = Evaluate(formula_, parameters_, configuration);
  if (!value.ok()) return 0;
  const double number = std::holds_alternative<int64_t>(*value)
                            ? static_cast<double>(std::get<int64_t>(*value))
                            : std::get<double>(*value);
  return std::max(0.0, number);
}

double FormulaBound::Of(OpenCodes open) const {
  const double least = LeastOf(open);
  const auto is_decided = [&](int n) { return open[n].size() == 1; };
  if (least > 0 || !std::ranges::all_of(used_, is_decided)) return least;
  std::vector<int64_t> one;
  for (const absl::Span<const int64_t> codes : open) one.push_back(codes.front());
  return OfCodes(one);
}

double FormulaBound::LeastOf(OpenCodes open) const {
  if (!root_.has_value()) return 0;
  std::vector<Bounds> values(open.size()), codes(open.size());
  for (const int n : used_) {
    const Range& range = parameters_[n].range;
    values[n] = values_[n].BoundsAt(*range.PositionOf(open[n].front()));
    for (const int64_t code : open[n].subspan(1)) {
      Widen(values_[n].kind(), values_[n].BoundsAt(*range.PositionOf(code)), values[n]);
    }
    const auto [least, most] = std::ranges::minmax_element(open[n]);
    codes[n] = Bounds::Integers(*least, *most);
  }
  const Bounds bounds = graph_.Evaluate(values, codes)[root_->operation];
  if ((bounds.can & kCanBeUndefined) != 0) return 0;
  return std::max(0.0, root_->is_real ? bounds.lo.r : static_cast<double>(bounds.lo.i));
}

}  // namespace mdh
