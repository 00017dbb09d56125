#include "tuner/study/restrictions.h"

namespace mdh {
namespace {

constexpr int kMaxRestrictions = 10'000;
constexpr int64_t kMaxValues = 100'000;

}  // namespace

Result<std::vector<NamedDecision>> ReadRestrictions(
    const google::protobuf::RepeatedPtrField<v1::Restriction>& restrictions) {
  int64_t values = 0;
  for (const v1::Restriction& restriction : restrictions) values += restriction.values_size();
  if (restrictions.size() > kMaxRestrictions || values > kMaxValues) {
    return InvalidArgument(restrictions.size(), " restrictions of ", values,
                           " values are more than ", kMaxRestrictions, " of ", kMaxValues);
  }
  std::vector<NamedDecision> decisions;
  for (const v1::Restriction& restriction : restrictions) {
    decisions.push_back({restriction.parameter(),
                         {restriction.values().begin(), restriction.values().end()},
                         restriction.is_forbidden()});
  }
  return decisions;
}

}  // namespace mdh
