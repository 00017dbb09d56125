// One block's tile of a prefix sum, in registers: the statements of its threads
// (codegen/lower/scan/scan_in_registers.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/lower/levels/nest_context.h"
#include "codegen/lower/scan/scan_cut.h"
#include "codegen/lower/scan/scan_elements.h"
#include "codegen/program/result_tuples.h"

namespace mdh {

// What is called so in all stages of a program.
struct ScanNames {
  using OfResults = std::vector<std::string>;  // arrays, one per result

  explicit ScanNames(NestContext& context);

  std::string number, block, thread, line, tile, lane, group, other, round, at, to, own_number,
      sum_number;
  OfResults own, sums, exchanges, group_sums, round_sums;
};

// Builds one stage. Refers to its arguments.
class ScanTile {
 public:
  struct Options {
    ScanLines lines;
    ScanCut cut;
    // Blocks begin with the last tile: what a stage before has read last may still be in a cache.
    bool from_end;
  };
  ScanTile(NestContext& context, const ScanNames& names, const Options& options);

  // The numbers of the thread's line and of its tile along the line. A thread without a line has
  // the last one, and stores nothing.
  Index line() const { return lines_.count == 1 ? Index(0) : Index::Variable(names_.line); }
  Index tile() const { return cut_.tiles == 1 ? Index(0) : Index::Variable(names_.tile); }
  void DeclareThreads();
  // Indices of the line in all dimensions that are not reduced, but in d.
  std::vector<Index> DeclarePoint(int d);

  // The thread's elements, into registers. Elements beyond the end are copies of others: they are
  // to the right of all that exist.
  void LoadOwn(LineValues values);
  // Stores the sum of the tile as element `at` of `totals`. `may_reorder`: a thread's elements are
  // summed up first, wherever they are in the tile.
  void StoreTotal(const std::vector<std::string>& totals, const Index& at, bool may_reorder);
  // Replaces the thread's elements by prefix sums of the tile, with element `before` of `totals`
  // to the left of them unless it is the first tile.
  void ScanOwn(const std::vector<std::string>& totals, const Index& before);
  // Before elements are replaced where they are: threads without a line have read those of another.
  void WaitForLoads();
  // What is stored of the results at element `element` of the line; statements go to the block.
  using FinishLine = std::function<std::vector<LoopValue>(
      const Index& element, const std::vector<LoopValue>& results, Block* block)>;
  // `is_streaming`: past caches, which have something better to keep. `finish`: null if arrays get
  // the results as they are.
  void StoreOwn(const std::vector<LineElements>& arrays, bool is_streaming,
                const FinishLine& finish = nullptr);

  Stage Finish(std::string comment) &&;

 private:
  using Values = ResultTuples::Values;
  using Names = ScanNames::OfResults;

  static void When(const std::vector<Condition>& conditions, Block then, Block* block);
  Index Lane() const { return cut_.lanes == 1 ? Index(0) : Index::Variable(names_.lane); }
  Index Group() const { return cut_.groups == 1 ? Index(0) : Index::Variable(names_.group); }
  Index Round() const { return cut_.rounds == 1 ? Index(0) : Index::Variable(names_.round); }
  Index LineInBlock() const;
  int64_t Blocks() const;
  std::vector<Condition> HasLine() const;
  Index LineNumber() const;
  Index First() const;  // element of the thread's run
  // Of the thread's own elements.
  Index Number(const Index& in_run) const { return Round() * cut_.run + in_run; }

  void ForAll(const std::string& variable, const Index& begin, int64_t count, Block body,
              Block* block) const;
  void ForRounds(Block body, Block* block) const;
  Values Load(const Names& arrays, const Index& at) const { return tuples_.Load(arrays, at); }
  static void Store(const Names& arrays, const Index& at, const Values& values, Block* block) {
    ResultTuples::Store(arrays, at, values, block);
  }
  void Declare(const Names& arrays, int64_t elements, MemorySpace space) {
    tuples_.Declare(arrays, elements, space, space == MemorySpace::kShared ? &shared_ : &body_);
  }

  void SumRuns(bool keeps);
  void SumThread();
  void ScanLanes(int64_t sums);
  void ShuffleLanes(int64_t sums);
  void ExchangeLanes(int64_t sums);
  Values LeftLane(const Index& sum, Block* block);
  void ShareSums(int64_t sums, bool with_rounds);
  Values SumBefore(const Names& totals, const Index& before);
  std::vector<Condition> IsFirst() const;
  void AddToRun(const Values& sum, Block* block);
  void AddRound(const Values& before, Block* block);
  void AddBefore(const Values& before);
  Index OfGroup(const Index& group) const { return group * cut_.lines + LineInBlock(); }
  Index OfRound() const;

  NestContext& context_;
  ResultTuples tuples_;
  const ScanNames& names_;
  const ScanLines lines_;
  const ScanCut cut_;
  const bool from_end_, shuffles_;
  const int64_t threads_;
  Block shared_, body_;
};

}  // namespace mdh
