#include "codegen/lower/keyed/keyed_program.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/finish_results.h"
#include "codegen/lower/finish/zero_results.h"
#include "codegen/lower/keyed/numbered_values.h"
#include "codegen/lower/levels/nest_context.h"
#include "codegen/program/digits.h"
#include "codegen/program/result_targets.h"
#include "codegen/program/scalar_code.h"
#include "core/decomposition/keyed_form.h"

namespace mdh {
namespace {

class KeyedProgramBuilder {
 public:
  KeyedProgramBuilder(const LowLevelExpression& low_level, const DeviceDescription& device,
                      KeyedForm form)
      : context_(low_level, OptimizedNestPlan(low_level), device.features),
        keyed_(low_level.parameters().keyed),
        form_(std::move(form)),
        cut_(CutByKey(expression(), form_, keyed_)),
        key_{TableKeyType(form_.key_type), 1},
        targets_(has_arrays() ? ArrayTargets(expression(), context_.output_names()) : Outputs()) {
    for (std::string* name : {&block_, &table_, &first_, &number_, &tile_, &element_, &place_}) {
      *name = context_.names().Unique(*name);
    }
    for (int r = 0; r < std::ssize(targets_); ++r) {
      const std::string name = ResultName(expression(), context_.output_names(), r);
      shared_.push_back(context_.names().Unique(absl::StrCat(name, "_sm")));
    }
  }

  LoopProgram Build() {
    LoopProgram program;
    if (cut_.parts > 1) program.stages.push_back(Identities());
    program.stages.push_back(Combine());
    if (has_arrays()) AppendStores(&program);
    DeclareUsed(context_.views().Declarations(), &program);
    return program;
  }

 private:
  using Values = std::vector<LoopValue>;

  const Expression& expression() const { return context_.expression(); }
  const ScalarValue& IdentityOf(size_t r) const {
    return (*expression().reduction().identity())[r];
  }

  // Whether results go to arrays until a store function makes outputs of them.
  bool has_arrays() const { return expression().store() != nullptr; }

  std::vector<ResultTarget> Outputs() {
    return OutputTargets(expression(), context_.output_names(), context_.views());
  }

  // A thread per result.
  void AppendStores(LoopProgram* program) {
    const int64_t elements = ResultArrayElements(expression());
    for (const ResultTarget& array : targets_) {
      program->scratch.push_back({array.pointer, array.type, elements, false});
    }
    const ResultArrays arrays = {.index_names = context_.index_names(),
                                 .arrays = targets_,
                                 .outputs = Outputs(),
                                 .store = context_.StorePointers()};
    const size_t first = program->stages.size();
    AppendFinishingStages(expression(), arrays, program);
    program->stages[first].launch = LaunchForItems(elements);
  }

  Stage Identities() const {
    Stage stage{"What changes nothing, with which blocks combine their results.", {}};
    const std::vector<ScalarValue>& identity = *expression().reduction().identity();
    Append(SetResults(expression(), targets_, identity), &stage.body);
    stage.launch = LaunchForItems(ResultArrayElements(expression()));
    return stage;
  }

  Stage Combine() {
    Stage stage{"Every block combines the elements of its part by key.", {}};
    stage.launch = {{cut_.batches * cut_.parts, 1, 1}, {keyed_.threads, 1, 1}};
    Block body;
    DeclareShared(&body);
    const std::vector<Index> at = DeclareNumbers(&body);
    NumberedValues keys(context_, form_.result, {form_.keys, at});
    NumberedValues elements(context_, form_.element,
                            {InMemoryOrder(expression(), form_.element, form_.elements), at});
    LoadAhead(keys, elements, &body);
    MakeTable(keys, &body);
    CombineElements(elements, &body);
    body.push_back({Barrier{}});
    if (cut_.parts > 1) body.push_back({AwaitStages{}});
    StoreResults(keys, at, &body);
    stage.body = std::move(body);
    return stage;
  }

  void DeclareShared(Block* block) const {
    block->push_back({DeclareArray{table_, key_.scalar, cut_.slots(), MemorySpace::kShared}});
    for (size_t r = 0; r < shared_.size(); ++r) {
      block->push_back({DeclareArray{shared_[r], targets_[r].type, cut_.slots() * keyed_.copies,
                                     MemorySpace::kShared}});
    }
  }

  // The block's part and batch; gives the indices of the batch.
  std::vector<Index> DeclareNumbers(Block* block) {
    using Kind = HardwareIndex::Kind;
    block->push_back({HardwareIndex{block_, Kind::kBlock, 0}});
    block->push_back({HardwareIndex{thread_, Kind::kThread, 0}});
    block->push_back({DeclareIndex{part_, Index::Variable(block_) % cut_.parts}});
    return DeclarePoint(expression(), form_.batch, Index::Variable(block_) / cut_.parts,
                        context_.index_names(), block);
  }

