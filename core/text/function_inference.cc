// Type inference for the scalar language.
#include "core/text/function_inference.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mdh {
namespace {

using Kind = ScalarNode::Kind;

bool GivesBool(ScalarOp op) {
  return op >= ScalarOp::kAnd || op == ScalarOp::kNot;  // comparisons follow && and ||
}

bool TakesBool(ScalarOp op) {
  return op == ScalarOp::kAnd || op == ScalarOp::kOr || op == ScalarOp::kNot;
}

bool TakesRecords(ScalarOp op) {
  return op == ScalarOp::kSelect || op == ScalarOp::kEq || op == ScalarOp::kNe;
}

bool Same(const TypePointer& a, const TypePointer& b) { return a == b || *a == *b; }

std::string FieldNames(const ElementType& type) {
  return absl::StrJoin(type.fields(), ", ", [](std::string* out, const ElementType::Field& field) {
    absl::StrAppend(out, field.name);
  });
}

// The number of the field; -1 if there is none.
int FieldNumber(const ElementType& type, absl::string_view name) {
  for (size_t n = 0; n < type.fields().size(); ++n) {
    if (type.is_record() && type.fields()[n].name == name) return static_cast<int>(n);
  }
  return -1;
}

class Inference {
 public:
  Inference(const FunctionSyntax& syntax, const FunctionSignature& signature,
            const TokenStream& stream)
      : syntax_(syntax), signature_(signature), stream_(stream), types_(syntax.nodes.size()) {}

  Result<std::vector<TypePointer>> Run() {
    MDH_RETURN_IF_ERROR(Upwards());
    MDH_RETURN_IF_ERROR(Results());
    MDH_RETURN_IF_ERROR(Downwards());
    return std::move(types_);
  }

 private:
  const ScalarNode& node(int n) const { return syntax_.nodes[n]; }
  // Node n, or what the name stands for.
  const ScalarNode& Target(int n) const {
    return node(n).kind == Kind::kLet ? node(node(n).reference) : node(n);
  }
  bool IsTable(int n) const { return Target(n).kind == Kind::kTable; }

  // The operands that must have one type: both of a binary operation, the branches of a select.
  static std::pair<int, int> Matched(const ScalarNode& node) {
    if (node.op == ScalarOp::kSelect) return {1, 2};
    return {0, static_cast<int>(node.operands.size()) - 1};
  }

  Status Upwards() {
    size_t next_let = 0;
    for (size_t n = 0; n < syntax_.nodes.size(); ++n) {
      MDH_RETURN_IF_ERROR(CheckTables(node(static_cast<int>(n))));
      MDH_ASSIGN_OR_RETURN(types_[n], TypeFromOperands(node(static_cast<int>(n))));
      for (; next_let < syntax_.lets.size() && syntax_.lets[next_let].node == static_cast<int>(n);
           ++next_let) {
        if (types_[n] != nullptr || IsTable(static_cast<int>(n))) continue;
        return NoType(syntax_.lets[next_let].name);
      }
    }
    return absl::OkStatus();
  }

  // Tables are read at an index, and nothing else is.
  Status CheckTables(const ScalarNode& node) const {
    for (size_t o = 0; o < node.operands.size(); ++o) {
      const bool is_table = IsTable(node.operands[o]);
      const bool needs_table = node.kind == Kind::kElement && o == 0;
      if (is_table == needs_table) continue;
      const Token& at = this->node(node.operands[o]).token;
      return stream_.ErrorAt(needs_table ? node.token : at,
                             needs_table
                                 ? "only tables, as [1, 2, 3], are read at an index"
                                 : "a table is no value; read it at an index, as in [1, 2, 3][n]");
    }
    return absl::OkStatus();
  }

  // Null: untyped as yet.
  Result<TypePointer> TypeFromOperands(const ScalarNode& node) const {
    switch (node.kind) {
      case Kind::kParameter:
        return signature_.parameters[node.reference];
      case Kind::kIndex:
        return ScalarTypePointer(ScalarType::kInt64);
      case Kind::kLet:
        return types_[node.reference];
      case Kind::kCast:
        return TypeOfCast(node);
      case Kind::kLiteral:
        return TypeOfLiteral(node.token);
      case Kind::kTable:
        return TypePointer();
      case Kind::kElement:
        return TypeOfElement(node);
      case Kind::kField:
        return TypeOfField(node);
      case Kind::kRecord:
        return TypeOfRecord(node);
      case Kind::kOperation:
        break;
    }
    return TypeOfOperation(node);
  }

  static TypePointer TypeOfLiteral(const Token& token) {
    const bool is_bool = token.Is("true") || token.Is("false");
    return is_bool ? ScalarTypePointer(ScalarType::kBool) : nullptr;
  }

