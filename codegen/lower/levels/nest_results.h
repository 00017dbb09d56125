// Results of a loop nest: accumulators, their combination over the threads of a block, and where
// they go (paper, R3 and appendix E.3).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/lower/levels/nest_context.h"
#include "codegen/program/result_targets.h"
#include "codegen/program/result_tuples.h"

namespace mdh {

// Refers to `context`.
class NestResults {
 public:
  explicit NestResults(NestContext& context);

  // Whether results live in arrays of their own until finishing stages; their elements, and parts.
  bool uses_arrays() const { return uses_arrays_; }
  const std::vector<ResultTarget>& targets() const { return targets_; }

  // Whether every point's result goes to its target at once: nothing is combined by one thread or
  // by the threads of a block.
  bool stores_directly() const { return stores_directly_; }

  // Whether results are added to the outputs atomically, which another stage must have set to zero
  // before (CombineBlocks::kAtomics).
  bool adds_atomically() const { return combine_ == CombineBlocks::kAtomics; }
  // Whether two blocks may have a result: it is stored twice, or added at the end by the first one.
  bool may_have_twice() const {
    return !adds_to_targets_ && !(adds_atomically() && stores_directly_);
  }

  // Whether every result goes to the outputs once.
  bool stores_once() const { return !uses_arrays_ && !adds_to_targets_; }

  // Whether blocks that have results in common combine them themselves (CombineBlocks::kLastBlock,
  // kCluster); the former needs scratch memory, and counters there that another stage has set to
  // zero.
  bool cooperates() const { return has_last_block() || has_clusters(); }
  bool has_clusters() const { return combine_ == CombineBlocks::kCluster; }
  bool has_last_block() const { return combine_ == CombineBlocks::kLastBlock; }
  std::vector<ScratchBuffer> Scratch() const;
  // One per block without those that have results in common.
  std::string counters() const { return counters_; }
  int64_t counter_count() const;

  // Shared arrays, and, once it is known who computes what, pointers to the slots of partial
  // results or, where every point adds to the outputs at once, the wait for those: at the top of a
  // stage.
  void DeclareShared(Block* block) const;
  void DeclareSlots(Block* block) const;
  // Declares accumulators: where a reduction begins.
  void Begin(Block* block);
  // Combines the values of f at the point at hand with what is there, or stores them.
  void Accumulate(std::vector<LoopValue> values, Block* block);
  // Combines the accumulators of all threads and stores them: where the reduction ends. All threads
  // of the block get here, and wait for the stage that makes the outputs ready to be added to.
  void End(Block* block);

 private:
  const Expression& expression() const { return context_.expression(); }
  int results() const { return tuples_.count(); }
  ScalarType type(int r) const { return tuples_.type(r); }
  bool IsAccumulated(int n) const;    // a sequential level whose parts are combined here
  bool HasIndex(int n) const;         // a sequential level that accumulators have an index of
  bool HasLoopsOutside(int d) const;  // loops around the accumulators
  bool StartsFromIdentity() const {
    return mdh::StartsFromIdentity(expression(), context_.numerics());
  }
  Index Offset() const;  // of the accumulators of the point at hand
  Index OwnOffset(const Index& number) const;
  Index ResultOffset(int r) const;    // of the point at hand in target r
  Index MirroredOffset(int r) const;  // of that with exchanged dimensions (NestContext::mirror)
  Index OffsetOf(const AffineIndex& offset) const;
  LoopValue Accumulator(int r) const;
  std::vector<LoopValue> AccumulatorsAt(const Index& number) const;
  void SetAccumulators(const std::vector<LoopValue>& values, Block* block);
  void SetAccumulatorsAt(const Index& number, const std::vector<LoopValue>& values, Block* block);
  void SetAccumulatorsTo(const Index& offset, const std::vector<LoopValue>& values, Block* block);
  void Combine(const std::vector<LoopValue>& left, const std::vector<LoopValue>& right,
               Block* block);
  // The block inside loops over all accumulators of the thread.
  Block OverAccumulators(Block body) const;
  // Of a thread, in the block's tree of combinations.
  struct ThreadGroup {
    Index number{0}, rank{0};
  };
  ThreadGroup GroupOfThread() const;
  Block CombineExchanged(const Index& own, int64_t distance);
  void CombineShuffled(Block* block);
  void CombineShared(Block* block);
  // How the threads that combine their results share these out
  // (codegen/lower/levels/nest_shared_results.cc).
  struct Shares {
    int64_t owners = 1;  // threads that have results in the end: those of the first ranks
    int64_t unit = 1;    // results that stay together: those of the innermost levels
    int64_t own = 1;     // units of an owner, per batch
    int64_t batches = 1;
    int64_t at_once = 1;  // results of a batch
    // Blocks among which an owner's units of a batch are divided, and the number of this one.
    int64_t sharers = 1;
    Index sharer{0};