  // `variable` = thread, thread + threads, ..., below `end`.
  void ForThreads(const std::string& variable, const Index& begin, int64_t end, Block body,
                  Block* block) const {
    block->push_back({For{variable, begin + Index::Variable(thread_), Index(end), keyed_.threads,
                          false, ShareBlock(std::move(body))}});
  }

  // ---- Tables ----

  LoopValue KeyOf(LoopValue value) const {
    if (value->type == key_) return value;
    return MakeOperation(ScalarOp::kCast, key_.scalar, {std::move(value)});
  }
  LoopValue First() const { return MakeNamed(first_, key_); }

  bool HasKeyPerThread() const { return cut_.keys <= keyed_.threads; }
  bool HasTilePerPart() const { return keyed_.tiles == 1 && cut_.elements >= cut_.tile; }
  int64_t whole_tiles() const { return cut_.elements / cut_.tile; }

  // What is read before the table is made, at the same time as its first key.
  void LoadAhead(NumberedValues& keys, NumberedValues& elements, Block* block) {
    block->push_back({DeclareValue{first_, KeyOf(keys.At(Index(0), block)[0])}});
    if (HasKeyPerThread()) {
      const Index number = Min(Index::Variable(thread_), Index(cut_.keys - 1));
      own_ = context_.names().Unique("own");
      block->push_back({DeclareValue{own_, KeyOf(keys.At(number, block)[0])}});
    }
    if (!HasTilePerPart()) return;
    const Index tile = Min(Index::Variable(part_), Index(whole_tiles() - 1));
    block->push_back({DeclareIndex{tile_, tile}});
    ahead_ = ValuesOf(elements, LoadTile(elements, block), block);
  }

  // Calls `body` with every key of the table and its number; threads share them.
  void ForKeys(
      NumberedValues& keys,
      const std::function<void(const LoopValue& key, const Index& number, Block* block)>& body,
      Block* block) {
    Block inside;
    if (HasKeyPerThread()) {
      const Index number = Index::Variable(thread_);
      body(MakeNamed(own_, key_), number, &inside);
      block->push_back(When({Less(number, Index(cut_.keys))}, std::move(inside)));
      return;
    }
    const Index number = Index::Variable(number_);
    body(KeyOf(keys.At(number, &inside)[0]), number, &inside);
    ForThreads(number_, Index(0), cut_.keys, std::move(inside), block);
  }

  // Of all keys, with results that are combined with nothing yet.
  void MakeTable(NumberedValues& keys, Block* block) {
    Block clear;
    clear.push_back({StoreElements{table_, Index::Variable(slot_), First(), 1}});
    ForThreads(slot_, Index(0), cut_.slots(), std::move(clear), block);
    Block start;
    for (size_t r = 0; r < shared_.size(); ++r) {
      start.push_back(
          {StoreElements{shared_[r], Index::Variable(slot_), MakeLiteral(IdentityOf(r)), 1}});
    }
    ForThreads(slot_, Index(0), cut_.slots() * keyed_.copies, std::move(start), block);
    block->push_back({Barrier{}});
    ForKeys(
        keys,
        [&](const LoopValue& key, const Index&, Block* insert) {
          insert->push_back({InsertKey{table_, cut_.slot_bits, First(), key}});
        },
        block);
    block->push_back({Barrier{}});
  }

  // Declares where the key is.
  Index Find(const LoopValue& key, Block* block) {
    const std::string name = context_.names().Unique(place_);
    block->push_back({FindKey{name, table_, cut_.slot_bits, First(), KeyOf(key)}});
    return Index::Variable(name);
  }

  // ---- Elements ----

  // `values`: the key, and a value for every result.
  void CombineOne(const std::vector<LoopValue>& values, Block* block) {
    const Index place = Find(values[0], block);
    Block body;
    const Index copy = Index::Variable(thread_) % keyed_.copies;
    for (size_t r = 0; r < shared_.size(); ++r) {
      body.push_back({CombineElement{OperationOf(expression().reduction().kinds()[r]), shared_[r],
                                     place * keyed_.copies + copy, values[r + 1]}});
    }
    block->push_back(When({Less(Index(-1), place)}, std::move(body)));
  }

  // What a thread has of a whole tile: its runs, and where they begin.
  struct LoadedTile {
    std::vector<Index> firsts;
    std::vector<NumberedValues::Run> runs;
    int64_t run = 1;
  };

  // All loads of vectors before anything else.
  LoadedTile LoadTile(const NumberedValues& elements, Block* block) {
    LoadedTile tile;
    tile.run = elements.MovesRuns(keyed_.run) ? keyed_.run : 1;
    const int64_t rounds = int64_t{keyed_.rounds} * keyed_.run / tile.run;
    for (int64_t round = 0; round < rounds; ++round) {
      const std::string name = context_.names().Unique(element_);
      const Index thread = Index::Variable(thread_) + Index(round * keyed_.threads);
      block->push_back(
          {DeclareIndex{name, Index::Variable(tile_) * cut_.tile + thread * tile.run}});
      tile.firsts.push_back(Index::Variable(name));
      tile.runs.push_back(elements.LoadRun(tile.firsts.back(), tile.run, block));
    }
    return tile;
  }

