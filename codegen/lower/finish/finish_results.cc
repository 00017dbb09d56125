#include "codegen/lower/finish/finish_results.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/store_results.h"
#include "codegen/program/c_names.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "core/base/round.h"

namespace mdh {
namespace {

using Body = std::function<void(const std::vector<Index>& at, Block& block)>;

// Building blocks of all finishing stages.
class Finisher {
 public:
  Finisher(const Expression& expression, const ResultArrays& results)
      : expression_(expression),
        results_(results),
        terms_(results.terms),
        in_place_(results.arrays[0].pointer == results.outputs[0].pointer),
        at_(expression.rank(), Index(0)) {
    for (const std::string& name : results.index_names) names_.Reserve(name);
    for (const char* name : {"item", "line", "chunk", "slot", "part_begin", "part_end", "thread"}) {
      names_.Reserve(name);
    }
    for (const Buffer& input : expression.passed_inputs()) names_.Reserve(CIdentifier(input.name));
    for (const std::string& pointer : results.store) names_.Reserve(pointer);
    for (const auto* targets : {&results.arrays, &results.outputs}) {
      for (const ResultTarget& target : *targets) names_.Reserve(target.pointer);
    }
    for (int d = 0; d < expression.rank(); ++d) {
      if (!expression.is_reduction(d)) kept_.push_back(d);
    }
  }

  // Slots are combined; without prefix sums the total is the result.
  Block CombineSlots() {
    const int64_t elements = ResultArrayElements(expression_);
    return SharedLoops(kept_, [&](const std::vector<Index>& at, Block& block) {
      std::vector<LoopValue> total = LoadArrays(Index(0), at);
      if (results_.slots > 1) {
        total = tuples_.Variables(std::move(total), "total", &block);
        Block loop;
        AddNamed(total, LoadArrays(Index::Variable("slot") * elements, at), "next", loop);
        block.push_back(
            {For{"slot", Index(1), Index(results_.slots), 1, false, ShareBlock(std::move(loop))}});
      }
      expression_.has_prefix_sum() ? StoreArrays(at, total, block) : StoreOutputs(at, total, block);
    });
  }

  void PrefixSum(int d, bool is_last, LoopProgram* program) {
    d_ = d;
    parts_ = CeilDivide(size(d), results_.part[d]);
    outer_.clear();
    inner_.clear();
    for (const int x : kept_) {
      if (x != d) (x < d ? outer_ : inner_).push_back(x);
    }
    vector_dimension_ = VectorDimension(is_last);
    const std::string& name = expression_.dimensions()[d].name;
    program->stages.push_back(
        {absl::StrCat("Sum up every part along ", name, "."),
         Items([&](Block& block) { SumPart(is_last && parts_ == 1, block); })});
    terms_.clear();
    if (parts_ == 1) return;
    for (const ResultTarget& array : results_.arrays) {
      program->scratch.push_back({OffsetName(array), array.type,
                                  Count(outer_) * parts_ * Count(inner_), /*per_thread=*/false});
    }
    program->stages.push_back(
        {absl::StrCat("What comes before every part along ", name, "."), SumOffsets()});
    program->stages.push_back({absl::StrCat("Add it to the elements of the part."),
                               Items([&](Block& block) { AddOffsets(is_last, block); })});
  }

 private:
  int64_t size(int d) const { return expression_.dimensions()[d].size; }
  int64_t Count(const std::vector<int>& dimensions) const {
    int64_t count = 1;
    for (const int d : dimensions) count *= size(d);
    return count;
  }
  std::string OffsetName(const ResultTarget& array) const {
    return absl::StrCat(array.pointer, "_", results_.index_names[d_], "_offset");
  }
  Index Variable(int d) const {
    return size(d) == 1 ? Index(0) : Index::Variable(results_.index_names[d]);
  }
  // The innermost kept dimension, if neighbours along it can be in vectors, else -1: of what is
  // stored finally, too, where that has to be.
  int VectorDimension(bool stores_outputs) const {
    const int d = inner_.empty() ? d_ : inner_.back();
    if (results_.lanes == 1 || size(d) < results_.lanes) return -1;
    const auto is_vector = [&](const ResultTarget& target) {
      return target.offset.coefficients[d] == 1 && !IsStorageOnly(target.type) &&
             SizeBytes(target.type) >= 4 &&
             SizeBytes(target.type) == SizeBytes(results_.arrays[0].type);
    };
    if (!std::ranges::all_of(results_.arrays, is_vector)) return -1;
    if (!stores_outputs) return d;
    const bool are_stored =
        expression_.store() == nullptr && std::ranges::all_of(results_.outputs, is_vector);
    return are_stored ? d : -1;
  }

