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

Domain::Domain(uint32_t size) : Domain(size, std::vector<PositionRun>{{0, size - 1}}) {}

Domain::Domain(uint32_t size, std::vector<uint32_t> positions)
    : Domain(size, RunsOf(std::move(positions))) {}

Domain::Domain(uint32_t size, std::vector<PositionRun> runs) {
  std::vector<uint64_t> before = {0};
  for (const PositionRun& run : runs) {
    before.push_back(before.back() + (uint64_t{run.last} - run.first + 1));
  }
  data_ = std::make_shared<const Data>(Data{size, std::move(runs), std::move(before)});
}

size_t Domain::bytes() const {
  return sizeof(Data) + data_->runs.size() * sizeof(PositionRun) +
         data_->before.size() * sizeof(uint64_t);
}

Domain Domain::Intersected(const Domain& other) const {
  std::vector<PositionRun> runs;
  for (const PositionRun& run : data_->runs) other.AppendPartOf(run, runs);
  return Domain(size(), std::move(runs));
}

Domain Domain::Complement() const {
  std::vector<PositionRun> runs;
  uint64_t next = 0;
  for (const PositionRun& run : data_->runs) {
    if (run.first > next) runs.push_back({static_cast<uint32_t>(next), run.first - 1});
    next = uint64_t{run.last} + 1;
  }
  if (next < size()) runs.push_back({static_cast<uint32_t>(next), size() - 1});
  return Domain(size(), std::move(runs));
}

size_t Domain::RunFrom(uint64_t position) const {
  const auto found = std::ranges::lower_bound(data_->runs, position, {}, &PositionRun::last);
  return static_cast<size_t>(found - data_->runs.begin());
}

uint64_t Domain::CountBelow(uint64_t position) const {
  const size_t run = RunFrom(position);
  if (run == data_->runs.size() || position <= data_->runs[run].first) return data_->before[run];
  return data_->before[run] + (position - data_->runs[run].first);
}

uint32_t Domain::At(uint32_t first, uint64_t n) const {
  n += CountBelow(first);
  const auto run =
      std::upper_bound(data_->before.begin(), data_->before.end(), n) - data_->before.begin() - 1;
  return data_->runs[run].first + static_cast<uint32_t>(n - data_->before[run]);
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
  for (size_t n = RunFrom(run.first); n < data_->runs.size() && data_->runs[n].first <= run.last;
       ++n) {
    runs.push_back(
        {std::max(run.first, data_->runs[n].first), std::min(run.last, data_->runs[n].last)});
  }
}

bool operator==(const Domain& a, const Domain& b) {
  return a.size() == b.size() &&
         std::ranges::equal(a.runs(), b.runs(), [](const PositionRun& x, const PositionRun& y) {
           return x.first == y.first && x.last == y.last;
         });
}

}  // namespace mdh
