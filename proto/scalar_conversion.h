// Scalar values and functions between the wire and core.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/scalar/scalar_function.h"
#include "core/scalar/scalar_value.h"
#include "mdh/v1/expression.pb.h"

namespace mdh {

// Names become parts of messages, so that a long one would cost its length many times. Errors:
// InvalidArgument if `name` is longer than any name can be.
Status CheckNameLength(const std::string& name, const std::string& of);

// The conversions from the wire check that types, operations and values exist; what they must
// fulfil together, ScalarFunction::Create checks. `of` says in error messages what has the type or
// value. Errors: InvalidArgument.
Result<ScalarType> FromProto(v1::ScalarType type, const std::string& of);
Result<ScalarValue> FromProto(const v1::ScalarValue& value, const std::string& of);
Result<std::vector<ScalarValue>> FromProto(
    const google::protobuf::RepeatedPtrField<v1::ScalarValue>& values, const std::string& of);
Result<std::vector<TypedName>> FromProto(
    const google::protobuf::RepeatedPtrField<v1::TypedName>& names);
Result<ScalarFunction> FromProto(const v1::ScalarFunction& function);

v1::ScalarType ToProto(ScalarType type);
v1::ScalarValue ToProto(const ScalarValue& value);
v1::TypedName ToProto(const TypedName& name);
v1::ScalarFunction ToProto(const ScalarFunction& function);

}  // namespace mdh
