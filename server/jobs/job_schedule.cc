#include "server/jobs/job_schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace mdh {
namespace {

// Of which their last turn is known.
constexpr size_t kMaxSources = 1024;

bool Contains(absl::Span<TuningDevice* const> devices, const TuningDevice* device) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

std::vector<TuningDevice*> Common(absl::Span<TuningDevice* const> a,
                                  absl::Span<TuningDevice* const> b) {
  std::vector<TuningDevice*> common;
  for (TuningDevice* device : a) {
    if (Contains(b, device)) common.push_back(device);
  }
  return common;
}

// Those of `usable` that the job gets.
std::vector<TuningDevice*> ShareOf(size_t job, std::vector<TuningDevice*> usable,
                                   absl::Span<const WaitingJob> jobs) {
  const auto others_that_want = [&](const TuningDevice* device) {
    size_t others = 0;
    for (size_t other = 0; other < jobs.size(); ++other) {
      if (other != job && Contains(jobs[other].devices, device)) ++others;
    }
    return others;
  };
  size_t competitors = 1;
  for (size_t other = 0; other < jobs.size(); ++other) {
    if (other != job && !Common(usable, jobs[other].devices).empty()) ++competitors;
  }
  std::stable_sort(usable.begin(), usable.end(), [&](TuningDevice* a, TuningDevice* b) {
    return others_that_want(a) < others_that_want(b);
  });
  usable.resize(std::max<size_t>(1, usable.size() / competitors));
  return usable;
}

}  // namespace

void Turns::Take(const std::string& source) {
  last_[source] = ++clock_;
  if (last_.size() <= kMaxSources) return;
  last_.erase(std::min_element(last_.begin(), last_.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; }));
}

std::vector<size_t> Turns::Order(absl::Span<const WaitingJob> jobs) const {
  std::map<std::string, std::vector<size_t>> by_source;  // the next job last
  for (size_t job = 0; job < jobs.size(); ++job) by_source[jobs[job].source].push_back(job);
  // When the source had its last turn, the number of its next job, its jobs.
  using Source = std::tuple<int64_t, int64_t, std::vector<size_t>*>;
  std::priority_queue<Source, std::vector<Source>, std::greater<>> sources;
  for (auto& [source, own] : by_source) {
    std::sort(own.begin(), own.end(), [&](size_t a, size_t b) {
      if (jobs[a].priority != jobs[b].priority) return jobs[a].priority < jobs[b].priority;
      return jobs[a].number > jobs[b].number;
    });
    const auto last = last_.find(source);
    sources.emplace(last == last_.end() ? 0 : last->second, jobs[own.back()].number, &own);
  }
  std::vector<size_t> order;
  for (int64_t now = clock_ + 1; !sources.empty(); ++now) {
    std::vector<size_t>* const own = std::get<2>(sources.top());
    sources.pop();
    order.push_back(own->back());
    own->pop_back();
    if (!own->empty()) sources.emplace(now, jobs[own->back()].number, own);
  }
  return order;
}

std::optional<Assignment> NextAssignment(absl::Span<const WaitingJob> jobs, const Turns& turns,
                                         absl::Span<TuningDevice* const> free) {
  if (free.empty()) return std::nullopt;
  for (const size_t job : turns.Order(jobs)) {
    std::vector<TuningDevice*> usable = Common(jobs[job].devices, free);
    if (!usable.empty()) return Assignment{job, ShareOf(job, std::move(usable), jobs)};
  }
  return std::nullopt;
}

}  // namespace mdh