  // What is no vector is loaded here.
  std::vector<Values> ValuesOf(NumberedValues& elements, const LoadedTile& tile, Block* block) {
    std::vector<Values> values;
    for (size_t round = 0; round < tile.runs.size(); ++round) {
      for (int lane = 0; lane < tile.run; ++lane) {
        values.push_back(elements.At(tile.runs[round], tile.firsts[round], lane, block));
        for (LoopValue& value : values.back()) {
          if (std::holds_alternative<Literal>(value->form)) continue;
          value = NamedInBlock(value, context_.names(), *block);
        }
      }
    }
    return values;
  }

  // Whole tiles, then what is left.
  void CombineElements(NumberedValues& elements, Block* block) {
    const int64_t whole = whole_tiles(), rest = cut_.elements % cut_.tile;
    const Index part = Index::Variable(part_);
    if (HasTilePerPart()) {
      Block tile;
      for (const Values& values : ahead_) CombineOne(values, &tile);
      block->push_back(When({Less(part, Index(whole))}, std::move(tile)));
    } else if (whole > 0) {
      Block tile;
      const LoadedTile loaded = LoadTile(elements, &tile);
      for (const Values& values : ValuesOf(elements, loaded, &tile)) CombineOne(values, &tile);
      const Index begin = part * keyed_.tiles;
      block->push_back({For{tile_, begin, Min(begin + Index(keyed_.tiles), Index(whole)), 1, false,
                            ShareBlock(std::move(tile))}});
    }
    if (rest == 0) return;
    Block body, last;
    CombineOne(elements.At(Index::Variable(element_), &body), &body);
    ForThreads(element_, Index(whole * cut_.tile), cut_.elements, std::move(body), &last);
    block->push_back({Comment{"Elements that fill no tile."}});
    block->push_back(When({Equal(part, Index(cut_.parts - 1))}, std::move(last)));
  }

  // ---- Results ----

  // Of all copies in shared memory.
  std::vector<LoopValue> Combined(const Index& place, Block* block) {
    std::vector<LoopValue> sum;
    for (int copy = 0; copy < keyed_.copies; ++copy) {
      std::vector<LoopValue> own;
      for (size_t r = 0; r < shared_.size(); ++r) {
        const LoopValueType type{targets_[r].type, 1};
        own.push_back(
            NamedInBlock(MakeLoad(shared_[r], place * keyed_.copies + Index(copy), type, 1),
                         context_.names(), *block));
      }
      if (copy > 0) {
        own = EmitCombination(expression().reduction(), sum, own, context_.names(), *block);
        for (LoopValue& value : own) value = NamedInBlock(value, context_.names(), *block);
      }
      sum = std::move(own);
    }
    return sum;
  }

  void StoreResults(NumberedValues& keys, const std::vector<Index>& at, Block* block) {
    const auto store = [&](const LoopValue& key, const Index& number, Block* body) {
      const std::vector<LoopValue> values = Combined(Find(key, body), body);
      for (size_t r = 0; r < targets_.size(); ++r) {
        const ResultTarget& target = targets_[r];
        const Index offset = IndexAtPoint(expression(), {form_.keys, at}, target.offset, number);
        if (cut_.parts == 1) {
          body->push_back({StoreElements{target.pointer, offset, values[r], 1}});
        } else {
          body->push_back({CombineElement{OperationOf(expression().reduction().kinds()[r]),
                                          target.pointer, offset, values[r]}});
        }
      }
    };
    ForKeys(keys, store, block);
  }

  NestContext context_;
  const KeyedParameters keyed_;
  const KeyedForm form_;
  const KeyedCut cut_;
  const LoopValueType key_;  // of the table
  std::vector<ResultTarget> targets_;
  std::vector<std::string> shared_;  // results of the block
  std::vector<Values> ahead_;        // elements that are loaded before the table is made
  std::string own_;                  // the thread's key, if it has one
  const std::string thread_ = "tid", part_ = "part", slot_ = "slot";
  std::string block_ = "block_x", table_ = "keys_sm";
  std::string first_ = "first", number_ = "key", tile_ = "tile";
  std::string element_ = "element", place_ = "place";
};

}  // namespace

LoopProgram BuildKeyedProgram(const LowLevelExpression& low_level,
                              const DeviceDescription& device) {
  Result<KeyedForm> form = FindKeyedForm(low_level.expression());
  return KeyedProgramBuilder(low_level, device, *std::move(form)).Build();
}

}  // namespace mdh