  // ---- Values ----

  std::vector<LoopValue> LoadArrays(const Index& base, const std::vector<Index>& at) const {
    return LoadResults(results_.arrays, base, at, width_);
  }
  // What is summed up along d_.
  std::vector<LoopValue> LoadTerms(const std::vector<Index>& at) const {
    return LoadResults(terms_.empty() ? results_.arrays : terms_, Index(0), at, width_);
  }
  // Whether sums that are a term must be stored: it is not where it should be.
  bool MovesTerms(bool stores) const { return !terms_.empty() || (stores && !in_place_); }
  void StoreArrays(const std::vector<Index>& at, const std::vector<LoopValue>& values,
                   Block& block) {
    StoreResults(results_.arrays, at, values, &block);
  }
  void StoreOutputs(const std::vector<Index>& at, const std::vector<LoopValue>& values,
                    Block& block) {
    EmitFinalResults(expression_, results_, at, values, names_, &block);
  }
  // To the outputs or, if later stages go on with them, to the arrays.
  void StoreSums(const std::vector<Index>& at, const std::vector<LoopValue>& sums, bool finally,
                 Block& block) {
    finally ? StoreOutputs(at, sums, block) : StoreArrays(at, sums, block);
  }
  // variables = variables (+) right
  void AddNamed(const std::vector<LoopValue>& variables, std::vector<LoopValue> right,
                const std::string& stem, Block& block) {
    right = tuples_.Named(std::move(right), stem, &block);
    ResultTuples::Assign(variables, tuples_.NamedSum(variables, right, &block), &block);
  }
  // What is before an element, and the element.
  std::vector<LoopValue> SumWithHere(std::vector<LoopValue> before, const std::vector<Index>& at,
                                     Block& block) {
    std::vector<LoopValue> here = LoadTerms(at);
    before = tuples_.Named(std::move(before), "before", &block);
    here = tuples_.Named(std::move(here), "here", &block);
    return tuples_.NamedSum(before, here, &block);
  }

  // ---- Loops ----

  // A loop along dimension d around what `body` does at its index: in vectors and then single
  // elements, if neighbours along it can be in vectors.
  void Loop(int d, const Index& begin, const Index& end, const std::function<void(Block&)>& body,
            Block* block) {
    const std::string& name = results_.index_names[d];
    const auto append = [&](const Index& from, int64_t step) {
      Block inside;
      body(inside);
      block->push_back(
          {For{name, from, end, step, /*whole_steps=*/step > 1, ShareBlock(std::move(inside))}});
    };
    if (d != vector_dimension_) return append(begin, 1);
    width_ = results_.lanes;
    append(begin, width_);
    const Index length = end - begin;
    const int64_t width = std::exchange(width_, 1);
    const bool has_rest = !length.is_constant() || length.constant() % width != 0;
    if (has_rest) append(begin + length / width * width, 1);
  }

  // The same along all of it, shared among the threads.
  void LoopOfShares(int d, const std::function<void(Block&)>& body, Block* block) {
    const std::string& name = results_.index_names[d];
    const auto append = [&](const Index& from, int64_t items, int64_t step) {
      const std::string item = from.IsZero() && step == 1 ? name : names_.Unique(name + "_item");
      Block inside;
      if (item != name) inside.push_back({DeclareIndex{name, from + Index::Variable(item) * step}});
      body(inside);
      block->push_back({ShareLoop{item, items, ShareBlock(std::move(inside))}});
    };
    if (d != vector_dimension_) return append(Index(0), size(d), 1);
    width_ = results_.lanes;
    append(Index(0), size(d) / width_, width_);
    const int64_t rest = size(d) % std::exchange(width_, 1);
    if (rest > 0) append(Index(size(d) - rest), rest, 1);
  }

