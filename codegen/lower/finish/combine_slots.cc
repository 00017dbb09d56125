#include "codegen/lower/finish/combine_slots.h"

#include <algorithm>

#include "codegen/lower/finish/store_results.h"
#include "codegen/program/c_names.h"
#include "codegen/program/digits.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"

namespace mdh {
namespace {

constexpr int64_t kBlock = 128;             // threads that combine results by themselves
constexpr int64_t kItems = 32;              // results of a block, where threads share them
constexpr int64_t kMostShares = 256;        // threads of a block
constexpr int64_t kMostSharesOfMany = 512;  // idem, where each had many slots
constexpr int64_t kEnoughThreads = 65536;   // of the device
constexpr int64_t kMostThreads = 262144;    // idem, all at the same time
constexpr int64_t kSlotsOfShare = 8;        // are loaded at once: more are waited for

class SlotCombiner {
 public:
  SlotCombiner(const Expression& expression, const ResultArrays& results, int64_t most_threads)
      : expression_(expression),
        results_(results),
        elements_(ResultArrayElements(expression)),
        shares_(ShareSlots(elements_, results.slots, most_threads)) {
    for (const std::string& name : results.index_names) names_.Reserve(name);
    for (const ResultTarget& target : results.arrays) names_.Reserve(target.pointer);
    for (const ResultTarget& target : results.outputs) names_.Reserve(target.pointer);
    for (const Buffer& input : expression.passed_inputs()) names_.Reserve(CIdentifier(input.name));
    for (std::string* name : {&block_, &item_, &lane_, &share_, &slot_}) {
      *name = names_.Unique(*name);
    }
  }

  Stage Build() {
    Stage stage;
    stage.comment = "Combine the results of the parts along reductions.";
    stage.launch = {{CeilDivide(elements_, shares_.items), 1, 1},
                    {shares_.items, shares_.shares, 1}};
    Block block;
    DeclareExchanges(&stage.body);
    DeclareItem(&stage.body);
    const Values totals = SumShare(&block);
    CombineShares(totals, &block);
    Block store;
    std::vector<int> kept;
    for (int d = 0; d < expression_.rank(); ++d) {
      if (!expression_.is_reduction(d)) kept.push_back(d);
    }
    at_ = DeclarePoint(expression_, kept, Index::Variable(item_), results_.index_names, &store);
    StoreTotals(totals, &store);
    std::vector<Condition> conditions;
    if (shares_.shares > 1) conditions.push_back(IsZero(Index::Variable(share_)));
    if (elements_ % shares_.items != 0) conditions.push_back(Less(Item(), Index(elements_)));
    if (StoresInPlace() && !conditions.empty()) {
      // No thread reads what another one stores: those beyond the last result do nothing.
      for (Statement& statement : store) block.push_back(std::move(statement));
      block = {When(conditions, std::move(block))};
    } else {
      block.push_back(When(conditions, std::move(store)));
    }
    for (Statement& statement : block) stage.body.push_back(std::move(statement));
    return stage;
  }

 private:
  using Values = ResultTuples::Values;

  Index Item() const { return Index::Variable(block_) * shares_.items + Lane(); }
  Index Lane() const { return shares_.items == 1 ? Index(0) : Index::Variable(lane_); }

  void DeclareExchanges(Block* block) {
    for (const ResultTarget& array : results_.arrays) {
      exchanges_.push_back(names_.Unique(array.pointer + "_exchange"));
    }
    if (shares_.shares == 1) return;
    tuples_.Declare(exchanges_, shares_.items * shares_.shares, MemorySpace::kShared, block);
  }

  // Totals that stages behind this one sum up are where those of the first slot were. Threads that
  // share a result meet at barriers, between reading and storing.
  bool StoresInPlace() const { return expression_.has_prefix_sum() && shares_.shares == 1; }

