#include "tuner/space/value.h"

namespace mdh {

std::string_view Name(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "bool";
    case ValueType::kInteger:
      return "integer";
    case ValueType::kReal:
      return "real";
    case ValueType::kString:
      return "string";
    case ValueType::kPermutation:
      return "permutation";
  }
  return "";
}

}  // namespace mdh
