#include "codegen/backends/loop_nest.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/lower/finish/fill_unreached.h"
#include "codegen/lower/finish/finish_results.h"
#include "codegen/print/c_unit.h"
#include "codegen/program/c_names.h"
#include "codegen/program/kernel_names.h"
#include "codegen/program/result_targets.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "codegen/program/store_function.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

// The plain loop nest: one loop per dimension, one accumulator, no decomposition at all. And what
// gives its results sooner, with the same operations in the same order for each of them: the
// longest loop of results is shared among threads, and where reading is better that way, the
// reductions run around a row of results rather than within each. Of a single result of a long
// reduction threads combine parts, which are combined in their order: there the order is kept, but
// not the grouping.

enum class Nesting { kPlain, kForCaches };

// Of a long reduction.
constexpr int64_t kParts = 64;
constexpr int64_t kLeastItemsOfPart = 1024;

class LoopNestBuilder {
 public:
  LoopNestBuilder(const Expression& expression, Nesting nesting)
      : expression_(expression),
        nesting_(nesting),
        kernel_names_(NamesOf(expression, names_)),
        inputs_(views_.InputPointers(expression, kernel_names_.inputs)),
        outputs_(OutputTargets(expression, kernel_names_.outputs, views_)),
        targets_(expression.has_prefix_sum() ? ArrayTargets(expression, kernel_names_.outputs)
                                             : outputs_),
        store_(PointersOfStore(expression, kernel_names_.inputs, views_)) {
    names_.Reserve("empty");
  }

  const KernelNames& kernel_names() const { return kernel_names_; }

  LoopProgram Build() {
    LoopProgram program = BuildStages();
    DeclareUsed(views_.Declarations(), &program);
    return program;
  }

 private:
  LoopProgram BuildStages() {
    LoopProgram program;
    if (nesting_ == Nesting::kForCaches && HasParts()) {
      BuildParts(program);
      return program;
    }
    if (nesting_ == Nesting::kForCaches && !expression_.has_prefix_sum()) {
      program.stages.push_back({"The whole computation.", BuildSharedNest()});
      return program;
    }
    program.stages.push_back({"The whole computation.", BuildNest()});
    if (!expression_.has_prefix_sum()) return program;
    AppendResultArrays(expression_, targets_, /*slots=*/1, &program);
    std::vector<int64_t> whole;
    for (const Dimension& d : expression_.dimensions()) whole.push_back(d.size);
    AppendFinishingStages(expression_,
                          {kernel_names_.indices, targets_, outputs_, store_, 1, std::move(whole)},
                          &program);
    return program;
  }

  // Loops over the dimensions that are kept around, reductions inside.
  Block BuildNest() {
    Block point = expression_.has_reduction() ? BuildReduction() : BuildPoint();
    return {ByFirstThread(Nest(Dimensions(/*reduced=*/false), std::move(point)))};
  }

  // The same with the longest dimension outermost, whose items threads share.
  Block BuildSharedNest() {
    const int row = RowDimension();
    std::vector<int> around = Dimensions(/*reduced=*/false);
    std::erase(around, row);
    Block body = row >= 0                      ? BuildRow(row)
                 : expression_.has_reduction() ? BuildReduction()
                                               : BuildPoint();
    const auto longest = std::ranges::max_element(around, [&](int a, int b) {
      return expression_.dimensions()[a].size < expression_.dimensions()[b].size;
    });
    if (longest == around.end()) return {ByFirstThread(std::move(body))};
    const int shared = *longest;
    around.erase(longest);
    Block block;
    block.push_back({ShareLoop{kernel_names_.indices[shared], expression_.dimensions()[shared].size,
                               std::make_shared<const Block>(Nest(around, std::move(body)))}});
    return block;
  }

  std::vector<int> Dimensions(bool reduced) const {
    std::vector<int> dimensions;
    for (int d = 0; d < expression_.rank(); ++d) {
      if (expression_.is_reduction(d) == reduced) dimensions.push_back(d);
    }
    return dimensions;
  }

