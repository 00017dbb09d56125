// A study of the daemon, with patience while that is restarted.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/client.h"
#include "client/commands/program/trial_source.h"

namespace mdh {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause(100);
constexpr std::chrono::milliseconds kLongestPause(2'000);
constexpr std::chrono::milliseconds kSlice(50);
constexpr int kTrialsOfRequest = 1'000;

bool IsTransient(const Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

class DaemonTrials final : public TrialSource {
 public:
  DaemonTrials(std::unique_ptr<Client> client, PatienceOptions patience)
      : client_(std::move(client)), patience_(std::move(patience)) {}

  Status Create(const v1::StudySpec& spec) {
    v1::CreateStudyRequest request;
    *request.mutable_spec() = spec;
    // So that a call that is repeated gives the same study.
    std::random_device random;
    request.set_request_id(absl::StrCat("tune-program-", absl::Hex(random()), absl::Hex(random()),
                                        absl::Hex(random())));
    MDH_ASSIGN_OR_RETURN(const v1::Study study,
                         Patiently<v1::Study>([&] { return client_->CreateStudy(request); }));
    name_ = study.name();
    return absl::OkStatus();
  }
  Status Open(const std::string& name) {
    name_ = name;
    return Get().status();
  }

  std::string name() const override { return name_; }

  Result<v1::Study> Get() override {
    return Patiently<v1::Study>([&] { return client_->GetStudy(name_); });
  }
  Result<v1::AskTrialsResponse> Ask(int count, int64_t lease_ns) override {
    return Patiently<v1::AskTrialsResponse>(
        [&] { return client_->AskTrials(name_, count, lease_ns); });
  }
  Result<v1::Study> Tell(const v1::StudyTrial& trial) override {
    v1::TellTrialsRequest request;
    request.set_name(name_);
    *request.add_trials() = trial;
    return Patiently<v1::Study>([&] { return client_->TellTrials(request); });
  }
  Status ForEachTold(const std::function<void(const v1::StudyTrial&)>& visit) override {
    std::string token;
    do {
      MDH_ASSIGN_OR_RETURN(const v1::ListTrialsResponse page,
                           Patiently<v1::ListTrialsResponse>([&] {
                             return client_->ListTrials(name_, kTrialsOfRequest, token);
                           }));
      for (const v1::StudyTrial& trial : page.trials()) visit(trial);
      token = page.next_page_token();
    } while (!token.empty());
    return absl::OkStatus();
  }
  void Discard() override { (void)client_->DeleteStudy(name_); }

 private:
  // The call's result; it is repeated while the daemon does not answer.
  template <typename T, typename Call>
  Result<T> Patiently(const Call& call) {
    const auto limit = steady_clock::now() + std::chrono::nanoseconds(patience_.limit_ns);
    bool is_first = true;
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      Result<T> result = call();
      const bool is_over = steady_clock::now() >= limit || patience_.is_interrupted();
      if (result.ok() || !IsTransient(result.status()) || is_over) return result;
      if (std::exchange(is_first, false)) patience_.on_wait(result.status());
      const auto end = steady_clock::now() + pause;
      while (steady_clock::now() < end && !patience_.is_interrupted()) {
        std::this_thread::sleep_for(kSlice);
      }
    }
  }

  const std::unique_ptr<Client> client_;
  const PatienceOptions patience_;
  std::string name_;
};

Result<std::unique_ptr<DaemonTrials>> Connect(const std::string& server,
                                              const ClientOptions& options,
                                              PatienceOptions patience) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<Client> client, Client::Connect(server, options));
  return std::make_unique<DaemonTrials>(std::move(client), std::move(patience));
}

}  // namespace

Result<std::unique_ptr<TrialSource>> CreateDaemonTrials(const std::string& server,
                                                        const ClientOptions& options,
                                                        const v1::StudySpec& spec,
                                                        PatienceOptions patience) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DaemonTrials> trials,
                       Connect(server, options, std::move(patience)));
  MDH_RETURN_IF_ERROR(trials->Create(spec));
  return trials;
}

Result<std::unique_ptr<TrialSource>> OpenDaemonTrials(const std::string& server,
                                                      const ClientOptions& options,
                                                      const std::string& study,
                                                      PatienceOptions patience) {
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<DaemonTrials> trials,
                       Connect(server, options, std::move(patience)));
  MDH_RETURN_IF_ERROR(trials->Open(study));
  return trials;
}

}  // namespace mdh