  // Loops over `dimensions` around `body`; dimension `shared` (-1: none) is divided among threads.
  Block Loops(std::vector<int> dimensions, int shared, std::vector<Index> at, const Body& body) {
    for (const int d : dimensions) at[d] = Variable(d);
    std::function<void(Block&)> inside = [&](Block& block) { body(at, block); };
    for (; !dimensions.empty(); dimensions.pop_back()) {
      const int d = dimensions.back();
      if (size(d) == 1) continue;
      inside = [this, d, shared, inner = std::move(inside)](Block& block) {
        d == shared ? LoopOfShares(d, inner, &block)
                    : Loop(d, Index(0), Index(size(d)), inner, &block);
      };
    }
    Block block;
    inside(block);
    return block;
  }

  int Longest(const std::vector<int>& dimensions) const {
    int longest = -1;
    for (const int d : dimensions) {
      if (size(d) > 1 && (longest < 0 || size(d) > size(longest))) longest = d;
    }
    return longest;
  }

  // The longest dimension is outermost and shared; without one, thread 0 does everything.
  Block SharedLoops(std::vector<int> dimensions, const Body& body) {
    const int longest = Longest(dimensions);
    std::ranges::stable_sort(dimensions,
                             [&](int a, int b) { return a == longest && b != longest; });
    Block loops = Loops(dimensions, longest, at_, body);
    if (longest >= 0) return loops;
    return {ByFirstThread(std::move(loops))};
  }

  // ---- Prefix sums along d_ ----

  // Parts of lines along d_, shared among the threads: each thread takes items, or all items for
  // its share of the dimensions inside, where there are few items.
  Block Items(const std::function<void(Block&)>& body) {
    const int64_t items = Count(outer_) * parts_;
    shared_inner_ = items < 16 && Count(inner_) > items ? Longest(inner_) : -1;
    Block block;
    at_.assign(expression_.rank(), Index(0));
    Index line = Index::Variable("item") / parts_;
    for (size_t n = outer_.size(); n-- > 0;) {
      at_[outer_[n]] = line % size(outer_[n]);
      line = line / size(outer_[n]);
      if (size(outer_[n]) == 1) continue;
      const std::string& name = results_.index_names[outer_[n]];
      block.push_back({DeclareIndex{name, n == 0 ? Restored(n) : at_[outer_[n]]}});
      at_[outer_[n]] = Index::Variable(name);
    }
    block.push_back({DeclareIndex{"chunk", Index::Variable("item") % parts_}});
    block.push_back({DeclareIndex{"part_begin", Index::Variable("chunk") * results_.part[d_]}});
    block.push_back(
        {DeclareIndex{"part_end", Min(Index::Variable("part_begin") + Index(results_.part[d_]),
                                      Index(size(d_)))}});
    body(block);
    const bool is_shared = shared_inner_ < 0;
    Block loop;
    if (is_shared) {
      loop.push_back({ShareLoop{"item", items, ShareBlock(std::move(block))}});
    } else {
      loop.push_back({For{"item", Index(0), Index(items), 1, false, ShareBlock(std::move(block))}});
    }
    return loop;
  }
  // The outermost number needs no remainder.
  Index Restored(size_t n) const {
    int64_t inside = parts_;
    for (size_t m = n + 1; m < outer_.size(); ++m) inside *= size(outer_[m]);
    return Index::Variable("item") / inside;
  }

  std::vector<Index> At(const Index& along) const {
    std::vector<Index> at = at_;
    at[d_] = along;
    return at;
  }
  Block InnerLoops(const Index& along, const Body& body) {
    return Loops(inner_, shared_inner_, At(along), body);
  }
  static void Append(Block from, Block& to) {
    for (Statement& statement : from) to.push_back(std::move(statement));
  }
  void LoopAlong(const Index& begin, const std::function<void(Block&)>& body, Block& block) {
    Loop(d_, begin, Index::Variable("part_end"), body, &block);
  }

  void SumPart(bool stores, Block& block) {
    const Index begin = Index::Variable("part_begin"),
                along = Index::Variable(results_.index_names[d_]);
    if (Count(inner_) == 1) {
      return vector_dimension_ == d_ && MayAddLanes() ? SumLineInVectors(stores, block)
                                                      : SumLine(begin, stores, block);
    }
    if (MovesTerms(stores)) {
      Append(InnerLoops(begin, [&](const std::vector<Index>& at,
                                   Block& inner) { StoreSums(at, LoadTerms(at), stores, inner); }),
             block);
    }
    LoopAlong(
        begin + Index(1),
        [&](Block& loop) {
          Append(InnerLoops(along,
                            [&](const std::vector<Index>& at, Block& inner) {
                              std::vector<Index> before = at;
                              before[d_] = along - Index(1);
                              const std::vector<LoopValue> sum =
                                  SumWithHere(LoadArrays(Index(0), before), at, inner);
                              StoreArrays(at, sum, inner);
                              if (stores && !in_place_) StoreOutputs(at, sum, inner);
                            }),
                 loop);
        },
        block);
  }

