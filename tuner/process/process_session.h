// A helper program in a session of its own, connected by a socket pair, that can be ended with
// everything it has started.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tuner/process/file_descriptor.h"

namespace mdh {

// Owns the process: the destructor ends it. Not thread-safe. May be used in processes with many
// threads.
class ProcessSession {
 public:
  // A runner that is asked to end kills its children and goes; this is for one that hangs.
  static constexpr int64_t kPatience = 2'000'000'000;

  // Starts `program <arguments> --socket-fd=3`. `path`: $PATH of the program, that of this process
  // if not given. Errors: FailedPrecondition, naming the program.
  static Result<ProcessSession> Start(const std::string& program,
                                      const std::optional<std::string>& path,
                                      const std::vector<std::string>& arguments = {});
  ProcessSession(ProcessSession&& other) noexcept;
  ProcessSession& operator=(ProcessSession&& other) noexcept;
  ~ProcessSession();

  // Sending fails if the program takes nothing for ten seconds.
  int socket() const { return socket_.get(); }
  pid_t pid() const { return pid_; }
  // Whether the program has closed its side of the socket.
  bool IsGone() const;
  // Closes the socket, which asks the program to end, kills it if it does not within `patience_ns`,
  // and kills every process of its session. Says how the program ended: "exit status 0", "SIGKILL
  // (killed)".
  std::string End(int64_t patience_ns = kPatience);

 private:
  ProcessSession(pid_t pid, FileDescriptor socket) : pid_(pid), socket_(std::move(socket)) {}
  pid_t pid_ = -1;  // -1: none
  FileDescriptor socket_;
};

}  // namespace mdh
