// What LookupKernel and BatchLookupKernels answer: from bytes to bytes.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "server/lookup/kernel_finder.h"
#include "server/lookup/lookup_metrics.h"
#include "server/lookup/replica_state.h"
#include "server/lookup/reply_cache.h"
#include "server/records/lookup_table.h"
#include "server/records/serialized_reply.h"

namespace mdh {

// Lookups of one BatchLookupKernels.
inline constexpr int kMaxBatchLookups = 1'000;

enum class LookupMethod { kLookup, kBatch };

// For whom the caller may have jobs created; `source`: whom the request names. Errors: it may not.
using TuningRequesterOf = std::function<Result<Requester>(const std::string& source)>;

// Lookups with a key are found at once, and so are others whose bytes were seen before; everything
// else has an expression to be parsed or a device to be looked at.
class LookupAnswers {
 public:
  // All must outlive this.
  LookupAnswers(const KernelFinder& finder, const LookupTable& table, const ReplicaState& replica,
                LookupMetrics& metrics)
      : finder_(finder),
        table_(table),
        replica_(replica),
        metrics_(metrics),
        seen_(kMaxSeenBytes) {}

  // Whether the records are not yet as new as the answer to a request, or to one of a batch, is to
  // be: in a moment they may be. Has what is new read at once.
  bool IsBehind(LookupMethod method, std::string_view request) const;

  // nullopt if it takes longer. By one thread at a time. Errors: as those of the method.
  std::optional<Result<grpc::ByteBuffer>> AnswerAtOnce(LookupMethod method,
                                                       std::string_view request);

  // An answer that took longer, and what there is to learn from it.
  struct Slow {
    Result<grpc::ByteBuffer> reply = grpc::ByteBuffer();
    int64_t version = 0;
    std::vector<std::pair<std::string, Result<SerializedReply>>> seen;
  };
  // Thread-safe.
  Slow Answer(LookupMethod method, std::string_view request,
              const TuningRequesterOf& requester) const;
  // Answers the same requests at once from now on. By the thread of AnswerAtOnce.
  void Learn(const Slow& slow);

 private:
  // Bytes of requests.
  static constexpr size_t kMaxSeenBytes = 16 << 20;

  std::optional<Result<SerializedReply>> FindAtOnce(std::string_view request);
  // A reply, and whether the same request gets the same one while the table does not change.
  struct Found {
    Result<SerializedReply> reply;
    bool is_lasting = true;
  };
  Found Find(std::string_view request, const TuningRequesterOf& requester) const;
  // Of one call; counts it.
  Result<grpc::ByteBuffer> Single(Result<SerializedReply> reply) const;
  Result<grpc::ByteBuffer> Batch(const std::vector<Result<SerializedReply>>& replies) const;

  const KernelFinder& finder_;
  const LookupTable& table_;
  const ReplicaState& replica_;
  LookupMetrics& metrics_;
  ReplyCache seen_;
};

}  // namespace mdh
