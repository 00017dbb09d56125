#include "client/commands/format/explain.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/commands/format/expression_facts.h"
#include "client/text/formatting.h"
#include "core/expression/canonical.h"
#include "core/expression/touched_elements.h"
#include "core/expression/unreached_elements.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

using Json = nlohmann::ordered_json;

std::string JoinValues(const std::vector<ScalarValue>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const ScalarValue& value) {
    absl::StrAppend(out, value.ToString());
  });
}

std::vector<std::string> DimensionNames(const Expression& expression,
                                        const std::vector<int>& dimensions) {
  std::vector<std::string> names;
  for (const int d : dimensions) names.push_back(expression.dimensions()[d].name);
  return names;
}

std::vector<std::string> AccessTexts(const Expression& expression, const Buffer& buffer) {
  std::vector<std::string> texts;
  for (const IndexFunction& access : buffer.accesses) {
    texts.push_back(ToText(access, expression.dimensions()));
  }
  return texts;
}

const char* KindName(const CombineOperator& combine) {
  return combine.is_concat() ? "cc" : combine.is_prefix_sum() ? "ps" : "pw";
}

std::string LawsText(const OperatorLaws& laws) {
  return absl::StrCat(
      laws.is_commutative ? "associative and commutative" : "associative, not commutative",
      laws.rounds ? " up to rounding" : "",
      laws.identity.empty() ? ", no neutral element is known"
                            : absl::StrCat(", neutral element ", JoinValues(laws.identity)),
      laws.keeps_order ? "; not for nan, so that values are combined in their order" : "");
}

std::string DimensionText(const Dimension& dimension, const CombineOperator& combine,
                          const std::optional<OperatorLaws>& laws) {
  std::string how = "concatenated (++)";
  if (!combine.is_concat()) {
    how = absl::StrCat(combine.is_prefix_sum() ? "prefix sums with " : "reduced with ",
                       combine.is_prefix_sum() ? combine.function().name() : combine.ToString(),
                       ": ", LawsText(*laws));
  }
  return absl::StrFormat("    %-8s %d points, %s\n", dimension.name, dimension.size, how);
}

std::string LayoutText(const Buffer& buffer) {
  if (buffer.is_dense()) return "row-major";
  return absl::StrCat("strides (", absl::StrJoin(buffer.given_strides, ", "), ") elements");
}

std::string BoundaryText(const Buffer& buffer) {
  switch (buffer.boundary.kind) {
    case Boundary::Kind::kNone:
      return "";
    case Boundary::Kind::kClamp:
      return "the nearest element inside";
    case Boundary::Kind::kConstant:
      return JoinValues(buffer.boundary.values);
  }
  return "";
}

// One sentence per way in which elements are accessed more than once.
std::vector<std::string> ReuseTexts(const Expression& expression, const Buffer& buffer,
                                    const Reuse& reuse) {
  std::vector<std::string> texts;
  if (!reuse.dimensions.empty()) {
    texts.push_back(
        absl::StrFormat("every element serves %d points along %s", reuse.factor,
                        absl::StrJoin(DimensionNames(expression, reuse.dimensions), ", ")));
  }
  for (const auto& [index, dimensions] : reuse.shared_indices) {
    texts.push_back(absl::StrFormat("%s share index %d",
                                    absl::StrJoin(DimensionNames(expression, dimensions), " and "),
                                    index));
  }
  if (buffer.accesses.size() > 1) {
    texts.push_back(absl::StrFormat("%d accesses at every point", buffer.accesses.size()));
  }
  const double times = reuse.accesses / reuse.elements;
  const bool overlaps = !reuse.shared_indices.empty() || buffer.accesses.size() > 1;
  if (overlaps && times > 1) texts.push_back(absl::StrFormat("%.4g accesses per element", times));
  return texts;
}

int64_t UnreachedIn(const Expression& expression, const Buffer& output) {
  return UnreachedCount(expression, static_cast<int>(&output - expression.outputs().data()));
}

std::string UnreachedText(const Expression& expression, const Buffer& output) {
  const int64_t count = UnreachedIn(expression, output);
  if (count == 0) return "";
  return absl::StrCat(count, count == 1 ? " element" : " elements",
                      " that no index function reaches ",
                      output.keeps_unreached ? (count == 1 ? "keeps" : "keep")
                                             : (count == 1 ? "becomes" : "become"),
                      output.keeps_unreached ? " what is there" : " zero");
}

enum class BufferRole : uint8_t { kInput, kStoreInput, kOutput };

