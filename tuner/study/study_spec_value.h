// Values of parameters in messages, which have numbers as doubles.
#pragma once

#include <string>

#include "core/base/status.h"
#include "google/protobuf/struct.pb.h"
#include "tuner/space/formula/value.h"

namespace mdh {

// Integers whose magnitude is at most this are the same as doubles.
inline constexpr double kLargestExactInteger = 9007199254740992.0;

// Integers beyond 2^53 become decimal strings, permutations lists.
google::protobuf::Value ToProto(const Value& value);

// The value, of that type. Integers may also be decimal strings. Errors: InvalidArgument if it is
// of another type, or a number that is no integer or beyond 2^53 where an integer is needed.
Result<Value> FromProto(const google::protobuf::Value& proto, ValueType type);

// For messages: 1.5, "fast", null, [...].
std::string ProtoText(const google::protobuf::Value& proto);

}  // namespace mdh
