// Looks kernels up in a bundle: no daemon is needed, and no connection.
//
//   MDH_ASSIGN_OR_RETURN(const auto bundle, mdh::BundleFile::Open("kernels.mdhb"));
//   MDH_ASSIGN_OR_RETURN(const std::string cpu, mdh::HostCpuFingerprint());
//   const mdh::BundleQuery query = mdh::QueryFor(matmul, cpu);         // once
//   MDH_ASSIGN_OR_RETURN(const auto found, bundle->Find(query));       // often: a tenth of a us
//   MDH_ASSIGN_OR_RETURN(const mdh::v1::Kernel kernel, mdh::KernelOf(found));
//
// Kernels are code: a program that runs what is in a bundle trusts who made it. BundleFile::Sum
// says whether it is the bundle that they made.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/pipeline/computation.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/record.pb.h"
#include "proto/bundle_file.h"
#include "proto/bundle_query.h"

namespace mdh {

// Of a pipeline: for its whole kernel.
BundleQuery QueryFor(const ComputationView& computation, std::string_view device_fingerprint,
                     v1::NumericsPolicy numerics_policy = v1::NUMERICS_POLICY_UNSPECIFIED);

// Of this machine's CPU with the cores that this process may use, as a daemon here has it in keys.
// Errors: FailedPrecondition if the machine does not say what it is.
Result<std::string> HostCpuFingerprint();

// Errors: NotFound if the bundle has the record alone; InvalidArgument if it is no message.
Result<v1::Kernel> KernelOf(const BundleEntry& entry);
// Errors: InvalidArgument if it is no message.
Result<v1::TuningRecord> RecordOf(const BundleEntry& entry);

}  // namespace mdh
