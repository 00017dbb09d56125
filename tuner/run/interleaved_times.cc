#include "tuner/run/interleaved_times.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tuner/measure/trial/verdict.h"

namespace mdh {
namespace {

// The fastest call of a search or of any round is a little luckier than those of rounds that agree;
// what is further off was measured on a busy machine, or is a kernel that runs as it happens.
constexpr double kFarFromFastest = 1.15;
// A kernel whose luckiest call is so much slower than the best one's time need not be timed better.
constexpr double kClearlySlower = 1.1;

// Half of a round's calls take up to .09 longer than its fastest one on a quiet machine. Where it
// is more, something disturbed them that nobody sees, as what a hypervisor runs on the other half
// of a core.
constexpr double kAlike = 1.15;
// Closer ones may have been disturbed by different amounts, unseen.
constexpr double kClearly = 1.1;
// Turns that one of two equal kernels wins more than the other one, in standard deviations: one in
// forty times it is more.
constexpr double kSurely = 2;

double AsDouble(int64_t time_ns) { return static_cast<double>(time_ns); }

}  // namespace

bool InterleavedTimes::Round::counts() const {
  return !is_disturbed && AsDouble(median_ns) <= kAlike * AsDouble(fastest_ns);
}

int64_t InterleavedTimes::Kernel::settled_ns() const {
  std::vector<int64_t> fastest;
  for (const Round& round : rounds) {
    if (round.counts()) fastest.push_back(round.fastest_ns);
  }
  std::ranges::sort(fastest);
  for (size_t r = 0; r + kAgreeing <= fastest.size(); ++r) {
    if (AsDouble(fastest[r + kAgreeing - 1]) <= kAgreement * AsDouble(fastest[r])) {
      return fastest[r];
    }
  }
  return 0;
}

bool InterleavedTimes::Kernel::is_settled() const {
  const int64_t settled = settled_ns();
  return settled > 0 && AsDouble(settled) <= kFarFromFastest * AsDouble(fastest_ns());
}

int64_t InterleavedTimes::Kernel::fastest_ns() const {
  int64_t fastest = search_ns;
  for (const Round& round : rounds) {
    fastest = fastest == 0 ? round.fastest_ns : std::min(fastest, round.fastest_ns);
  }
  return fastest;
}

InterleavedTimes::InterleavedTimes(std::vector<int64_t> search_ns) {
  for (const int64_t time_ns : search_ns) kernels_.push_back({.search_ns = time_ns});
}

void InterleavedTimes::AddRound(size_t kernel, const Measurement& round) {
  Kernel& timed = kernels_[kernel];
  if (timed.has_failed()) return;
  const int64_t compile_ns = std::max(timed.latest.compile_ns, round.compile_ns);
  timed.latest = round;
  timed.latest.compile_ns = compile_ns;
  if (timed.has_failed() || round.times_ns.empty()) return;
  timed.rounds.push_back({*std::ranges::min_element(round.times_ns), round.time_ns(),
                          round.is_disturbed, round.times_ns});
}

bool InterleavedTimes::IsClearlyFaster(size_t kernel, size_t other) const {
  const std::vector<Round>& rounds = kernels_[kernel].rounds;
  const std::vector<Round>& others = kernels_[other].rounds;
  size_t turns = 0;
  double more = 0;  // turns that it has won than others
  for (size_t t = 0; t < std::min(rounds.size(), others.size()); ++t) {
    if (rounds[t].is_disturbed || others[t].is_disturbed) continue;
    ++turns;
    more += kClearly * AsDouble(rounds[t].fastest_ns) < AsDouble(others[t].fastest_ns) ? 1 : -1;
  }
  const auto all = static_cast<double>(turns);
  return turns >= kLeastRounds && more >= std::min(all, kSurely * std::sqrt(all));
}

int64_t InterleavedTimes::LeastSettled() const {
  int64_t least = 0;
  for (const Kernel& kernel : kernels_) {
    if (kernel.has_failed() || !kernel.is_settled()) continue;
    const int64_t settled = kernel.settled_ns();
    least = least == 0 ? settled : std::min(least, settled);
  }
  return least;
}

std::vector<size_t> InterleavedTimes::Open() const {
  const int64_t least = LeastSettled();
  std::vector<size_t> open;
  bool is_certain = least > 0;
  for (size_t k = 0; k < kernels_.size(); ++k) {
    const Kernel& kernel = kernels_[k];
    if (kernel.has_failed()) continue;
    const bool has_lost =
        least > 0 && AsDouble(kernel.fastest_ns()) > kClearlySlower * AsDouble(least);
    const bool is_known = kernel.rounds.size() >= kLeastRounds && (kernel.is_settled() || has_lost);
    is_certain = is_certain && is_known;
    if (!has_lost || kernel.rounds.size() < kLeastRounds) open.push_back(k);
  }
  return is_certain ? std::vector<size_t>() : open;
}

Measurement InterleavedTimes::Final(size_t kernel) const {
  const Kernel& timed = kernels_[kernel];
  Measurement final = timed.latest;
  if (timed.has_failed()) return final;
  if (timed.rounds.empty()) return CancelledMeasurement();
  final.is_disturbed = !timed.is_settled();
  const int64_t settled = timed.settled_ns();
  std::vector<Round> agreeing;
  for (const Round& round : timed.rounds) {
    const bool agrees = settled > 0 && round.counts() && round.fastest_ns >= settled &&
                        AsDouble(round.fastest_ns) <= kAgreement * AsDouble(settled);
    if (agrees) agreeing.push_back(round);
  }
  final.times_ns.clear();
  if (agreeing.empty()) {
    const auto fastest = std::ranges::min_element(timed.rounds, {}, &Round::fastest_ns);
    for (const Round& round : timed.rounds) {
      std::ranges::copy_if(round.times_ns, std::back_inserter(final.times_ns),
                           [&](int64_t time_ns) {
                             return AsDouble(time_ns) <= kAgreement * AsDouble(fastest->fastest_ns);
                           });
    }
    return final;
  }
  // A round in which few calls were undisturbed says less than one in which most were.
  std::ranges::stable_sort(agreeing, {}, &Round::median_ns);
  agreeing.resize(std::max(std::min(agreeing.size(), kAgreeing), (agreeing.size() + 1) / 2));
  for (const Round& round : agreeing) {
    final.times_ns.insert(final.times_ns.end(), round.times_ns.begin(), round.times_ns.end());
  }
  return final;
}

}  // namespace mdh
