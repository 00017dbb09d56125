#include "proto/scalar_conversion.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

// Enums of the wire have the numbers of core's, which this makes sure of.
static_assert(static_cast<int>(ScalarType::kUint8) == v1::SCALAR_TYPE_UINT8);
static_assert(static_cast<int>(ScalarType::kFloat64) == v1::SCALAR_TYPE_FLOAT64);
static_assert(static_cast<int>(ScalarType::kBfloat16) == v1::SCALAR_TYPE_BFLOAT16);
static_assert(std::size(kScalarTypes) == v1::ScalarType_MAX);
static_assert(static_cast<int>(ScalarOp::kTable) == v1::SCALAR_OP_TABLE);
static_assert(static_cast<int>(ScalarOp::kCos) == v1::SCALAR_OP_COS);
static_assert(static_cast<int>(ScalarOp::kExp2) == v1::SCALAR_OP_EXP2);
static_assert(static_cast<int>(ScalarOp::kCbrt) == v1::SCALAR_OP_CBRT);
static_assert(static_cast<int>(ScalarOp::kBitXor) == v1::SCALAR_OP_BIT_XOR);
static_assert(static_cast<int>(ScalarOp::kFmax) == v1::SCALAR_OP_FMAX);
static_assert(static_cast<int>(ScalarOp::kCopysign) == v1::SCALAR_OP_COPYSIGN);
static_assert(static_cast<int>(ScalarOp::kOr) == v1::SCALAR_OP_OR);
static_assert(static_cast<int>(ScalarOp::kGe) == v1::SCALAR_OP_GE);
static_assert(static_cast<int>(ScalarOp::kGe) == v1::ScalarOp_MAX);

// Of identifiers, and of two that a point joins.
constexpr size_t kLongestName = 257;

Result<ScalarInstruction> InstructionFromProto(const v1::ScalarInstruction& proto,
                                               const std::string& of) {
  if (proto.op() == v1::SCALAR_OP_UNSPECIFIED || !v1::ScalarOp_IsValid(proto.op())) {
    return InvalidArgument(of, " has no operation, or an unknown one");
  }
  MDH_ASSIGN_OR_RETURN(const ScalarType type, FromProto(proto.type(), of));
  ScalarInstruction instruction{
      static_cast<ScalarOp>(proto.op()), type, {proto.operands().begin(), proto.operands().end()}};
  if (instruction.op == ScalarOp::kParameter) instruction.parameter = proto.parameter();
  if (instruction.op == ScalarOp::kConstant) {
    MDH_ASSIGN_OR_RETURN(instruction.constant, FromProto(proto.constant(), of));
  }
  if (instruction.op == ScalarOp::kTable) {
    MDH_ASSIGN_OR_RETURN(instruction.table, FromProto(proto.table(), of));
  }
  return instruction;
}

v1::ScalarInstruction InstructionToProto(const ScalarInstruction& instruction) {
  v1::ScalarInstruction proto;
  proto.set_op(static_cast<v1::ScalarOp>(instruction.op));
  proto.set_type(ToProto(instruction.type));
  proto.mutable_operands()->Add(instruction.operands.begin(), instruction.operands.end());
  if (instruction.op == ScalarOp::kParameter) proto.set_parameter(instruction.parameter);
  if (instruction.op == ScalarOp::kConstant) {
    *proto.mutable_constant() = ToProto(instruction.constant);
  }
  for (const ScalarValue& value : instruction.table) *proto.add_table() = ToProto(value);
  return proto;
}

}  // namespace

Status CheckNameLength(const std::string& name, const std::string& of) {
  if (name.size() <= kLongestName) return absl::OkStatus();
  return InvalidArgument("the name of ", of, " has ", name.size(), " bytes, at most ", kLongestName,
                         " are allowed");
}

Result<ScalarType> FromProto(v1::ScalarType type, const std::string& of) {
  if (type == v1::SCALAR_TYPE_UNSPECIFIED || !v1::ScalarType_IsValid(type)) {
    return InvalidArgument("the type of ", of, " is missing or unknown");
  }
  return static_cast<ScalarType>(type);
}

v1::ScalarType ToProto(ScalarType type) { return static_cast<v1::ScalarType>(type); }

Result<ScalarValue> FromProto(const v1::ScalarValue& value, const std::string& of) {
  MDH_ASSIGN_OR_RETURN(const ScalarType type, FromProto(value.type(), of));
  using Case = v1::ScalarValue::ValueCase;
  const Case expected = type == ScalarType::kBool ? Case::kBoolValue
                        : IsFloatingPoint(type)   ? Case::kRealValue
                        : IsSigned(type)          ? Case::kIntValue
                                                  : Case::kUintValue;
  if (value.value_case() != expected) {
    return InvalidArgument(of, " has no value of its type ", std::string(Name(type)));
  }
  if (expected == Case::kBoolValue) return ScalarValue::Bool(value.bool_value());
  if (expected == Case::kRealValue) return ScalarValue::Real(type, value.real_value());
  const int64_t bits =
      expected == Case::kIntValue ? value.int_value() : static_cast<int64_t>(value.uint_value());
  ScalarValue result = ScalarValue::Integer(type, bits);
  if (result.as_int64() != bits) {
    return InvalidArgument("the value of ", of, " does not fit in ", std::string(Name(type)));
  }
  return result;
}

Result<std::vector<ScalarValue>> FromProto(
    const google::protobuf::RepeatedPtrField<v1::ScalarValue>& values, const std::string& of) {
  std::vector<ScalarValue> result;
  result.reserve(values.size());
  for (const v1::ScalarValue& value : values) {
    MDH_ASSIGN_OR_RETURN(const ScalarValue converted, FromProto(value, of));
    result.push_back(converted);
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
    MDH_RETURN_IF_ERROR(CheckNameLength(name.name(), "a parameter, a result or a field"));
    MDH_ASSIGN_OR_RETURN(const ScalarType type,
                         FromProto(name.type(), absl::StrCat("'", name.name(), "'")));
    result.push_back({name.name(), type});
  }
  return result;
}

v1::TypedName ToProto(const TypedName& name) {
  v1::TypedName proto;
  proto.set_name(name.name);
  proto.set_type(ToProto(name.type));
  return proto;
}

Result<ScalarFunction> FromProto(const v1::ScalarFunction& proto) {
  MDH_RETURN_IF_ERROR(CheckNameLength(proto.name(), "a function"));
  MDH_ASSIGN_OR_RETURN(std::vector<TypedName> parameters, FromProto(proto.parameters()));
  MDH_ASSIGN_OR_RETURN(std::vector<TypedName> results, FromProto(proto.results()));
  std::vector<ScalarInstruction> instructions;
  for (const v1::ScalarInstruction& instruction : proto.instructions()) {
    MDH_ASSIGN_OR_RETURN(
        ScalarInstruction converted,
        InstructionFromProto(instruction, absl::StrCat("instruction ", instructions.size(),
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
  for (const TypedName& name : function.parameters()) *proto.add_parameters() = ToProto(name);
  for (const TypedName& name : function.results()) *proto.add_results() = ToProto(name);
  for (const ScalarInstruction& instruction : function.instructions()) {
    *proto.add_instructions() = InstructionToProto(instruction);
  }
  proto.mutable_result_instructions()->Add(function.result_instructions().begin(),
                                           function.result_instructions().end());
  return proto;
}

}  // namespace mdh