  // Nothing inside: the sum stays in variables.
  void SumLine(const Index& begin, bool stores, Block& block) {
    const std::vector<LoopValue> total = tuples_.Variables(LoadTerms(At(begin)), "total", &block);
    if (MovesTerms(stores)) StoreSums(At(begin), total, stores, block);
    AddElements(begin + Index(1), total, stores, block);
  }
  void AddElements(const Index& begin, const std::vector<LoopValue>& total, bool stores,
                   Block& block) {
    const std::vector<Index> at = At(Index::Variable(results_.index_names[d_]));
    Block loop;
    AddNamed(total, LoadTerms(at), "here", loop);
    StoreSums(at, total, stores, loop);
    block.push_back({For{results_.index_names[d_], begin, Index::Variable("part_end"), 1, false,
                         ShareBlock(std::move(loop))}});
  }

  bool MayAddLanes() const {
    const CombineOperator& combine = expression_.reduction();
    return results_.may_reorder && !combine.keeps_order() && combine.identity().has_value();
  }
  // The same with vectors, whose lanes are added up as a tree: lanes of which `distance` are none
  // before have a neutral element there. Only one addition of a vector waits for the one before.
  void SumLineInVectors(bool stores, Block& block) {
    const Index begin = Index::Variable("part_begin"), length = Index::Variable("part_end") - begin;
    const std::vector<ScalarValue>& neutral = *expression_.reduction().identity();
    std::vector<LoopValue> start;
    for (const ScalarValue& value : neutral) start.push_back(MakeLiteral(value));
    const std::vector<LoopValue> total = tuples_.Variables(start, "total", &block);
    const int lanes = width_ = results_.lanes;
    const std::vector<Index> at = At(Index::Variable(results_.index_names[d_]));
    Block loop;
    std::vector<LoopValue> sum = tuples_.Named(LoadTerms(at), "here", &loop);
    for (int distance = 1; distance < lanes; distance *= 2) {
      std::vector<LoopValue> before;
      for (size_t r = 0; r < sum.size(); ++r) {
        std::vector<LoopValue> scalars(distance, start[r]);
        for (int lane = 0; lane + distance < lanes; ++lane) {
          scalars.push_back(MakeLane(sum[r], lane));
        }
        before.push_back(MakeJoinLanes(std::move(scalars)));
      }
      sum = tuples_.NamedSum(tuples_.Named(std::move(before), "before", &loop), sum, &loop);
    }
    std::vector<LoopValue> before, last;
    for (size_t r = 0; r < sum.size(); ++r) {
      before.push_back(MakeSplat(total[r], lanes));
      last.push_back(MakeLane(sum[r], lanes - 1));
    }
    const std::vector<LoopValue> all =
        tuples_.NamedSum(tuples_.Named(std::move(before), "before", &loop), sum, &loop);
    StoreSums(at, all, stores, loop);
    width_ = 1;
    AddNamed(total, std::move(last), "last", loop);
    block.push_back({For{results_.index_names[d_], begin, Index::Variable("part_end"), lanes,
                         /*whole_steps=*/true, ShareBlock(std::move(loop))}});
    AddElements(begin + length / lanes * lanes, total, stores, block);
  }

