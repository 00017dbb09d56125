// Evaluates the function on parameters.
#include "core/c_loops/combine_function.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/c_loops/evaluator.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

constexpr std::pair<absl::string_view, PointWiseKind> kNames[] = {
    {"+", PointWiseKind::kAdd},     {"*", PointWiseKind::kMul},     {"min", PointWiseKind::kMin},
    {"max", PointWiseKind::kMax},   {"&&", PointWiseKind::kAnd},    {"||", PointWiseKind::kOr},
    {"&", PointWiseKind::kBitAnd},  {"|", PointWiseKind::kBitOr},   {"^", PointWiseKind::kBitXor},
    {"fmin", PointWiseKind::kFmin}, {"fmax", PointWiseKind::kFmax},
};

// *c = value for a pointer parameter c; nothing else but constants.
class OutParameters : public CMemory {
 public:
  explicit OutParameters(ClangUnit* unit) : unit_(*unit) {}

  static std::string StateOf(const CNode& parameter) {
    return absl::StrCat("=", parameter.declaration);
  }

  Result<CValue> Read(const CNode& lvalue, Evaluator* evaluator) override {
    const CNode* variable = Target(lvalue);
    if (variable == nullptr) return Unsupported(lvalue);
    if (variable != &lvalue) {
      const auto written = evaluator->state().find(StateOf(*variable));
      if (written != evaluator->state().end()) return written->second;
      return Unsupported(lvalue);
    }
    MDH_ASSIGN_OR_RETURN(const CVariable* constant, unit_.Variable(variable->declaration));
    if (constant == nullptr || !constant->type.is_const || !constant->type.is_scalar() ||
        constant->initial_value == nullptr) {
      return Unsupported(lvalue);
    }
    MDH_ASSIGN_OR_RETURN(const CValue value, evaluator->Value(*constant->initial_value));
    return CValue{evaluator->builder().Cast(constant->type.scalar, value[0])};
  }

  Status Write(const CNode& lvalue, CValue value, Evaluator* evaluator) override {
    const CNode* variable = Target(lvalue);
    if (variable == nullptr || variable == &lvalue) return Unsupported(lvalue);
    evaluator->state()[StateOf(*variable)] = std::move(value);
    return absl::OkStatus();
  }

  CValue Former(const std::string& /*name*/) override { return {-1}; }

 private:
  // The pointer of *c, or the variable itself; null for everything else.
  static const CNode* Target(const CNode& lvalue) {
    const CNode* node = &lvalue;
    if (node->kind == Kind::kDereference) node = &node->children[0];
    while (node->kind == Kind::kConvert) node = &node->children[0];
    return node->kind == Kind::kReference ? node : nullptr;
  }

  Status Unsupported(const CNode& node) const {
    return unit_.source().ErrorAt(
        node.begin,
        "a function that combines values can use its parameters, its variables and constants only");
  }

  ClangUnit& unit_;
};

struct Signature {
  std::vector<TypedName> parameters;
  std::vector<CValue> arguments;      // one per parameter of the function
  std::vector<const CNode*> outputs;  // pointers
};

// Errors: InvalidArgument if a parameter is neither a value nor a pointer to a number.
Result<Signature> SignatureOf(const CFunction& function, const Source& source,
                              ScalarBuilder* builder) {
  Signature signature;
  for (const CNode& parameter : function.parameters) {
    const std::vector<ScalarType> types = parameter.type.ScalarTypes();
    CValue value;
    for (size_t n = 0; n < types.size(); ++n) {
      value.push_back(builder->Parameter(types[n], static_cast<int>(signature.parameters.size())));
      signature.parameters.push_back(
          {parameter.type.is_record()
               ? absl::StrCat(parameter.text, ".", parameter.type.fields[n].name)
               : parameter.text,
           types[n]});
    }
    if (types.empty()) {
      const bool is_output = parameter.type.kind == CType::Kind::kPointer &&
                             parameter.type.element->is_scalar() && !parameter.type.is_const;
      if (!is_output) {
        return source.ErrorAt(parameter.begin,
                              "a function that combines values cannot have a "
                              "parameter of type '",
                              parameter.type.spelling, "'");
      }
      signature.outputs.push_back(&parameter);
    }
    signature.arguments.push_back(std::move(value));
  }
  return signature;
}

