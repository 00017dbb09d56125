// Expression::Create: every check that makes an expression valid.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/identifier.h"
#include "core/expression/combine_laws.h"
#include "core/expression/expression.h"
#include "core/expression/expression_place.h"
#include "core/expression/injectivity.h"
#include "core/expression/unreached_elements.h"
#include "core/expression/view_checks.h"

namespace mdh {
namespace {

using PlaceKind = ExpressionPlace::Kind;

Status CheckDimensions(const std::vector<Dimension>& dimensions) {
  if (dimensions.empty() || dimensions.size() > Expression::kMaxDimensions) {
    return absl::InvalidArgumentError(absl::StrCat("md_hom has ", dimensions.size(),
                                                   " dimensions; it must have 1 to ",
                                                   Expression::kMaxDimensions));
  }
  std::set<absl::string_view> names;
  int64_t points = 1;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const Dimension& dimension = dimensions[d];
    const ExpressionPlace place{PlaceKind::kDimension, d};
    if (!IsIdentifier(dimension.name)) {
      return InvalidAt(place, absl::StrCat("'", dimension.name, "' is no name for a dimension"));
    }
    if (!names.insert(dimension.name).second) {
      return InvalidAt(place, absl::StrCat("two dimensions are called '", dimension.name, "'"));
    }
    if (dimension.size < 0) {
      return InvalidAt(place, absl::StrCat("the size of dimension '", dimension.name, "' is ",
                                           dimension.size, "; it must not be negative"));
    }
    // An empty dimension does not make room for others.
    if (!MultiplyInto(&points, std::max<int64_t>(dimension.size, 1))) {
      return TooLarge(place, absl::StrCat("the number of points of all dimensions up to '",
                                          dimension.name, "' does not fit in 63 bits"));
    }
  }
  return absl::OkStatus();
}

Status CheckBufferNames(const ExpressionSpec& spec) {
  std::set<absl::string_view> names;
  for (const PlaceKind kind : {PlaceKind::kOutput, PlaceKind::kInput}) {
    const std::vector<Buffer>& buffers = kind == PlaceKind::kInput ? spec.inputs : spec.outputs;
    for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
      if (!names.insert(buffers[b].name).second) {
        return InvalidAt({kind, b}, absl::StrCat("two buffers are called '", buffers[b].name, "'"));
      }
    }
  }
  return absl::OkStatus();
}

// Parameters or results of f that a view's accesses stand for.
struct SignatureEntry {
  const Buffer* buffer;  // null: an index
  ScalarType type;
};

std::vector<SignatureEntry> EntriesOf(const std::vector<Buffer>& buffers) {
  std::vector<SignatureEntry> entries;
  for (const Buffer& buffer : buffers) {
    for (size_t a = 0; a < buffer.accesses.size(); ++a) {
      for (const ElementType::Field& field : buffer.type.fields()) {
        entries.push_back({&buffer, field.type});
      }
    }
  }
  return entries;
}

// f's parameters are the accesses of inp_view, in order, and then the indices it takes.
Status CheckParameters(const ExpressionSpec& spec) {
  std::vector<SignatureEntry> entries = EntriesOf(spec.inputs);
  int previous = -1;
  for (const int d : spec.index_dimensions) {
    if (d <= previous || d >= static_cast<int>(spec.dimensions.size())) {
      return InvalidAt(
          {PlaceKind::kFunction},
          absl::StrCat("the dimensions whose indices f takes must be ascending numbers "
                       "below ",
                       spec.dimensions.size(), ", not (",
                       absl::StrJoin(spec.index_dimensions, ", "), ")"));
    }
    previous = d;
    entries.push_back({nullptr, ScalarType::kInt64});
  }
  const std::vector<TypedName>& names = spec.function.parameters();
  if (names.size() != entries.size()) {
    return InvalidAt(
        {PlaceKind::kFunction},
        absl::StrCat("function '", spec.function.name(), "' has ", names.size(),
                     " parameters, but the input view has ", entries.size(),
                     spec.index_dimensions.empty() ? " accesses" : " accesses and indices"));
  }
  for (size_t n = 0; n < names.size(); ++n) {
    if (names[n].type == entries[n].type) continue;
    const std::string what = entries[n].buffer == nullptr
                                 ? "an index"
                                 : absl::StrCat("buffer '", entries[n].buffer->name, "'");
    return InvalidAt({PlaceKind::kFunction},
                     absl::StrCat("function '", spec.function.name(), "': parameter '",
                                  names[n].name, "' has type ", Name(names[n].type), ", but ", what,
                                  " has type ", Name(entries[n].type)));
  }
  return absl::OkStatus();
}

