#include "codegen/choose/block_moves.h"

#include <algorithm>
#include <utility>

#include "core/base/round.h"
#include "core/decomposition/constraints.h"

namespace mdh {
namespace {

using Copy = BlockDesign::Copy;
using Cut = BlockDesign::Cut;

constexpr int64_t kMostNeighbours = 16;  // of a thread along one dimension
constexpr int64_t kMostParts = 1024;
constexpr int64_t kMostDivisor = 128;
constexpr int64_t kFewWaves = 8;        // more are nearly full, however many parts a reduction has
constexpr int64_t kNearPoints = 2;      // of fits: more or fewer
constexpr double kWorthFitting = 0.98;  // of the points of the busiest multiprocessor before
constexpr int kUsualNeighbours = 256;   // of a design

// Powers of two, and what divides the size.
std::vector<int64_t> Ladder(int64_t size, int64_t most) {
  std::vector<int64_t> values;
  for (int64_t v = 1; v <= std::min(size, most); ++v) {
    if ((v & (v - 1)) == 0 || (size % v == 0 && v <= kMostDivisor)) values.push_back(v);
  }
  return values;
}

// To the next one of the ladder.
bool Step(const std::vector<int64_t>& ladder, int direction, int64_t* value) {
  const auto at = direction < 0 ? std::ranges::lower_bound(ladder, *value)
                                : std::ranges::upper_bound(ladder, *value);
  if (at == (direction < 0 ? ladder.begin() : ladder.end())) return false;
  *value = direction < 0 ? *(at - 1) : *at;
  return true;
}

constexpr std::pair<int, int> kThirds[] = {{3, 2}, {3, 4}, {4, 3}, {2, 3}};

bool IsThird(int64_t before, int64_t threads) {
  return std::ranges::any_of(kThirds, [&](const std::pair<int, int>& times) {
    return threads * times.second == before * times.first;
  });
}

// 0: there are no asynchronous copies.
int AsyncStages(const BlockDesign& design) {
  const BlockDesign::List<int>& all = design.async_stages;
  return all.empty() ? 0 : *std::ranges::max_element(all);
}

void SetAsyncStages(BlockDesign* design, int b, int stages) {
  BlockDesign::List<int>& all = design->async_stages;
  all.resize(design->copies.size(), 0);
  all[b] = stages;
  // Equal designs are equal values.
  if (std::ranges::count(all, 0) == std::ssize(all)) all.clear();
}

// A dimension has further points of a thread or further tiles, not both.
bool IsNeighbour(const BlockDesign& design) {
  return std::ranges::none_of(design.cuts,
                              [](const Cut& cut) { return cut.strided > 1 && cut.loops > 1; });
}

// Whether the choice says something: clusters have few blocks, and one stage has no other one
// beside it.
bool HasEffect(const BlockDesign& design, const Choice& choice) {
  int64_t blocks = 1;
  for (const Cut& cut : design.cuts) blocks *= cut.blocks;
  if (choice.key == "combine") {
    return design.combine_blocks != CombineBlocks::kCluster || blocks <= kMaxClusterBlocks;
  }
  if (choice.key == "overlap") return AsyncStages(design) > 0;
  return choice.key != "early" || design.early_launches != EarlyLaunches::kNone || blocks > 1;
}

}  // namespace

struct BlockMoves::Walk {
  const BlockDesign& design;
  const size_t first;  // number of the neighbour that is shown first
  const absl::FunctionRef<bool(const BlockDesign&)> visit;
  BlockDesign next = design;  // equal to `design` again after every change
  size_t passed = 0;          // neighbours
  bool has_ended = false;
};

BlockMoves::Steps BlockMoves::StepsOf(const Choice& choice, const Expression& e,
                                      const DeviceDescription& device) {
  Steps steps = {&choice, {}};
  for (const int64_t value : choice.steps) {
    TuningParameters p;
    choice.set({value}, &p);
    if (choice.Obstacle({e, device, LoweringTarget::kBlocks}, p).empty())
      steps.values.push_back(value);
  }
  return steps;
}

BlockMoves::BlockMoves(const Expression& e, const DeviceDescription& device,
                       const BlockMoveOptions& options)
    : expression_(e),
      reductions_(static_cast<int>(ReductionOrder(e).size())),
      warp_size_(device.blocks.warp_size),
      multiprocessors_(device.blocks.multiprocessors),
      has_lane_tiles_(options.lane_tiles),
      has_async_copies_(HasAsyncCopies(device)),
      has_thirds_(options.thirds),
      has_full_waves_(options.full_waves),
      has_fits_(options.fits),
      combination_(StepsOf(ChoiceOf("combine"), e, device)) {
  if (!options.choices) {
    std::erase_if(combination_.values,
                  [](int64_t how) { return how > static_cast<int64_t>(CombineBlocks::kAtomics); });
  }
  for (const Choice& choice : Choices()) {
    if (!options.choices || choice.steps.empty() || &choice == combination_.choice) continue;
    choices_.push_back(StepsOf(choice, e, device));
  }
  for (const Dimension& d : e.dimensions()) {
    small_.push_back(Ladder(d.size, kMostNeighbours));
    large_.push_back(Ladder(d.size, kMostParts));
    std::vector<int64_t> slots = large_.back();
    for (const int64_t v : {device.blocks.multiprocessors, 2 * device.blocks.multiprocessors}) {
      if (v <= d.size) slots.push_back(v);
    }
    std::ranges::sort(slots);
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    slots_.push_back(std::move(slots));
  }
}

void BlockMoves::Show(Walk& walk) const { ShowOther(walk.next, walk); }

void BlockMoves::ShowOther(const BlockDesign& next, Walk& walk) const {
  if (walk.has_ended || !IsNeighbour(next) || walk.passed++ < walk.first) return;
  if (next.lane_tile.empty()) {
    walk.has_ended = !walk.visit(next);
    return;
  }
  BlockDesign tiled = next;
  const std::optional<std::pair<int, int>> plane = LanePlane(expression_, next);
  SetLaneTile(expression_, plane ? next.lane_tile[plane->first] : 1,
              plane ? next.lane_tile[plane->second] : 1, &tiled);
  walk.has_ended = !walk.visit(tiled);
}

const std::vector<int64_t>& BlockMoves::LadderOf(int d, Field field) const {
  if (field == &Cut::blocks) return slots_[d];
  if (field == &Cut::threads || field == &Cut::loops) return large_[d];
  return IsKept(d) ? small_[d] : large_[d];
}

absl::Span<const BlockMoves::Field> BlockMoves::Fields(int d) const {
  static constexpr Field kReduced[] = {&Cut::vector, &Cut::threads, &Cut::blocks};
  static constexpr Field kKept[] = {&Cut::threads, &Cut::vector, &Cut::strided, &Cut::loops};
  return IsKept(d) ? absl::Span<const Field>(kKept) : absl::Span<const Field>(kReduced);
}

// From where the number is on the ladder; numbers of blocks need not be.
bool BlockMoves::StepOf(int d, Field field, int direction, int64_t* value) const {
  const std::vector<int64_t>& ladder = LadderOf(d, field);
  const bool may_step = field == &Cut::blocks || std::ranges::binary_search(ladder, *value);
  return may_step && Step(ladder, direction, value);
}

void BlockMoves::ShowStep(int d, Field field, int direction, Walk& walk) const {
  int64_t& value = walk.next.cuts[d].*field;
  const int64_t before = value;
  if (StepOf(d, field, direction, &value)) Show(walk);
  value = before;
}

// One number down, alone and with another one up.
void BlockMoves::ShowShifts(int d, Field down, Walk& walk) const {
  int64_t& value = walk.next.cuts[d].*down;
  const int64_t before = value;
  if (!StepOf(d, down, -1, &value)) return;
  Show(walk);
  for (int other = 0; other < expression_.rank() && !walk.has_ended; ++other) {
    if (size(other) == 1) continue;
    for (const Field up : Fields(other)) {
      if (other == d ? up != down : up == down) ShowStep(other, up, 1, walk);
    }
  }
  value = before;
}

// To three times a power of two threads, and back to powers of two.
void BlockMoves::ShowThirds(int d, Walk& walk) const {
  int64_t& threads = walk.next.cuts[d].threads;
  const int64_t before = threads;
  for (const auto& [factor, divisor] : kThirds) {
    if (before % divisor != 0) continue;
    threads = before / divisor * factor;
    const int64_t power = threads % 3 == 0 ? threads / 3 : threads;
    const bool is_step = (power & (power - 1)) == 0 && threads <= std::min(size(d), kMostParts);
    if (is_step) Show(walk);
  }
  threads = before;
}

// Blocks, but for how many there are along d.
int64_t BlockMoves::BlocksOfOthers(const BlockDesign& design, int d) const {
  int64_t blocks = 1;
  for (int n = 0; n < expression_.rank(); ++n) {
    const Cut& cut = design.cuts[n];
    const int64_t inside = cut.threads * cut.vector * cut.strided * cut.loops;
    if (n != d) blocks *= IsKept(n) ? CeilDivide(size(n), inside) : cut.blocks;
  }
  return blocks;
}

// To so many parts of a reduction that the last wave of blocks is fullest, up to half as many again
// as there are, or two thirds.
void BlockMoves::ShowFullWaves(int d, Walk& walk) const {
  int64_t& value = walk.next.cuts[d].blocks;
  const int64_t before = value;
  const int64_t others = BlocksOfOthers(walk.design, d);
  const auto waves = [&](int64_t parts) { return CeilDivide(others * parts, multiprocessors_); };
  if (multiprocessors_ == 0 || others > kFewWaves * multiprocessors_) return;
  // Of the time, in which one multiprocessor at least computes, how much of it all have work.
  const auto share = [&](int64_t parts) {
    return static_cast<double>(others * parts) /
           static_cast<double>(waves(parts) * multiprocessors_);
  };
  int64_t up = before, down = before, best = before;
  Step(slots_[d], 1, &up);
  Step(slots_[d], -1, &down);
  for (int64_t parts = CeilDivide(2 * before, 3); parts <= std::min(size(d), 3 * before / 2 + 1);
       ++parts) {
    const bool is_step = parts == up || parts == down || waves(parts) > kFewWaves;
    if (!is_step && share(parts) > share(best)) best = parts;
  }
  if (best == before) return;
  value = best;
  Show(walk);
  value = before;
}

// Points along d that the busiest multiprocessor computes if tiles of so many points are that many,
// beside each of `others` blocks; what is behind the end of the dimension among them.
double BlockMoves::BusiestPoints(int64_t tiles, int64_t points, int64_t others) const {
  const int64_t blocks = tiles * others, processors = std::max<int64_t>(multiprocessors_, 1);
  const double busiest = blocks > kFewWaves * processors
                             ? static_cast<double>(blocks) / static_cast<double>(processors)
                             : static_cast<double>(CeilDivide(blocks, processors));
  return busiest * static_cast<double>(points);
}

void BlockMoves::ShowFits(int d, Walk& walk) const {
  Cut& cut = walk.next.cuts[d];
  const Cut before = cut;
  if (before.threads == 1 || before.loops > 1) return;
  const int64_t inside = before.threads * before.vector * before.strided;
  const int64_t tiles = CeilDivide(size(d), inside), others = BlocksOfOthers(walk.design, d);
  const double most = kWorthFitting * BusiestPoints(tiles, inside, others);
  std::vector<int64_t> counts = {tiles - 1, tiles, tiles + 1};
  for (int64_t waves = 1; waves <= kFewWaves; ++waves) {
    const int64_t count = waves * multiprocessors_ / others;
    if (tiles <= 2 * count && count <= 2 * tiles) counts.push_back(count);
  }
  std::ranges::sort(counts);
  // Neighbours as before, with a few more or fewer of what is apart; else other neighbours.
  int64_t& own = before.strided > 1 ? cut.strided : cut.vector;
  const int64_t usual = own;
  for (own = std::max<int64_t>(usual - kNearPoints, 1); own <= usual + kNearPoints; ++own) {
    const int64_t points = cut.vector * cut.strided;
    int64_t last = 0;  // threads, of which there are fewer the more tiles there are
    for (const int64_t count : counts) {
      if (count < 1) continue;
      cut.threads = CeilDivide(CeilDivide(size(d), count), points);
      if (cut.threads == std::exchange(last, cut.threads)) continue;
      const int64_t fitted = cut.threads * points;
      const bool is_on_ladders = std::ranges::binary_search(large_[d], cut.threads) &&
                                 std::ranges::binary_search(small_[d], own);
      const bool is_third = has_thirds_ && own == usual && IsThird(before.threads, cut.threads);
      const bool is_new = !is_on_ladders && !is_third && cut.threads > 1;
      if (is_new && BusiestPoints(CeilDivide(size(d), fitted), fitted, others) <= most) Show(walk);
    }
  }
  cut = before;
}

void BlockMoves::VisitFits(const BlockDesign& design,
                           absl::FunctionRef<bool(const BlockDesign&)> visit) const {
  Walk walk{design, /*first=*/0, visit};
  for (int d = 0; d < expression_.rank() && !walk.has_ended; ++d) {
    if (IsKept(d)) ShowFits(d, walk);
  }
}

void BlockMoves::ShowSteps(int d, Walk& walk) const {
  for (const Field field : Fields(d)) {
    if (walk.has_ended) return;
    ShowStep(d, field, 1, walk);
    ShowShifts(d, field, walk);
  }
  if (has_thirds_) ShowThirds(d, walk);
  if (has_full_waves_ && !IsKept(d) && !walk.has_ended) ShowFullWaves(d, walk);
  if (has_fits_ && IsKept(d) && !walk.has_ended) ShowFits(d, walk);
}

void BlockMoves::ShowCopies(Walk& walk) const {
  const BlockDesign& design = walk.design;
  for (int b = 0; b < static_cast<int>(design.copies.size()); ++b) {
    if (!CanStageApart(expression_.inputs()[b])) continue;
    for (const Copy copy : {Copy::kNone, Copy::kChunk, Copy::kTile, Copy::kBlock}) {
      if (copy == design.copies[b]) continue;
      BlockDesign next = design;
      next.copies[b] = copy;
      SetAsyncStages(&next, b, 0);
      ShowOther(next, walk);
    }
    if (has_async_copies_ && design.copies[b] == Copy::kChunk) {
      const int stages = AsyncStages(design);
      BlockDesign next = design;
      SetAsyncStages(&next, b, design.AsyncStages(b) > 0 ? 0 : stages > 0 ? stages : 2);
      ShowOther(next, walk);
    }
  }
}

// Of all asynchronous copies: copies of one loop have as many stages as the fewest of them.
void BlockMoves::ShowAsyncStages(Walk& walk) const {
  const BlockDesign& design = walk.design;
  for (const int stages : {2, 3, 4}) {
    if (AsyncStages(design) == 0 || stages == AsyncStages(design)) continue;
    BlockDesign next = design;
    for (int& of_input : next.async_stages) of_input = of_input > 0 ? stages : 0;
    ShowOther(next, walk);
  }
}

void BlockMoves::ShowLaneTiles(Walk& walk) const {
  const BlockDesign& design = walk.design;
  const auto add = [&](int64_t x, int64_t y) {
    BlockDesign next = design;
    SetLaneTile(expression_, x, y, &next);
    const bool is_asked_for = y == 1 || !next.lane_tile.empty();
    if (is_asked_for && next.lane_tile != design.lane_tile) ShowOther(next, walk);
  };
  add(1, 1);
  for (int64_t y = 2; y <= warp_size_; y *= 2) {
    for (int64_t x = 1; x * y <= warp_size_; x *= 2) add(x, y);
  }
}

// To any other word, or to a neighbouring number.
void BlockMoves::ShowChoice(const Steps& steps, Walk& walk) const {
  const Choice& choice = *steps.choice;
  const std::vector<int64_t>& values = steps.values;
  const auto at = std::ranges::find(values, choice.get_of_blocks(walk.design));
  std::vector<int64_t> next_values = values;
  if (choice.is_number()) {
    next_values.clear();
    if (at == values.end()) return;
    if (at + 1 != values.end()) next_values.push_back(*(at + 1));
    if (at != values.begin()) next_values.push_back(*(at - 1));
  }
  for (const int64_t value : next_values) {
    if (at != values.end() && value == *at) continue;
    BlockDesign next = walk.design;
    choice.set_of_blocks(value, &next);
    if (HasEffect(next, choice)) ShowOther(next, walk);
  }
}

size_t BlockMoves::VisitNeighbours(const BlockDesign& design, size_t first,
                                   absl::FunctionRef<bool(const BlockDesign&)> visit) const {
  Walk walk{design, first, visit};
  for (int d = 0; d < expression_.rank() && !walk.has_ended; ++d) {
    if (size(d) == 1) continue;
    ShowSteps(d, walk);
    if (d == design.lane_dimension || design.cuts[d].threads == 1) continue;
    walk.next.lane_dimension = d;
    Show(walk);
    walk.next.lane_dimension = design.lane_dimension;
  }
  if (walk.has_ended) return walk.passed;
  for (const int step : {1, -1}) {
    walk.next.unrolled = design.unrolled + step;
    if (walk.next.unrolled >= 0 && walk.next.unrolled <= reductions_) Show(walk);
  }
  walk.next.unrolled = design.unrolled;
  ShowCopies(walk);
  if (HasSharedReduction(design)) ShowChoice(combination_, walk);
  if (has_async_copies_) ShowAsyncStages(walk);
  if (has_lane_tiles_) ShowLaneTiles(walk);
  for (const Steps& steps : choices_) ShowChoice(steps, walk);
  return walk.passed;
}

std::vector<BlockDesign> BlockMoves::Neighbours(const BlockDesign& design) const {
  std::vector<BlockDesign> all;
  all.reserve(kUsualNeighbours);
  VisitNeighbours(design, /*first=*/0, [&](const BlockDesign& next) {
    all.push_back(next);
    return true;
  });
  return all;
}

}  // namespace mdh