  Result<TypePointer> TypeOfCast(const ScalarNode& node) const {
    const TypePointer& operand = types_[node.operands[0]];
    if (operand == nullptr || !operand->is_record()) return ScalarTypePointer(node.type);
    return stream_.ErrorAt(node.token, "a record of type ", TypeText(*operand),
                           " cannot be converted; name a field, as in ", Name(node.type), "(x.",
                           operand->fields()[0].name, ")");
  }

  Result<TypePointer> TypeOfElement(const ScalarNode& node) const {
    const TypePointer& index = types_[node.operands[1]];
    if (index != nullptr && (index->is_record() || !IsInteger(index->scalar()))) {
      return stream_.ErrorAt(node.token, "the index of a table is an integer, not of type ",
                             TypeText(*index), "; convert it, as in int64(...)");
    }
    for (const LiteralSyntax& literal : Target(node.operands[0]).table) {
      if (TypePointer type = TypeOfLiteral(literal.token); type != nullptr) return type;
    }
    return TypePointer();
  }

  Result<TypePointer> TypeOfField(const ScalarNode& node) const {
    const TypePointer& record = types_[node.operands[0]];
    const Token& field = node.names[0];
    if (record == nullptr) return NoType(field);
    const int number = FieldNumber(*record, field.text);
    if (number >= 0) return ScalarTypePointer(record->fields()[number].type);
    return NoField(field, *record);
  }

  Status NoField(const Token& field, const ElementType& type) const {
    return stream_.ErrorAt(
        field, type.is_record() ? absl::StrCat("there is no field '", field.text,
                                               "'; the fields are ", FieldNames(type))
                                : absl::StrCat("'.", field.text,
                                               "' asks for a field, but the value is no record "
                                               "but of type ",
                                               TypeText(type)));
  }

  Result<TypePointer> TypeOfRecord(const ScalarNode& node) const {
    std::vector<TypedName> fields;
    bool is_typed = true;
    for (size_t o = 0; o < node.operands.size(); ++o) {
      const TypePointer& type = types_[node.operands[o]];
      if (type != nullptr && type->is_record()) {
        return stream_.ErrorAt(node.names[o], "field '", node.names[o].text,
                               "' of a record cannot be a record");
      }
      is_typed = is_typed && type != nullptr;
      fields.push_back(
          {std::string(node.names[o].text), type == nullptr ? ScalarType::kBool : type->scalar()});
    }
    Result<ElementType> record = ElementType::Record(std::move(fields));
    if (!record.ok()) return stream_.ErrorAt(node.token, record.status().message());
    return is_typed ? std::make_shared<const ElementType>(*std::move(record)) : TypePointer();
  }

  Result<TypePointer> TypeOfOperation(const ScalarNode& node) const {
    const auto [first, second] = Matched(node);
    const TypePointer& a = types_[node.operands[first]];
    const TypePointer& b = types_[node.operands[second]];
    for (const TypePointer& type : {a, b}) {
      if (type == nullptr || !type->is_record() || TakesRecords(node.op)) continue;
      return stream_.ErrorAt(node.token, "operation '", Info(node.op).name,
                             "' does not exist for records; name a field, "
                             "as in x.",
                             type->fields()[0].name);
    }
    if (a != nullptr && b != nullptr && !Same(a, b)) {
      const bool is_record = a->is_record() || b->is_record();
      return stream_.ErrorAt(
          node.token,

          "the operands of '", Info(node.op).name, "' have the types ", TypeText(*a), " and ",
          TypeText(*b),
          is_record ? "" : absl::StrCat("; convert one, as in ", TypeText(*a), "(...)"));
    }
    if (GivesBool(node.op)) return ScalarTypePointer(ScalarType::kBool);
    return a != nullptr ? a : b;
  }

  Status Results() {
    for (const FunctionSyntax::Assignment& assignment : syntax_.assignments) {
      TypePointer expected = signature_.results[assignment.result];
      std::string name(assignment.token.text);
      if (assignment.field.has_value()) {
        const int field = FieldNumber(*expected, assignment.field->text);
        if (field < 0) return NoField(*assignment.field, *expected);
        expected = ScalarTypePointer(expected->fields()[field].type);
        absl::StrAppend(&name, ".", assignment.field->text);
      }
      if (IsTable(assignment.node)) {
        return stream_.ErrorAt(node(assignment.node).token,
                               "a table is no value; read it at an index, as in [1, 2, 3][n]");
      }
      const TypePointer& type = types_[assignment.node];
      if (type == nullptr) {
        MDH_RETURN_IF_ERROR(GiveType(assignment.node, expected));
      } else if (!Same(type, expected)) {
        return WrongResult(assignment.token, name, *expected, *type);
      }
    }
    return absl::OkStatus();
  }

