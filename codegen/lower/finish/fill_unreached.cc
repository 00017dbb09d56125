#include "codegen/lower/finish/fill_unreached.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/finish/store_results.h"
#include "codegen/lower/finish/zero_results.h"
#include "codegen/program/result_targets.h"
#include "codegen/program/scalar_code.h"
#include "codegen/program/shuffled_stride.h"
#include "core/expression/unreached_elements.h"

namespace mdh {
namespace {

// Of items per thread that a stage has besides what it is for.
constexpr int64_t kMostItemsPerThread = 64;
// Runs that threads of a CPU share rather than the elements of each.
constexpr int64_t kManyRuns = 64;
// Of a CPU's vectors, whose lanes are gaps between results that are close to each other.
constexpr int64_t kGapVectorBytes = 64;

// A type as large as the greatest of a record's fields, of which a record is a whole number.
ScalarType UnitOf(const ElementType& type) {
  if (!type.is_record()) return type.scalar();
  int largest = 1;
  for (const ElementType::Field& field : type.fields()) {
    largest = std::max(largest, SizeBytes(field.type));
  }
  switch (largest) {
    case 8:
      return ScalarType::kInt64;
    case 4:
      return ScalarType::kInt32;
    case 2:
      return ScalarType::kInt16;
    default:
      return ScalarType::kInt8;
  }
}

// Writes zeros to runs of one output.
class RunFiller {
 public:
  RunFiller(const Buffer& buffer, std::string pointer, ItemSharing sharing, NameAllocator names)
      : buffer_(buffer),
        pointer_(std::move(pointer)),
        sharing_(sharing),
        unit_(UnitOf(buffer.type)),
        units_(buffer.type.size_bytes() / SizeBytes(unit_)),
        positions_(PositionStrides(buffer)),
        is_in_order_(IsInOrder()),
        item_(names.Unique("gap")),
        run_(names.Unique("run")),
        at_(names.Unique("at")),
        part_(names.Unique("word")) {}

  static int64_t Items(const ElementRuns& runs) { return runs.runs() * runs.length; }

  Block Fill(ElementRuns runs) const {
    const int64_t lanes = kGapVectorBytes / SizeBytes(unit_);
    const bool has_vectors = sharing_ == ItemSharing::kContiguous && units_ == 1 && is_in_order_ &&
                             SizeBytes(unit_) >= 4 && !runs.levels.empty() &&
                             IsShuffledStride(runs.levels.back().step, lanes) &&
                             runs.levels.back().count >= lanes;
    if (!has_vectors) return FillOneByOne(std::move(runs));
    ElementRuns rest = runs, vectors = runs;
    rest.levels.back().count %= lanes;
    const ElementRuns::Level vector = {runs.levels.back().count / lanes,
                                       runs.levels.back().step * lanes};
    vectors.levels.back() = vector;
    rest.first += vector.count * vector.step;
    Block block, stores;
    for (int64_t offset = 0; offset < runs.length; ++offset) {
      stores.push_back(
          {StoreElements{pointer_, Start(vectors, Index::Variable(run_)) + Index(offset),
                         MakeSplat(MakeLiteral(ScalarValue::Zero(unit_)), static_cast<int>(lanes)),
                         runs.levels.back().step}});
    }
    block.push_back(Share(run_, vectors.runs(), std::move(stores)));
    if (rest.levels.back().count > 0) Append(FillOneByOne(std::move(rest)), &block);
    return block;
  }

 private:
  Block FillOneByOne(ElementRuns runs) const {
    int64_t units = units_;
    if (is_in_order_) {  // units, too, follow each other
      runs.first *= units;
      runs.length *= units;
      for (ElementRuns::Level& level : runs.levels) level.step *= units;
      units = 1;
    }
    const int64_t count = runs.runs();
    const Index item = Index::Variable(item_);
    Block block;
    if (count == 1) {
      block.push_back(Share(item_, runs.length, Element(Index(runs.first) + item, units)));
    } else if (runs.length == 1) {
      block.push_back(Share(run_, count, Element(Start(runs, Index::Variable(run_)), units)));
    } else if (sharing_ == ItemSharing::kInterleaved) {
      const Index start = Start(runs, item / runs.length);
      block.push_back(
          Share(item_, count * runs.length, Element(start + item % runs.length, units)));
    } else {
      const bool shares_runs = count >= kManyRuns || count >= runs.length;
      Block inside;
      inside.push_back({DeclareIndex{at_, Start(runs, Index::Variable(run_))}});
      Block element = Element(Index::Variable(at_) + item, units);
      inside.push_back(shares_runs ? Loop(item_, runs.length, std::move(element))
                                   : Share(item_, runs.length, std::move(element)));
      block.push_back(shares_runs ? Share(run_, count, std::move(inside))
                                  : Loop(run_, count, std::move(inside)));
    }
    return block;
  }

