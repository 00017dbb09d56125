#include "tuner/space/diagram/diagram.h"

#include <algorithm>

namespace mdh {
namespace {

// A view of limbs as a number.
class View {
 public:
  View(const uint64_t* words, int limbs) {
    mpz_roinit_n(value_, reinterpret_cast<const mp_limb_t*>(words), limbs);
  }
  mpz_srcptr get() const { return value_; }

 private:
  mpz_t value_;
};

}  // namespace

int64_t Diagram::nodes() const {
  int64_t sum = 1;  // the end
  for (const DiagramLevel& level : levels_) sum += level.nodes();
  return sum;
}

int64_t Diagram::edges() const {
  int64_t sum = 0;
  for (const DiagramLevel& level : levels_) sum += static_cast<int64_t>(level.first.size());
  return sum;
}

int64_t Diagram::bytes() const {
  size_t sum = sizeof(Diagram) + levels_.capacity() * sizeof(DiagramLevel);
  for (const DiagramLevel& level : levels_) {
    sum += sizeof(uint32_t) * (level.begin.capacity() + level.first.capacity() +
                               level.last.capacity() + level.child.capacity());
    sum += sizeof(uint64_t) * (level.before.capacity() + level.count.capacity());
  }
  return static_cast<int64_t>(sum) + (compact_ ? compact_->bytes() : 0);
}

mpz_class Diagram::CountOf(int level, uint32_t node) const {
  if (level == depth()) return 1;
  const DiagramLevel& of = levels_[level];
  return mpz_class(View(&of.count[size_t{node} * of.limbs], of.limbs).get());
}

mpz_class Diagram::CountBefore(int level, uint32_t edge) const {
  const DiagramLevel& of = levels_[level];
  return mpz_class(View(&of.before[size_t{edge} * of.limbs], of.limbs).get());
}

int64_t Diagram::EdgeAt(int level, uint32_t node, uint32_t position) const {
  const DiagramLevel& of = levels_[level];
  uint32_t lo = of.begin[node];
  uint32_t size = of.begin[node + 1] - lo;
  while (size > 1) {
    const uint32_t half = size / 2;
    lo = of.first[lo + half] <= position ? lo + half : lo;
    size -= half;
  }
  return of.first[lo] <= position && position <= of.last[lo] ? int64_t{lo} : -1;
}

void Diagram::At(uint64_t index, absl::Span<uint32_t> positions) const {
  if (compact_) return compact_->At(index, positions);
  uint32_t node = 0;
  const int depth = this->depth();
  for (int number = 0; number < depth; ++number) {
    const DiagramLevel& level = levels_[number];
    uint32_t edge = level.begin[node];
    uint32_t size = level.begin[node + 1] - edge;
    while (size > 1) {
      const uint32_t half = size / 2;
      edge = level.before[edge + half] <= index ? edge + half : edge;
      size -= half;
    }
    index -= level.before[edge];
    node = level.child[edge];
    uint32_t position = level.first[edge];
    if (position != level.last[edge]) {
      const uint64_t below = number + 1 < depth ? levels_[number + 1].count[node] : 1;
      const uint64_t quotient = below == 1 ? index : index / below;
      index -= quotient * below;
      position += static_cast<uint32_t>(quotient);
    }
    positions[number] = position;
  }
}

void Diagram::At(const mpz_class& index, absl::Span<uint32_t> positions) const {
  if (is_small_) return At(mpz_get_ui(index.get_mpz_t()), positions);
  mpz_class rest = index;
  mpz_class quotient;
  uint32_t node = 0;
  for (int number = 0; number < depth(); ++number) {
    const DiagramLevel& level = levels_[number];
    uint32_t edge = level.begin[node];
    uint32_t size = level.begin[node + 1] - edge;
    while (size > 1) {
      const uint32_t half = size / 2;
      const View before(&level.before[size_t{edge + half} * level.limbs], level.limbs);
      edge = mpz_cmp(before.get(), rest.get_mpz_t()) <= 0 ? edge + half : edge;
      size -= half;
    }
    const View before(&level.before[size_t{edge} * level.limbs], level.limbs);
    mpz_sub(rest.get_mpz_t(), rest.get_mpz_t(), before.get());
    node = level.child[edge];
    positions[number] = level.first[edge];
    if (level.first[edge] == level.last[edge]) continue;
    mpz_fdiv_qr(quotient.get_mpz_t(), rest.get_mpz_t(), rest.get_mpz_t(),
                CountOf(number + 1, node).get_mpz_t());
    positions[number] += static_cast<uint32_t>(quotient.get_ui());
  }
}

std::optional<uint64_t> Diagram::IndexOf64(absl::Span<const uint32_t> positions) const {
  if (compact_) return compact_->IndexOf(positions);
  uint64_t index = 0;
  uint32_t node = 0;
  const int depth = this->depth();
  for (int number = 0; number < depth; ++number) {
    const DiagramLevel& level = levels_[number];
    const int64_t edge = EdgeAt(number, node, positions[number]);
    if (edge < 0) return std::nullopt;
    index += level.before[edge];
    node = level.child[edge];
    const uint64_t place = positions[number] - level.first[edge];
    if (place != 0) index += place * (number + 1 < depth ? levels_[number + 1].count[node] : 1);
  }
  return index;
}

std::optional<mpz_class> Diagram::IndexOf(absl::Span<const uint32_t> positions) const {
  if (is_small_) {
    const std::optional<uint64_t> index = IndexOf64(positions);
    return index ? std::optional<mpz_class>(*index) : std::nullopt;
  }
  mpz_class index = 0;
  uint32_t node = 0;
  for (int number = 0; number < depth(); ++number) {
    const DiagramLevel& level = levels_[number];
    const int64_t edge = EdgeAt(number, node, positions[number]);
    if (edge < 0) return std::nullopt;
    index += CountBefore(number, static_cast<uint32_t>(edge));
    node = level.child[edge];
    const uint64_t place = positions[number] - level.first[edge];
    if (place != 0) index += CountOf(number + 1, node) * place;
  }
  return index;
}

bool Diagram::Contains(absl::Span<const uint32_t> positions) const {
  uint32_t node = 0;
  for (int number = 0; number < depth(); ++number) {
    const int64_t edge = EdgeAt(number, node, positions[number]);
    if (edge < 0) return false;
    node = levels_[number].child[edge];
  }
  return true;
}

LevelGraph Diagram::Restricted(const Domains& domains) const {
  LevelGraph graph(levels_.size());
  // Only what the root still leads to.
  std::vector<bool> is_reached = {true};
  std::vector<PositionRun> left;
  for (int number = 0; number < depth(); ++number) {
    const DiagramLevel& level = levels_[number];
    const Domain domain = domains[number];
    GraphLevel& result = graph[number];
    std::vector<bool> below(number + 1 < depth() ? levels_[number + 1].nodes() : 1);
    for (uint32_t node = 0; node < level.nodes(); ++node) {
      for (uint32_t edge = level.begin[node]; is_reached[node] && edge < level.begin[node + 1];
           ++edge) {
        left.clear();
        domain.AppendPartOf({level.first[edge], level.last[edge]}, left);
        for (const PositionRun& run : left) {
          result.edges.push_back({run.first, run.last, level.child[edge]});
        }
        if (!left.empty()) below[level.child[edge]] = true;
      }
      result.begin.push_back(static_cast<uint32_t>(result.edges.size()));
    }
    is_reached = std::move(below);
  }
  return graph;
}

}  // namespace mdh
