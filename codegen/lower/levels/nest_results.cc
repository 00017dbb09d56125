#include "codegen/lower/levels/nest_results.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/program/store_function.h"

namespace mdh {

NestResults::NestResults(NestContext& context)
    : context_(context),
      tuples_(context.sums(), context.names()),
      place_(context.shape().AccumulatorPlace()),
      strides_(context.count(), 0),
      slots_(context.shape().Slots()) {
  const NestShape& shape = context.shape();
  int64_t elements = 1;
  for (int n = context.count(); n-- > place_;) {
    if (!HasIndex(n)) continue;
    strides_[n] = elements;
    elements *= context.level(n).parts;
  }
  bool accumulates = shape.SharedReductionThreads() > 1 || shape.ShuffledThreads() > 1;
  for (int n = 0; n < context.count(); ++n) {
    if (!shape.is_reduced(n)) continue;
    accumulates |= context.is_sequential(n) || (shape.IsSlot(n) && shape.MayBeEmpty(n));
    adds_to_targets_ |= context.is_sequential(n) && n < place_;
  }
  const TuningParameters& parameters = context.low_level().parameters();
  if (slots_ > 1) combine_ = parameters.combine_blocks;
  if (combine_ != CombineBlocks::kPartials) slots_ = 1;
  accumulates |= cooperates();
  stores_directly_ = !accumulates;
  is_shared_ = shape.AccumulatesInSharedMemory();
  is_scalar_ = elements == 1 && !is_shared_;
  uses_arrays_ = UsesResultArrays(context.sums(), slots_, adds_to_targets_);
  const std::vector<std::string>& outputs = context.output_names();
  targets_ = uses_arrays_ ? ArrayTargets(context.sums(), outputs)
                          : OutputTargets(expression(), outputs, context.views());
  if (!uses_arrays_) store_pointers_ = context.StorePointers();
  for (int r = 0; r < results(); ++r) {
    const std::string name = ResultName(expression(), outputs, r);
    accumulators_.push_back(context.names().Unique(name + "_acc"));
    exchanges_.push_back(context.names().Unique(name + "_exchange"));
    if (cooperates()) partials_.push_back(context.names().Unique(name + "_partial"));
  }
  if (has_last_block()) counters_ = context.names().Unique("counters");
}

bool NestResults::IsAccumulated(int n) const {
  return n >= place_ && context_.is_sequential(n) && context_.shape().is_reduced(n);
}

bool NestResults::HasIndex(int n) const {
  return n >= place_ && context_.is_sequential(n) && !context_.shape().is_reduced(n);
}

void NestResults::DeclareShared(Block* block) const {
  const int64_t threads = context_.threads();
  for (int r = 0; r < results(); ++r) {
    if (is_shared_ && !stores_directly_) {
      block->push_back(
          {DeclareArray{accumulators_[r], type(r), context_.shape().AccumulatorElements() * threads,
                        MemorySpace::kShared}});
    }
    if (context_.shape().SharedReductionThreads() > 1) {
      block->push_back(
          {DeclareArray{exchanges_[r], type(r), threads * context_.shape().ExchangedResults(),
                        MemorySpace::kShared}});
    }
    if (has_clusters()) {
      const Shares shares = SharedOut().value_or(AllOwn());
      block->push_back(
          {DeclareArray{partials_[r], type(r), shares.results() * threads, MemorySpace::kShared}});
    }
    if (has_last_block() && ThreadsForResult() > 1) {
      block->push_back(
          {DeclareArray{partials_[r] + "_exchange", type(r), threads, MemorySpace::kShared}});
    }
  }
}

void NestResults::DeclareSlots(Block* block) const {
  if (adds_atomically() && stores_directly_) block->push_back({AwaitStages{}});
  if (slots_ == 1) return;
  DeclareSlot(
      context_.shape(), targets_, [&](int n) { return context_.Part(n); }, block);
}

bool NestResults::HasLoopsOutside(int d) const {
  for (int n = 0; n < place_; ++n) {
    if (context_.is_sequential(n) && context_.level(n).level.dimension == d) return true;
  }
  return false;
}

Index NestResults::Offset() const {
  return OwnOffset(context_.Sum([&](int n) { return strides_[n]; }));
}

// Where results are in shared memory, those of neighbouring threads are neighbours.
Index NestResults::OwnOffset(const Index& number) const {
  return is_shared_ ? number * context_.threads() + context_.Thread() : number;
}

LoopValue NestResults::Accumulator(int r) const {
  if (is_scalar_) return MakeNamed(accumulators_[r], {type(r), 1});
  return MakeLoad(accumulators_[r], Offset(), {type(r), 1}, 1);
}

// Those of result number `number` of the thread.
std::vector<LoopValue> NestResults::AccumulatorsAt(const Index& number) const {
  if (!is_scalar_) return tuples_.Load(accumulators_, OwnOffset(number));
  std::vector<LoopValue> values;
  for (int r = 0; r < results(); ++r) values.push_back(Accumulator(r));
  return values;
}

void NestResults::SetAccumulators(const std::vector<LoopValue>& values, Block* block) {
  SetAccumulatorsTo(Offset(), values, block);
}

void NestResults::SetAccumulatorsAt(const Index& number, const std::vector<LoopValue>& values,
                                    Block* block) {
  SetAccumulatorsTo(OwnOffset(number), values, block);
}

void NestResults::SetAccumulatorsTo(const Index& offset, const std::vector<LoopValue>& values,
                                    Block* block) {
  if (!is_scalar_) return ResultTuples::Store(accumulators_, offset, values, block);
  for (int r = 0; r < results(); ++r) block->push_back({Assign{accumulators_[r], values[r]}});
}

// accumulators = left (+) right, all at once.
void NestResults::Combine(const std::vector<LoopValue>& left, const std::vector<LoopValue>& right,
                          Block* block) {
  SetAccumulators(tuples_.Combined(left, right, block), block);
}

Block NestResults::OverAccumulators(Block body) const {
  for (int n = context_.count(); n-- > place_;) {
    if (strides_[n] == 0) continue;
    Block loop;
    loop.push_back({For{context_.variable(n), Index(0), Index(context_.level(n).parts), 1, false,
                        ShareBlock(std::move(body)), context_.unrolls() && !is_shared_}});
    body = std::move(loop);
  }
  return body;
}

void NestResults::Begin(Block* block) {
  if (stores_directly_) return;
  const int64_t elements = context_.shape().AccumulatorElements();
  block->push_back({Comment{absl::StrCat(
      "Re-composition: ", elements, elements == 1 ? " result" : " results", " of every thread.")}});
  const bool starts = StartsFromIdentity();
  std::vector<LoopValue> start;
  for (int r = 0; r < results(); ++r) {
    const ScalarType scalar = expression().function().results()[r].type;
    start.push_back(MakeLiteral(starts ? (*expression().reduction().identity())[r]
                                       : ScalarValue::Zero(scalar)));
  }
  if (is_scalar_) {
    for (int r = 0; r < results(); ++r) {
      block->push_back({DeclareValue{accumulators_[r], start[r], /*is_mutable=*/true}});
    }
    return;
  }
  if (!is_shared_) tuples_.Declare(accumulators_, elements, MemorySpace::kPrivate, block);
  if (!starts) return;
  Block body;
  SetAccumulators(start, &body);
  Append(OverAccumulators(std::move(body)), block);
}

void NestResults::Accumulate(std::vector<LoopValue> values, Block* block) {
  if (stores_directly_) return StoreOne(values, block);
  std::vector<LoopValue> left;
  for (int r = 0; r < results(); ++r) left.push_back(Accumulator(r));
  const auto combine = [&](Block* to) {
    if (results() > 1) left = tuples_.Named(std::move(left), "before", to);
    Combine(left, values, to);
  };
  if (StartsFromIdentity()) return combine(block);
  std::vector<Condition> first;
  for (int n = 0; n < context_.count(); ++n) {
    if (IsAccumulated(n)) first.push_back(IsZero(context_.Part(n)));
  }
  if (first.empty()) return SetAccumulators(values, block);
  values = tuples_.Named(std::move(values), "value", block);
  Block start, others;
  SetAccumulators(values, &start);
  combine(&others);
  block->push_back({If{first, ShareBlock(std::move(start)), ShareBlock(std::move(others))}});
}

// Neighbours along one dimension of threads, in registers.
void NestResults::CombineShuffled(Block* block) {
  const int64_t threads = context_.shape().ShuffledThreads();
  if (threads == 1) return;
  Block body;
  for (int64_t distance = 1; distance < threads; distance *= 2) {
    std::vector<LoopValue> left, right;
    for (int r = 0; r < results(); ++r) {
      left.push_back(Accumulator(r));
      right.push_back(
          MakeShuffleDown(Accumulator(r), static_cast<int>(distance), static_cast<int>(threads)));
    }
    left = tuples_.Named(std::move(left), "here", &body);
    right = tuples_.Named(std::move(right), "there", &body);
    Combine(left, right, &body);
  }
  block->push_back({Comment{absl::StrCat("Re-composition: ", threads, " threads, by shuffles.")}});
  Append(OverAccumulators(std::move(body)), block);
}

// Number of the thread among those that it combines its results with, and of these groups.
NestResults::ThreadGroup NestResults::GroupOfThread() const {
  ThreadGroup group;
  for (int d = 0; d < expression().rank(); ++d) {
    for (int n = 0; n < context_.count(); ++n) {
      if (!context_.shape().is_thread(n) || context_.level(n).level.dimension != d) continue;
      Index& number = context_.shape().IsSharedReduction(n) ? group.rank : group.number;
      number = number * context_.level(n).parts + context_.Part(n);
    }
  }
  return group;
}

// exchanged[own] = exchanged[own] (+) exchanged[own + distance]
Block NestResults::CombineExchanged(const Index& own, int64_t distance) {
  Block step;
  const std::vector<LoopValue> left = tuples_.Named(tuples_.Load(exchanges_, own), "here", &step);
  const std::vector<LoopValue> right =
      tuples_.Named(tuples_.Load(exchanges_, own + Index(distance)), "there", &step);
  ResultTuples::Store(exchanges_, own, tuples_.Combined(left, right, &step), &step);
  return step;
}

// A tree over the threads of a block that differ in reduced levels only, for as many results at
// once as there is room for: every step of it waits for all threads.
void NestResults::CombineShared(Block* block) {
  const NestShape& shape = context_.shape();
  const int64_t threads = shape.SharedReductionThreads();
  if (threads == 1) return;
  if (const auto shares = SharedOut()) return CombineSharedOut(*shares, block);
  const int64_t batches = shape.AccumulatorElements() / shape.ExchangedResults();
  const int64_t at_once = shape.ExchangedResults();
  const std::string batch = context_.names().Unique("batch");
  const std::string result = context_.names().Unique("result");
  const Index in_batch = at_once == 1 ? Index(0) : Index::Variable(result);
  const Index number = (batches == 1 ? Index(0) : Index::Variable(batch) * at_once) + in_batch;
  const auto loop = [&](const std::string& variable, int64_t count, Block inside, Block* to) {
    if (count == 1) return Append(std::move(inside), to);
    to->push_back({For{variable, Index(0), Index(count), 1, false, ShareBlock(std::move(inside)),
                       context_.unrolls() && !is_shared_}});
  };
  const ThreadGroup group = GroupOfThread();
  // Neighbouring threads, which mostly are of different groups, use neighbouring elements.
  const int64_t groups = context_.threads() / threads;
  const Index own = group.rank * groups + group.number + in_batch * context_.threads();
  Block body, from, to;
  ResultTuples::Store(exchanges_, own, AccumulatorsAt(number), &from);
  loop(result, at_once, std::move(from), &body);
  body.push_back({Barrier{}});
  for (int64_t distance = 1; distance < threads; distance *= 2) {
    Block steps;
    loop(result, at_once, CombineExchanged(own, distance * groups), &steps);
    body.push_back(When(CombinesInTree(group.rank, distance, threads), std::move(steps)));
    body.push_back({Barrier{}});
  }
  SetAccumulatorsAt(number, tuples_.Load(exchanges_, own), &to);
  loop(result, at_once, std::move(to), &body);
  block->push_back(
      {Comment{absl::StrCat("Re-composition: ", threads, " threads, through shared memory.")}});
  loop(batch, batches, std::move(body), block);
}

void NestResults::End(Block* block) {
  if (stores_directly_) return;
  CombineShuffled(block);
  CombineShared(block);
  if (has_clusters()) return CombineInCluster(block);
  if (has_last_block()) return CombineInLastBlock(block);
  Store(block);
}

// The results at the point at hand, if it exists; `new_only`: and no other part has it, too.
Block NestResults::StoreGuarded(const Index& accumulator, bool new_only) {
  Block body;
  StoreOne(AccumulatorsAt(accumulator), &body);
  std::vector<Condition> guards;
  if (new_only) guards = context_.PointIsNew();
  for (int d = 0; d < expression().rank(); ++d) {
    if (!expression().is_reduction(d)) context_.AppendGuard(d, &guards);
  }
  return Where(guards, std::move(body));
}

// Threads that have combined their results: those that have them in the end.
std::vector<Condition> NestResults::OwnerConditions(const std::optional<Shares>& shares) const {
  std::vector<Condition> conditions;
  for (int n = 0; n < context_.count(); ++n) {
    const bool is_first = context_.shape().IsShuffled(n) ||
                          (context_.shape().IsSharedReduction(n) && !shares.has_value());
    if (is_first && context_.level(n).parts > 1) conditions.push_back(IsZero(context_.Part(n)));
  }
  if (shares.has_value() && shares->owners < context_.shape().SharedReductionThreads()) {
    conditions.push_back(Less(GroupOfThread().rank, Index(shares->owners)));
  }
  return conditions;
}

void NestResults::Store(Block* block) {
  const std::optional<Shares> shares = SharedOut();
  const auto store = [&](bool new_only) {
    if (!shares.has_value()) {
      return OverAccumulators(
          StoreGuarded(context_.Sum([&](int n) { return strides_[n]; }), new_only));
    }
    return OverOwnResults(*shares, [&](const Index& at) { return StoreGuarded(at, new_only); });
  };
  Block body = store(/*new_only=*/false);
  // What two blocks have computed is added once.
  const std::vector<Condition> apart = context_.PartsAreApart();
  if (adds_atomically() && !apart.empty()) {
    body = {{If{apart, ShareBlock(std::move(body)), ShareBlock(store(/*new_only=*/true))}}};
  }
  // A thread to which the loops around give no points has nothing to add.
  std::vector<Condition> conditions = OwnerConditions(shares);
  for (int d = 0; d < expression().rank(); ++d) {
    if (!expression().is_reduction(d) || StartsFromIdentity()) continue;
    if (!context_.IsGuarded(d) || !HasLoopsOutside(d)) continue;
    conditions.push_back(Less(context_.FirstPoint(d, place_), Index(context_.size(d))));
  }
  if (adds_atomically()) block->push_back({AwaitStages{}});
  block->push_back({Comment{adds_atomically() ? "Re-composition: added to the outputs."
                            : slots_ > 1      ? "Re-composition: to the results of this part."
                                              : "Re-composition: to the outputs."}});
  if (conditions.empty()) return Append(std::move(body), block);
  block->push_back(When(conditions, std::move(body)));
}

Index NestResults::ResultOffset(int r) const { return OffsetOf(targets_[r].offset); }

Index NestResults::MirroredOffset(int r) const {
  AffineIndex offset = targets_[r].offset;
  std::swap(offset.coefficients[context_.mirror()->row],
            offset.coefficients[context_.mirror()->column]);
  return OffsetOf(offset);
}

Index NestResults::OffsetOf(const AffineIndex& offset) const {
  return context_.Sum([&](int n) {
    return offset.coefficients[context_.level(n).level.dimension] * context_.level(n).tile;
  }) + Index(offset.constant);
}

// Into the targets at the point at hand: in arrays as they are, else what the store function makes
// of them.
void NestResults::StoreAt(const std::vector<LoopValue>& results, Block* block) {
  std::vector<LoopValue> stored = results;
  if (!uses_arrays_ && expression().store() != nullptr) {
    StoredPoint point;
    for (int d = 0; d < expression().rank(); ++d) point.at.push_back(context_.Point(d));
    stored =
        EmitStoreFunction(expression(), store_pointers_, point, results, context_.names(), *block);
  }
  for (int n = 0; n < std::ssize(targets_); ++n) {
    block->push_back({StoreElements{targets_[n].pointer + (slots_ > 1 ? "_slot" : ""),
                                    ResultOffset(n), StoredValue(stored[n], targets_[n].type), 1}});
  }
}

// Results on the diagonal once, those below it twice.
void NestResults::StoreMirrored(const std::vector<LoopValue>& values, Block* block) {
  const std::vector<LoopValue> named = tuples_.Named(values, "value", block);
  const auto store = [&](const Condition& condition, const auto& offset) {
    Block body;
    for (int r = 0; r < results(); ++r) {
      const Index at = offset(r);
      if (adds_atomically()) {
        body.push_back({AddElements{targets_[r].pointer, at, named[r]}});
      } else {
        body.push_back(
            {StoreElements{targets_[r].pointer, at, StoredValue(named[r], targets_[r].type), 1}});
      }
    }
    block->push_back(When({condition}, std::move(body)));
  };
  store(context_.PointIsKept(), [&](int r) { return ResultOffset(r); });
  store(context_.PointIsBelow(), [&](int r) { return MirroredOffset(r); });
}

// Into the targets: alone, or combined with what iterations of loops outside, or other blocks, have
// left there.
void NestResults::StoreOne(const std::vector<LoopValue>& values, Block* block) {
  if (context_.mirror().has_value()) return StoreMirrored(values, block);
  if (adds_atomically()) {
    for (int r = 0; r < results(); ++r) {
      block->push_back({AddElements{targets_[r].pointer, ResultOffset(r), values[r]}});
    }
    return;
  }
  const std::string suffix = slots_ > 1 ? "_slot" : "";
  std::vector<Condition> first;
  for (int n = 0; n < place_; ++n) {
    if (context_.is_sequential(n) && context_.shape().is_reduced(n)) {
      first.push_back(IsZero(context_.Part(n)));
    }
  }
  if (first.empty()) return StoreAt(values, block);
  Block start, others;
  StoreAt(values, &start);
  std::vector<LoopValue> before;
  for (int r = 0; r < results(); ++r) {
    before.push_back(
        LoadValue(targets_[r].pointer + suffix, ResultOffset(r), {targets_[r].type, 1}, 1));
  }
  before = tuples_.Named(std::move(before), "before", &others);
  StoreAt(tuples_.Combined(before, values, &others), &others);
  block->push_back({If{first, ShareBlock(std::move(start)), ShareBlock(std::move(others))}});
}

}  // namespace mdh
