// Expression::Create: every check that makes an expression valid.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
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
    return InvalidArgument("md_hom has ", dimensions.size(), " dimensions; it must have 1 to ",
                           Expression::kMaxDimensions);
  }
  std::set<absl::string_view> names;
  int64_t points = 1;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const Dimension& dimension = dimensions[d];
    const ExpressionPlace place{PlaceKind::kDimension, d};
    if (!IsIdentifier(dimension.name)) {
      return InvalidAt(place, "'", dimension.name, "' is no name for a dimension");
    }
    if (!names.insert(dimension.name).second) {
      return InvalidAt(place, "two dimensions are called '", dimension.name, "'");
    }
    if (dimension.size < 0) {
      return InvalidAt(place, "the size of dimension '", dimension.name, "' is ", dimension.size,
                       "; it must not be negative");
    }
    // An empty dimension does not make room for others.
    if (!MultiplyInto(&points, std::max<int64_t>(dimension.size, 1))) {
      return TooLarge(place, "the number of points of all dimensions up to '", dimension.name,
                      "' does not fit in 63 bits");
    }
  }
  return absl::OkStatus();
}

Buffer* FindBuffer(std::vector<Buffer>& buffers, absl::string_view name) {
  const auto found = std::ranges::find(buffers, name, &Buffer::name);
  return found == buffers.end() ? nullptr : &*found;
}

// Only what the store function reads may be called as an input is, which it is then.
Status CheckBufferNames(const ExpressionSpec& spec) {
  std::set<absl::string_view> names, read;
  const auto check = [](PlaceKind kind, const std::vector<Buffer>& buffers,
                        std::set<absl::string_view>& taken) -> Status {
    for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
      if (taken.insert(buffers[b].name).second) continue;
      return InvalidAt({kind, b}, "two buffers are called '", buffers[b].name, "'");
    }
    return absl::OkStatus();
  };
  MDH_RETURN_IF_ERROR(check(PlaceKind::kOutput, spec.outputs, names));
  read = names;
  MDH_RETURN_IF_ERROR(check(PlaceKind::kInput, spec.inputs, names));
  return spec.store.has_value() ? check(PlaceKind::kStoreInput, spec.store->inputs, read)
                                : absl::OkStatus();
}

