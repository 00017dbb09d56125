#include "server/kernel_service.h"

#include "proto/grpc_status.h"
#include "server/kernel_key.h"
#include "server/resource_names.h"

namespace mdh {

Result<grpc::Slice> KernelServiceImpl::Lookup(const grpc::ByteBuffer& request) const {
  v1::LookupKernelRequest message;
  grpc::ByteBuffer bytes(request);  // Deserialize empties it; the copy shares the bytes
  if (!grpc::SerializationTraits<v1::LookupKernelRequest>::Deserialize(&bytes, &message).ok()) {
    return absl::InvalidArgumentError("the request is no LookupKernelRequest");
  }
  if (!message.has_expression()) return lookup_table_.Find(message.key(), message.weakest_match());
  if (!message.key().expression_digest().empty()) {
    return absl::InvalidArgumentError("the request has both an expression and a digest");
  }
  MDH_ASSIGN_OR_RETURN(const Expression expression, FromProto(message.expression(), limits_));
  return lookup_table_.Find(
      MakeKernelKey(expression, lookup_table_.environment(), message.numerics_policy()),
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

grpc::Status KernelServiceImpl::GetKernel(grpc::ServerContext*, const v1::GetKernelRequest* request,
                                          v1::GetKernelResponse* response) {
  const Result<std::string> id = ParseKernelName(request->name());
  if (!id.ok()) return ToGrpcStatus(id.status());
  Result<v1::Kernel> kernel = store_.GetKernel(*id);
  if (!kernel.ok()) return ToGrpcStatus(kernel.status());
  *response->mutable_kernel() = *std::move(kernel);
  return grpc::Status::OK;
}

}  // namespace mdh