  // The first of `dimensions` outermost.
  Block Nest(const std::vector<int>& dimensions, Block body) const {
    for (auto d = dimensions.rbegin(); d != dimensions.rend(); ++d) {
      Block loop;
      loop.push_back(
          {For{kernel_names_.indices[*d], Index(0), Index(expression_.dimensions()[*d].size), 1,
               false, std::make_shared<const Block>(std::move(body))}});
      body = std::move(loop);
    }
    return body;
  }

  // ---- Parts of a long reduction ----

  bool HasParts() const {
    return Dimensions(/*reduced=*/false).empty() && expression_.reduction().identity() &&
           expression_.dimensions()[0].size >= kParts * kLeastItemsOfPart;
  }

  // The first dimension, which is outermost, in parts of one length; the last few items, which are
  // no whole part, come after the results of the parts.
  void BuildParts(LoopProgram& program) {
    const int64_t size = expression_.dimensions()[0].size, length = size / kParts;
    const std::string number = names_.Unique("part");
    const Index part = Index::Variable(number);
    std::vector<ResultTarget> partials;
    for (const TypedName& result : expression_.function().results()) {
      partials.push_back({names_.Unique("partial"), RegisterType(result.type), {}});
      program.scratch.push_back({partials.back().pointer, partials.back().type, kParts, false});
    }
    Block first;
    const std::vector<LoopValue> of_part = DeclareIdentities(first);
    first.push_back(CombinePoints(of_part, part * length, part * length + Index(length)));
    for (size_t r = 0; r < partials.size(); ++r) {
      first.push_back(
          {StoreElements{partials[r].pointer, part, StoredValue(of_part[r], partials[r].type), 1}});
    }
    Block shared;
    shared.push_back({ShareLoop{number, kParts, std::make_shared<const Block>(std::move(first))}});
    program.stages.push_back({"Parts of the reduction.", std::move(shared)});

    Block second, add;
    const std::vector<LoopValue> whole = DeclareIdentities(second);
    std::vector<LoopValue> values;
    for (const ResultTarget& partial : partials) {
      values.push_back(LoadValue(partial.pointer, part, {partial.type, 1}, 1));
    }
    Combine(whole, std::move(values), add);
    second.push_back({For{number, Index(0), Index(kParts), 1, false,
                          std::make_shared<const Block>(std::move(add))}});
    second.push_back(CombinePoints(whole, Index(kParts * length), Index(size)));
    Store(whole, second);
    program.stages.push_back({"The parts, and what remains.", {ByFirstThread(std::move(second))}});
  }

  std::vector<LoopValue> DeclareIdentities(Block& block) {
    std::vector<LoopValue> results;
    const std::vector<ScalarValue>& identity = *expression_.reduction().identity();
    for (const TypedName& result : expression_.function().results()) {
      const std::string name =
          names_.Unique(CIdentifier(absl::StrReplaceAll(result.name, {{".", "_"}})));
      block.push_back({DeclareValue{name, MakeLiteral(identity[results.size()]), true}});
      results.push_back(MakeNamed(name, {RegisterType(result.type), 1}));
    }
    return results;
  }

  // The points of all dimensions, of the first one from `begin` to `end`, combined into `results`.
  Statement CombinePoints(const std::vector<LoopValue>& results, const Index& begin,
                          const Index& end) {
    Block body;
    std::vector<LoopValue> values = Values(body);
    Combine(results, std::move(values), body);
    std::vector<int> inner = Dimensions(/*reduced=*/true);
    inner.erase(inner.begin());
    return {For{kernel_names_.indices[0], begin, end, 1, false,
                std::make_shared<const Block>(Nest(inner, std::move(body)))}};
  }

  void Combine(const std::vector<LoopValue>& results, std::vector<LoopValue> values, Block& block) {
    NameAll(values, block);
    ResultTuples::Assign(results, Combined(results, values, block), &block);
  }

  // ---- Rows ----

  // Accesses of inputs to far apart elements at neighbouring points.
  int FarAccesses(int d) const {
    int far = 0;
    for (const Buffer& buffer : expression_.inputs()) {
      for (int access = 0; access < std::ssize(buffer.accesses); ++access) {
        const int64_t stride = std::abs(buffer.Linearized(access).coefficients[d]);
        far += stride > 1 ? 1 : 0;
      }
    }
    return far;
  }

