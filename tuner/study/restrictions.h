// Restrictions between messages and search spaces.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <vector>

#include "core/base/status.h"
#include "mdh/v1/restriction.pb.h"
#include "tuner/space/named_decision.h"

namespace mdh {

// Errors: InvalidArgument for more than anybody decides by hand or program: they are refused before
// any of them is looked at.
Result<std::vector<NamedDecision>> ReadRestrictions(
    const google::protobuf::RepeatedPtrField<v1::Restriction>& restrictions);

}  // namespace mdh
