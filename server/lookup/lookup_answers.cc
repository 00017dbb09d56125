#include "server/lookup/lookup_answers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mdh/v1/kernel.pb.h"
#include "proto/error_details.h"
#include "server/lookup/lookup_request.h"

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

// Whether a job may find something better than what a lookup found.
bool IsToBeTuned(const Result<SerializedReply>& found) {
  return found.ok() ? found->is_provisional() : absl::IsNotFound(found.status());
}

}  // namespace

std::optional<Result<SerializedReply>> LookupAnswers::FindAtOnce(std::string_view request) {
  if (const std::optional<KeyLookup> lookup = KeyLookup::Parse(request)) {
    MDH_RETURN_IF_ERROR(replica_.Check(lookup->min_cursor));
    return table_.Find(lookup->key, lookup->weakest);
  }
  MDH_RETURN_IF_ERROR(replica_.Check(MinCursorOf(request)));
  return seen_.Find(WithoutMinCursor(request), table_.version());
}

bool LookupAnswers::IsBehind(LookupMethod method, std::string_view request) const {
  if (method == LookupMethod::kLookup) {
    return absl::IsAborted(replica_.Hurry(MinCursorOf(request)));
  }
  const std::optional<std::vector<std::string_view>> requests = ParseBatch(request);
  return requests.has_value() && requests->size() <= kMaxBatchLookups &&
         std::any_of(requests->begin(), requests->end(), [&](std::string_view one) {
           return absl::IsAborted(replica_.Hurry(MinCursorOf(one)));
         });
}

LookupAnswers::Found LookupAnswers::Find(std::string_view request,
                                         const TuningRequesterOf& requester) const {
  v1::LookupKernelRequest message;
  if (!message.ParseFromArray(request.data(), static_cast<int>(request.size()))) {
    return {absl::InvalidArgumentError("the request is no LookupKernelRequest")};
  }
  if (const Status state = replica_.Check(message.min_cursor()); !state.ok()) {
    return {state, /*is_lasting=*/false};
  }
  const bool is_tuning = message.has_tune_in_background();
  if (is_tuning && !message.has_expression()) {
    return {InvalidField("tune_in_background", "what is tuned must be given by its expression")};
  }
  if (is_tuning) message.clear_weakest_match();  // the best that is known comes anyway
  const Result<KernelFinder::Query> query = finder_.Read(std::move(message));
  if (!query.ok()) return {query.status(), /*is_lasting=*/!is_tuning};
  Result<SerializedReply> exact = finder_.Lookup(*query);
  if (!is_tuning || !IsToBeTuned(exact)) return {std::move(exact)};
  const Result<Requester> tuner = requester(query->request.tune_in_background().source());
  if (!tuner.ok()) return {tuner.status(), /*is_lasting=*/false};
  return {finder_.LookupAndTune(*query, *tuner), /*is_lasting=*/false};
}

Result<grpc::ByteBuffer> LookupAnswers::Single(Result<SerializedReply> reply) const {
  metrics_.CountOutcome(reply.status().code());
  if (!reply.ok()) return reply.status();
  const grpc::Slice response = reply->response();
  return grpc::ByteBuffer(&response, 1);
}

Result<grpc::ByteBuffer> LookupAnswers::Batch(
    const std::vector<Result<SerializedReply>>& replies) const {
  std::vector<grpc::Slice> pieces;
  pieces.reserve(replies.size() + 1);
  for (const Result<SerializedReply>& reply : replies) {
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
    std::optional<Result<SerializedReply>> reply = FindAtOnce(request);
    if (!reply) return std::nullopt;
    return Single(*std::move(reply));
  }
  const Result<std::vector<std::string_view>> requests = RequestsOfBatch(request);
  if (!requests.ok()) {
    metrics_.CountOutcome(requests.status().code());
    return Result<grpc::ByteBuffer>(requests.status());
  }
  std::vector<Result<SerializedReply>> replies;
  replies.reserve(requests->size());
  for (const std::string_view one : *requests) {
    std::optional<Result<SerializedReply>> reply = FindAtOnce(one);
    if (!reply) return std::nullopt;
    replies.push_back(*std::move(reply));
  }
  return Batch(replies);
}

LookupAnswers::Slow LookupAnswers::Answer(LookupMethod method, std::string_view request,
                                          const TuningRequesterOf& requester) const {
  // What changes meanwhile makes the answer one of an older version.
  Slow slow;
  slow.version = table_.version();
  if (method == LookupMethod::kLookup) {
    Found found = Find(request, requester);
    slow.reply = Single(found.reply);
    if (found.is_lasting) {
      slow.seen.emplace_back(WithoutMinCursor(request), std::move(found.reply));
    }
    return slow;
  }
  const Result<std::vector<std::string_view>> requests = RequestsOfBatch(request);
  if (!requests.ok()) {
    slow.reply = requests.status();
    return slow;
  }
  std::vector<Result<SerializedReply>> replies;
  for (const std::string_view one : *requests) {
    Found found = Find(one, requester);
    if (found.is_lasting && !KeyLookup::Parse(one)) {
      slow.seen.emplace_back(WithoutMinCursor(one), found.reply);
    }
    replies.push_back(std::move(found.reply));
  }
  slow.reply = Batch(replies);
  return slow;
}

void LookupAnswers::Learn(const Slow& slow) {
  if (slow.version != table_.version()) return;
  for (const auto& [request, reply] : slow.seen) seen_.Put(request, reply, slow.version);
}

}  // namespace mdh