    int64_t own_here() const { return own / sharers; }
    int64_t results() const { return batches * own_here() * unit; }  // of an owner
  };
  // nullopt: there are no such threads, or one of them has all results in the end.
  std::optional<Shares> SharedOut() const;
  void CombineSharedOut(const Shares& shares, Block* block);
  // The variable of a loop over so many, and that loop around `inside`, unrolled where registers
  // need it; 0 and `inside` itself if it is one.
  static Index In(const std::string& variable, int64_t count);
  Block Over(const std::string& variable, int64_t count, Block inside) const;
  // `inside`, where all of the conditions hold.
  static Block Where(const std::vector<Condition>& conditions, Block inside);
  // What `store` makes of the number of an accumulator, for all results that are the thread's in
  // the end, each as the point at hand.
  Block OverOwnResults(const Shares& shares,
                       const std::function<Block(const Index& accumulator)>& store);
  // The same where no thread shares its results: one owner.
  Shares AllOwn() const;
  int64_t TogetherIn(int64_t results) const;
  // Which threads have results in the end.
  std::vector<Condition> OwnerConditions(const std::optional<Shares>& shares) const;
  // How blocks that have results in common combine them
  // (codegen/lower/levels/nest_block_results.cc).
  Index Slot() const;
  Index BlockInCluster(const Index& slot) const;
  void CombineInCluster(Block* block);
  Block ShowToCluster(const Shares& all) const;
  Block CombineShown(const Shares& here);
  void CombineInLastBlock(Block* block);
  Index Group() const;
  int64_t OwnerThreads(const Shares& shares) const;
  Index Owner(const Shares& shares) const;
  Block ShowPartials(const Shares& shares) const;
  Block CombineByOwners(const Shares& shares);
  // Shared arrays through which threads of the last block combine what all blocks have left.
  std::vector<std::string> PartialExchanges() const;
  int64_t ThreadsForResult() const;
  Block CombineByAll(const Shares& shares);
  Block TakeTotals(const Shares& shares);
  std::vector<LoopValue> Partial(const Shares& shares, const Index& slot, const Index& place) const;
  void Store(Block* block);
  Block StoreGuarded(const Index& accumulator, bool new_only = false);
  void StoreOne(const std::vector<LoopValue>& values, Block* block);
  void StoreMirrored(const std::vector<LoopValue>& values, Block* block);
  void StoreAt(const std::vector<LoopValue>& results, Block* block);

  NestContext& context_;
  ResultTuples tuples_;
  const int place_;
  bool is_shared_ = false, is_scalar_ = false, uses_arrays_ = false, stores_directly_ = false;
  bool adds_to_targets_ = false;
  CombineBlocks combine_ = CombineBlocks::kPartials;  // where blocks have results in common
  std::vector<int64_t> strides_;       // of the accumulator array per place; 0: no index
  std::vector<ResultTarget> targets_;  // of results of f in arrays; else of what is stored
  StorePointers store_pointers_;
  std::vector<std::string> accumulators_, exchanges_;  // one name per result
  std::vector<std::string> partials_;                  // where blocks find each other's results
  std::string counters_;
  int64_t slots_;  // of partial results; 1: results go to their targets
};

}  // namespace mdh