// Parameters or results of f that a view's accesses stand for.
struct SignatureEntry {
  const Buffer* buffer;  // null: an index or a result
  ScalarType type;
  const TypedName* result = nullptr;  // of f
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

// `entries`, and then the indices that the function takes. `view`: what the entries are of.
Status CheckParametersOf(const ScalarFunction& function, PlaceKind place,
                         std::vector<SignatureEntry> entries,
                         const std::vector<int>& index_dimensions, size_t rank,
                         absl::string_view view) {
  int previous = -1;
  for (const int d : index_dimensions) {
    if (d <= previous || d >= static_cast<int>(rank)) {
      return InvalidAt({place}, "the dimensions whose indices ", function.name(),
                       " takes must be ascending numbers below ", rank, ", not (",
                       absl::StrJoin(index_dimensions, ", "), ")");
    }
    previous = d;
    entries.push_back({nullptr, ScalarType::kInt64});
  }
  const std::vector<TypedName>& names = function.parameters();
  if (names.size() != entries.size()) {
    return InvalidAt({place}, "function '", function.name(), "' has ", names.size(),
                     " parameters, but ", view, " ", entries.size(),
                     index_dimensions.empty() ? " accesses" : " accesses and indices");
  }
  for (size_t n = 0; n < names.size(); ++n) {
    if (names[n].type == entries[n].type) continue;
    const std::string what =
        entries[n].result != nullptr   ? absl::StrCat("result '", entries[n].result->name, "'")
        : entries[n].buffer == nullptr ? "an index"
                                       : absl::StrCat("buffer '", entries[n].buffer->name, "'");
    return InvalidAt({place}, "function '", function.name(), "': parameter '", names[n].name,
                     "' has type ", Name(names[n].type), ", but ", what, " has type ",
                     Name(entries[n].type));
  }
  return absl::OkStatus();
}

// f's parameters are the accesses of inp_view; those of the store function f's results and the
// accesses of its own inputs.
Status CheckParameters(const ExpressionSpec& spec) {
  const size_t rank = spec.dimensions.size();
  MDH_RETURN_IF_ERROR(CheckParametersOf(spec.function, PlaceKind::kFunction, EntriesOf(spec.inputs),
                                        spec.index_dimensions, rank, "the input view has"));
  if (!spec.store.has_value()) return absl::OkStatus();
  std::vector<SignatureEntry> entries;
  for (const TypedName& result : spec.function.results()) {
    entries.push_back({nullptr, result.type, &result});
  }
  const std::vector<SignatureEntry> accesses = EntriesOf(spec.store->inputs);
  entries.insert(entries.end(), accesses.begin(), accesses.end());
  return CheckParametersOf(
      spec.store->function, PlaceKind::kStoreFunction, std::move(entries),
      spec.store->index_dimensions, rank,
      absl::StrCat("'", spec.function.name(), "' has ", spec.function.results().size(),
                   " results, which together with what it reads makes"));
}

// What is stored are the accesses of out_view, in order. Numbers of any type can be stored as
// numbers of any other.
Status CheckStoredResults(const ExpressionSpec& spec) {
  const std::vector<SignatureEntry> entries = EntriesOf(spec.outputs);
  const ScalarFunction& function = spec.store.has_value() ? spec.store->function : spec.function;
  const PlaceKind place = spec.store.has_value() ? PlaceKind::kStoreFunction : PlaceKind::kFunction;
  const std::vector<TypedName>& names = function.results();
  if (names.size() != entries.size()) {
    return InvalidAt({place}, "function '", function.name(), "' has ", names.size(),
                     " results, but the output view has ", entries.size(), " accesses");
  }
  for (size_t n = 0; n < names.size(); ++n) {
    const bool is_bool = names[n].type == ScalarType::kBool;
    if (is_bool == (entries[n].type == ScalarType::kBool)) continue;
    return InvalidAt({place}, "function '", function.name(), "': result '", names[n].name,
                     "' has type ", Name(names[n].type), ", but buffer '", entries[n].buffer->name,
                     "' has type ", Name(entries[n].type));
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
  return InvalidAt({PlaceKind::kCombineOperator, second}, "combine operators '", a.ToString(),
                   "' of dimension '", spec.dimensions[first].name, "' and '", b.ToString(),
                   "' of dimension '", spec.dimensions[second].name,
                   "' differ, so that the result would depend on which dimension is combined first",
                   counterexample.has_value() ? absl::StrCat(": ", *counterexample) : "",
                   "; all dimensions but those with ++ must have the same function");
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
  return InvalidAt({PlaceKind::kCombineOperator, empty}, "dimension '", spec.dimensions[empty].name,
                   "' is empty, and combine operator '", spec.combine_operators[empty].ToString(),
                   "' has no identity, which its results would be");
}

Status CheckCombineOperators(ExpressionSpec* to_check) {
  const ExpressionSpec& spec = *to_check;
  const std::vector<CombineOperator>& operators = spec.combine_operators;
  if (operators.size() != spec.dimensions.size()) {
    return InvalidAt({PlaceKind::kCombineOperator}, "md_hom has ", operators.size(),
                     " combine operators for ", spec.dimensions.size(), " dimensions");
  }
  int first = -1, count = 0;
  const std::vector<ResultTuple> samples = SampleResults(spec.function);
  for (int d = 0; d < static_cast<int>(operators.size()); ++d) {
    if (operators[d].is_concat()) continue;
    const std::vector<TypedName>& combined = operators[d].function().results();
    const std::vector<TypedName>& results = spec.function.results();
    if (!std::ranges::equal(combined, results, [](const TypedName& a, const TypedName& b) {
          return a.type == b.type;
        })) {
      return InvalidAt(
          {PlaceKind::kCombineOperator, d}, "combine operator '", operators[d].ToString(),
          "' does not combine values of the types of the results of '", spec.function.name(), "'");
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

// "dimension 'k', which is reduced by '+'".
std::string ReducedDimension(const ExpressionSpec& spec, size_t d) {
  return absl::StrCat("dimension '", spec.dimensions[d].name, "', which is reduced by '",
                      spec.combine_operators[d].ToString(), "'");
}

constexpr char kOncePerResult[] =
    "; a store function is applied to results, which exist once for all points along it: what "
    "depends on it belongs in f";

// `what`: "output", say; `why`: behind the message.
Status CheckNotReduced(const ExpressionSpec& spec, const std::vector<Buffer>& buffers,
                       PlaceKind place, absl::string_view what, absl::string_view why) {
  for (int b = 0; b < static_cast<int>(buffers.size()); ++b) {
    const Buffer& buffer = buffers[b];
    for (int a = 0; a < static_cast<int>(buffer.accesses.size()); ++a) {
      for (int x = 0; x < static_cast<int>(buffer.extents.size()); ++x) {
        for (size_t d = 0; d < spec.dimensions.size(); ++d) {
          if (!spec.combine_operators[d].is_point_wise() ||
              buffer.accesses[a].indices[x].coefficients[d] == 0) {
            continue;
          }
          return InvalidAt({place, b, a, x}, what, " '", buffer.name, "', access ", a, ", index ",
                           x, " uses ", ReducedDimension(spec, d), why);
        }
      }
    }
  }
  return absl::OkStatus();
}

Status CheckNothingReducedIsUsed(const ExpressionSpec& spec) {
  MDH_RETURN_IF_ERROR(CheckNotReduced(spec, spec.outputs, PlaceKind::kOutput, "output", ""));
  if (!spec.store.has_value()) return absl::OkStatus();
  for (const int d : spec.store->index_dimensions) {
    if (!spec.combine_operators[d].is_point_wise()) continue;
    return InvalidAt({PlaceKind::kStoreFunction}, "store function '", spec.store->function.name(),
                     "' takes the index of ", ReducedDimension(spec, d), kOncePerResult);
  }
  return CheckNotReduced(spec, spec.store->inputs, PlaceKind::kStoreInput,
                         "input of the store function", kOncePerResult);
}

// What is given of the layout of an input and of the store function's buffer of that name, by the
// number of the latter.
using JoinedStrides = std::map<int, std::pair<std::vector<int64_t>, std::vector<int64_t>>>;

// What the store function reads, too, under the name of an input: one buffer, whose extents cover
// the accesses of both.
Status JoinWithInputs(ExpressionSpec* spec, JoinedStrides* strides) {
  if (!spec->store.has_value()) return absl::OkStatus();
  for (int b = 0; b < static_cast<int>(spec->store->inputs.size()); ++b) {
    Buffer& read = spec->store->inputs[b];
    const Buffer* input = FindBuffer(spec->inputs, read.name);
    if (input == nullptr) continue;
    if (!(read.type == input->type)) {
      return InvalidAt({PlaceKind::kStoreInput, b}, "buffer '", read.name, "' is of type ",
                       read.type.ToString(), ", but the input of this name is of type ",
                       input->type.ToString());
    }
    if (!read.extents_given && read.is_dense()) {
      read.extents_given = input->extents_given;
      read.extents = input->extents;
      read.given_strides = input->given_strides;
      read.boundary = input->boundary;
    }
    (*strides)[b] = {input->given_strides, read.given_strides};
  }
  return absl::OkStatus();
}

// Expects that the views are checked.
Status CheckJoinedInputs(const JoinedStrides& strides, ExpressionSpec* spec) {
  if (!spec->store.has_value()) return absl::OkStatus();
  for (int b = 0; b < static_cast<int>(spec->store->inputs.size()); ++b) {
    Buffer& read = spec->store->inputs[b];
    Buffer* input = FindBuffer(spec->inputs, read.name);
    if (input == nullptr) continue;
    // As given: what is dense for the extents of one need not be for the common ones.
    std::tie(input->given_strides, read.given_strides) = strides.at(b);
    bool is_same = read.extents.size() == input->extents.size();
    for (size_t x = 0; is_same && x < read.extents.size(); ++x) {
      int64_t& of_read = read.extents[x];
      int64_t& of_input = input->extents[x];
      if (!read.extents_given) of_read = std::max(of_read, of_input);
      if (!input->extents_given) of_input = std::max(of_read, of_input);
      is_same = of_read == of_input;
    }
    if (!is_same || read.strides() != input->strides()) {
      return InvalidAt({PlaceKind::kStoreInput, b}, "buffer '", read.name, "' has the extents (",
                       absl::StrJoin(read.extents, ", "),
                       ") here, but others or another layout in inp_view, (",
                       absl::StrJoin(input->extents, ", "), ")");
    }
    // The common extents may be larger than those of each.
    std::vector<Buffer> joined = {*input, read};
    for (Buffer& buffer : joined) buffer.extents_given = true;
    const Status fits = CheckView(PlaceKind::kInput, spec->dimensions, &joined);
    if (!fits.ok()) return AtPlace(fits, {PlaceKind::kStoreInput, b});
    input->given_strides = joined[0].given_strides;
    read.given_strides = joined[1].given_strides;
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
  return InvalidAt({PlaceKind::kOutput, b, second}, "output '", buffer.name, "': element (",
                   absl::StrJoin(element, ", "), ") is written twice, by ",
                   writer(first, collision.first), " and by ", writer(second, collision.second));
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
          return InvalidAt({PlaceKind::kOutput, b, second}, "output '", spec.outputs[b].name,
                           "': it could not be proven that no element is written "
                           "twice; use simpler index functions");
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
    return InvalidArgument("'", spec.name, "' is no name for an expression");
  }
  MDH_RETURN_IF_ERROR(CheckDimensions(spec.dimensions));
  if (spec.outputs.empty()) return InvalidArgument("expression '", spec.name, "' has no output");
  MDH_RETURN_IF_ERROR(CheckBufferNames(spec));
  JoinedStrides joined_strides;
  MDH_RETURN_IF_ERROR(JoinWithInputs(&spec, &joined_strides));
  MDH_RETURN_IF_ERROR(CheckView(PlaceKind::kInput, spec.dimensions, &spec.inputs));
  MDH_RETURN_IF_ERROR(CheckView(PlaceKind::kOutput, spec.dimensions, &spec.outputs));
  if (spec.store.has_value()) {
    MDH_RETURN_IF_ERROR(CheckView(PlaceKind::kStoreInput, spec.dimensions, &spec.store->inputs));
  }
  MDH_RETURN_IF_ERROR(CheckJoinedInputs(joined_strides, &spec));
  MDH_RETURN_IF_ERROR(CheckParameters(spec));
  MDH_RETURN_IF_ERROR(CheckStoredResults(spec));
  MDH_RETURN_IF_ERROR(CheckCombineOperators(&spec));
  MDH_RETURN_IF_ERROR(CheckNothingReducedIsUsed(spec));
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
