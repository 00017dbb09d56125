#include "tuner/space/diagram/restricted_counts.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "tuner/space/levels/wide_integer.h"

namespace mdh {
namespace {

// Ranges with more values than this have few different runs of them.
constexpr uint32_t kMaxDense = 1 << 16;

mpz_class ToMpz(uint64_t number) { return number; }
mpz_class ToMpz(Wide number) {
  return (mpz_class(static_cast<uint64_t>(number >> 64)) << 64) +
         mpz_class(static_cast<uint64_t>(number));
}
mpz_class ToMpz(const mpz_class& number) { return number; }

// Number: holds the count of the whole diagram. Nothing here exceeds it: every node has a way to it
// and a completion in the whole diagram, and ways times completions are some of all configurations.
template <typename Number>
class CountsOf final : public RestrictedCounts {
 public:
  CountsOf(const Diagram& diagram, const Domains& domains, const CountsOf* like, int level)
      : diagram_(diagram), domains_(domains), depth_(diagram.depth()) {
    CountCompletions(like, level);
    if (like == nullptr) return;
    const std::lock_guard lock(like->mutex_);
    const auto known = std::min(std::ssize(like->ways_), std::ptrdiff_t{level} + 1);
    ways_.assign(like->ways_.begin(), like->ways_.begin() + known);
  }

  mpz_class count() const override { return ToMpz((*completions_[0])[0]); }

  std::vector<CountedRun> PositionsAt(int number) const override {
    const DiagramLevel& level = diagram_.levels()[number];
    const Domain domain = domains_[number];
    const Numbers ways = WaysTo(number);
    const std::vector<Number>& below = *completions_[number + 1];
    Changes changes(level);
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      if ((*ways)[node] == 0) continue;
      for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
        const Number product = (*ways)[node] * below[level.child[edge]];
        if (product == 0) continue;
        changes.At(level.first[edge]) += product;
        changes.At(level.last[edge] + 1) -= product;
      }
    }
    std::vector<CountedRun> runs;
    std::vector<PositionRun> parts;
    Number sum = 0;
    uint32_t first = 0;
    changes.ForEach([&](uint32_t position, const Number& change) {
      parts.clear();
      if (sum != 0) domain.AppendPartOf({first, position - 1}, parts);
      for (const PositionRun& part : parts) runs.push_back({part.first, part.last, ToMpz(sum)});
      sum += change;
      first = position;
    });
    return runs;
  }

  void At(mpz_class index, absl::Span<uint32_t> positions) const override {
    uint32_t node = 0;
    for (int number = 0; number < depth_; ++number) {
      const DiagramLevel& level = diagram_.levels()[number];
      const Domain domain = domains_[number];
      for (uint32_t edge = level.begin[node];; ++edge) {
        const uint64_t values = domain.CountIn(level.first[edge], level.last[edge]);
        const mpz_class below = ToMpz((*completions_[number + 1])[level.child[edge]]);
        const mpz_class all = below * values;
        if (index >= all) {
          index -= all;
          continue;
        }
        const mpz_class quotient = index / below;
        index -= quotient * below;
        positions[number] = domain.At(level.first[edge], quotient.get_ui());
        node = level.child[edge];
        break;
      }
    }
  }

 private:
  using Numbers = std::shared_ptr<const std::vector<Number>>;  // by node

  // By how much positions of a level have more configurations than those before them.
  class Changes {
   public:
    explicit Changes(const DiagramLevel& level) {
      const uint32_t last = *std::ranges::max_element(level.last);
      if (last < kMaxDense) dense_.resize(size_t{last} + 2);
    }
    Number& At(uint32_t position) { return dense_.empty() ? sparse_[position] : dense_[position]; }
    template <typename Visit>
    void ForEach(const Visit& visit) const {
      for (size_t position = 0; position < dense_.size(); ++position) {
        if (dense_[position] != 0) visit(static_cast<uint32_t>(position), dense_[position]);
      }
      for (const auto& [position, change] : sparse_) visit(position, change);
    }

   private:
    std::vector<Number> dense_;          // of short ranges
    std::map<uint32_t, Number> sparse_;  // of others
  };

  static Numbers Made(std::vector<Number> numbers) {
    return std::make_shared<const std::vector<Number>>(std::move(numbers));
  }

  // From the end to the root; below the level that differs they are those of `like`.
  void CountCompletions(const CountsOf* like, int changed) {
    completions_.resize(depth_ + 1);
    completions_[depth_] = Made({Number(1)});
    for (int number = depth_ - 1; number >= 0; --number) {
      if (like != nullptr && number > changed) {
        completions_[number] = like->completions_[number];
        continue;
      }
      const DiagramLevel& level = diagram_.levels()[number];
      const Domain domain = domains_[number];
      const std::vector<Number>& below = *completions_[number + 1];
      std::vector<Number> sums(level.nodes());
      for (uint32_t node = 0; node < level.nodes(); ++node) {
        for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
          const uint64_t values = domain.CountIn(level.first[edge], level.last[edge]);
          if (values != 0) sums[node] += below[level.child[edge]] * values;
        }
      }
      completions_[number] = Made(std::move(sums));
    }
  }

  // How many prefixes lead to the nodes of a level, with completions or without.
  Numbers WaysTo(int number) const {
    const std::lock_guard lock(mutex_);
    if (ways_.empty()) ways_.push_back(Made({Number(1)}));
    while (std::ssize(ways_) <= number) {
      const int above = static_cast<int>(ways_.size()) - 1;
      const DiagramLevel& level = diagram_.levels()[above];
      const Domain domain = domains_[above];
      const std::vector<Number>& ways = *ways_.back();
      std::vector<Number> sums(completions_[above + 1]->size());
      for (uint32_t node = 0; node < level.nodes(); ++node) {
        if (ways[node] == 0) continue;
        for (uint32_t edge = level.begin[node]; edge < level.begin[node + 1]; ++edge) {
          const uint64_t values = domain.CountIn(level.first[edge], level.last[edge]);
          if (values != 0) sums[level.child[edge]] += ways[node] * values;
        }
      }
      ways_.push_back(Made(std::move(sums)));
    }
    return ways_[number];
  }

  const Diagram& diagram_;
  const Domains& domains_;
  const int depth_;
  std::vector<Numbers> completions_;  // by level, and of the end
  mutable std::mutex mutex_;
  mutable std::vector<Numbers> ways_;  // by level, as far as they were asked for
};

template <typename Number>
std::shared_ptr<const RestrictedCounts> Make(const Diagram& diagram, const Domains& domains,
                                             const RestrictedCounts* like, int level) {
  return std::make_shared<const CountsOf<Number>>(
      diagram, domains, static_cast<const CountsOf<Number>*>(like), level);
}

}  // namespace

std::shared_ptr<const RestrictedCounts> RestrictedCounts::Create(const Diagram& diagram,
                                                                 const Domains& domains,
                                                                 const RestrictedCounts* like,
                                                                 int level) {
  const size_t bits = mpz_sizeinbase(diagram.count().get_mpz_t(), 2);
  if (bits <= 64) return Make<uint64_t>(diagram, domains, like, level);
  if (bits <= 128) return Make<Wide>(diagram, domains, like, level);
  return Make<mpz_class>(diagram, domains, like, level);
}

}  // namespace mdh
