// Values of parameters between messages and formulas.
#include "tuner/study/study_spec_value.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Proto = google::protobuf::Value;

Status Mismatch(const Proto& proto, const char* expected) {
  return InvalidArgument(ProtoText(proto), " is ", expected);
}

Result<Value> IntegerFromProto(const Proto& proto) {
  if (proto.kind_case() == Proto::kStringValue) {
    int64_t integer = 0;
    if (!absl::SimpleAtoi(proto.string_value(), &integer)) {
      return Mismatch(proto, "no integer of 64 bits");
    }
    return Value(integer);
  }
  if (proto.kind_case() != Proto::kNumberValue) return Mismatch(proto, "no integer");
  const double number = proto.number_value();
  if (!std::isfinite(number) || number != std::floor(number)) return Mismatch(proto, "no integer");
  if (std::fabs(number) > kLargestExactInteger) {
    return Mismatch(proto, "beyond 2^53, where numbers in messages are not exact; use a string");
  }
  return Value(static_cast<int64_t>(number));
}

Result<Value> PermutationFromProto(const Proto& proto) {
  if (proto.kind_case() != Proto::kListValue) {
    return Mismatch(proto, "no permutation, which is a list of strings");
  }
  std::vector<std::string> items;
  for (const Proto& item : proto.list_value().values()) {
    if (item.kind_case() != Proto::kStringValue) {
      return Mismatch(item, "no item of a permutation, which is a string");
    }
    items.push_back(item.string_value());
  }
  return Value(std::move(items));
}

}  // namespace

Proto ToProto(const Value& value) {
  Proto proto;
  std::visit(Overloaded{[&](bool b) { proto.set_bool_value(b); },
                        [&](int64_t integer) {
                          const auto number = static_cast<double>(integer);
                          if (std::fabs(number) > kLargestExactInteger) {
                            proto.set_string_value(std::to_string(integer));
                          } else {
                            proto.set_number_value(number);
                          }
                        },
                        [&](double real) { proto.set_number_value(real); },
                        [&](const std::string& text) { proto.set_string_value(text); },
                        [&](const std::vector<std::string>& items) {
                          auto* list = proto.mutable_list_value();
                          for (const std::string& item : items) {
                            list->add_values()->set_string_value(item);
                          }
                        }},
             value);
  return proto;
}

Result<Value> FromProto(const Proto& proto, ValueType type) {
  switch (type) {
    case ValueType::kBool:
      if (proto.kind_case() != Proto::kBoolValue) return Mismatch(proto, "no bool");
      return Value(proto.bool_value());
    case ValueType::kInteger:
      return IntegerFromProto(proto);
    case ValueType::kReal:
      if (proto.kind_case() != Proto::kNumberValue) return Mismatch(proto, "no number");
      return Value(proto.number_value());
    case ValueType::kString:
      if (proto.kind_case() != Proto::kStringValue) return Mismatch(proto, "no string");
      return Value(proto.string_value());
    case ValueType::kPermutation:
      break;
  }
  return PermutationFromProto(proto);
}

std::string ProtoText(const Proto& proto) {
  constexpr size_t kMaxLength = 80;
  switch (proto.kind_case()) {
    case Proto::kBoolValue:
      return ToText(Value(proto.bool_value()));
    case Proto::kNumberValue: {
      const double number = proto.number_value();
      const bool is_whole = number == std::floor(number) && std::fabs(number) < 1e18;
      return is_whole ? absl::StrCat(static_cast<int64_t>(number)) : ToText(Value(number));
    }
    case Proto::kStringValue:
      return ToText(Value(proto.string_value().size() > kMaxLength
                              ? proto.string_value().substr(0, kMaxLength) + "..."
                              : proto.string_value()));
    case Proto::kListValue:
      return "a list";
    case Proto::kStructValue:
      return "an object";
    default:
      return "null";
  }
}

}  // namespace mdh
