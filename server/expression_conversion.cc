#include "server/expression_conversion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/text/parser.h"

namespace mdh {
namespace {

// Enums of the wire have the numbers of core's, which this makes sure of.
static_assert(static_cast<int>(ScalarType::kFloat64) == v1::SCALAR_TYPE_FLOAT64);
static_assert(static_cast<int>(ScalarType::kUint8) == v1::SCALAR_TYPE_UINT8);
static_assert(static_cast<int>(ScalarOp::kCos) == v1::SCALAR_OP_COS);
static_assert(static_cast<int>(ScalarOp::kBitXor) == v1::SCALAR_OP_BIT_XOR);
static_assert(static_cast<int>(ScalarOp::kOr) == v1::SCALAR_OP_OR);
static_assert(static_cast<int>(ScalarOp::kGe) == v1::SCALAR_OP_GE);
static_assert(static_cast<int>(PointWiseKind::kBitXor) == v1::POINT_WISE_KIND_BIT_XOR);

Status Invalid(const std::string& message) { return absl::InvalidArgumentError(message); }

Result<ScalarType> TypeFromProto(v1::ScalarType type, const std::string& of) {
  if (type == v1::SCALAR_TYPE_UNSPECIFIED || !v1::ScalarType_IsValid(type)) {
    return Invalid(absl::StrCat("the type of ", of, " is missing or unknown"));
  }
  return static_cast<ScalarType>(type);
}

v1::ScalarType ToProto(ScalarType type) { return static_cast<v1::ScalarType>(type); }

Result<ScalarValue> FromProto(const v1::ScalarValue& value, const std::string& of) {
  MDH_ASSIGN_OR_RETURN(const ScalarType type, TypeFromProto(value.type(), of));
  using Case = v1::ScalarValue::ValueCase;
  const Case expected = type == ScalarType::kBool ? Case::kBoolValue
                        : IsFloatingPoint(type)   ? Case::kRealValue
                        : IsSigned(type)          ? Case::kIntValue
                                                  : Case::kUintValue;
  if (value.value_case() != expected) {
    return Invalid(absl::StrCat(of, " has no value of its type ", std::string(Name(type))));
  }
  if (expected == Case::kBoolValue) return ScalarValue::Bool(value.bool_value());
  if (expected == Case::kRealValue) return ScalarValue::Real(type, value.real_value());
  const int64_t bits =
      expected == Case::kIntValue ? value.int_value() : static_cast<int64_t>(value.uint_value());
  ScalarValue result = ScalarValue::Integer(type, bits);
  if (result.as_int64() != bits) {
    return Invalid(absl::StrCat("the value of ", of, " does not fit in ", std::string(Name(type))));
  }
  return result;
}

v1::ScalarValue ToProto(const ScalarValue& value) {
  v1::ScalarValue proto;
  proto.set_type(ToProto(value.type()));
  if (value.type() == ScalarType::kBool) {
    proto.set_bool_value(value.as_bool());
  } else if (IsFloatingPoint(value.type())) {
    proto.set_real_value(value.as_double());
  } else if (IsSigned(value.type())) {
    proto.set_int_value(value.as_int64());
  } else {
    proto.set_uint_value(value.as_uint64());
  }
  return proto;
}

Result<std::vector<TypedName>> FromProto(
    const google::protobuf::RepeatedPtrField<v1::TypedName>& names) {
  std::vector<TypedName> result;
  for (const v1::TypedName& name : names) {
    MDH_ASSIGN_OR_RETURN(const ScalarType type,
                         TypeFromProto(name.type(), absl::StrCat("'", name.name(), "'")));
    result.push_back({name.name(), type});
  }
  return result;
}

Result<ScalarInstruction> FromProto(const v1::ScalarInstruction& proto, const std::string& of) {
  if (proto.op() == v1::SCALAR_OP_UNSPECIFIED || !v1::ScalarOp_IsValid(proto.op())) {
    return Invalid(absl::StrCat(of, " has no operation, or an unknown one"));
  }
  MDH_ASSIGN_OR_RETURN(const ScalarType type, TypeFromProto(proto.type(), of));
  ScalarInstruction instruction{
      static_cast<ScalarOp>(proto.op()), type, {proto.operands().begin(), proto.operands().end()}};
  if (instruction.op == ScalarOp::kParameter) instruction.parameter = proto.parameter();
  if (instruction.op == ScalarOp::kConstant) {
    MDH_ASSIGN_OR_RETURN(instruction.constant, FromProto(proto.constant(), of));
  }
  return instruction;
}

Result<ScalarFunction> FromProto(const v1::ScalarFunction& proto) {
  MDH_ASSIGN_OR_RETURN(std::vector<TypedName> parameters, FromProto(proto.parameters()));
  MDH_ASSIGN_OR_RETURN(std::vector<TypedName> results, FromProto(proto.results()));
  std::vector<ScalarInstruction> instructions;
  for (const v1::ScalarInstruction& instruction : proto.instructions()) {
    MDH_ASSIGN_OR_RETURN(ScalarInstruction converted,
                         FromProto(instruction, absl::StrCat("instruction ", instructions.size(),
                                                             " of function '", proto.name(), "'")));
    instructions.push_back(std::move(converted));
  }
  return ScalarFunction::Create(
      proto.name(), std::move(parameters), std::move(results), std::move(instructions),
      {proto.result_instructions().begin(), proto.result_instructions().end()});
}

v1::ScalarFunction ToProto(const ScalarFunction& function) {
  v1::ScalarFunction proto;
  proto.set_name(function.name());
  const auto add = [](const TypedName& from, v1::TypedName* to) {
    to->set_name(from.name);
    to->set_type(ToProto(from.type));
  };
  for (const TypedName& name : function.parameters()) add(name, proto.add_parameters());
  for (const TypedName& name : function.results()) add(name, proto.add_results());
  for (const ScalarInstruction& instruction : function.instructions()) {
    v1::ScalarInstruction* to = proto.add_instructions();
    to->set_op(static_cast<v1::ScalarOp>(instruction.op));
    to->set_type(ToProto(instruction.type));
    to->mutable_operands()->Add(instruction.operands.begin(), instruction.operands.end());
    if (instruction.op == ScalarOp::kParameter) to->set_parameter(instruction.parameter);
    if (instruction.op == ScalarOp::kConstant) {
      *to->mutable_constant() = ToProto(instruction.constant);
    }
  }
  proto.mutable_result_instructions()->Add(function.result_instructions().begin(),
                                           function.result_instructions().end());
  return proto;
}

IndexFunction FromProto(const v1::IndexFunction& proto) {
  IndexFunction function;
  for (const v1::AffineIndex& index : proto.indices()) {
    function.indices.push_back(
        {{index.coefficients().begin(), index.coefficients().end()}, index.constant()});
  }
  return function;
}

Result<Buffer> FromProto(const v1::Buffer& proto) {
  MDH_ASSIGN_OR_RETURN(const ScalarType type,
                       TypeFromProto(proto.type(), absl::StrCat("buffer '", proto.name(), "'")));
  Buffer buffer;
  buffer.name = proto.name();
  buffer.type = type;
  buffer.extents.assign(proto.extents().begin(), proto.extents().end());
  buffer.extents_given = !buffer.extents.empty();
  for (const v1::IndexFunction& access : proto.accesses()) {
    buffer.accesses.push_back(FromProto(access));
  }
  return buffer;
}

v1::Buffer ToProto(const Buffer& buffer) {
  v1::Buffer proto;
  proto.set_name(buffer.name);
  proto.set_type(ToProto(buffer.type));
  proto.mutable_extents()->Add(buffer.extents.begin(), buffer.extents.end());
  for (const IndexFunction& access : buffer.accesses) {
    v1::IndexFunction* to = proto.add_accesses();
    for (const AffineIndex& index : access.indices) {
      v1::AffineIndex* affine = to->add_indices();
      affine->mutable_coefficients()->Add(index.coefficients.begin(), index.coefficients.end());
      affine->set_constant(index.constant);
    }
  }
  return proto;
}

Result<CombineOperator> FromProto(const v1::CombineOperator& proto,
                                  const std::vector<ScalarType>& result_types) {
  if (proto.has_concat()) return CombineOperator::Concat();
  if (!proto.has_point_wise()) return Invalid("a combine operator has no kind");
  const v1::PointWise& point_wise = proto.point_wise();
  if (point_wise.kind() == v1::POINT_WISE_KIND_UNSPECIFIED ||
      !v1::PointWiseKind_IsValid(point_wise.kind())) {
    return Invalid("a pointwise combine operator has no kind, or an unknown one");
  }
  if (point_wise.kind() != v1::POINT_WISE_KIND_CUSTOM) {
    return CombineOperator::PointWise(static_cast<PointWiseKind>(point_wise.kind()), result_types);
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, FromProto(point_wise.function()));
  std::optional<std::vector<ScalarValue>> identity;
  for (const v1::ScalarValue& value : point_wise.identity()) {
    MDH_ASSIGN_OR_RETURN(
        const ScalarValue element,
        FromProto(value, absl::StrCat("a neutral element of '", function.name(), "'")));
    if (!identity.has_value()) identity.emplace();
    identity->push_back(element);
  }
  return CombineOperator::PointWise(std::move(function), std::move(identity));
}

v1::CombineOperator ToProto(const CombineOperator& combine) {
  v1::CombineOperator proto;
  if (combine.is_concat()) {
    proto.mutable_concat();
    return proto;
  }
  v1::PointWise* point_wise = proto.mutable_point_wise();
  point_wise->set_kind(static_cast<v1::PointWiseKind>(combine.kind()));
  if (combine.kind() != PointWiseKind::kCustom) return proto;
  *point_wise->mutable_function() = ToProto(combine.function());
  if (combine.identity().has_value()) {
    for (const ScalarValue& value : *combine.identity()) {
      *point_wise->add_identity() = ToProto(value);
    }
  }
  return proto;
}

// Numbers of the parts of an expression, before or after conversion.
struct Counts {
  int64_t dimensions = 0;
  int64_t buffers = 0;
  int64_t accesses = 0;
  int64_t instructions = 0;
};

Status CheckLimits(const Counts& counts, const ExpressionLimits& limits) {
  const auto check = [](int64_t count, int64_t limit, const char* what) {
    if (count <= limit) return absl::OkStatus();
    return Invalid(
        absl::StrCat("the expression has ", count, " ", what, ", at most ", limit, " are allowed"));
  };
  MDH_RETURN_IF_ERROR(check(counts.dimensions, limits.dimensions, "dimensions"));
  MDH_RETURN_IF_ERROR(check(counts.buffers, limits.buffers, "buffers"));
  MDH_RETURN_IF_ERROR(check(counts.accesses, limits.accesses, "accesses"));
  return check(counts.instructions, limits.instructions, "instructions");
}

Counts CountParts(const v1::Expression& expression) {
  Counts counts;
  counts.dimensions = expression.dimensions_size();
  counts.buffers = expression.inputs_size() + expression.outputs_size();
  for (const v1::Buffer& buffer : expression.inputs()) counts.accesses += buffer.accesses_size();
  for (const v1::Buffer& buffer : expression.outputs()) counts.accesses += buffer.accesses_size();
  counts.instructions = expression.function().instructions_size();
  for (const v1::CombineOperator& combine : expression.combine_operators()) {
    counts.instructions += combine.point_wise().function().instructions_size();
  }
  return counts;
}

Status CheckBytes(const Expression& expression, const ExpressionLimits& limits) {
  const int64_t bytes = expression.CompulsoryBytes();
  if (bytes <= limits.buffer_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the buffers of '", expression.name(), "' take ", bytes,
                   " bytes, more than this daemon's limit of ", limits.buffer_bytes));
}

Result<Expression> FromText(const v1::TextExpression& text, const ExpressionLimits& limits) {
  if (static_cast<int64_t>(text.text().size()) > limits.text_bytes) {
    return Invalid(absl::StrCat("the text has ", text.text().size(), " bytes, at most ",
                                limits.text_bytes, " are allowed"));
  }
  const Bindings bindings(text.bindings().begin(), text.bindings().end());
  MDH_ASSIGN_OR_RETURN(Expression expression, ParseExpression(text.text(), bindings));
  MDH_RETURN_IF_ERROR(CheckLimits(CountParts(ToProto(expression)), limits));
  MDH_RETURN_IF_ERROR(CheckBytes(expression, limits));
  return expression;
}

}  // namespace