  // Threads beyond the last result read it, too, and store nothing.
  void DeclareItem(Block* block) const {
    using Kind = HardwareIndex::Kind;
    block->push_back({HardwareIndex{block_, Kind::kBlock, 0}});
    if (shares_.items > 1) block->push_back({HardwareIndex{lane_, Kind::kThread, 0}});
    if (shares_.shares > 1) block->push_back({HardwareIndex{share_, Kind::kThread, 1}});
    const bool is_exact = elements_ % shares_.items == 0;
    block->push_back({DeclareIndex{item_, is_exact ? Item() : Min(Item(), Index(elements_ - 1))}});
  }

  Values LoadSlot(const Index& slot) const {
    Values values;
    for (const ResultTarget& array : results_.arrays) {
      values.push_back(
          LoadValue(array.pointer, slot * elements_ + Index::Variable(item_), {array.type, 1}, 1));
    }
    return values;
  }

  void CombineInto(const Values& totals, Values right, Block* block) {
    tuples_.AssignSum(totals, totals, tuples_.Named(std::move(right), "next", block), block);
  }

  // The thread's slots.
  Values SumShare(Block* block) {
    const Index first = shares_.shares == 1 ? Index(0) : Index::Variable(share_) * shares_.slots;
    Values totals = tuples_.Variables(LoadSlot(first), "total", block);
    if (shares_.slots == 1) return totals;
    Block loop;
    CombineInto(totals, LoadSlot(Index::Variable(slot_)), &loop);
    Index end = first + Index(shares_.slots);
    if (shares_.slots * shares_.shares > results_.slots) end = Min(end, Index(results_.slots));
    block->push_back({For{slot_, first + Index(1), end, 1, false, ShareBlock(std::move(loop))}});
    return totals;
  }

  // A tree over the threads that have a result in common.
  void CombineShares(const Values& totals, Block* block) {
    if (shares_.shares == 1) return;
    const Index share = Index::Variable(share_);
    const Index own = share * shares_.items + Lane();
    ResultTuples::Store(exchanges_, own, totals, block);
    for (int64_t distance = 1; distance < shares_.shares; distance *= 2) {
      block->push_back({Barrier{}});
      Block step;
      CombineInto(totals, tuples_.Load(exchanges_, own + Index(distance * shares_.items)), &step);
      ResultTuples::Store(exchanges_, own, totals, &step);
      block->push_back(When(CombinesInTree(share, distance, shares_.shares), std::move(step)));
    }
  }

  void StoreTotals(const Values& totals, Block* block) {
    if (!expression_.has_prefix_sum()) {
      return EmitFinalResults(expression_, results_, at_, totals, names_, block);
    }
    StoreResults(results_.arrays, at_, totals, block);
  }

  const Expression& expression_;
  const ResultArrays& results_;
  const int64_t elements_;
  const SlotShares shares_;
  NameAllocator names_;
  ResultTuples tuples_{expression_, names_};
  std::string block_ = "block", item_ = "item", lane_ = "lane", share_ = "share", slot_ = "slot";
  std::vector<std::string> exchanges_;
  std::vector<Index> at_;
};

}  // namespace

SlotShares ShareSlots(int64_t results, int64_t slots, int64_t most_threads) {
  const int64_t items = RoundDownToPowerOfTwo(std::min({results, kItems, most_threads}));
  const auto in_block = [&](int64_t threads) {
    return RoundDownToPowerOfTwo(std::min(threads, most_threads) / items);
  };
  const int64_t enough =
      std::min(RoundDownToPowerOfTwo(CeilDivide(kEnoughThreads, results)), in_block(kMostShares));
  const int64_t at_once = std::min(
      {kMostThreads / results, CeilDivide(slots, kSlotsOfShare), in_block(kMostSharesOfMany)});
  const int64_t shares = std::min(std::max(enough, at_once), slots);
  if (shares == 1) {
    return {RoundDownToPowerOfTwo(std::min({results, kBlock, most_threads})), 1, slots};
  }
  const int64_t each = CeilDivide(slots, shares);
  return {items, CeilDivide(slots, each), each};
}

Stage CombineSlotsInBlocks(const Expression& expression, const ResultArrays& results,
                           int64_t most_threads) {
  return SlotCombiner(expression, results, most_threads).Build();
}

}  // namespace mdh
