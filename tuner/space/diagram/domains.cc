#include "tuner/space/diagram/domains.h"

#include <algorithm>
#include <utility>

namespace mdh {
namespace {

std::vector<PositionRun> RunsOf(std::vector<uint32_t> positions) {
  std::ranges::sort(positions);
  std::vector<PositionRun> runs;
  for (const uint32_t position : positions) {
    if (!runs.empty() && position <= uint64_t{runs.back().last} + 1) {
      runs.back().last = position;
    } else {
      runs.push_back({position, position});
    }
  }
  return runs;
}

}  // namespace

Domain::Domain(uint32_t size, std::vector<uint32_t> positions)
    : Domain(size, RunsOf(std::move(positions))) {}

Domain::Domain(uint32_t size, const std::vector<PositionRun>& runs)
    : size_(size), count_(0), span_{0, 0} {
  std::vector<Run> counted;
  for (const PositionRun& run : runs) {
    counted.push_back({run, count_});
    count_ += run.last - run.first + 1;
  }
  if (!runs.empty()) span_ = {runs.front().first, runs.back().last};
  if (runs.size() < 2) return;
  counted.shrink_to_fit();
  runs_ = std::make_shared<const std::vector<Run>>(std::move(counted));
}

size_t Domain::shared_bytes() const {
  return runs_ == nullptr ? 0 : sizeof(*runs_) + runs_->size() * sizeof(Run);
}

std::vector<PositionRun> Domain::Runs() const {
  std::vector<PositionRun> runs;
  if (!empty()) AppendPartOf(span_, runs);
  return runs;
}

Domain Domain::Intersected(const Domain& other) const {
  std::vector<PositionRun> runs;
  for (const PositionRun& run : Runs()) other.AppendPartOf(run, runs);
  return Domain(size(), runs);
}

Domain Domain::Complement() const {
  std::vector<PositionRun> runs;
  uint64_t next = 0;
  for (const PositionRun& run : Runs()) {
    if (run.first > next) runs.push_back({static_cast<uint32_t>(next), run.first - 1});
    next = uint64_t{run.last} + 1;
  }
  if (next < size()) runs.push_back({static_cast<uint32_t>(next), size() - 1});
  return Domain(size(), runs);
}

size_t Domain::RunFrom(uint64_t position) const {
  return std::ranges::lower_bound(*runs_, position, {},
                                  [](const Run& run) { return uint64_t{run.positions.last}; }) -
         runs_->begin();
}

uint64_t Domain::CountBelow(uint64_t position) const {
  if (empty() || position <= span_.first) return 0;
  if (position > span_.last) return count_;
  if (runs_ == nullptr) return position - span_.first;
  const Run& run = (*runs_)[RunFrom(position)];
  return run.before + (std::max<uint64_t>(position, run.positions.first) - run.positions.first);
}

uint32_t Domain::At(uint32_t first, uint64_t n) const {
  n += CountBelow(first);
  if (runs_ == nullptr) return span_.first + static_cast<uint32_t>(n);
  const auto after = std::ranges::upper_bound(*runs_, n, {}, &Run::before);
  const Run& run = *(after - 1);
  return run.positions.first + static_cast<uint32_t>(n - run.before);
}

uint32_t Domain::Nearest(uint32_t first, uint32_t last, uint32_t wanted) const {
  wanted = std::clamp(wanted, first, last);
  if (is_all()) return wanted;
  const uint64_t below = CountBelow(wanted);
  const uint64_t at_least = CountBelow(first), end = CountBelow(uint64_t{last} + 1);
  if (below == end) return At(0, below - 1);
  const uint32_t above = At(0, below);
  if (below == at_least) return above;
  const uint32_t smaller = At(0, below - 1);
  return above - wanted < wanted - smaller ? above : smaller;
}

void Domain::AppendPartOf(PositionRun run, std::vector<PositionRun>& runs) const {
  const auto append = [run, &runs](const PositionRun& of) {
    if (run.first > of.last || of.first > run.last) return;
    runs.push_back({std::max(run.first, of.first), std::min(run.last, of.last)});
  };
  if (runs_ == nullptr) {
    if (!empty()) append(span_);
    return;
  }
  for (size_t n = RunFrom(run.first); n < runs_->size() && (*runs_)[n].positions.first <= run.last;
       ++n) {
    append((*runs_)[n].positions);
  }
}

bool operator==(const Domain& a, const Domain& b) {
  const auto is_same = [](const Domain::Run& x, const Domain::Run& y) {
    return x.positions.first == y.positions.first && x.positions.last == y.positions.last;
  };
  if (a.size_ != b.size_ || a.count_ != b.count_) return false;
  if (a.runs_ == nullptr || b.runs_ == nullptr) {
    return a.runs_ == b.runs_ && (a.empty() || a.span_.first == b.span_.first);
  }
  return a.runs_ == b.runs_ || std::ranges::equal(*a.runs_, *b.runs_, is_same);
}

Domains::Domains(std::vector<uint32_t> sizes)
    : sizes_(std::make_shared<const std::vector<uint32_t>>(std::move(sizes))) {
  spans_.reserve(sizes_->size());
  for (const uint32_t size : *sizes_) spans_.push_back(Domain(size).span());
}

std::vector<Domains::Other>::const_iterator Domains::FindOther(size_t level) const {
  return std::ranges::lower_bound(others_, level, {}, &Other::first);
}

Domain Domains::operator[](size_t level) const {
  const auto other = FindOther(level);
  if (other != others_.end() && other->first == level) return other->second;
  return {(*sizes_)[level], spans_[level]};
}

void Domains::Set(size_t level, Domain domain) {
  const auto at = others_.begin() + (FindOther(level) - others_.cbegin());
  const bool is_there = at != others_.end() && at->first == level;
  spans_[level] = domain.span();
  if (domain.is_run()) {
    if (is_there) others_.erase(at);
  } else if (is_there) {
    at->second = std::move(domain);
  } else {
    others_.insert(at, {level, std::move(domain)});
  }
}

size_t Domains::bytes() const {
  size_t bytes = sizeof(Domains) + spans_.capacity() * sizeof(PositionRun) +
                 others_.capacity() * sizeof(Other);
  for (const Other& other : others_) bytes += other.second.shared_bytes();
  return bytes;
}

bool operator==(const Domains& a, const Domains& b) {
  const auto is_same = [](const PositionRun& x, const PositionRun& y) {
    return x.first == y.first && x.last == y.last;
  };
  return std::ranges::equal(a.spans_, b.spans_, is_same) && a.others_ == b.others_;
}

}  // namespace mdh
