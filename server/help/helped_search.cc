#include "server/help/helped_search.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/start_thread.h"
#include "server/store/store.h"

namespace mdh {
namespace {

// Raised when offers or measurements change their meaning.
constexpr int kOffersVersion = 1;
// Without a store nothing can be traded.
constexpr absl::Duration kTradeAgain = absl::Milliseconds(500);

}  // namespace

std::string EnvironmentOfTrials(const KeyEnvironment& environment) {
  return absl::StrCat(environment.device_fingerprint, "\n", environment.compiler, "\ngenerator ",
                      kGeneratorVersion, "\noffers ", kOffersVersion);
}

HelpedSearch::HelpedSearch(TrialBoard& board, HelpedSearchOptions options,
                           const std::atomic<bool>& cancelled, std::unique_ptr<BoardWatch> watch)
    : board_(board),
      options_(std::move(options)),
      cancelled_(cancelled),
      watch_(std::move(watch)) {}

Result<std::unique_ptr<HelpedSearch>> HelpedSearch::Start(TrialBoard& board,
                                                          HelpedSearchOptions options,
                                                          const std::atomic<bool>& cancelled) {
  // Before it is announced: whoever comes is heard.
  MDH_ASSIGN_OR_RETURN(std::unique_ptr<BoardWatch> watch, board.WatchJob(options.job.number));
  MDH_RETURN_IF_ERROR(board.Announce(options.job));
  std::unique_ptr<HelpedSearch> search(
      new HelpedSearch(board, std::move(options), cancelled, std::move(watch)));
  MDH_ASSIGN_OR_RETURN(search->thread_, StartThread([raw = search.get()] { raw->Work(); }));
  return search;
}

HelpedSearch::~HelpedSearch() {
  is_ending_ = true;
  watch_->Wake();
  if (thread_.joinable()) thread_.join();
  const Status ended = board_.End({options_.job.number, options_.job.epoch});
  // What is left is swept up by who announces next; helpers go when the job has ended.
  if (!ended.ok()) spdlog::warn("offers of trials stay: {}", std::string(ended.message()));
}

void HelpedSearch::Note(const TuningParameters& parameters, const std::string& identity) {
  const std::string digest = KernelDigest(identity);
  absl::MutexLock lock(&mutex_);
  parameters_.try_emplace(digest, ToText(parameters));
}

std::optional<std::string> HelpedSearch::ParametersOf(const std::string& digest) const {
  absl::MutexLock lock(&mutex_);
  const auto found = parameters_.find(digest);
  if (found == parameters_.end()) return std::nullopt;
  return found->second;
}

std::vector<Runner*> HelpedSearch::TakeJoining() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(joining_, {});
}

std::set<std::string> HelpedSearch::helpers() const {
  absl::MutexLock lock(&mutex_);
  std::set<std::string> names;
  for (const auto& runner : runners_) {
    if (runner->measured() > 0) names.insert(runner->helper().name);
  }
  return names;
}

std::vector<RemoteRunner*> HelpedSearch::Present() const {
  absl::MutexLock lock(&mutex_);
  std::vector<RemoteRunner*> present;
  for (const auto& runner : runners_) {
    if (!runner->has_gone()) present.push_back(runner.get());
  }
  return present;
}

void HelpedSearch::Work() {
  while (!is_ending_) {
    watch_->Wait(options_.look);
    if (is_ending_) break;
    const Status traded = Trade();
    if (traded.ok()) continue;
    if (absl::IsAborted(traded)) {
      SendAllAway("helps no more: the job is another daemon's");
      return;
    }
    if (absl::IsNotFound(traded)) {
      // The server was started again, and has forgotten the board.
      SendAllAway("was forgotten");
      if (board_.Announce(options_.job).ok()) continue;
    }
    spdlog::debug("job={} help: {}", options_.job.number, std::string(traded.message()));
    watch_->Wait(kTradeAgain);
  }
}

Status HelpedSearch::Trade() {
  if (cancelled_ && !std::exchange(was_interrupted_, true)) {
    for (RemoteRunner* runner : Present()) runner->Interrupt();
  }
  {
    // Of those who have gone, too: what they had is taken away with them.
    absl::MutexLock lock(&mutex_);
    for (const auto& runner : runners_) {
      for (OfferedTrial& offer : runner->TakeOffers()) offers_.push_back(std::move(offer));
      for (MeasuredTrial& trial : runner->TakeSettled()) settled_.push_back(std::move(trial));
    }
  }
  // What the board was not told of before it was settled.
  std::erase_if(offers_, [&](const OfferedTrial& offer) {
    return std::any_of(settled_.begin(), settled_.end(), [&](const MeasuredTrial& trial) {
      return trial.seat == offer.seat && trial.number == offer.number;
    });
  });
  MDH_ASSIGN_OR_RETURN(const TrialBoard::News news,
                       board_.Trade({options_.job.number, options_.job.epoch}, offers_, settled_));
  offers_.clear();
  settled_.clear();
  const std::vector<RemoteRunner*> present = Present();
  for (const MeasuredTrial& trial : news.measured) {
    const auto runner = std::ranges::find_if(
        present, [&](const RemoteRunner* one) { return one->helper().seat == trial.seat; });
    if (runner != present.end()) (*runner)->Deliver(trial);
  }
  Seat(news.helpers);
  return absl::OkStatus();
}

void HelpedSearch::Seat(const std::vector<HelperSeat>& helpers) {
  bool has_changed = false;
  std::vector<std::string> names;
  for (RemoteRunner* runner : Present()) {
    const bool is_there = std::ranges::any_of(
        helpers, [&](const HelperSeat& seat) { return seat.seat == runner->helper().seat; });
    if (is_there) continue;
    runner->Go("helps no more");
    has_changed = true;
  }
  {
    absl::MutexLock lock(&mutex_);
    for (const HelperSeat& helper : helpers) {
      names.push_back(helper.name);
      const bool is_known = std::ranges::any_of(
          runners_, [&](const auto& runner) { return runner->helper().seat == helper.seat; });
      if (is_known) continue;
      spdlog::info("job={} {} helps", options_.job.number, helper.name);
      RemoteRunnerOptions remote = {.helper = helper, .device = options_.device};
      remote.parameters = [this](const std::string& digest) { return ParametersOf(digest); };
      remote.on_change = [watch = watch_.get()] { watch->Wake(); };
      remote.places = options_.places;
      runners_.push_back(std::make_unique<RemoteRunner>(std::move(remote)));
      joining_.push_back(runners_.back().get());
      has_changed = true;
    }
  }
  if (has_changed) options_.on_helpers(std::move(names));
}

void HelpedSearch::SendAllAway(const std::string& why) {
  for (RemoteRunner* runner : Present()) runner->Go(why);
  offers_.clear();
  settled_.clear();
  options_.on_helpers({});
}

}  // namespace mdh