std::string TypeNames(const std::vector<ScalarType>& types) {
  return absl::StrJoin(types, ", ",
                       [](std::string* out, ScalarType type) { absl::StrAppend(out, Name(type)); });
}

// What the function returns or writes through its pointers.
Result<CValue> Results(const CFunction& function, const Signature& signature, const Source& source,
                       Evaluator* evaluator) {
  MDH_ASSIGN_OR_RETURN(CValue values,
                       evaluator->Call(function, signature.arguments, function.offset));
  for (const CNode* output : signature.outputs) {
    const auto written = evaluator->state().find(OutParameters::StateOf(*output));
    const bool is_known = written != evaluator->state().end() && written->second[0] >= 0;
    if (!is_known) {
      return source.ErrorAt(output->begin, "'", function.name,
                            "' does not always "
                            "give '*",
                            output->text, "' a value");
    }
    values.push_back(evaluator->builder().Cast(output->type.element->scalar, written->second[0]));
  }
  return values;
}

}  // namespace

std::string UniqueName(const std::string& name, std::set<std::string>* used) {
  std::string unique = name;
  for (int n = 1; !used->insert(unique).second; ++n) unique = absl::StrCat(name, "_", n);
  return unique;
}

std::optional<PointWiseKind> NamedOperation(absl::string_view spelling) {
  for (const auto& [name, kind] : kNames) {
    if (name == spelling) return kind;
  }
  return std::nullopt;
}

absl::string_view Spelling(PointWiseKind kind) {
  for (const auto& [name, other] : kNames) {
    if (other == kind) return name;
  }
  return "a function";
}

Result<CombineOperator> CombineFunction(const std::string& name, size_t offset,
                                        const std::vector<ScalarType>& results, ClangUnit* unit) {
  const Source& source = unit->source();
  MDH_ASSIGN_OR_RETURN(const CFunction* function, unit->Function(name));
  if (function == nullptr) {
    return source.ErrorAt(offset, "'", name,
                          "' is neither an operator nor a function "
                          "that this file defines");
  }
  ScalarBuilder builder;
  OutParameters memory(unit);
  Evaluator evaluator(unit, &builder, &memory);
  MDH_ASSIGN_OR_RETURN(const Signature signature, SignatureOf(*function, source, &builder));
  MDH_ASSIGN_OR_RETURN(const CValue values, Results(*function, signature, source, &evaluator));
  std::vector<ScalarType> parameter_types, value_types, wanted = results;
  for (const TypedName& parameter : signature.parameters) parameter_types.push_back(parameter.type);
  for (const int value : values) value_types.push_back(builder.type(value));
  wanted.insert(wanted.end(), results.begin(), results.end());
  if (value_types != results || parameter_types != wanted) {
    return source.ErrorAt(function->offset, "'", name, "' maps (", TypeNames(parameter_types),
                          ") to (", TypeNames(value_types),
                          "); to combine the results it must map (", TypeNames(wanted), ") to (",
                          TypeNames(results), ")");
  }
  std::set<std::string> used;
  std::map<int, int> positions;
  std::vector<TypedName> names;
  for (const TypedName& parameter : signature.parameters) {
    positions[static_cast<int>(names.size())] = static_cast<int>(names.size());
    names.push_back({UniqueName(parameter.name, &used), parameter.type});
  }
  std::vector<TypedName> result_names;
  for (const ScalarType type : results) result_names.push_back({UniqueName("c", &used), type});
  Result<ScalarFunction> f =
      builder.Finish(name, std::move(names), std::move(result_names), values, positions);
  if (!f.ok()) return source.ErrorAt(function->offset, f.status().message());
  Result<CombineOperator> combine = CombineOperator::PointWise(*std::move(f), std::nullopt);
  if (!combine.ok()) return source.ErrorAt(function->offset, combine.status().message());
  return combine;
}

}  // namespace mdh