Result<Expression> FromProto(const v1::ExpressionSource& source, const ExpressionLimits& limits) {
  switch (source.source_case()) {
    case v1::ExpressionSource::kText:
      return FromText(source.text(), limits);
    case v1::ExpressionSource::kStructured:
      return FromProto(source.structured(), limits);
    case v1::ExpressionSource::SOURCE_NOT_SET:
      break;
  }
  return Invalid("the request has no expression");
}

Result<Expression> FromProto(const v1::Expression& proto, const ExpressionLimits& limits) {
  MDH_RETURN_IF_ERROR(CheckLimits(CountParts(proto), limits));
  std::vector<Dimension> dimensions;
  for (const v1::Dimension& dimension : proto.dimensions()) {
    dimensions.push_back({dimension.name(), dimension.size()});
  }
  std::vector<Buffer> inputs;
  for (const v1::Buffer& buffer : proto.inputs()) {
    MDH_ASSIGN_OR_RETURN(Buffer converted, FromProto(buffer));
    inputs.push_back(std::move(converted));
  }
  std::vector<Buffer> outputs;
  for (const v1::Buffer& buffer : proto.outputs()) {
    MDH_ASSIGN_OR_RETURN(Buffer converted, FromProto(buffer));
    outputs.push_back(std::move(converted));
  }
  MDH_ASSIGN_OR_RETURN(ScalarFunction function, FromProto(proto.function()));
  std::vector<ScalarType> result_types;
  for (const TypedName& result : function.results()) result_types.push_back(result.type);
  std::vector<CombineOperator> combine_operators;
  for (const v1::CombineOperator& combine : proto.combine_operators()) {
    MDH_ASSIGN_OR_RETURN(CombineOperator converted, FromProto(combine, result_types));
    combine_operators.push_back(std::move(converted));
  }
  MDH_ASSIGN_OR_RETURN(
      Expression expression,
      Expression::Create({proto.name(), std::move(dimensions), std::move(inputs),
                          std::move(outputs), std::move(function), std::move(combine_operators)}));
  MDH_RETURN_IF_ERROR(CheckBytes(expression, limits));
  return expression;
}

v1::Expression ToProto(const Expression& expression) {
  v1::Expression proto;
  proto.set_name(expression.name());
  for (const Dimension& dimension : expression.dimensions()) {
    v1::Dimension* to = proto.add_dimensions();
    to->set_name(dimension.name);
    to->set_size(dimension.size);
  }
  for (const Buffer& buffer : expression.inputs()) *proto.add_inputs() = ToProto(buffer);
  for (const Buffer& buffer : expression.outputs()) *proto.add_outputs() = ToProto(buffer);
  *proto.mutable_function() = ToProto(expression.function());
  for (const CombineOperator& combine : expression.combine_operators()) {
    *proto.add_combine_operators() = ToProto(combine);
  }
  return proto;
}

}  // namespace mdh
