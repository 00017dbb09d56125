#include "server/lookup_answers.h"

#include "absl/strings/str_cat.h"
#include "mdh/v1/kernel.pb.h"
#include "proto/error_details.h"
#include "server/lookup_request.h"

namespace mdh {
namespace {

// Errors: InvalidArgument.
Result<std::vector<std::string_view>> RequestsOfBatch(std::string_view request) {
  std::optional<std::vector<std::string_view>> requests = ParseBatch(request);
  if (!requests) return absl::InvalidArgumentError("the request is no BatchLookupKernelsRequest");
  if (requests->size() > kMaxBatchLookups) {
    return InvalidField("requests", absl::StrCat("a batch has at most ", kMaxBatchLookups,
                                                 " requests, this one has ", requests->size()));
  }
  return *std::move(requests);
}

}  // namespace

std::optional<Result<ReadyReply>> LookupAnswers::FindAtOnce(std::string_view request) {
  if (const std::optional<KeyLookup> lookup = KeyLookup::Parse(request)) {
    return table_.Find(lookup->key, lookup->weakest);
  }
  return seen_.Find(request, table_.version());
}

Result<ReadyReply> LookupAnswers::Find(std::string_view request) const {
  v1::LookupKernelRequest message;
  if (!message.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
    return absl::InvalidArgumentError("the request is no LookupKernelRequest");
  }
  return finder_.Lookup(std::move(message));
}

Result<grpc::ByteBuffer> LookupAnswers::Single(Result<ReadyReply> reply) const {
  metrics_.CountOutcome(reply.status().code());
  if (!reply.ok()) return reply.status();
  const grpc::Slice response = reply->response();
  return grpc::ByteBuffer(&response, 1);
}

Result<grpc::ByteBuffer> LookupAnswers::Batch(
    const std::vector<Result<ReadyReply>>& replies) const {
  std::vector<grpc::Slice> pieces;
  pieces.reserve(replies.size() + 1);
  for (const Result<ReadyReply>& reply : replies) {
    metrics_.CountOutcome(reply.status().code());
    if (reply.ok()) {
      pieces.push_back(reply->batch_result());
    } else {
      // A google.rpc.Status is a CallStatus, field for field.
      const std::string error = ToRpcStatus(reply.status()).SerializeAsString();
      pieces.push_back(BatchResultHeader(v1::BatchLookupResult::kErrorFieldNumber, error.size()));
      pieces.emplace_back(error);
    }
  }
  if (pieces.empty()) pieces.emplace_back();
  return grpc::ByteBuffer(pieces.data(), pieces.size());
}

std::optional<Result<grpc::ByteBuffer>> LookupAnswers::AnswerAtOnce(LookupMethod method,
                                                                    std::string_view request) {
  if (method == LookupMethod::kLookup) {
    std::optional<Result<ReadyReply>> reply = FindAtOnce(request);
    if (!reply) return std::nullopt;
    return Single(*std::move(reply));
  }
  const Result<std::vector<std::string_view>> requests = RequestsOfBatch(request);
  if (!requests.ok()) {
    metrics_.CountOutcome(requests.status().code());
    return Result<grpc::ByteBuffer>(requests.status());
  }
  std::vector<Result<ReadyReply>> replies;
  replies.reserve(requests->size());
  for (const std::string_view one : *requests) {
    std::optional<Result<ReadyReply>> reply = FindAtOnce(one);
    if (!reply) return std::nullopt;
    replies.push_back(*std::move(reply));
  }
  return Batch(replies);
}

LookupAnswers::Slow LookupAnswers::Answer(LookupMethod method, std::string_view request) const {
  // What changes meanwhile makes the answer one of an older version.
  Slow slow;
  slow.version = table_.version();
  if (method == LookupMethod::kLookup) {
    slow.seen.emplace_back(request, Find(request));
    slow.reply = Single(slow.seen.front().second);
    return slow;
  }
  const Result<std::vector<std::string_view>> requests = RequestsOfBatch(request);
  if (!requests.ok()) {
    slow.reply = requests.status();
    return slow;
  }
  std::vector<Result<ReadyReply>> replies;
  for (const std::string_view one : *requests) {
    replies.push_back(Find(one));
    if (!KeyLookup::Parse(one)) slow.seen.emplace_back(one, replies.back());
  }
  slow.reply = Batch(replies);
  return slow;
}

void LookupAnswers::Learn(const Slow& slow) {
  if (slow.version != table_.version()) return;
  for (const auto& [request, reply] : slow.seen) seen_.Put(request, reply, slow.version);
}

}  // namespace mdh
