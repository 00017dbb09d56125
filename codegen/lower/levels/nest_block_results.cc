// How blocks that have results in common combine them themselves: as a cluster, whose blocks read
// each other's shared memory, or by device memory, in the block that is the last to leave its
// results there.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "codegen/lower/levels/nest_results.h"
#include "core/base/round.h"

namespace mdh {

// Number of the block among those that it has results in common with.
Index NestResults::Slot() const {
  return SlotNumber(context_.shape(), [&](int n) { return context_.Part(n); });
}

// Blocks of a cluster are numbered along x first, as those of the grid (hardware_parts.h).
Index NestResults::BlockInCluster(const Index& slot) const {
  const std::vector<int> places = context_.shape().SlotPlaces();
  const auto stride = [&](int n) {  // of numbers in the cluster, from part to part of that level
    int64_t blocks = 1;
    for (const int m : places) {
      const bool is_inside =
          context_.level(m).assigned.dimension < context_.level(n).assigned.dimension;
      if (is_inside) blocks *= context_.level(m).parts;
    }
    return blocks;
  };
  Index block(0);
  int64_t inside = 1;
  for (size_t k = places.size(); k-- > 0;) {
    const int64_t parts = context_.level(places[k]).parts;
    block = block + slot / inside % parts * stride(places[k]);
    inside *= parts;
  }
  return block;
}

// Every block shows its results, and combines some of all.
void NestResults::CombineInCluster(Block* block) {
  const std::optional<Shares> shared_out = SharedOut();
  const Shares all = shared_out.value_or(AllOwn());
  const int64_t blocks = context_.shape().Slots();
  Shares here = all;
  here.sharers = std::gcd(all.own, blocks);
  if (here.sharers > 1) here.sharer = Slot();
  const std::vector<Condition> owners = OwnerConditions(shared_out);
  block->push_back({Comment{absl::StrCat("Re-composition: ", blocks, " blocks of a cluster.")}});
  Append(Where(owners, ShowToCluster(all)), block);
  block->push_back({ClusterBarrier{}});
  Block finish = CombineShown(here);
  Append(OverOwnResults(here, [&](const Index& stored) { return StoreGuarded(stored); }), &finish);
  std::vector<Condition> finishers = owners;
  if (here.sharers < blocks) finishers.push_back(Less(Slot(), Index(here.sharers)));
  Append(Where(finishers, std::move(finish)), block);
  // Nobody ends before the others have read its results.
  block->push_back({ClusterBarrier{}});
}

Block NestResults::ShowToCluster(const Shares& all) const {
  const std::string result = context_.names().Unique("result");
  const Index at = In(result, all.results());
  Block shown;
  ResultTuples::Store(partials_, at * context_.threads() + context_.Thread(), AccumulatorsAt(at),
                      &shown);
  return Over(result, all.results(), std::move(shown));
}

// What all blocks have shown of those results that this one stores, to the first accumulators.
Block NestResults::CombineShown(const Shares& here) {
  const std::string batch = context_.names().Unique("batch");
  const std::string result = context_.names().Unique("result");
  const int64_t together = here.own_here() * here.unit, of_batch = here.own * here.unit;
  const Index batch_at = In(batch, here.batches), at = In(result, together);
  const Index from =
      (batch_at * of_batch + here.sharer * together + at) * context_.threads() + context_.Thread();
  Block combined;
  std::vector<LoopValue> values;
  for (int64_t slot = 0; slot < context_.shape().Slots(); ++slot) {
    std::vector<LoopValue> next;
    for (int r = 0; r < results(); ++r) {
      next.push_back(MakeLoadOfBlock(partials_[r], from, BlockInCluster(Index(slot)), type(r)));
    }
    next = tuples_.Named(std::move(next), "there", &combined);
    values = slot == 0 ? next : tuples_.NamedSum(values, next, &combined);
  }
  SetAccumulatorsAt(batch_at * together + at, values, &combined);
  return Over(batch, here.batches, Over(result, together, std::move(combined)));
}

// ---- The last block ----

// Number of the blocks that have results in common, among all such.
Index NestResults::Group() const {
  Index group(0);
  for (int n = 0; n < context_.count(); ++n) {
    if (!context_.shape().is_core(n) || context_.shape().is_reduced(n)) continue;
    group = group * context_.level(n).parts + context_.Part(n);
  }
  return group;
}

int64_t NestResults::counter_count() const {
  int64_t groups = 1;
  for (int n = 0; n < context_.count(); ++n) {
    if (!context_.shape().is_core(n) || context_.shape().is_reduced(n)) continue;
    groups *= context_.level(n).parts;
  }
  return groups;
}

int64_t NestResults::OwnerThreads(const Shares& shares) const {
  int64_t threads = shares.owners;
  for (int n = 0; n < context_.count(); ++n) {
    if (context_.shape().is_thread(n) && !context_.shape().is_reduced(n)) {
      threads *= context_.level(n).parts;
    }
  }
  return threads;
}

// Number of a thread among those that have results in the end; neighbouring ones are neighbours.
Index NestResults::Owner(const Shares& shares) const {
  std::vector<int> places;
  for (int n = 0; n < context_.count(); ++n) {
    const bool is_kept = context_.shape().is_thread(n) && !context_.shape().is_reduced(n);
    if (is_kept && context_.level(n).parts > 1) places.push_back(n);
  }
  std::ranges::stable_sort(places, [&](int a, int b) {
    return context_.level(a).assigned.dimension > context_.level(b).assigned.dimension;
  });
  Index owner = shares.owners == 1 ? Index(0) : GroupOfThread().rank;
  for (const int n : places) owner = owner * context_.level(n).parts + context_.Part(n);
  return owner;
}

std::vector<ScratchBuffer> NestResults::Scratch() const {
  const Shares shares = SharedOut().value_or(AllOwn());
  const int64_t elements =
      shares.results() * OwnerThreads(shares) * counter_count() * context_.shape().Slots();
  std::vector<ScratchBuffer> scratch;
  for (int r = 0; r < results(); ++r) {
    scratch.push_back({partials_[r], type(r), elements, /*per_thread=*/false});
  }
  scratch.push_back({counters_, ScalarType::kInt32, counter_count(), /*per_thread=*/false});
  return scratch;
}

// What a block has left: `place` numbers its results, those of one number of all owners follow each
// other.
std::vector<LoopValue> NestResults::Partial(const Shares& shares, const Index& slot,
                                            const Index& place) const {
  const int64_t elements = shares.results() * OwnerThreads(shares);
  const Index base = (Group() * context_.shape().Slots() + slot) * elements;
  return tuples_.Load(partials_, base + place);
}

void NestResults::CombineInLastBlock(Block* block) {
  const std::optional<Shares> shared_out = SharedOut();
  const Shares shares = shared_out.value_or(AllOwn());
  const std::vector<Condition> owners = OwnerConditions(shared_out);
  block->push_back({Comment{"Re-composition: to the results of this block."}});
  Append(Where(owners, ShowPartials(shares)), block);
  block->push_back({AwaitStages{}});
  const std::string last = context_.names().Unique("is_last");
  block->push_back({DeclareLast{last, counters_, Group(), context_.shape().Slots()}});
  block->push_back({Comment{absl::StrCat("Re-composition: ", context_.shape().Slots(),
                                         " blocks, by the last one of them.")}});
  Block finish, stored;
  if (ThreadsForResult() > 1) {
    Append(CombineByAll(shares), &finish);
    Append(TakeTotals(shares), &stored);
  } else {
    Append(CombineByOwners(shares), &stored);
  }
  Append(OverOwnResults(shares, [&](const Index& at) { return StoreGuarded(at); }), &stored);
  Append(Where(owners, std::move(stored)), &finish);
  block->push_back(When({{Condition::Kind::kFlag, Index(0), Index(0), last}}, std::move(finish)));
}

std::vector<std::string> NestResults::PartialExchanges() const {
  std::vector<std::string> names = partials_;
  for (std::string& name : names) name += "_exchange";
  return names;
}

// Threads of the last block that combine one of its results.
int64_t NestResults::ThreadsForResult() const {
  const Shares shares = SharedOut().value_or(AllOwn());
  const int64_t results = shares.results() * OwnerThreads(shares);
  return RoundDownToPowerOfTwo(
      std::clamp<int64_t>(context_.threads() / results, 1, context_.shape().Slots()));
}

Block NestResults::ShowPartials(const Shares& shares) const {
  const std::string result = context_.names().Unique("result");
  const Index at = In(result, shares.results());
  const int64_t elements = shares.results() * OwnerThreads(shares);
  const Index base = (Group() * context_.shape().Slots() + Slot()) * elements;
  const Index place = base + (at * OwnerThreads(shares) + Owner(shares));
  Block shown;
  ResultTuples::Store(partials_, place, AccumulatorsAt(at), &shown);
  return Over(result, shares.results(), std::move(shown));
}

// Each its own results, of all blocks in turn.
Block NestResults::CombineByOwners(const Shares& shares) {
  constexpr int64_t kInFlight = 32;  // results that are on their way to a thread
  const std::string result = context_.names().Unique("result");
  const std::string slot = context_.names().Unique("slot");
  const int64_t count = shares.results();
  const Index at = In(result, count);
  const Index place = at * OwnerThreads(shares) + Owner(shares);
  Block first, next;
  SetAccumulatorsAt(at, Partial(shares, Index(0), place), &first);
  const std::vector<LoopValue> left = tuples_.Named(AccumulatorsAt(at), "here", &next);
  const std::vector<LoopValue> right =
      tuples_.Named(Partial(shares, Index::Variable(slot), place), "there", &next);
  SetAccumulatorsAt(at, tuples_.NamedSum(left, right, &next), &next);
  Block block = Over(result, count, std::move(first));
  block.push_back({For{slot, Index(1), Index(context_.shape().Slots()), 1, false,
                       ShareBlock(Over(result, count, std::move(next))), false,
                       std::max<int64_t>(1, kInFlight / count)}});
  return block;
}

// Few results: all threads take part. Those that have a result in common combine neighbouring
// blocks' each, then form a tree.
Block NestResults::CombineByAll(const Shares& shares) {
  const int64_t results_here = shares.results() * OwnerThreads(shares);
  const int64_t slots = context_.shape().Slots();
  const int64_t each = CeilDivide(slots, ThreadsForResult()), used = CeilDivide(slots, each);
  const std::string slot = context_.names().Unique("slot");
  const Index place = results_here == 1 ? Index(0) : context_.Thread() % results_here;
  const Index share = context_.Thread() / results_here;
  const std::vector<std::string> exchanges = PartialExchanges();
  const auto exchanged = [&](const Index& at) { return tuples_.Load(exchanges, at); };
  const auto set = [&](const std::vector<LoopValue>& values, Block* to) {
    ResultTuples::Store(exchanges, context_.Thread(), values, to);
  };
  const auto combine = [&](const std::vector<LoopValue>& left, std::vector<LoopValue> right,
                           Block* to) {
    right = tuples_.Named(std::move(right), "there", to);
    return tuples_.NamedSum(left, right, to);
  };
  Block sum, block;
  const std::vector<LoopValue> totals =
      tuples_.Variables(Partial(shares, share * each, place), "total", &sum);
  if (each > 1) {
    Block loop;
    const std::vector<LoopValue> sums =
        combine(totals, Partial(shares, Index::Variable(slot), place), &loop);
    ResultTuples::Assign(totals, sums, &loop);
    Index end = share * each + Index(each);
    if (each * used > slots) end = Min(end, Index(slots));
    sum.push_back(
        {For{slot, share * each + Index(1), end, 1, false, ShareBlock(std::move(loop)), false, 8}});
  }
  set(totals, &sum);
  std::vector<Condition> takes_part;
  if (used * results_here < context_.threads()) takes_part.push_back(Less(share, Index(used)));
  Append(Where(takes_part, std::move(sum)), &block);
  block.push_back({Barrier{}});
  for (int64_t distance = 1; distance < used; distance *= 2) {
    Block step;
    const std::vector<LoopValue> left = tuples_.Named(exchanged(context_.Thread()), "here", &step);
    set(combine(left, exchanged(context_.Thread() + Index(distance * results_here)), &step), &step);
    std::vector<Condition> combines = {IsZero(share % (2 * distance)),
                                       Less(share + Index(distance), Index(used))};
    Append(Where(combines, std::move(step)), &block);
    block.push_back({Barrier{}});
  }
  return block;
}

// What CombineByAll leaves, in the accumulators.
Block NestResults::TakeTotals(const Shares& shares) {
  const std::string result = context_.names().Unique("result");
  const Index at = In(result, shares.results());
  Block own;
  SetAccumulatorsAt(at, tuples_.Load(PartialExchanges(), at * OwnerThreads(shares) + Owner(shares)),
                    &own);
  return Over(result, shares.results(), std::move(own));
}

}  // namespace mdh