// f's results are the accesses of out_view, in order. Their types are those in which they are
// combined: numbers of any type can be stored as numbers of any other.
Status CheckStoredResults(const ExpressionSpec& spec) {
  const std::vector<SignatureEntry> entries = EntriesOf(spec.outputs);
  const std::vector<TypedName>& names = spec.function.results();
  if (names.size() != entries.size()) {
    return InvalidAt(
        {PlaceKind::kFunction},
        absl::StrCat("function '", spec.function.name(), "' has ", names.size(),
                     " results, but the output view has ", entries.size(), " accesses"));
  }
  for (size_t n = 0; n < names.size(); ++n) {
    const bool is_bool = names[n].type == ScalarType::kBool;
    if (is_bool == (entries[n].type == ScalarType::kBool)) continue;
    return InvalidAt({PlaceKind::kFunction},
                     absl::StrCat("function '", spec.function.name(), "': result '", names[n].name,
                                  "' has type ", Name(names[n].type), ", but buffer '",
                                  entries[n].buffer->name, "' has type ", Name(entries[n].type)));
  }
  return absl::OkStatus();
}

// Lemma 1: cc goes with everything, and all other operators must have the same function.
Status CheckLemma1(const ExpressionSpec& spec, int first, int second,
                   const std::vector<ResultTuple>& samples) {
  const CombineOperator& a = spec.combine_operators[first];
  const CombineOperator& b = spec.combine_operators[second];
  const std::optional<std::string> counterexample =
      InterchangeCounterexample(a.function(), b.function(), samples);
  return InvalidAt(
      {PlaceKind::kCombineOperator, second},
      absl::StrCat("combine operators '", a.ToString(), "' of dimension '",
                   spec.dimensions[first].name, "' and '", b.ToString(), "' of dimension '",
                   spec.dimensions[second].name,
                   "' differ, so that the result would depend on which dimension is combined first",
                   counterexample.has_value() ? absl::StrCat(": ", *counterexample) : "",
                   "; all dimensions but those with ++ must have the same function"));
}

// Also tells the operators whether they keep the order.
Status CheckLaws(int first, int count, const std::vector<ResultTuple>& samples,
                 ExpressionSpec* spec) {
  const CombineOperator& combine = spec->combine_operators[first];
  if (combine.kinds()[0] != PointWiseKind::kCustom) return absl::OkStatus();
  const Commutativity commutativity =
      combine.is_prefix_sum() && count == 1 ? Commutativity::kNotNeeded : Commutativity::kNeeded;
  const Status status =
      CheckCombineLaws(combine.function(), combine.identity(), commutativity, samples);
  if (!status.ok()) return AtPlace(status, {PlaceKind::kCombineOperator, first});
  const bool keeps_order =
      !LawsHoldForNan(spec->function, combine.function(), combine.identity(), commutativity);
  for (CombineOperator& one : spec->combine_operators) one.set_keeps_order(keeps_order);
  return absl::OkStatus();
}

// A result that combines the values of no point is the operator's identity.
Status CheckResultsOfNothing(const ExpressionSpec& spec) {
  int empty = -1;
  for (int d = 0; d < static_cast<int>(spec.dimensions.size()); ++d) {
    if (spec.dimensions[d].size > 0) continue;
    if (!spec.combine_operators[d].is_point_wise()) return absl::OkStatus();  // no results
    empty = d;
  }
  if (empty < 0 || spec.combine_operators[empty].identity().has_value()) return absl::OkStatus();
  return InvalidAt(
      {PlaceKind::kCombineOperator, empty},
      absl::StrCat("dimension '", spec.dimensions[empty].name, "' is empty, and combine operator '",
                   spec.combine_operators[empty].ToString(),
                   "' has no identity, which its results would be"));
}

Status CheckCombineOperators(ExpressionSpec* to_check) {
  const ExpressionSpec& spec = *to_check;
  const std::vector<CombineOperator>& operators = spec.combine_operators;
  if (operators.size() != spec.dimensions.size()) {
    return InvalidAt({PlaceKind::kCombineOperator},
                     absl::StrCat("md_hom has ", operators.size(), " combine operators for ",
                                  spec.dimensions.size(), " dimensions"));
  }
  int first = -1, count = 0;
  const std::vector<ResultTuple> samples = SampleResults(spec.function);
  for (int d = 0; d < static_cast<int>(operators.size()); ++d) {
    if (operators[d].is_concat()) continue;
    const std::vector<TypedName>& combined = operators[d].function().results();
    const std::vector<TypedName>& results = spec.function.results();
    if (!std::equal(combined.begin(), combined.end(), results.begin(), results.end(),
                    [](const TypedName& a, const TypedName& b) { return a.type == b.type; })) {
      return InvalidAt({PlaceKind::kCombineOperator, d},
                       absl::StrCat("combine operator '", operators[d].ToString(),
                                    "' does not combine values of the types of the results of '",
                                    spec.function.name(), "'"));
    }
    if (first < 0) first = d;
    ++count;
    if (!operators[d].HasSameFunction(operators[first])) {
      return CheckLemma1(spec, first, d, samples);
    }
  }
  if (first < 0) return absl::OkStatus();
  MDH_RETURN_IF_ERROR(CheckLaws(first, count, samples, to_check));
  return CheckResultsOfNothing(spec);
}