  // Element of a part's offset: [line][chunk][inner].
  Index OffsetElement(const std::vector<Index>& at, const Index& chunk) const {
    Index element(0);
    for (const int d : outer_) element = element * size(d) + at[d];
    element = element * parts_ + chunk;
    for (const int d : inner_) element = element * size(d) + at[d];
    return element;
  }
  std::vector<LoopValue> LoadOffsets(const std::vector<Index>& at, const Index& chunk) const {
    std::vector<LoopValue> values;
    for (const ResultTarget& array : results_.arrays) {
      // Along lines all elements of a part have the same.
      const int lanes = inner_.empty() ? 1 : width_;
      LoopValue offset =
          LoadValue(OffsetName(array), OffsetElement(at, chunk), {array.type, lanes}, 1);
      values.push_back(MakeSplat(std::move(offset), width_ / lanes));
    }
    return values;
  }
  void StoreOffsets(const std::vector<Index>& at, const Index& chunk,
                    const std::vector<LoopValue>& values, Block& block) const {
    for (size_t r = 0; r < values.size(); ++r) {
      const ResultTarget& array = results_.arrays[r];
      block.push_back({StoreElements{OffsetName(array), OffsetElement(at, chunk),
                                     StoredValue(values[r], array.type), 1}});
    }
  }

  Block SumOffsets() {
    at_.assign(expression_.rank(), Index(0));
    std::vector<int> lines = outer_;
    lines.insert(lines.end(), inner_.begin(), inner_.end());
    return SharedLoops(lines, [&](const std::vector<Index>& at, Block& block) {
      const auto last_of = [&](const Index& next_begin) {
        std::vector<Index> last = at;
        last[d_] = next_begin - Index(1);
        return LoadArrays(Index(0), last);
      };
      const std::vector<LoopValue> total =
          tuples_.Variables(last_of(Index(results_.part[d_])), "total", &block);
      StoreOffsets(at, Index(1), total, block);
      if (parts_ == 2) return;
      const Index chunk = Index::Variable("chunk");
      Block loop;
      AddNamed(total, last_of(chunk * results_.part[d_]), "last", loop);
      StoreOffsets(at, chunk, total, loop);
      block.push_back(
          {For{"chunk", Index(2), Index(parts_), 1, false, ShareBlock(std::move(loop))}});
    });
  }

  void AddOffsets(bool stores, Block& block) {
    const Index begin = Index::Variable("part_begin"),
                along = Index::Variable(results_.index_names[d_]);
    const Index chunk = Index::Variable("chunk");
    Block first, others;
    if (MovesTerms(stores)) {
      LoopAlong(
          begin,
          [&](Block& loop) {
            Append(InnerLoops(along,
                              [&](const std::vector<Index>& at, Block& inner) {
                                StoreOutputs(at, LoadArrays(Index(0), at), inner);
                              }),
                   loop);
          },
          first);
    }
    LoopAlong(
        begin,
        [&](Block& loop) {
          Append(InnerLoops(along,
                            [&](const std::vector<Index>& at, Block& inner) {
                              const std::vector<LoopValue> sum =
                                  SumWithHere(LoadOffsets(at, chunk), at, inner);
                              StoreSums(at, sum, stores, inner);
                            }),
                 loop);
        },
        others);
    block.push_back({If{
        {Equal(chunk, Index(0))}, ShareBlock(std::move(first)), ShareBlock(std::move(others))}});
  }

  const Expression& expression_;
  const ResultArrays& results_;
  std::vector<ResultTarget> terms_;  // ResultArrays::terms, until they are in the arrays
  const bool in_place_;              // the arrays are the outputs
  NameAllocator names_;
  ResultTuples tuples_{expression_, names_, {.is_numbered = true}};
  std::vector<int> kept_;   // dimensions that are not reduced
  std::vector<Index> at_;   // indices fixed by the item
  int d_ = -1;              // of the prefix sum
  int64_t parts_ = 1;       // along d_
  std::vector<int> outer_;  // kept dimensions before d_
  std::vector<int> inner_;  // and after it
  int shared_inner_ = -1;
  int vector_dimension_ = -1;  // along which loops take vectors
  int width_ = 1;              // lanes of what is loaded
};

}  // namespace

void AppendFinishingStages(const Expression& expression, const ResultArrays& results,
                           LoopProgram* program) {
  Finisher finisher(expression, results);
  std::vector<int> sums;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_prefix_sum(d)) sums.push_back(d);
  }
  if (!results.is_combined && (sums.empty() || results.slots > 1)) {
    program->stages.push_back(
        {"Combine the results of the parts along reductions.", finisher.CombineSlots()});
  }
  // The innermost first, as Definition 4 nests them.
  for (size_t n = sums.size(); n-- > 0;) {
    finisher.PrefixSum(sums[n], /*is_last=*/n == 0, program);
  }
}

}  // namespace mdh
