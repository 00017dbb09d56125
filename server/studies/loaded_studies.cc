#include "server/studies/loaded_studies.h"

#include <algorithm>
#include <map>

namespace mdh {
namespace {

// How often idle studies are looked for.
constexpr absl::Duration kDropInterval = absl::Seconds(10);
// What a trial takes in memory, roughly.
constexpr int64_t kTrialBytes = 256;

}  // namespace

LoadedStudies::LoadedStudies(LoadedStudiesOptions options)
    : options_(std::move(options)), dropper_([this] { DropUntilStopped(); }) {}

LoadedStudies::~LoadedStudies() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  dropper_.join();
}

std::shared_ptr<LoadedStudies::Entry> LoadedStudies::Enter(int64_t number) {
  absl::MutexLock lock(&mutex_);
  Slot& slot = slots_[number];
  if (slot.entry == nullptr) slot.entry = std::make_shared<Entry>();
  return slot.entry;
}

LoadedStudies::Usage LoadedStudies::UsageOf(const LoadedStudy& loaded) const {
  if (loaded.study == nullptr) return {};
  const Study& study = *loaded.study;
  return {
      std::max<int64_t>(1, study.space().size().bytes) +
          (study.evaluations() + study.outstanding()) * kTrialBytes,
      std::max(options_.now() + options_.keep_idle, absl::FromUnixNanos(study.last_expire_ns()))};
}

void LoadedStudies::Leave(int64_t number, std::shared_ptr<Entry> entry, const Usage& usage) {
  absl::MutexLock lock(&mutex_);
  Slot& slot = slots_[number];
  slot.last_use = ++uses_;
  slot.usage = usage;
  entry.reset();
  if (usage.bytes == 0 && slot.entry.use_count() == 1) slots_.erase(number);
  Trim();
}

void LoadedStudies::Trim() {
  int64_t bytes = 0;
  std::map<int64_t, int64_t> by_use;
  for (const auto& [number, slot] : slots_) {
    bytes += slot.usage.bytes;
    if (slot.entry.use_count() == 1) by_use[slot.last_use] = number;
  }
  for (const auto& [use, number] : by_use) {
    if (static_cast<int>(slots_.size()) <= options_.max_studies && bytes <= options_.max_bytes) {
      return;
    }
    bytes -= slots_[number].usage.bytes;
    slots_.erase(number);
  }
}

void LoadedStudies::DropIdle() {
  const absl::Time now = options_.now();
  absl::MutexLock lock(&mutex_);
  absl::erase_if(slots_, [now](const auto& numbered) {
    const Slot& slot = numbered.second;
    return slot.entry.use_count() == 1 && slot.usage.idle_time <= now;
  });
}

void LoadedStudies::DropUntilStopped() {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      const auto has_work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_stopping_ || !slots_.empty();
      };
      mutex_.Await(absl::Condition(&has_work));
      if (mutex_.AwaitWithTimeout(absl::Condition(&is_stopping_), kDropInterval)) return;
    }
    DropIdle();
  }
}

int LoadedStudies::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(slots_.size());
}

}  // namespace mdh
