// Instructions for every node of a function, one per field where the value is a record.
#include "core/text/function_typing.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace mdh {
namespace {

using Kind = ScalarNode::Kind;

// Names and types of the scalars that a parameter or result stands for.
void AppendFlat(absl::string_view name, const ElementType& type, std::vector<TypedName>* to) {
  for (const ElementType::Field& field : type.fields()) {
    to->push_back(
        {type.is_record() ? absl::StrCat(name, ".", field.name) : std::string(name), field.type});
  }
}

class Emission {
 public:
  Emission(const FunctionSyntax& syntax, const TokenStream& stream,
           const FunctionSignature& signature, const std::vector<std::string>& dimensions,
           const std::vector<TypePointer>& types)
      : syntax_(syntax),
        stream_(stream),
        signature_(signature),
        dimensions_(dimensions),
        types_(types) {}

  Result<TypedFunction> Run() {
    MDH_RETURN_IF_ERROR(Parameters());
    for (int n = 0; n < static_cast<int>(syntax_.nodes.size()); ++n) {
      MDH_ASSIGN_OR_RETURN(Range range, Emit(n));
      ranges_.push_back(range);
    }
    std::vector<int> result_instructions;
    MDH_RETURN_IF_ERROR(Results(&result_instructions));
    std::vector<TypedName> results;
    for (size_t r = 0; r < syntax_.results.size(); ++r) {
      AppendFlat(syntax_.results[r].name.text, *signature_.results[r], &results);
    }
    Result<ScalarFunction> function = ScalarFunction::Create(
        std::string(syntax_.name.text), std::move(parameters_), std::move(results),
        std::move(instructions_), std::move(result_instructions));
    if (!function.ok()) return stream_.ErrorAt(syntax_.name, function.status().message());
    return TypedFunction{*std::move(function), std::move(index_dimensions_)};
  }

 private:
  // Instructions scalars_[first] to scalars_[first + count - 1].
  struct Range {
    int first = 0;
    int count = 0;
  };

  absl::Span<const int> Scalars(int n) const {
    return absl::MakeConstSpan(scalars_).subspan(ranges_[n].first, ranges_[n].count);
  }
  int Scalar(int n) const { return scalars_[ranges_[n].first]; }

  Status Parameters() {
    for (size_t p = 0; p < syntax_.parameters.size(); ++p) {
      const int first = static_cast<int>(parameters_.size());
      AppendFlat(syntax_.parameters[p].text, *signature_.parameters[p], &parameters_);
      first_parameters_.push_back(first);
    }
    std::set<int> used;
    for (const ScalarNode& node : syntax_.nodes) {
      if (node.kind != Kind::kIndex) continue;
      if (dimensions_.empty()) {
        return stream_.ErrorAt(node.token, "'", node.token.text,
                               "' is the index of a dimension; a "
                               "combine operator has none");
      }
      used.insert(node.reference);
    }
    index_dimensions_.assign(used.begin(), used.end());
    first_index_ = static_cast<int>(parameters_.size());
    for (const int d : index_dimensions_) {
      parameters_.push_back({dimensions_[d], ScalarType::kInt64});
    }
    return absl::OkStatus();
  }

  int Instruction(ScalarInstruction instruction) {
    instructions_.push_back(std::move(instruction));
    return static_cast<int>(instructions_.size()) - 1;
  }

  Range One(ScalarInstruction instruction) {
    scalars_.push_back(Instruction(std::move(instruction)));
    return {static_cast<int>(scalars_.size()) - 1, 1};
  }

