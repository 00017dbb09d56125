// A child that answers requests, one at a time, and may end at any moment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "google/protobuf/message_lite.h"
#include "tuner/process/child_process.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {

// Owns the child, which ends with it. Not thread-safe; only for processes with a single thread.
class HelperProcess {
 public:
  // Forks. `body` speaks over kChildSocket and gives the exit status. Errors: ResourceExhausted.
  static Result<HelperProcess> Start(ChildLimits limits, const std::function<int()>& body);

  int socket() const { return socket_.get(); }
  pid_t pid() const { return child_.pid(); }
  // Errors: Unavailable if it is gone.
  Status Send(const google::protobuf::MessageLite& message);
  // Whether Receive would not wait: a message has come, or the process is gone.
  bool IsReadable() const;
  // Errors: Unavailable if it is gone.
  Status Receive(google::protobuf::MessageLite& message);
  // Waits for a message. `deadline_ns` is asked again and again. Errors: Cancelled if interrupted;
  // DeadlineExceeded; Internal if the process ended: "<what>: SIGSEGV (segmentation fault)".
  // After these the helper is gone.
  Status Await(google::protobuf::MessageLite& message, const std::function<int64_t()>& deadline_ns,
               Supervisor& supervisor, const std::string& what);

  // Stops it until it is continued.
  void Stop() const { child_.Stop(); }
  void Continue() const { child_.Continue(); }
  // Ends it if it has not ended, and says how it ended.
  ChildEnd End();

 private:
  HelperProcess(ChildProcess child, FileDescriptor socket)
      : child_(std::move(child)), socket_(std::move(socket)) {}

  ChildProcess child_;
  FileDescriptor socket_;
};

// "SIGSEGV (segmentation fault)" or "exit status 3".
std::string ToText(const ChildEnd& end);

}  // namespace mdh
