// Sums and prefix sums of a tile, within threads and across those of a block.
#include "codegen/lower/scan/scan_tile.h"

namespace mdh {

// ---- Sums ----

// The sums of the thread's runs; `keeps`: elements become prefix sums of their run.
void ScanTile::SumRuns(bool keeps) {
  Declare(names_.sums, cut_.rounds, MemorySpace::kPrivate);
  Block round;
  const Index own = Index::Variable(names_.own_number);
  if (keeps && cut_.run > 1) {
    Block step;
    Store(names_.own, Number(own),
          tuples_.Combined(Load(names_.own, Number(own - Index(1))), Load(names_.own, Number(own)),
                           &step),
          &step);
    ForAll(names_.own_number, Index(1), cut_.run, std::move(step), &round);
    Store(names_.sums, Round(), Load(names_.own, Number(Index(cut_.run - 1))), &round);
  } else {
    Store(names_.sums, Round(), Load(names_.own, Number(Index(0))), &round);
    Block step;
    Store(names_.sums, Round(),
          tuples_.Combined(Load(names_.sums, Round()), Load(names_.own, Number(own)), &step),
          &step);
    if (cut_.run > 1) ForAll(names_.own_number, Index(1), cut_.run, std::move(step), &round);
  }
  ForRounds(std::move(round), &body_);
}

// The sum of all of the thread's elements.
void ScanTile::SumThread() {
  Declare(names_.sums, 1, MemorySpace::kPrivate);
  Store(names_.sums, Index(0), Load(names_.own, Index(0)), &body_);
  if (cut_.points() == 1) return;
  Block step;
  Store(names_.sums, Index(0),
        tuples_.Combined(Load(names_.sums, Index(0)),
                         Load(names_.own, Index::Variable(names_.own_number)), &step),
        &step);
  ForAll(names_.own_number, Index(1), cut_.points(), std::move(step), &body_);
}

// Every sum becomes the prefix sum over the lanes up to the thread's.
void ScanTile::ScanLanes(int64_t sums) {
  if (cut_.lanes == 1) return;
  shuffles_ ? ShuffleLanes(sums) : ExchangeLanes(sums);
}

void ScanTile::ShuffleLanes(int64_t sums) {
  const Index sum = sums == 1 ? Index(0) : Index::Variable(names_.sum_number);
  for (int64_t distance = 1; distance < cut_.lanes; distance *= 2) {
    Block step;
    Values left;
    for (const LoopValue& value : Load(names_.sums, sum)) {
      left.push_back(
          MakeShuffleUp(value, static_cast<int>(distance), static_cast<int>(cut_.lanes)));
    }
    left = tuples_.Named(left, "left", &step);
    Block add;
    Store(names_.sums, sum, tuples_.Combined(left, Load(names_.sums, sum), &add), &add);
    When({Less(Index(distance - 1), Lane())}, std::move(add), &step);
    sums == 1 ? Append(std::move(step), &body_)
              : ForAll(names_.sum_number, Index(0), sums, std::move(step), &body_);
  }
}

// Through shared memory: before what a thread has there is replaced, all must have read it.
void ScanTile::ExchangeLanes(int64_t sums) {
  Declare(names_.exchanges, sums * threads_, MemorySpace::kShared);
  const Index sum = sums == 1 ? Index(0) : Index::Variable(names_.sum_number);
  const Index own = sum * threads_ + Index::Variable(names_.thread);
  const auto for_sums = [&](Block body, Block* block) {
    sums == 1 ? Append(std::move(body), block)
              : ForAll(names_.sum_number, Index(0), sums, std::move(body), block);
  };
  Block exchange;
  Store(names_.exchanges, own, Load(names_.sums, sum), &exchange);
  for_sums(exchange, &body_);
  for (int64_t distance = 1; distance < cut_.lanes; distance *= 2) {
    const std::vector<Condition> has_left = {Less(Index(distance - 1), Lane())};
    body_.push_back({Barrier{}});
    Block step, add;
    Store(names_.sums, sum,
          tuples_.Combined(
              tuples_.Named(Load(names_.exchanges, own - Index(distance)), "left", &step),
              Load(names_.sums, sum), &step),
          &step);
    for_sums(std::move(step), &add);
    When(has_left, std::move(add), &body_);
    body_.push_back({Barrier{}});
    Block replace;
    for_sums(exchange, &replace);
    When(has_left, std::move(replace), &body_);
  }
  body_.push_back({Barrier{}});
}

// What ScanLanes has made of the sum in the lane before the thread's, unless that is the first.
ScanTile::Values ScanTile::LeftLane(const Index& sum, Block* block) {
  if (!shuffles_)
    return Load(names_.exchanges, sum * threads_ + Index::Variable(names_.thread) - Index(1));
  Values left;
  for (const LoopValue& value : Load(names_.sums, sum)) {
    left.push_back(MakeShuffleUp(value, 1, static_cast<int>(cut_.lanes)));
  }
  return tuples_.Named(left, "left", block);
}

Index ScanTile::OfRound() const {
  return (Group() * cut_.rounds + Round()) * cut_.lines + LineInBlock();
}

// The last lanes' sums, which are those of all lanes, to shared memory: of whole groups, and of
// their rounds.
void ScanTile::ShareSums(int64_t sums, bool with_rounds) {
  const bool has_rounds = with_rounds && cut_.rounds > 1;
  if (cut_.groups == 1 && !has_rounds) return;
  Block share;
  if (cut_.groups > 1) {
    Declare(names_.group_sums, cut_.groups * cut_.lines, MemorySpace::kShared);
    const Values total = tuples_.Variables(Load(names_.sums, Index(0)), "total", &share);
    Block step;
    tuples_.AssignSum(total, total, Load(names_.sums, Index::Variable(names_.sum_number)), &step);
    if (sums > 1) ForAll(names_.sum_number, Index(1), sums, std::move(step), &share);
    Store(names_.group_sums, OfGroup(Group()), total, &share);
  }
  if (has_rounds) {
    Declare(names_.round_sums, cut_.groups * cut_.rounds * cut_.lines, MemorySpace::kShared);
    Block round;
    Store(names_.round_sums, OfRound(), Load(names_.sums, Round()), &round);
    ForRounds(std::move(round), &share);
  }
  std::vector<Condition> is_last;
  if (cut_.lanes > 1) is_last.push_back(Equal(Lane(), Index(cut_.lanes - 1)));
  When(is_last, std::move(share), &body_);
  body_.push_back({Barrier{}});
}

void ScanTile::StoreTotal(const std::vector<std::string>& totals, const Index& at,
                          bool may_reorder) {
  const int64_t sums = may_reorder ? 1 : cut_.rounds;
  may_reorder ? SumThread() : SumRuns(/*keeps=*/false);
  ScanLanes(sums);
  ShareSums(sums, /*with_rounds=*/false);
  Block store;
  const bool is_shared = cut_.groups > 1;
  const Values total = tuples_.Variables(
      is_shared ? Load(names_.group_sums, OfGroup(Index(0))) : Load(names_.sums, Index(0)), "total",
      &store);
  const std::string& part = is_shared ? names_.other : names_.sum_number;
  Block step;
  tuples_.AssignSum(total, total,
                    is_shared ? Load(names_.group_sums, OfGroup(Index::Variable(part)))
                              : Load(names_.sums, Index::Variable(part)),
                    &step);
  const int64_t parts = is_shared ? cut_.groups : sums;
  if (parts > 1) ForAll(part, Index(1), parts, std::move(step), &store);
  Store(totals, at, total, &store);
  std::vector<Condition> stores = HasLine();
  if (cut_.lanes > 1) stores.push_back(Equal(Lane(), Index(cut_.lanes - 1)));
  if (is_shared) stores.push_back(Equal(Group(), Index(0)));
  When(stores, std::move(store), &body_);
}

// ---- Prefix sums ----

// What is to the left of the thread's group; of the first group of the first tile, where there is
// nothing, anything.
ScanTile::Values ScanTile::SumBefore(const Names& totals, const Index& before) {
  Values sum = tuples_.Variables(Load(names_.sums, Index(0)), "before", &body_);
  const bool has_tiles = cut_.tiles > 1;
  if (has_tiles) {
    Block carry;
    tuples_.Assign(sum, Load(totals, before), &carry);
    When({Less(Index(0), tile())}, std::move(carry), &body_);
  }
  if (cut_.groups == 1) return sum;
  const Index left = Index::Variable(names_.other);
  std::vector<Condition> is_first = {Equal(left, Index(0))};
  if (has_tiles) is_first.push_back(Equal(tile(), Index(0)));
  Block step, first, others;
  const Values total = tuples_.Named(Load(names_.group_sums, OfGroup(left)), "total", &step);
  tuples_.Assign(sum, total, &first);
  tuples_.AssignSum(sum, sum, total, &others);
  step.push_back({If{is_first, ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  Block guarded;
  When({Less(left, Group())}, std::move(step), &guarded);
  ForAll(names_.other, Index(0), cut_.groups - 1, std::move(guarded), &body_);
  return sum;
}

// What the group's first round of the first tile's first group alone is.
std::vector<Condition> ScanTile::IsFirst() const {
  std::vector<Condition> is_first;
  if (cut_.tiles > 1) is_first.push_back(Equal(tile(), Index(0)));
  if (cut_.groups > 1) is_first.push_back(Equal(Group(), Index(0)));
  if (cut_.rounds > 1) is_first.push_back(Equal(Round(), Index(0)));
  return is_first;
}

// Adds `sum` to the left of every element of the run.
void ScanTile::AddToRun(const Values& sum, Block* block) {
  const Index at = Number(cut_.run == 1 ? Index(0) : Index::Variable(names_.own_number));
  Block step;
  Store(names_.own, at, tuples_.Combined(sum, Load(names_.own, at), &step), &step);
  cut_.run == 1 ? Append(std::move(step), block)
                : ForAll(names_.own_number, Index(0), cut_.run, std::move(step), block);
}

// `before`, which is what is to the left of the group's round, becomes that of the next one.
void ScanTile::AddRound(const Values& before, Block* block) {
  if (cut_.rounds == 1) return;
  Block begins, goes_on;
  const Values sums = tuples_.Named(Load(names_.round_sums, OfRound()), "total", block);
  tuples_.Assign(before, sums, &begins);
  tuples_.AssignSum(before, before, sums, &goes_on);
  block->push_back({If{IsFirst(), ShareBlock(std::move(begins)), ShareBlock(std::move(goes_on))}});
}

// Round by round: adds `before`, what is to the left of the round, and what is in the lanes to the
// left of the thread's.
void ScanTile::AddBefore(const Values& before) {
  const std::vector<Condition> has_left = {Less(Index(0), Lane())};
  Block round, first, others;
  Values left;
  if (cut_.lanes > 1 && shuffles_) left = LeftLane(Round(), &round);
  if (cut_.lanes > 1) {
    Block inside;
    AddToRun(shuffles_ ? left : tuples_.Named(LeftLane(Round(), &inside), "left", &inside),
             &inside);
    When(has_left, std::move(inside), &first);
  }
  const Values sum = tuples_.Variables(before, "front", &others);
  if (cut_.lanes > 1) {
    Block inside;
    tuples_.AssignSum(sum, sum, shuffles_ ? left : LeftLane(Round(), &inside), &inside);
    When(has_left, std::move(inside), &others);
  }
  AddToRun(sum, &others);
  if (IsFirst().empty()) {
    Append(std::move(first), &round);
  } else if (first.empty()) {
    const std::string flag = context_.names().Unique("is_first");
    round.push_back({DeclareFlag{flag, IsFirst()}});
    When({{Condition::Kind::kNotFlag, Index(0), Index(0), flag}}, std::move(others), &round);
  } else {
    round.push_back({If{IsFirst(), ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  }
  AddRound(before, &round);
  ForRounds(std::move(round), &body_);
}

void ScanTile::ScanOwn(const std::vector<std::string>& totals, const Index& before) {
  SumRuns(/*keeps=*/true);
  ScanLanes(cut_.rounds);
  ShareSums(cut_.rounds, /*with_rounds=*/true);
  AddBefore(SumBefore(totals, before));
}

}  // namespace mdh