Status CheckNotReduced(const ExpressionSpec& spec) {
  for (int b = 0; b < static_cast<int>(spec.outputs.size()); ++b) {
    const Buffer& buffer = spec.outputs[b];
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
        for (size_t d = 0; d < spec.dimensions.size(); ++d) {
          if (!spec.combine_operators[d].is_point_wise() ||
              buffer.accesses[a].indices[x].coefficients[d] == 0) {
            continue;
          }
          return InvalidAt(
              {PlaceKind::kOutput, b, a, x},
              absl::StrCat("output '", buffer.name, "', access ", a, ", index ", x,
                           " uses dimension '", spec.dimensions[d].name, "', which is reduced by '",
                           spec.combine_operators[d].ToString(), "'"));
        }
      }
    }
  }
  return absl::OkStatus();
}

Status DoubleWrite(const ExpressionSpec& spec, int b, int first, int second,
                   const Collision& collision) {
  const Buffer& buffer = spec.outputs[b];
  std::vector<int64_t> element;
  for (const AffineIndex& index : buffer.accesses[first].indices) {
    element.push_back(index.Evaluate(collision.first));
  }
  const auto writer = [&](int access, const std::vector<int64_t>& point) {
    return absl::StrCat(PointText(spec.dimensions, point),
                        buffer.accesses.size() > 1 ? absl::StrCat(" of access ", access) : "");
  };
  return InvalidAt(
      {PlaceKind::kOutput, b, second},
      absl::StrCat("output '", buffer.name, "': element (", absl::StrJoin(element, ", "),
                   ") is written twice, by ", writer(first, collision.first), " and by ",
                   writer(second, collision.second)));
}

Status CheckWrittenOnce(const ExpressionSpec& spec) {
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < spec.dimensions.size(); ++d) {
    // All points along a reduced dimension give one result together.
    sizes.push_back(spec.combine_operators[d].is_point_wise() ? 1 : spec.dimensions[d].size);
    if (sizes.back() == 0) return absl::OkStatus();
  }
  int64_t steps = 100'000;
  for (int b = 0; b < static_cast<int>(spec.outputs.size()); ++b) {
    const std::vector<IndexFunction>& accesses = spec.outputs[b].accesses;
    for (int second = 0; second < static_cast<int>(accesses.size()); ++second) {
      for (int first = 0; first <= second; ++first) {
        const Result<std::optional<Collision>> collision =
            first == second ? FindSelfCollision(accesses[first], sizes, &steps)
                            : FindCollision(accesses[first], accesses[second], sizes, &steps);
        if (!collision.ok()) {
          return InvalidAt({PlaceKind::kOutput, b, second},
                           absl::StrCat("output '", spec.outputs[b].name,
                                        "': it could not be proven that no element is written "
                                        "twice; use simpler index functions"));
        }
        if (collision->has_value()) return DoubleWrite(spec, b, first, second, **collision);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result<Expression> Expression::Create(ExpressionSpec spec) {
  if (!IsIdentifier(spec.name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", spec.name, "' is no name for an expression"));
  }
  MDH_RETURN_IF_ERROR(CheckDimensions(spec.dimensions));
  if (spec.outputs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("expression '", spec.name, "' has no output"));
  }
  MDH_RETURN_IF_ERROR(CheckBufferNames(spec));
  MDH_RETURN_IF_ERROR(CheckView(PlaceKind::kInput, spec.dimensions, &spec.inputs));
  MDH_RETURN_IF_ERROR(CheckView(PlaceKind::kOutput, spec.dimensions, &spec.outputs));
  MDH_RETURN_IF_ERROR(CheckParameters(spec));
  MDH_RETURN_IF_ERROR(CheckStoredResults(spec));
  MDH_RETURN_IF_ERROR(CheckCombineOperators(&spec));
  MDH_RETURN_IF_ERROR(CheckNotReduced(spec));
  MDH_RETURN_IF_ERROR(CheckWrittenOnce(spec));
  Expression expression(std::move(spec));
  // One meaning, one form: where everything is reached, nothing is kept.
  for (int b = 0; b < static_cast<int>(expression.spec_.outputs.size()); ++b) {
    Buffer& output = expression.spec_.outputs[b];
    output.keeps_unreached = output.keeps_unreached && UnreachedCount(expression, b) > 0;
  }
  return expression;
}

}  // namespace mdh