std::string BufferText(const Expression& expression, const Buffer& buffer, BufferRole role) {
  std::string text =
      absl::StrFormat("    %-8s %s[%s], %s: %s\n", buffer.name, buffer.type.ToString(),
                      absl::StrJoin(buffer.extents, ","), FormatBytes(buffer.size_bytes()),
                      absl::StrJoin(AccessTexts(expression, buffer), ", "));
  const auto line = [&](const std::string& words) {
    absl::StrAppendFormat(&text, "    %-8s %s\n", "", words);
  };
  line(absl::StrCat(LayoutText(buffer),
                    buffer.extents_given ? ", extents as given" : ", extents from the accesses"));
  const std::string boundary = BoundaryText(buffer);
  if (!boundary.empty()) line(absl::StrCat("outside of the extents: ", boundary));
  if (role == BufferRole::kStoreInput) {
    line("read where results are final");
    return text;
  }
  if (role == BufferRole::kOutput) {
    const std::string unreached = UnreachedText(expression, buffer);
    if (!unreached.empty()) line(unreached);
    return text;
  }
  for (const std::string& words : ReuseTexts(expression, buffer, ReuseOf(expression, buffer))) {
    line(words);
  }
  return text;
}

// What becomes of result r.
std::string FateText(const Expression& expression, int r) {
  if (expression.store() != nullptr) {
    return absl::StrCat("taken by ", expression.store()->function.name());
  }
  return absl::StrCat("stored as ", Name(expression.stored_type(r)));
}

std::string ResultTypesText(const Expression& expression) {
  const bool combines = expression.has_reduction() || expression.has_prefix_sum();
  const std::vector<TypedName>& results = expression.function().results();
  const absl::string_view how = combines ? "combined" : "computed";
  std::string text;
  for (int r = 0; r < std::ssize(results); ++r) {
    absl::StrAppendFormat(&text, "    %-8s %s in %s, %s\n", results[r].name, how,
                          Name(results[r].type), FateText(expression, r));
  }
  if (expression.store() == nullptr) return text;
  for (int n = 0; n < std::ssize(expression.stored()); ++n) {
    const TypedName& stored = expression.stored()[n];
    absl::StrAppendFormat(&text, "    %-8s made of them in %s, stored as %s\n", stored.name,
                          Name(stored.type), Name(expression.stored_type(n)));
  }
  return text;
}

std::string CountsText(const ScalarFunction& function) {
  const OperationCounts counts = CountOperations(function);
  if (counts.empty()) return "none";
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.second, " ", count.first);
  });
}

double Intensity(const Expression& expression) {
  if (expression.CompulsoryBytes() == 0) return 0;
  return static_cast<double>(expression.FloatingPointOperations()) /
         static_cast<double>(expression.CompulsoryBytes());
}

// "4.00 MiB", "at most 4.00 MiB", "7.81 KiB (125 KiB in lines of 64 bytes)".
std::string TouchedText(const Expression& expression) {
  constexpr int64_t kLineBytes = 64;
  const CountBounds bytes = TouchedBytes(expression);
  const int64_t lines = TouchedLineBytes(expression, kLineBytes);
  std::string text = absl::StrCat(bytes.is_exact() ? "" : "at most ", FormatBytes(bytes.upper));
  if (lines >= 2 * bytes.upper) {
    absl::StrAppend(&text, " (", FormatBytes(lines), " in lines of ", kLineBytes, " bytes)");
  }
  return text;
}

std::string WorkText(const Expression& expression) {
  std::string text;
  if (expression.is_empty()) return "    nothing to compute: there is no point\n";
  absl::StrAppendFormat(&text, "    %d points\n    per point: %s\n", expression.points(),
                        CountsText(expression.function()));
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    absl::StrAppendFormat(&text, "    per combination: %s\n",
                          CountsText(expression.reduction().function()));
  }
  if (expression.store() != nullptr) {
    absl::StrAppendFormat(&text, "    per result: %s\n", CountsText(expression.store()->function));
  }
  absl::StrAppendFormat(
      &text, "    %d floating-point operations, %s touched, %.2f operations per byte\n",
      expression.FloatingPointOperations(), TouchedText(expression), Intensity(expression));
  return text;
}

Json BufferJson(const Expression& expression, const Buffer& buffer) {
  const Reuse reuse = ReuseOf(expression, buffer);
  Json shared = Json::array();
  for (const auto& [index, dimensions] : reuse.shared_indices) {
    shared.push_back({{"index", index}, {"dimensions", DimensionNames(expression, dimensions)}});
  }
  Json json = {{"name", buffer.name},
               {"type", buffer.type.ToString()},
               {"extents", buffer.extents},
               {"extents_given", buffer.extents_given},
               {"strides", buffer.strides()},
               {"is_row_major", buffer.is_dense()},
               {"size_bytes", buffer.size_bytes()},
               {"accesses", AccessTexts(expression, buffer)},
               {"reuse",
                {{"dimensions", DimensionNames(expression, reuse.dimensions)},
                 {"factor", reuse.factor},
                 {"shared_indices", shared},
                 {"accesses_per_element", reuse.accesses / reuse.elements}}}};
  const std::string boundary = BoundaryText(buffer);
  if (!boundary.empty()) json["boundary"] = boundary;
  return json;
}

