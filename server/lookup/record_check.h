// Results from elsewhere: checked again, their kernels generated here.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "core/base/status.h"
#include "mdh/v1/record.pb.h"
#include "proto/expression_conversion.h"
#include "server/store/store.h"

namespace mdh {

// The result that `given` (v1::PutKernelRequest.record) stands for. Only what cannot be computed is
// taken from it: parameters, times, counts, how the search was. `limits`: of expressions; `now`:
// for records without a time. Peaks that `store` has of the device bound its times, rather than
// those that are given. Errors: InvalidArgument, OutOfRange or ResourceExhausted, with a BadRequest
// for the field; FailedPrecondition with reason "OTHER_GENERATOR_VERSION" for other versions of the
// generator.
Result<StoredResult> CheckGivenRecord(const v1::TuningRecord& given, const ExpressionLimits& limits,
                                      Store& store, absl::Time now);

// The kernel that is stored for a record; one that is missing or damaged is made again from the
// record's parameters, and stored. Errors: NotFound if there is no record, or it is of another
// version of the generator; those of Store.
Result<v1::Kernel> KernelOfRecord(const std::string& id, const ExpressionLimits& limits,
                                  Store& store);

// Whether an error says that the record is of another version of the generator.
bool IsOfOtherGenerator(const Status& error);

}  // namespace mdh