  Result<Range> Emit(int n) {
    const ScalarNode& node = syntax_.nodes[n];
    // Records and tables make long functions out of short ones.
    if (instructions_.size() > 16 * ScalarFunction::kMaxInstructions) {
      return stream_.ErrorAt(node.token, "function '", syntax_.name.text,
                             "' is too long: more than ", 16 * ScalarFunction::kMaxInstructions,
                             " operations on fields of records");
    }
    switch (node.kind) {
      case Kind::kLet:
        return ranges_[node.reference];
      case Kind::kTable:
        return Range{};
      case Kind::kParameter:
        return Parameter(node.reference);
      case Kind::kIndex:
        return Index(node);
      case Kind::kLiteral: {
        ScalarInstruction instruction{ScalarOp::kConstant, types_[n]->scalar(), {}};
        MDH_ASSIGN_OR_RETURN(instruction.constant,
                             TypeLiteral(node.literal, instruction.type, stream_));
        return One(std::move(instruction));
      }
      case Kind::kElement:
        return Element(node, types_[n]->scalar());
      case Kind::kField:
        return Field(node);
      case Kind::kRecord:
        return Record(node);
      case Kind::kCast:
        return One({ScalarOp::kCast, node.type, {Scalar(node.operands[0])}});
      case Kind::kOperation:
        break;
    }
    return types_[node.operands.back()]->is_record() ? OnRecords(node) : OnScalars(node, n);
  }

  // Instructions of a parameter are made where it is first used.
  Range Parameter(int p) {
    const auto [entry, is_new] = parameter_ranges_.emplace(p, Range{});
    if (!is_new) return entry->second;
    const int count = static_cast<int>(signature_.parameters[p]->fields().size());
    entry->second = {static_cast<int>(scalars_.size()), count};
    for (int flat = first_parameters_[p]; flat < first_parameters_[p] + count; ++flat) {
      scalars_.push_back(Instruction({ScalarOp::kParameter, parameters_[flat].type, {}, flat}));
    }
    return entry->second;
  }

  Range Index(const ScalarNode& node) {
    const auto position = std::ranges::find(index_dimensions_, node.reference);
    const int number = static_cast<int>(position - index_dimensions_.begin());
    return One({ScalarOp::kParameter, ScalarType::kInt64, {}, first_index_ + number});
  }

  Result<Range> Element(const ScalarNode& node, ScalarType type) {
    const ScalarNode& operand = syntax_.nodes[node.operands[0]];
    const std::vector<LiteralSyntax>& literals =
        operand.kind == Kind::kLet ? syntax_.nodes[operand.reference].table : operand.table;
    table_values_ += literals.size();
    if (table_values_ > ScalarFunction::kMaxTableValues) {
      return stream_.ErrorAt(node.token, "the tables that function '", syntax_.name.text,
                             "' reads have more than ", ScalarFunction::kMaxTableValues,
                             " values together");
    }
    ScalarInstruction instruction{ScalarOp::kTable, type, {Scalar(node.operands[1])}};
    for (const LiteralSyntax& literal : literals) {
      MDH_ASSIGN_OR_RETURN(const ScalarValue value, TypeLiteral(literal, type, stream_));
      instruction.table.push_back(value);
    }
    return One(std::move(instruction));
  }

  Range Field(const ScalarNode& node) const {
    const std::vector<ElementType::Field>& fields = types_[node.operands[0]]->fields();
    int number = 0;
    while (!node.names[0].Is(fields[number].name)) ++number;
    return {ranges_[node.operands[0]].first + number, 1};
  }

  Range Record(const ScalarNode& node) {
    const Range range{static_cast<int>(scalars_.size()), static_cast<int>(node.operands.size())};
    for (const int operand : node.operands) scalars_.push_back(Scalar(operand));
    return range;
  }

  Result<Range> OnScalars(const ScalarNode& node, int n) {
    std::vector<ScalarType> operands;
    ScalarInstruction instruction{node.op, types_[n]->scalar(), {}};
    for (const int operand : node.operands) {
      MDH_RETURN_IF_ERROR(CheckScalar(operand));
      operands.push_back(types_[operand]->scalar());
      instruction.operands.push_back(Scalar(operand));
    }
    const Result<ScalarType> type = ResultType(node.op, operands);
    if (!type.ok()) return stream_.ErrorAt(node.token, type.status().message());
    return One(std::move(instruction));
  }

  Status CheckScalar(int operand) const {
    if (!types_[operand]->is_record()) return absl::OkStatus();
    return stream_.ErrorAt(syntax_.nodes[operand].token, "a record is no condition");
  }

