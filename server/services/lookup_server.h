// LookupKernel and BatchLookupKernels on a completion queue of their own with one thread:
// frameworks call them while they start and when they dispatch.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/status.h"
#include "server/lookup/lookup_answers.h"
#include "server/lookup/lookup_metrics.h"
#include "server/lookup/lookup_workers.h"
#include "server/services/kernel_service.h"

namespace mdh {

struct LookupServerOptions {
  // Whether who calls may look up; empty: everybody may. `method`: "/mdh.v1.KernelService/...". On
  // the thread of the queue. Errors: sent to the client.
  std::function<Status(const grpc::ServerContextBase&, std::string_view method)> admit = {};
  int slots = 256;  // calls of each method that are worked on at once; others wait in gRPC
  // For requests with an expression.
  int worker_threads = 2;
  size_t max_waiting = 64;  // requests; further ones are refused with RESOURCE_EXHAUSTED
};

// The queue's thread does the input and output of all connections of the server: gRPC's own threads
// for other methods do none beside a queue that is polled.
class LookupServer {
 public:
  // All but the options must outlive this. `service` is registered by the caller.
  LookupServer(KernelServiceImpl& service, const KernelFinder& finder, const LookupTable& table,
               LookupServerOptions options = {});
  ~LookupServer();  // as Stop
  LookupServer(const LookupServer&) = delete;
  LookupServer& operator=(const LookupServer&) = delete;

  // Before the server is built.
  void AddTo(grpc::ServerBuilder& builder);
  // As soon as the server is built: without it nothing is answered. Errors: ResourceExhausted if
  // there is no thread.
  Status Start();
  // After the server was shut down, and before it is destroyed. Waits for what is worked on.
  void Stop();

  // For other calls that are to have no thread each: its tags are QueueEvents. From AddTo to Stop.
  grpc::ServerCompletionQueue& queue() { return *queue_; }
  const LookupMetrics& metrics() const { return metrics_; }

 private:
  class Slot;
  void Serve();

  KernelServiceImpl& service_;
  const LookupServerOptions options_;
  LookupMetrics metrics_;
  LookupAnswers answers_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<LookupWorkers> workers_;
  std::thread thread_;
};

}  // namespace mdh
