#include "tests/fuzz/request.h"

#include "mdh/v1/admin.pb.h"
#include "mdh/v1/device.pb.h"
#include "mdh/v1/expression.pb.h"
#include "mdh/v1/kernel.pb.h"
#include "mdh/v1/study.pb.h"
#include "mdh/v1/tuning.pb.h"

namespace mdh {
namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;

std::vector<const MethodDescriptor*> FindMethods() {
  const FileDescriptor* files[] = {v1::GetStatisticsRequest::descriptor()->file(),
                                   v1::GetDeviceRequest::descriptor()->file(),
                                   v1::CheckExpressionRequest::descriptor()->file(),
                                   v1::LookupKernelRequest::descriptor()->file(),
                                   v1::CreateStudyRequest::descriptor()->file(),
                                   v1::CreateTuningJobRequest::descriptor()->file()};
  std::vector<const MethodDescriptor*> methods;
  for (const FileDescriptor* file : files) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(file->service(s)->method(m));
      }
    }
  }
  return methods;
}

}  // namespace

const std::vector<const MethodDescriptor*>& AllMethods() {
  static const auto* const methods = new std::vector<const MethodDescriptor*>(FindMethods());
  return *methods;
}

std::string PathOf(const MethodDescriptor& method) {
  return "/" + std::string(method.service()->full_name()) + "/" + std::string(method.name());
}

std::unique_ptr<google::protobuf::Message> MakeRequest(const MethodDescriptor& method) {
  const auto* const prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(method.input_type());
  return std::unique_ptr<google::protobuf::Message>(prototype->New());
}

std::optional<Request> ToRequest(const uint8_t* data, size_t size) {
  if (size == 0) return std::nullopt;
  return Request{AllMethods()[data[0] % AllMethods().size()],
                 {reinterpret_cast<const char*>(data) + 1, size - 1}};
}

std::string ToInput(size_t method, const google::protobuf::Message& request) {
  return std::string(1, static_cast<char>(method)) + request.SerializeAsString();
}

}  // namespace mdh