  bool IsInOrder() const {
    const std::vector<int64_t> strides = buffer_.strides();
    for (size_t x = 0; x < strides.size(); ++x) {
      if (buffer_.extents[x] > 1 && strides[x] != positions_[x]) return false;
    }
    return true;
  }

  static Statement Loop(const std::string& variable, int64_t items, Block body) {
    return {For{variable, Index(0), Index(items), 1, false, ShareBlock(std::move(body))}};
  }
  static Statement Share(const std::string& variable, int64_t items, Block body) {
    return {ShareLoop{variable, items, ShareBlock(std::move(body))}};
  }

  // Position of the run with that number; the innermost level varies fastest.
  static Index Start(const ElementRuns& runs, Index number) {
    Index start(runs.first);
    for (size_t l = runs.levels.size(); l-- > 0;) {
      const ElementRuns::Level& level = runs.levels[l];
      start = start + (l == 0 ? number : number % level.count) * level.step;
      number = number / level.count;
    }
    return start;
  }

  // Zeros at a position.
  Block Element(const Index& position, int64_t units) const {
    Block block;
    const Index unit = Index::Variable(part_);
    const Index offset = is_in_order_ ? position : Offset(position) * units;
    const LoopValue zero = StoredValue(MakeLiteral(ScalarValue::Zero(unit_)), unit_);
    block.push_back({StoreElements{pointer_, units == 1 ? offset : offset + unit, zero, 1}});
    if (units == 1) return block;
    Block loop;
    loop.push_back(Loop(part_, units, std::move(block)));
    return loop;
  }

  // Where the element is in memory that has room between elements.
  Index Offset(const Index& position) const {
    const std::vector<int64_t> strides = buffer_.strides();
    Index offset(0);
    for (size_t x = 0; x < strides.size(); ++x) {
      if (buffer_.extents[x] == 1) continue;
      offset = offset + (position / positions_[x]) % buffer_.extents[x] * strides[x];
    }
    return offset;
  }

