// Printing expressions so that they parse back.
#include "core/text/printer.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/identifier.h"
#include "core/text/function_printer.h"

namespace mdh {
namespace {

std::string IndexText(const AffineIndex& index, const std::vector<Dimension>& dimensions) {
  std::string text;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const int64_t coefficient = index.coefficients[d];
    if (coefficient == 0) continue;
    const uint64_t magnitude = coefficient < 0 ? 0 - static_cast<uint64_t>(coefficient)
                                               : static_cast<uint64_t>(coefficient);
    absl::StrAppend(
        &text, text.empty() ? (coefficient < 0 ? "-" : "") : (coefficient < 0 ? " - " : " + "));
    if (magnitude != 1) absl::StrAppend(&text, magnitude, "*");
    absl::StrAppend(&text, dimensions[d].name);
  }
  if (text.empty()) return absl::StrCat(index.constant);
  if (index.constant > 0) absl::StrAppend(&text, " + ", index.constant);
  if (index.constant < 0) absl::StrAppend(&text, " - ", 0 - static_cast<uint64_t>(index.constant));
  return text;
}

std::string Tuple(const IndexFunction& access, const std::vector<Dimension>& dimensions) {
  return absl::StrCat("(",
                      absl::StrJoin(access.indices, ", ",
                                    [&](std::string* out, const AffineIndex& index) {
                                      absl::StrAppend(out, IndexText(index, dimensions));
                                    }),
                      ")");
}

// "0", or "{x: 0, n: 1}" for a record.
std::string ConstantText(absl::Span<const ScalarValue> values, const ElementType& type) {
  if (!type.is_record()) return values[0].ToString();
  std::string text;
  for (size_t f = 0; f < values.size(); ++f) {
    absl::StrAppend(&text, f == 0 ? "{" : ", ", type.fields()[f].name, ": ", values[f].ToString());
  }
  return text + "}";
}

std::string BufferText(const Buffer& buffer, const std::vector<Dimension>& dimensions) {
  std::string text = buffer.name;
  // A buffer without dimensions has no extents to give.
  if (buffer.extents_given && !buffer.extents.empty()) {
    absl::StrAppend(&text, "[", absl::StrJoin(buffer.extents, ", "), "]");
  }
  if (!buffer.is_dense()) {
    absl::StrAppend(&text, " strides (", absl::StrJoin(buffer.given_strides, ", "), ")");
  }
  if (buffer.keeps_unreached) absl::StrAppend(&text, " keep");
  if (buffer.boundary.kind == Boundary::Kind::kClamp) absl::StrAppend(&text, " else clamp");
  if (buffer.boundary.kind == Boundary::Kind::kConstant) {
    absl::StrAppend(&text, " else ", ConstantText(buffer.boundary.values, buffer.type));
  }
  absl::StrAppend(&text, ": ", ToText(buffer.accesses[0], dimensions));
  for (size_t a = 1; a < buffer.accesses.size(); ++a) {
    absl::StrAppend(&text, ", ", Tuple(buffer.accesses[a], dimensions));
  }
  return text;
}

// On one line if it fits, else with a line for each buffer.
std::string ViewText(absl::string_view keyword, const std::vector<Buffer>& buffers,
                     const std::vector<Dimension>& dimensions) {
  constexpr size_t kLineLength = 100;
  std::vector<std::string> texts, types;
  for (const Buffer& buffer : buffers) {
    texts.push_back(BufferText(buffer, dimensions));
    types.push_back(buffer.type.ToString());
  }
  if (texts.empty()) return absl::StrCat("  ", keyword, "()");
  const std::string head = absl::StrCat("  ", keyword, "<", absl::StrJoin(types, ","), ">( ");
  std::string line = absl::StrCat(head, absl::StrJoin(texts, ", "), " )");
  if (line.size() <= kLineLength) return line;
  return absl::StrCat(
      head, absl::StrJoin(texts, absl::StrCat(",\n", std::string(head.size(), ' '))), " )");
}

// The types of f's parameters or results, one per access.
std::vector<ElementType> TypesOfAccesses(const std::vector<Buffer>& buffers) {
  std::vector<ElementType> types;
  for (const Buffer& buffer : buffers) {
    types.insert(types.end(), buffer.accesses.size(), buffer.type);
  }
  return types;
}

// What the scalars of a parameter or result are called if they have a name in common: "a" for the
// scalar "a", or for the fields "a.x" and "a.y" of a record with x and y; else empty.
std::string CommonName(absl::Span<const TypedName> scalars, const ElementType& type) {
  const std::string name = scalars[0].name.substr(0, scalars[0].name.find('.'));
  for (size_t f = 0; f < scalars.size(); ++f) {
    const std::string expected =
        type.is_record() ? absl::StrCat(name, ".", type.fields()[f].name) : name;
    if (scalars[f].name != expected) return "";
  }
  return IsIdentifier(name) ? name : "";
}

// Names for groups of scalars: their own where they have one that is free, else new ones.
class GroupNames {
 public:
  // `reserved`: names that mean something else.
  explicit GroupNames(std::set<std::string> reserved) : taken_(std::move(reserved)) {}

