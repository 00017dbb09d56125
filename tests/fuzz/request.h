// A fuzzer's input as a call: the first byte says which method, the others are the request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace mdh {

// Every method of every service of mdh.v1, in a fixed order.
const std::vector<const google::protobuf::MethodDescriptor*>& AllMethods();

// "/mdh.v1.Service/Method".
std::string PathOf(const google::protobuf::MethodDescriptor& method);

// An empty request.
std::unique_ptr<google::protobuf::Message> MakeRequest(
    const google::protobuf::MethodDescriptor& method);

struct Request {
  const google::protobuf::MethodDescriptor* method;
  std::string_view bytes;
};

// nullopt for no bytes at all.
std::optional<Request> ToRequest(const uint8_t* data, size_t size);

// The bytes that ToRequest takes apart. `method`: a number in AllMethods().
std::string ToInput(size_t method, const google::protobuf::Message& request);

}  // namespace mdh