  const Buffer& buffer_;
  const std::string pointer_;
  const ItemSharing sharing_;
  const ScalarType unit_;
  const int64_t units_;  // of an element
  const std::vector<int64_t> positions_;
  const bool is_in_order_;
  const std::string item_, run_, at_, part_;
};

int64_t ThreadsOf(const Stage& stage) {
  const std::array<int64_t, 3>& grid = stage.launch.grid;
  return grid[0] * grid[1] * grid[2] * stage.launch.threads_per_block();
}

// Threads of the last stage of a CPU's program have nothing to wait for; of blocks, as many as
// possible take part. Null if the stage that would be it has too few.
Stage* StageBeside(int64_t items, ItemSharing sharing, LoopProgram* program) {
  if (program->stages.empty()) return nullptr;
  if (sharing == ItemSharing::kContiguous) return &program->stages.back();
  Stage& largest = *std::ranges::max_element(
      program->stages, [](const Stage& a, const Stage& b) { return ThreadsOf(a) < ThreadsOf(b); });
  return items <= kMostItemsPerThread * ThreadsOf(largest) ? &largest : nullptr;
}

// The output's name, or, of records, a pointer to units that the block declares.
std::string PointerToUnits(const Buffer& buffer, const std::string& output, NameAllocator& names,
                           Block* block) {
  if (!buffer.type.is_record()) return output;
  const std::string name = names.Unique(absl::StrCat(output, "_words"));
  block->push_back({DeclareView{name, UnitOf(buffer.type), /*is_const=*/false, output}});
  return name;
}

NameAllocator NamesBeside(const Block& block, const std::vector<std::string>& outputs) {
  NameAllocator names;
  ReserveNamesIn(block, names);
  for (const std::string& output : outputs) names.Reserve(output);
  for (const char* name : {"thread", "threads", "scratch"}) names.Reserve(name);
  return names;
}

// What is stored of the identity, at every point of the results.
Block StoreIdentities(const Expression& expression, const std::vector<ResultTarget>& targets,
                      const StorePointers& store, NameAllocator& names) {
  const std::string item = names.Unique("item");
  std::vector<LoopValue> identities;
  for (const ScalarValue& value : *expression.reduction().identity()) {
    identities.push_back(AsComputed(MakeLiteral(value)));
  }
  std::vector<Index> at(expression.rank(), Index(0));
  int64_t inside = 1;
  for (int d = expression.rank(); d-- > 0;) {
    if (expression.is_reduction(d)) continue;
    at[d] = Index::Variable(item) / inside % expression.dimensions()[d].size;
    inside *= expression.dimensions()[d].size;
  }
  const ResultArrays results = {
      .index_names = {}, .arrays = {}, .outputs = targets, .store = store};
  Block body, block;
  EmitFinalResults(expression, results, at, identities, names, &body);
  block.push_back({ShareLoop{item, inside, ShareBlock(std::move(body))}});
  return block;
}

}  // namespace

void FillUnreached(const Expression& expression, const std::vector<std::string>& outputs,
                   ItemSharing sharing, LoopProgram* program) {
  for (size_t b = 0; b < outputs.size(); ++b) {
    const Buffer& buffer = expression.outputs()[b];
    if (buffer.keeps_unreached) continue;
    const UnreachedElements unreached = FindUnreached(expression, static_cast<int>(b));
    if (unreached.runs.empty()) continue;
    int64_t items = 0;
    for (const ElementRuns& runs : unreached.runs) items += RunFiller::Items(runs);
    Stage* stage = unreached.is_exact ? StageBeside(items, sharing, program) : nullptr;
    Stage before{absl::StrCat("Zero, what no index function of ", outputs[b], " reaches."), {}};
    if (stage == nullptr && sharing == ItemSharing::kInterleaved) {
      before.launch = LaunchForItems(items);
    }
    Block& body = stage == nullptr ? before.body : stage->body;
    NameAllocator names = NamesBeside(body, outputs);
    if (stage != nullptr) {
      body.push_back(
          {Comment{absl::StrCat("What no index function of ", outputs[b], " reaches.")}});
    }
    const std::string pointer = PointerToUnits(buffer, outputs[b], names, &body);
    const RunFiller filler(buffer, pointer, sharing, names);
    for (const ElementRuns& runs : unreached.runs) Append(filler.Fill(runs), &body);
    if (stage == nullptr) program->stages.insert(program->stages.begin(), std::move(before));
  }
}

LoopProgram EmptyProgram(const Expression& expression, const std::vector<std::string>& outputs,
                         ItemSharing sharing, const std::vector<std::string>& inputs) {
  LoopProgram program;
  program.stages.push_back({"There is no point.", {}});
  if (expression.result_points() == 0) return program;
  Stage& stage = program.stages.back();
  stage.comment = "There is no point: results are what changes nothing.";
  NameAllocator names = NamesBeside({}, outputs);
  for (const std::string& input : inputs) names.Reserve(input);
  RecordViews views(names);
  const std::vector<ResultTarget> targets = OutputTargets(expression, outputs, views);
  if (expression.store() != nullptr) {
    const StorePointers store = PointersOfStore(expression, inputs, views);
    Append(StoreIdentities(expression, targets, store, names), &stage.body);
  } else {
    std::vector<ScalarValue> values;
    for (size_t r = 0; r < targets.size(); ++r) {
      const ScalarValue identity = (*expression.reduction().identity())[r];
      values.push_back(identity.type() == targets[r].type
                           ? identity
                           : Apply(ScalarOp::kCast, targets[r].type, {identity}));
    }
    Append(SetResults(expression, targets, values), &stage.body);
  }
  DeclareUsed(views.Declarations(), &program);
  if (sharing == ItemSharing::kInterleaved) {
    stage.launch = LaunchForItems(expression.result_points());
  }
  return program;
}

}  // namespace mdh