  // The dimension of neighbouring results whose loop should be within those of the reductions, or
  // -1. Results are taken up again from the outputs then, which must hold them as they are.
  int RowDimension() const {
    if (!expression_.has_reduction() || !Identity() || expression_.store() != nullptr) return -1;
    const auto& results = expression_.function().results();
    for (size_t r = 0; r < results.size(); ++r) {
      const ScalarType type = results[r].type;
      if (RegisterType(type) != type || targets_[r].type != type) return -1;
    }
    const int innermost = Dimensions(/*reduced=*/true).back();
    for (const int d : Dimensions(/*reduced=*/false)) {
      const bool is_row = std::ranges::all_of(
          targets_, [d](const auto& target) { return target.offset.coefficients[d] == 1; });
      if (is_row && FarAccesses(d) < FarAccesses(innermost)) return d;
    }
    return -1;
  }

  Block BuildRow(int row) {
    Block start, point, block;
    const auto& results = expression_.function().results();
    std::vector<LoopValue> identities, accumulated;
    for (size_t r = 0; r < results.size(); ++r) {
      identities.push_back(MakeLiteral((*Identity())[r]));
      accumulated.push_back(
          LoadValue(targets_[r].pointer, At(targets_[r].offset), {targets_[r].type, 1}, 1));
    }
    Store(identities, start);
    NameAll(accumulated, point);
    std::vector<LoopValue> values = Values(point);
    NameAll(values, point);
    Store(Combined(accumulated, values, point), point);
    for (Block* part : {&start, &point}) *part = Nest({row}, std::move(*part));
    point = Nest(Dimensions(/*reduced=*/true), std::move(point));
    for (Block* part : {&start, &point})
      std::move(part->begin(), part->end(), std::back_inserter(block));
    return block;
  }

  // What reductions start from; nullopt: from the first value.
  std::optional<std::vector<ScalarValue>> Identity() const {
    const CombineOperator& combine = expression_.reduction();
    return combine.keeps_order() ? std::nullopt : combine.identity();
  }

  // ---- Points ----

  Index At(const AffineIndex& affine) const {
    Index at(0);
    for (int d = 0; d < expression_.rank(); ++d) {
      at = at + Index::Variable(kernel_names_.indices[d]) * affine.coefficients[d];
    }
    return at + Index(affine.constant);
  }