  // c ? a : b, a == b, a != b: field by field.
  Result<Range> OnRecords(const ScalarNode& node) {
    const size_t operands = node.operands.size();
    const std::vector<int> left(Scalars(node.operands[operands - 2]).begin(),
                                Scalars(node.operands[operands - 2]).end());
    const std::vector<int> right(Scalars(node.operands[operands - 1]).begin(),
                                 Scalars(node.operands[operands - 1]).end());
    if (node.op != ScalarOp::kSelect) return One(Comparison(node.op, left, right));
    MDH_RETURN_IF_ERROR(CheckScalar(node.operands[0]));
    if (types_[node.operands[0]]->scalar() != ScalarType::kBool) {
      return stream_.ErrorAt(node.token, "the condition of '?:' has type ",
                             TypeText(*types_[node.operands[0]]), ", not bool");
    }
    const Range range{static_cast<int>(scalars_.size()), static_cast<int>(left.size())};
    for (size_t f = 0; f < left.size(); ++f) {
      scalars_.push_back(Instruction({ScalarOp::kSelect,
                                      instructions_[left[f]].type,
                                      {Scalar(node.operands[0]), left[f], right[f]}}));
    }
    return range;
  }

  // Equal if all fields are; different if one is.
  ScalarInstruction Comparison(ScalarOp op, const std::vector<int>& left,
                               const std::vector<int>& right) {
    const ScalarOp combine = op == ScalarOp::kEq ? ScalarOp::kAnd : ScalarOp::kOr;
    ScalarInstruction all{op, ScalarType::kBool, {left[0], right[0]}};
    for (size_t f = 1; f < left.size(); ++f) {
      const int before = Instruction(std::move(all));
      const int one = Instruction({op, ScalarType::kBool, {left[f], right[f]}});
      all = {combine, ScalarType::kBool, {before, one}};
    }
    return all;
  }

  // The instructions of all results, one per field.
  Status Results(std::vector<int>* instructions) const {
    std::vector<std::vector<int>> results;
    for (const TypePointer& type : signature_.results) {
      results.emplace_back(type->fields().size(), -1);
    }
    for (const FunctionSyntax::Assignment& assignment : syntax_.assignments) {
      const absl::Span<const int> scalars = Scalars(assignment.node);
      const auto& fields = signature_.results[assignment.result]->fields();
      for (size_t f = 0; f < fields.size(); ++f) {
        if (!assignment.field.has_value()) results[assignment.result][f] = scalars[f];
        if (assignment.field.has_value() && assignment.field->Is(fields[f].name)) {
          results[assignment.result][f] = scalars[0];
        }
      }
    }
    for (size_t r = 0; r < results.size(); ++r) {
      for (size_t f = 0; f < results[r].size(); ++f) {
        if (results[r][f] < 0) {
          return stream_.ErrorAt(syntax_.results[r].name, "field '",
                                 signature_.results[r]->fields()[f].name, "' of result '",
                                 syntax_.results[r].name.text, "' is not assigned");
        }
        instructions->push_back(results[r][f]);
      }
    }
    return absl::OkStatus();
  }

  const FunctionSyntax& syntax_;
  const TokenStream& stream_;
  const FunctionSignature& signature_;
  const std::vector<std::string>& dimensions_;
  const std::vector<TypePointer>& types_;  // one per node
  std::vector<TypedName> parameters_;
  std::vector<int> index_dimensions_;
  int first_index_ = 0;
  std::vector<ScalarInstruction> instructions_;
  std::vector<int> scalars_;           // numbers of instructions
  std::vector<int> first_parameters_;  // number of the first scalar of every parameter
  std::map<int, Range> parameter_ranges_;
  std::vector<Range> ranges_;  // one per node
  size_t table_values_ = 0;
};

}  // namespace

Result<TypedFunction> TypeFunction(const FunctionSyntax& syntax, const TokenStream& stream,
                                   const FunctionSignature& signature,
                                   const std::vector<std::string>& dimensions) {
  MDH_ASSIGN_OR_RETURN(const std::vector<TypePointer> types, InferTypes(syntax, signature, stream));
  return Emission(syntax, stream, signature, dimensions, types).Run();
}

}  // namespace mdh
