// Where the trials of a tuning run come from: a study of the daemon, or one in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/client_options.h"
#include "core/base/status.h"
#include "mdh/v1/study.pb.h"

namespace mdh {

// Not thread-safe.
class TrialSource {
 public:
  virtual ~TrialSource() = default;
  // "studies/3"; empty if nothing is kept.
  virtual std::string name() const = 0;
  // The study with its specification.
  virtual Result<v1::Study> Get() = 0;
  virtual Result<v1::AskTrialsResponse> Ask(int count, int64_t lease_ns) = 0;
  // Gives the study afterwards, maybe without its specification. Errors: AlreadyExists if somebody
  // else told another outcome before.
  virtual Result<v1::Study> Tell(const v1::StudyTrial& trial) = 0;
  // All trials that were told.
  virtual Status ForEachTold(const std::function<void(const v1::StudyTrial&)>& visit) = 0;
  // Removes the study: nothing came of it.
  virtual void Discard() = 0;
};

// A study in this process. Errors: as StudyService.CreateStudy.
Result<std::unique_ptr<TrialSource>> CreateLocalTrials(const v1::StudySpec& spec);

// How long calls are repeated while the daemon does not answer.
struct PatienceOptions {
  int64_t limit_ns = 60'000'000'000;
  // No more patience; called often, from the thread that calls.
  std::function<bool()> is_interrupted = [] { return false; };
  // Called once when calls begin to fail.
  std::function<void(const Status&)> on_wait = [](const Status&) {};
};

// A new study of the daemon at `server`, or one of its studies. Errors: Unavailable if it cannot be
// reached; what it says.
Result<std::unique_ptr<TrialSource>> CreateDaemonTrials(const std::string& server,
                                                        const ClientOptions& options,
                                                        const v1::StudySpec& spec,
                                                        PatienceOptions patience);
Result<std::unique_ptr<TrialSource>> OpenDaemonTrials(const std::string& server,
                                                      const ClientOptions& options,
                                                      const std::string& study,
                                                      PatienceOptions patience);

}  // namespace mdh