  Status WrongResult(const Token& at, const std::string& name, const ElementType& expected,
                     const ElementType& type) const {
    const auto& fields = expected.fields();
    const auto [field, other] =
        std::mismatch(fields.begin(), fields.end(), type.fields().begin(), type.fields().end());
    const bool is_field_wrong = expected.is_record() && type.is_record() && field != fields.end() &&
                                other != type.fields().end() && field->name == other->name;
    const std::string how =
        is_field_wrong         ? absl::StrCat("convert the field, as in ", field->name, ": ",
                                              Name(field->type), "(...)")
        : expected.is_record() ? absl::StrCat("give it as {", fields[0].name, ": ..., ...}")
        : type.is_record()     ? absl::StrCat("name a field, as in x.", type.fields()[0].name)
                               : absl::StrCat("convert it, as in ", TypeText(expected), "(...)");
    return stream_.ErrorAt(at, "result '", name, "' has type ", TypeText(expected),
                           ", but the value has type ", TypeText(type), "; ", how);
  }

  // To a node without a type, from its context.
  Status GiveType(int n, const TypePointer& type) {
    const ScalarNode& node = this->node(n);
    if (node.kind == Kind::kRecord) MDH_RETURN_IF_ERROR(CheckRecord(node, *type));
    const bool can_be_record = node.kind == Kind::kRecord ||
                               (node.kind == Kind::kOperation && node.op == ScalarOp::kSelect);
    if (type->is_record() && !can_be_record) {
      return stream_.ErrorAt(node.token, "a value of type ", TypeText(*type),
                             " is needed; give it as {", type->fields()[0].name, ": ..., ...}");
    }
    types_[n] = type;
    return absl::OkStatus();
  }

  // A record some of whose fields have no type of their own.
  Status CheckRecord(const ScalarNode& node, const ElementType& type) const {
    if (!type.is_record()) {
      return stream_.ErrorAt(node.token, "a record, but a value of type ", TypeText(type),
                             " is needed");
    }
    const std::vector<ElementType::Field>& fields = type.fields();
    for (size_t o = 0; o < node.names.size() && o < fields.size(); ++o) {
      if (!node.names[o].Is(fields[o].name)) {
        return stream_.ErrorAt(node.names[o], "expected field '", fields[o].name, "', found '",
                               node.names[o].text, "'; the type is ", TypeText(type));
      }
      const TypePointer& found = types_[node.operands[o]];
      if (found == nullptr || found->scalar() == fields[o].type) continue;
      return stream_.ErrorAt(node.names[o], "field '", fields[o].name, "' has type ",
                             Name(fields[o].type), ", but the value has type ", TypeText(*found),
                             "; convert it, as in ", Name(fields[o].type), "(...)");
    }
    if (node.names.size() == fields.size()) return absl::OkStatus();
    return stream_.ErrorAt(node.token, node.names.size(), " fields given, but ", TypeText(type),
                           " has ", fields.size(), ": ", FieldNames(type));
  }

  Status Downwards() {
    for (size_t n = syntax_.nodes.size(); n-- > 0;) {
      const ScalarNode& parent = node(static_cast<int>(n));
      for (int o = 0; o < static_cast<int>(parent.operands.size()); ++o) {
        const int operand = parent.operands[o];
        if (types_[operand] != nullptr || IsTable(operand)) continue;
        const TypePointer type = TypeForOperand(parent, static_cast<int>(n), o);
        if (type == nullptr) return NoType(parent.token);
        MDH_RETURN_IF_ERROR(GiveType(operand, type));
      }
    }
    return absl::OkStatus();
  }

  // What node n asks of its untyped operand; null if it has no type itself.
  TypePointer TypeForOperand(const ScalarNode& parent, int n, int o) const {
    switch (parent.kind) {
      case Kind::kCast:
        return ScalarTypePointer(parent.type);
      case Kind::kElement:
        return ScalarTypePointer(ScalarType::kInt64);
      case Kind::kRecord:
        return types_[n] == nullptr ? nullptr : ScalarTypePointer(types_[n]->fields()[o].type);
      default:
        break;
    }
    if (TakesBool(parent.op) || (parent.op == ScalarOp::kSelect && o == 0)) {
      return ScalarTypePointer(ScalarType::kBool);
    }
    if (!GivesBool(parent.op)) return types_[n];
    return types_[parent.operands[1 - o]];  // a comparison
  }

  Status NoType(const Token& at) const {
    return stream_.ErrorAt(at, "the literals of '", at.text,
                           "' have no type; give one, as in fp32(1)");
  }

  const FunctionSyntax& syntax_;
  const FunctionSignature& signature_;
  const TokenStream& stream_;
  std::vector<TypePointer> types_;  // one per node
};

}  // namespace

Result<std::vector<TypePointer>> InferTypes(const FunctionSyntax& syntax,
                                            const FunctionSignature& signature,
                                            const TokenStream& stream) {
  return Inference(syntax, signature, stream).Run();
}

}  // namespace mdh