  void Add(absl::Span<const TypedName> scalars, absl::Span<const ElementType> types) {
    for (const ElementType& type : types) {
      const size_t count = type.fields().size();
      std::string name = CommonName(scalars.subspan(0, count), type);
      if (!name.empty() && !taken_.insert(name).second) name.clear();
      names_.push_back(std::move(name));
      scalars.remove_prefix(count);
    }
  }

  std::vector<std::string> Finish() {
    int number = 0;
    for (std::string& name : names_) {
      while (name.empty()) {
        const std::string fresh = absl::StrCat("v", ++number);
        if (taken_.insert(fresh).second) name = fresh;
      }
    }
    return std::move(names_);
  }

 private:
  std::set<std::string> taken_;
  std::vector<std::string> names_;
};

// A function of the where part.
class FunctionText {
 public:
  // `parameters`, `results`: types of the groups; `stored`: those that results have if none is
  // written; `indices`: names of the dimensions whose indices follow the other parameters.
  // `says_types`: types of results are written, whatever `stored` is.
  FunctionText(const ScalarFunction& function, std::vector<ElementType> parameters,
               std::vector<ElementType> stored, std::vector<std::string> indices,
               bool says_types = false)
      : function_(function),
        parameters_(std::move(parameters)),
        stored_(std::move(stored)),
        indices_(std::move(indices)),
        says_types_(says_types) {}

  std::string Print(const std::string& name,
                    const std::optional<std::vector<ScalarValue>>& identity) const {
    GroupNames groups(std::set<std::string>(indices_.begin(), indices_.end()));
    groups.Add(function_.parameters(), parameters_);
    groups.Add(function_.results(), stored_);
    std::vector<std::string> names = groups.Finish();
    const auto results = names.begin() + static_cast<std::ptrdiff_t>(parameters_.size());
    const std::vector<std::string> result_names(results, names.end());
    names.erase(results, names.end());
    return absl::StrCat(name, "(", absl::StrJoin(names, ", "), ") -> ", Results(result_names),
                        identity.has_value() ? Identity(*identity) : "", " ",
                        BodyText(function_, Flat(names, result_names)));
  }

 private:
  FunctionNames Flat(const std::vector<std::string>& parameters,
                     const std::vector<std::string>& results) const {
    FunctionNames names;
    for (size_t p = 0; p < parameters_.size(); ++p) {
      for (const ElementType::Field& field : parameters_[p].fields()) {
        names.parameters.push_back(parameters_[p].is_record()
                                       ? absl::StrCat(parameters[p], ".", field.name)
                                       : parameters[p]);
      }
    }
    names.first_index = names.parameters.size();
    names.parameters.insert(names.parameters.end(), indices_.begin(), indices_.end());
    for (size_t r = 0; r < stored_.size(); ++r) {
      names.results.push_back({results[r], {}});
      if (!stored_[r].is_record()) continue;
      for (const ElementType::Field& field : stored_[r].fields()) {
        names.results.back().fields.push_back(field.name);
      }
    }
    return names;
  }