Json BuffersJson(const Expression& expression, const std::vector<Buffer>& buffers) {
  Json json = Json::array();
  for (const Buffer& buffer : buffers) json.push_back(BufferJson(expression, buffer));
  return json;
}

Json OutputsJson(const Expression& expression) {
  Json json = BuffersJson(expression, expression.outputs());
  for (size_t b = 0; b < expression.outputs().size(); ++b) {
    const Buffer& output = expression.outputs()[b];
    const int64_t unreached = UnreachedIn(expression, output);
    if (unreached == 0) continue;
    json[b]["unreached_elements"] = unreached;
    json[b]["keeps_unreached"] = output.keeps_unreached;
  }
  return json;
}

Json DimensionsJson(const Expression& expression) {
  Json dimensions = Json::array();
  for (int d = 0; d < expression.rank(); ++d) {
    const CombineOperator& combine = expression.combine_operators()[d];
    dimensions.push_back({{"name", expression.dimensions()[d].name},
                          {"size", expression.dimensions()[d].size},
                          {"operator", combine.ToString()},
                          {"kind", KindName(combine)}});
  }
  return dimensions;
}

Json CountsJson(const ScalarFunction& function) {
  Json counts = Json::object();
  for (const auto& [name, count] : CountOperations(function)) counts[name] = count;
  return counts;
}

Json CombinationJson(const Expression& expression) {
  const OperatorLaws laws = *LawsOf(expression);
  Json identity = Json::array();
  for (const ScalarValue& value : laws.identity) identity.push_back(value.ToString());
  return {{"function", expression.reduction().function().name()},
          {"is_associative", true},
          {"is_commutative", laws.is_commutative},
          {"rounds", laws.rounds},
          {"keeps_order", laws.keeps_order},
          {"identity", laws.identity.empty() ? Json(nullptr) : identity},
          {"operations", CountsJson(expression.reduction().function())}};
}

Json ResultsJson(const Expression& expression) {
  Json results = Json::array();
  for (int r = 0; r < std::ssize(expression.stored()); ++r) {
    const TypedName& result = expression.stored()[r];
    results.push_back({{"name", result.name},
                       {"type", std::string(Name(result.type))},
                       {"stored_type", std::string(Name(expression.stored_type(r)))}});
  }
  return results;
}

}  // namespace

std::string ExplainAsText(const Expression& expression) {
  std::string text = absl::StrCat(expression.name(), "\n  dimensions\n");
  const std::optional<OperatorLaws> laws = LawsOf(expression);
  for (int d = 0; d < expression.rank(); ++d) {
    absl::StrAppend(
        &text, DimensionText(expression.dimensions()[d], expression.combine_operators()[d], laws));
  }
  absl::StrAppend(&text, expression.inputs().empty() ? "" : "  inputs\n");
  for (const Buffer& buffer : expression.inputs()) {
    absl::StrAppend(&text, BufferText(expression, buffer, BufferRole::kInput));
  }
  if (const StoreFunction* store = expression.store(); store && !store->inputs.empty()) {
    absl::StrAppend(&text, "  inputs of the store function\n");
    for (const Buffer& buffer : store->inputs) {
      absl::StrAppend(&text, BufferText(expression, buffer, BufferRole::kStoreInput));
    }
  }
  absl::StrAppend(&text, "  outputs\n");
  for (const Buffer& buffer : expression.outputs()) {
    absl::StrAppend(&text, BufferText(expression, buffer, BufferRole::kOutput));
  }
  absl::StrAppend(&text, "  function\n    ", ToText(expression.function()), "\n");
  if (expression.store() != nullptr) {
    absl::StrAppend(&text, "  store function\n    ", ToText(expression.store()->function), "\n");
  }
  absl::StrAppend(&text, "  results\n", ResultTypesText(expression));
  absl::StrAppend(&text, "  work\n", WorkText(expression));
  absl::StrAppend(&text, "  digest\n    ", Digest(expression), "\n");
  return text;
}

nlohmann::ordered_json ExplainAsJson(const Expression& expression) {
  Json json = {
      {"name", expression.name()},
      {"digest", Digest(expression)},
      {"dimensions", DimensionsJson(expression)},
      {"index_arguments", DimensionNames(expression, expression.index_dimensions())},
      {"inputs", BuffersJson(expression, expression.inputs())},
      {"store_inputs", expression.store() == nullptr
                           ? Json::array()
                           : BuffersJson(expression, expression.store()->inputs)},
      {"outputs", OutputsJson(expression)},
      {"function", ToText(expression.function())},
      {"store_function",
       expression.store() == nullptr ? Json(nullptr) : Json(ToText(expression.store()->function))},
      {"results", ResultsJson(expression)},
      {"operations", CountsJson(expression.function())},
      {"points", expression.points()},
      {"flops", expression.FloatingPointOperations()},
      {"compulsory_bytes", expression.CompulsoryBytes()},
      {"flops_per_byte", Intensity(expression)}};
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    json["combination"] = CombinationJson(expression);
  }
  return json;
}

}  // namespace mdh
