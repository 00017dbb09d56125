// How threads of a block that have combined a reduction's parts share the results out: every one of
// them adds up some of the results, and stores them, where a tree of combinations would leave all
// of that to one thread.
#include "absl/strings/str_cat.h"
#include "codegen/lower/levels/instruction_costs.h"
#include "codegen/lower/levels/nest_results.h"

namespace mdh {

Index NestResults::In(const std::string& variable, int64_t count) {
  return count == 1 ? Index(0) : Index::Variable(variable);
}

Block NestResults::Over(const std::string& variable, int64_t count, Block inside) const {
  if (count == 1) return inside;
  Block around;
  around.push_back({For{variable, Index(0), Index(count), 1, false, ShareBlock(std::move(inside)),
                        context_.unrolls()}});
  return around;
}

Block NestResults::Where(const std::vector<Condition>& conditions, Block inside) {
  if (conditions.empty()) return inside;
  Block guarded;
  guarded.push_back(When(conditions, std::move(inside)));
  return guarded;
}

// Results that one store can move stay together: those of the innermost level, if there are few,
// and as many as divide `results`.
int64_t NestResults::TogetherIn(int64_t results) const {
  constexpr int64_t kMostTogether = 8;
  for (int n = place_; n < context_.count(); ++n) {
    const int64_t parts = context_.level(n).parts;
    if (strides_[n] == 1 && parts > 1 && parts <= kMostTogether && results % parts == 0) {
      return parts;
    }
  }
  return 1;
}

NestResults::Shares NestResults::AllOwn() const {
  Shares shares;
  shares.at_once = context_.shape().AccumulatorElements();
  shares.unit = TogetherIn(shares.at_once);
  shares.own = shares.at_once / shares.unit;
  return shares;
}

std::optional<NestResults::Shares> NestResults::SharedOut() const {
  const NestShape& shape = context_.shape();
  const int64_t threads = shape.SharedReductionThreads();
  const bool is_free = Reassociates(context_.numerics());
  if (threads == 1 || is_shared_ || !is_free) return std::nullopt;
  Shares shares;
  shares.at_once = shape.ExchangedResults();
  shares.batches = shape.AccumulatorElements() / shares.at_once;
  shares.unit = TogetherIn(shares.at_once);
  const int64_t units = shares.at_once / shares.unit;
  shares.owners = OwnersOf(units, threads);
  shares.own = units / shares.owners;
  if (TreeIsShorter(threads, shares.at_once, shares.own * shares.unit,
                    CombineInstructions(expression()))) {
    return std::nullopt;
  }
  return shares;
}

// Every thread shows its results to the others, for as many at once as there is room for; then
// every owner combines those that are its own, which become its first accumulators.
void NestResults::CombineSharedOut(const Shares& shares, Block* block) {
  constexpr int64_t kUnrolled = 16, kUnrolledBy = 8;
  const int64_t threads = context_.shape().SharedReductionThreads();
  const std::string batch = context_.names().Unique("batch");
  const std::string result = context_.names().Unique("result");
  const std::string other = context_.names().Unique("other");
  const ThreadGroup group = GroupOfThread();
  const int64_t groups = context_.threads() / threads;
  const auto place = [&](const Index& rank, const Index& number) {
    return rank * groups + group.number + number * context_.threads();
  };
  const Index in_batch = In(result, shares.at_once);
  const Index batch_at = In(batch, shares.batches);
  Block body, shown, first, next, combined;
  ResultTuples::Store(exchanges_, place(group.rank, in_batch),
                      AccumulatorsAt(batch_at * shares.at_once + in_batch), &shown);
  Append(Over(result, shares.at_once, std::move(shown)), &body);
  body.push_back({Barrier{}});
  const int64_t count = shares.own * shares.unit;
  const Index mine = In(result, count);
  const Index number = (shares.owners == 1 ? Index(0) : group.rank * count) + mine;
  const Index to = batch_at * count + mine;
  SetAccumulatorsAt(to, tuples_.Load(exchanges_, place(Index(0), number)), &first);
  Append(Over(result, count, std::move(first)), &combined);
  const std::vector<LoopValue> left = tuples_.Named(AccumulatorsAt(to), "here", &next);
  const std::vector<LoopValue> right = tuples_.Named(
      tuples_.Load(exchanges_, place(Index::Variable(other), number)), "there", &next);
  SetAccumulatorsAt(to, tuples_.Combined(left, right, &next), &next);
  Block others = Over(result, count, std::move(next));
  combined.push_back({For{other, Index(1), Index(threads), 1, false, ShareBlock(std::move(others)),
                          threads <= kUnrolled, threads <= kUnrolled ? 0 : kUnrolledBy}});
  if (shares.owners < threads) {
    body.push_back(When({Less(group.rank, Index(shares.owners))}, std::move(combined)));
  } else {
    Append(std::move(combined), &body);
  }
  bool is_repeated = shares.batches > 1;
  for (int n = 0; n < place_; ++n) is_repeated |= context_.is_sequential(n);
  if (is_repeated) body.push_back({Barrier{}});
  block->push_back({Comment{
      absl::StrCat("Re-composition: ", threads, " threads, through shared memory, ",
                   shares.owners == 1 ? "by one." : absl::StrCat("by ", shares.owners, "."))}});
  Append(Over(batch, shares.batches, std::move(body)), block);
}

Block NestResults::OverOwnResults(const Shares& shares,
                                  const std::function<Block(const Index& accumulator)>& store) {
  const std::string batch = context_.names().Unique("batch");
  const std::string own = context_.names().Unique("own");
  const int64_t own_here = shares.own_here();
  const Index batch_at = In(batch, shares.batches), own_at = In(own, own_here);
  // Of units: among those of the thread, and among all.
  const Index mine = batch_at * own_here + own_at;
  Index number = batch_at * (shares.owners * shares.own) + own_at + shares.sharer * own_here;
  if (shares.owners > 1) number = number + GroupOfThread().rank * shares.own;
  Block body;
  Index in_unit(0);
  int innermost = -1;
  for (int n = place_; n < context_.count(); ++n) {
    if (strides_[n] == 0 || context_.level(n).parts == 1) continue;
    if (strides_[n] < shares.unit) {
      innermost = n;
      in_unit = context_.Part(n);
    } else {
      body.push_back({DeclareIndex{
          context_.variable(n), number / (strides_[n] / shares.unit) % context_.level(n).parts}});
    }
  }
  Block stored = store(mine * shares.unit + in_unit);
  if (innermost >= 0) stored = Over(context_.variable(innermost), shares.unit, std::move(stored));
  Append(std::move(stored), &body);
  return Over(batch, shares.batches, Over(own, own_here, std::move(body)));
}

}  // namespace mdh