  // With the type in which a result is combined where it is stored as another.
  std::string Results(const std::vector<std::string>& names) const {
    std::vector<std::string> texts;
    bool has_type = false;
    size_t scalar = 0;
    for (size_t r = 0; r < names.size(); ++r) {
      std::string type;
      bool differs = says_types_;
      for (const ElementType::Field& field : stored_[r].fields()) {
        const ScalarType combined = function_.results()[scalar++].type;
        differs = differs || combined != field.type;
        absl::StrAppend(&type, type.empty() ? "" : ", ",
                        field.name.empty() ? "" : absl::StrCat(field.name, ": "), Name(combined));
      }
      if (stored_[r].is_record()) type = absl::StrCat("{", type, "}");
      texts.push_back(differs ? absl::StrCat(names[r], ": ", type) : names[r]);
      has_type = has_type || differs;
    }
    const std::string all = absl::StrJoin(texts, ", ");
    return names.size() == 1 && !has_type ? all : absl::StrCat("(", all, ")");
  }

  std::string Identity(absl::Span<const ScalarValue> values) const {
    std::vector<std::string> texts;
    for (const ElementType& type : stored_) {
      texts.push_back(ConstantText(values.subspan(0, type.fields().size()), type));
      values.remove_prefix(type.fields().size());
    }
    return absl::StrCat(" identity (", absl::StrJoin(texts, ", "), ")");
  }

