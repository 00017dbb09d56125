#include "server/kernel_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/device_conversion.h"
#include "proto/grpc_status.h"
#include "server/kernel_key.h"
#include "server/kernel_prediction.h"
#include "server/reply.h"
#include "server/resource_names.h"

namespace mdh {
namespace {

// Records that a prediction may start from.
constexpr size_t kSimilarRecords = 3;

}  // namespace

Result<grpc::Slice> KernelServiceImpl::Lookup(const grpc::ByteBuffer& request) const {
  v1::LookupKernelRequest message;
  grpc::ByteBuffer bytes(request);  // Deserialize empties it; the copy shares the bytes
  if (!grpc::SerializationTraits<v1::LookupKernelRequest>::Deserialize(&bytes, &message).ok()) {
    return absl::InvalidArgumentError("the request is no LookupKernelRequest");
  }
  KeyEnvironment environment = lookup_table_.environment();
  if (message.has_device()) {
    if (!message.key().device_fingerprint().empty()) {
      return absl::InvalidArgumentError("the request has both a device and its fingerprint");
    }
    MDH_ASSIGN_OR_RETURN(const DeviceDescription device, catalogue_.Resolve(message.device()));
    environment = KeyEnvironment::Of(device);
    message.mutable_key()->set_device_fingerprint(environment.device_fingerprint);
  }
  if (!message.has_expression()) return lookup_table_.Find(message.key(), message.weakest_match());
  if (!message.key().expression_digest().empty()) {
    return absl::InvalidArgumentError("the request has both an expression and a digest");
  }
  MDH_ASSIGN_OR_RETURN(const Expression expression, FromProto(message.expression(), limits_));
  return lookup_table_.Find(MakeKernelKey(expression, environment, message.numerics_policy()),
                            message.weakest_match());
}

grpc::ServerUnaryReactor* KernelServiceImpl::LookupKernel(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request,
                                                          grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  Result<grpc::Slice> reply = Lookup(*request);
  if (reply.ok()) *response = grpc::ByteBuffer(&*reply, 1);
  reactor->Finish(ToGrpcStatus(reply.status()));
  return reactor;
}

Result<v1::GetKernelResponse> KernelServiceImpl::Get(const v1::GetKernelRequest& request) const {
  if (request.has_expression()) {
    if (request.name().empty()) return GetBest(request);
    return absl::InvalidArgumentError("the request has both a name and an expression");
  }
  MDH_ASSIGN_OR_RETURN(const std::string id, ParseKernelName(request.name()));
  v1::GetKernelResponse response;
  MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), store_.GetKernel(id));
  return response;
}

Result<v1::GetKernelResponse> KernelServiceImpl::GetBest(
    const v1::GetKernelRequest& request) const {
  MDH_ASSIGN_OR_RETURN(const Expression expression, FromProto(request.expression(), limits_));
  MDH_ASSIGN_OR_RETURN(const DeviceDescription device, catalogue_.Resolve(request.device()));
  if (!v1::NumericsPolicy_IsValid(request.numerics_policy())) {
    return absl::InvalidArgumentError(absl::StrCat("there is no numerics policy number ",
                                                   static_cast<int>(request.numerics_policy())));
  }
  const v1::KernelKey key =
      MakeKernelKey(expression, KeyEnvironment::Of(device), request.numerics_policy());
  v1::GetKernelResponse response;
  const Result<grpc::Slice> found = lookup_table_.Find(key, request.weakest_match());
  if (found.ok()) {
    v1::LookupKernelResponse lookup;
    lookup.ParseFromArray(found->begin(), static_cast<int>(found->size()));
    response.set_match(lookup.match());
    *response.mutable_record() = std::move(*lookup.mutable_record());
    MDH_ASSIGN_OR_RETURN(const std::string id, ParseRecordName(response.record().name()));
    MDH_ASSIGN_OR_RETURN(*response.mutable_kernel(), store_.GetKernel(id));
    return response;
  }
  if (!absl::IsNotFound(found.status()) || request.weakest_match() != v1::MATCH_KIND_PREDICTED) {
    return found.status();
  }
  MDH_ASSIGN_OR_RETURN(
      PredictedKernel predicted,
      PredictKernel(expression, device, key,
                    lookup_table_.FindSimilar(key, kSimilarRecords, ToProto(device))));
  response.set_match(v1::MATCH_KIND_PREDICTED);
  *response.mutable_record() = std::move(predicted.record);
  *response.mutable_kernel() = std::move(predicted.kernel);
  response.set_made_from(predicted.made_from);
  return response;
}

grpc::Status KernelServiceImpl::GetKernel(grpc::ServerContext*, const v1::GetKernelRequest* request,
                                          v1::GetKernelResponse* response) {
  return Reply(Get(*request), response);
}

}  // namespace mdh