  LoopValue Argument(int p) const {
    if (expression_.is_index(p)) {
      return MakeIndexValue(Index::Variable(kernel_names_.indices[expression_.index_dimension(p)]),
                            1, 0);
    }
    const Expression::AccessRef ref = expression_.input_access(p);
    const Buffer& buffer = expression_.inputs()[ref.buffer];
    const ElementType::Field& field = buffer.type.fields()[ref.field];
    if (buffer.boundary.kind == Boundary::Kind::kNone) {
      return LoadValue(inputs_[p], At(buffer.Linearized(ref.access, ref.field)), {field.type, 1},
                       1);
    }
    std::vector<Index> indices;
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      indices.push_back(At(index));
    }
    return LoadInsideValue(buffer, inputs_[p], ref.field, indices);
  }

  std::vector<LoopValue> Values(Block& block) {
    return EmitFunction(
        expression_.function(), [&](int p) { return Argument(p); }, names_, block);
  }

  void NameAll(std::vector<LoopValue>& values, Block& block) {
    values = tuples_.Named(std::move(values), "t", &block);
  }
  std::vector<LoopValue> Combined(const std::vector<LoopValue>& left,
                                  const std::vector<LoopValue>& right, Block& block) {
    return tuples_.Combined(left, right, &block);
  }

  // Into arrays as they are, else what is stored of them.
  void Store(const std::vector<LoopValue>& values, Block& block) {
    std::vector<LoopValue> stored = values;
    if (!expression_.has_prefix_sum()) {
      StoredPoint point;
      for (const std::string& index : kernel_names_.indices)
        point.at.push_back(Index::Variable(index));
      stored = EmitStoreFunction(expression_, store_, point, values, names_, block);
    }
    for (size_t n = 0; n < targets_.size(); ++n) {
      block.push_back({StoreElements{targets_[n].pointer, At(targets_[n].offset),
                                     StoredValue(stored[n], targets_[n].type), 1}});
    }
  }

  Block BuildPoint() {
    Block block;
    Store(Values(block), block);
    return block;
  }

  Block BuildReduction() {
    Block block, body, start, combine;
    std::vector<LoopValue> results;
    const std::optional<std::vector<ScalarValue>> identity = Identity();
    for (const TypedName& result : expression_.function().results()) {
      const std::string name =
          names_.Unique(CIdentifier(absl::StrReplaceAll(result.name, {{".", "_"}})));
      const ScalarValue from =
          identity ? (*identity)[results.size()] : ScalarValue::Zero(result.type);
      block.push_back({DeclareValue{name, MakeLiteral(from), true}});
      results.push_back(MakeNamed(name, {RegisterType(result.type), 1}));
    }
    if (!identity) block.push_back({DeclareFlag{"empty", {}, true}});
    std::vector<LoopValue> values = Values(body);
    NameAll(values, body);
    ResultTuples::Assign(results, values, &start);
    ResultTuples::Assign(results, Combined(results, values, combine), &combine);
    if (identity) {
      for (Statement& statement : combine) body.push_back(std::move(statement));
    } else {  // the first point starts the result
      start.push_back({ClearFlag{"empty"}});
      body.push_back({If{{{Condition::Kind::kFlag, Index(0), Index(0), "empty"}},
                         std::make_shared<const Block>(std::move(start)),
                         std::make_shared<const Block>(std::move(combine))}});
    }
    for (Statement& statement : Nest(Dimensions(/*reduced=*/true), std::move(body))) {
      block.push_back(std::move(statement));
    }
    Store(results, block);
    return block;
  }

  const Expression& expression_;
  const Nesting nesting_;
  NameAllocator names_;
  const KernelNames kernel_names_;
  ResultTuples tuples_{expression_, names_, {.sum = "t"}};
  RecordViews views_{names_};
  const std::vector<std::string> inputs_;  // pointers, per parameter of f
  const std::vector<ResultTarget> outputs_, targets_;
  const StorePointers store_;
};

Kernel GenerateNest(const Expression& expression, Nesting nesting) {
  LoopNestBuilder builder(expression, nesting);
  const std::vector<KernelArgument> arguments = ArgumentsOf(expression, builder.kernel_names());
  const std::vector<std::string>& outputs = builder.kernel_names().outputs;
  LoopProgram program = expression.is_empty()
                            ? EmptyProgram(expression, outputs, ItemSharing::kContiguous,
                                           builder.kernel_names().inputs)
                            : builder.Build();
  FillUnreached(expression, outputs, ItemSharing::kContiguous, &program);
  const bool is_plain = nesting == Nesting::kPlain;
  Kernel kernel = PrintCKernel(
      program, {.entry = EntryName(expression.name()),
                .description = absl::StrCat(
                    is_plain ? "Plain loop nest.\n\n" : "Reference results.\n\n",
                    ToText(expression), "\nIndex map:\n", DescribeIndexMap(expression, arguments)),
                .arguments = arguments,
                .threads = is_plain ? 1 : TuningParameters::kAllThreads});
  kernel.compile_options = {
      "-std=gnu11",      is_plain ? "-O2" : "-O3",  "-march=native", "-ffp-contract=off",
      "-fno-math-errno", "-fno-tree-slp-vectorize", "-fwrapv",       "-lm"};
  if (!is_plain) kernel.compile_options.push_back("-fopenmp");
  return kernel;
}

}  // namespace

Kernel GenerateLoopNest(const Expression& expression) {
  return GenerateNest(expression, Nesting::kPlain);
}

Kernel GenerateReferenceNest(const Expression& expression) {
  return GenerateNest(expression, Nesting::kForCaches);
}

}  // namespace mdh