  const ScalarFunction& function_;
  const std::vector<ElementType> parameters_, stored_;
  const std::vector<std::string> indices_;
  const bool says_types_;
};

// The types of the results that a store function takes: those called "m.x" and "m.n" are a record,
// as the function wrote them.
std::vector<ElementType> ResultsToFinish(const ScalarFunction& f) {
  std::vector<ElementType> types;
  const std::vector<TypedName>& results = f.results();
  for (size_t r = 0; r < results.size();) {
    const std::vector<std::string> parts = absl::StrSplit(results[r].name, absl::MaxSplits('.', 1));
    std::vector<TypedName> fields;
    for (size_t n = r; n < results.size() && parts.size() == 2; ++n) {
      const std::vector<std::string> other =
          absl::StrSplit(results[n].name, absl::MaxSplits('.', 1));
      if (other.size() != 2 || other[0] != parts[0]) break;
      fields.push_back({other[1], results[n].type});
    }
    const size_t count = fields.size();
    const Result<ElementType> record =
        count == 0 ? ElementType(results[r].type) : ElementType::Record(std::move(fields));
    types.push_back(record.ok() ? *record : ElementType(results[r].type));
    r += count == 0 || !record.ok() ? 1 : count;
  }
  return types;
}

// The types in which results are combined: those of the operator's results.
std::vector<ElementType> Combined(const Expression& expression) {
  if (expression.store() != nullptr) return ResultsToFinish(expression.function());
  std::vector<ElementType> types;
  size_t scalar = 0;
  for (const ElementType& stored : TypesOfAccesses(expression.outputs())) {
    std::vector<TypedName> fields;
    for (const ElementType::Field& field : stored.fields()) {
      fields.push_back({field.name, expression.function().results()[scalar++].type});
    }
    types.push_back(stored.is_record() ? *ElementType::Record(std::move(fields))
                                       : ElementType(fields[0].type));
  }
  return types;
}

// `name`, or another one where it cannot stand in the where part.
std::string FunctionName(const std::string& name, std::string instead,
                         const std::set<std::string>& taken) {
  const std::set<absl::string_view> reserved = {"min", "max", "cc", "pw", "ps"};
  if (IsIdentifier(name) && reserved.count(name) == 0 && taken.count(name) == 0) return name;
  while (taken.count(instead) > 0) instead += "_";
  return instead;
}

std::vector<std::string> Names(const std::vector<Dimension>& dimensions,
                               const std::vector<int>& numbers) {
  std::vector<std::string> names;
  for (const int d : numbers) names.push_back(dimensions[d].name);
  return names;
}

// `results`: those that it takes.
FunctionText StoreFunctionText(const Expression& expression,
                               const std::vector<ElementType>& results) {
  const StoreFunction& store = *expression.store();
  std::vector<ElementType> parameters = results;
  const std::vector<ElementType> read = TypesOfAccesses(store.inputs);
  parameters.insert(parameters.end(), read.begin(), read.end());
  return {store.function, std::move(parameters), TypesOfAccesses(expression.outputs()),
          Names(expression.dimensions(), store.index_dimensions)};
}

// Behind the combine operators.
std::string StoreText(const std::string& name, const StoreFunction& store,
                      const std::vector<Dimension>& dimensions) {
  if (store.inputs.empty()) return absl::StrCat(", store ", name);
  return absl::StrCat(",\n", ViewText(absl::StrCat("  store ", name), store.inputs, dimensions));
}

// "+", "(+, max)": one operation per result where all fields of each have the same, else one per
// field.
std::string KindsText(const CombineOperator& combine, const std::vector<ElementType>& results) {
  const auto text_of = [&](size_t scalar) {
    const ScalarType type = combine.function().results()[scalar].type;
    return CombineOperator::PointWise(combine.kinds()[scalar], {type})->ToString();
  };
  if (combine.kind() != PointWiseKind::kCustom) return text_of(0);
  std::vector<std::string> per_result, per_scalar;
  bool is_uniform = true;
  for (const ElementType& type : results) {
    per_result.push_back(text_of(per_scalar.size()));
    for (size_t f = 0; f < type.fields().size(); ++f) {
      per_scalar.push_back(text_of(per_scalar.size()));
      is_uniform = is_uniform && per_scalar.back() == per_result.back();
    }
  }
  return absl::StrCat("(", absl::StrJoin(is_uniform ? per_result : per_scalar, ", "), ")");
}

std::string OperatorsText(const Expression& expression, const std::string& reduction) {
  std::vector<std::string> texts;
  for (const CombineOperator& combine : expression.combine_operators()) {
    // All that do not concatenate have the same function, whatever it is called.
    texts.push_back(combine.is_concat()       ? "++"
                    : combine.is_prefix_sum() ? absl::StrCat("ps(", reduction, ")")
                                              : reduction);
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

std::string ToText(const IndexFunction& index, const std::vector<Dimension>& dimensions) {
  const auto append_name = [](std::string* out, const Dimension& dimension) {
    absl::StrAppend(out, dimension.name);
  };
  return absl::StrCat("(", absl::StrJoin(dimensions, ",", append_name), ") -> ",
                      Tuple(index, dimensions));
}

std::string ToText(const ScalarFunction& function) {
  FunctionNames names;
  for (const TypedName& name : function.parameters()) names.parameters.push_back(name.name);
  names.first_index = names.parameters.size();
  for (const TypedName& name : function.results()) names.results.push_back({name.name, {}});
  return BodyText(function, names);
}

std::string ToText(const Expression& expression) {
  const StoreFunction* store = expression.store();
  const std::vector<ElementType> results = store != nullptr ? ResultsToFinish(expression.function())
                                                            : TypesOfAccesses(expression.outputs());
  const std::string f = FunctionName(expression.function().name(), "f", {});
  std::string functions =
      FunctionText(expression.function(), TypesOfAccesses(expression.inputs()), results,
                   Names(expression.dimensions(), expression.index_dimensions()), store != nullptr)
          .Print(f, std::nullopt);
  std::string reduction_name;
  if (expression.has_reduction() || expression.has_prefix_sum()) {
    const CombineOperator& reduction = expression.reduction();
    if (reduction.kinds()[0] != PointWiseKind::kCustom) {
      reduction_name = KindsText(reduction, results);
    } else {
      reduction_name = FunctionName(reduction.function().name(), "g", {f});
      std::vector<ElementType> operands = results;
      operands.insert(operands.end(), results.begin(), results.end());
      absl::StrAppend(&functions, ",\n      ",
                      FunctionText(reduction.function(), operands, Combined(expression), {})
                          .Print(reduction_name, reduction.identity()));
    }
  }
  std::string stored;
  if (store != nullptr) {
    const std::string s = FunctionName(store->function.name(), "s", {f, reduction_name});
    absl::StrAppend(&functions, ",\n      ", StoreFunctionText(expression, results).Print(s, {}));
    stored = StoreText(s, *store, expression.dimensions());
  }
  const auto append_size = [](std::string* out, const Dimension& dimension) {
    absl::StrAppend(out, dimension.size);
  };
  return absl::StrCat(expression.name(), " :=\n",
                      ViewText("out_view", expression.outputs(), expression.dimensions()), " o\n",
                      "  md_hom<", absl::StrJoin(expression.dimensions(), ",", append_size), ">( ",
                      f, ", (", OperatorsText(expression, reduction_name), ")", stored, " ) o\n",
                      ViewText("inp_view", expression.inputs(), expression.dimensions()),
                      "\nwhere ", functions, "\n");
}

}  // namespace mdh
