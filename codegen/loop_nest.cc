// The plain loop nest: one loop per dimension, one accumulator, no decomposition at all.
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/c_spelling.h"
#include "codegen/c_unit.h"
#include "codegen/finish_results.h"
#include "codegen/kernel.h"
#include "codegen/result_targets.h"
#include "codegen/scalar_code.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

class LoopNestBuilder {
 public:
  explicit LoopNestBuilder(const Expression& expression) : expression_(expression) {
    auto unique = [&](const std::string& name) {
      std::string identifier = CIdentifier(name);
      while (!taken_.insert(identifier).second) identifier += "_";
      names_.Reserve(identifier);
      return identifier;
    };
    for (const Dimension& d : expression.dimensions()) index_names_.push_back(unique(d.name));
    auto declare = [&](const Buffer& buffer, bool is_output) {
      arguments_.push_back({unique(buffer.name), buffer.type, buffer.elements(), is_output});
    };
    for (const Buffer& buffer : expression.inputs()) declare(buffer, false);
    std::vector<std::string> outputs;
    for (const Buffer& buffer : expression.outputs()) {
      declare(buffer, true);
      outputs.push_back(arguments_.back().name);
    }
    names_.Reserve("empty");
    outputs_ = OutputTargets(expression, outputs);
    targets_ = expression.has_prefix_sum() ? ArrayTargets(expression, outputs) : outputs_;
  }

  const std::vector<KernelArgument>& arguments() const { return arguments_; }

  LoopProgram Build() {
    LoopProgram program;
    program.stages.push_back({"The whole computation on one thread.", BuildNest()});
    if (!expression_.has_prefix_sum()) return program;
    for (const ResultTarget& array : targets_) {
      program.scratch.push_back(
          {array.pointer, array.type, ResultArrayElements(expression_), false});
    }
    std::vector<int64_t> whole;
    for (const Dimension& d : expression_.dimensions()) whole.push_back(d.size);
    AppendFinishingStages(expression_, {index_names_, targets_, outputs_, 1, std::move(whole)},
                          &program);
    return program;
  }

 private:
  // Loops over the dimensions that are kept around, reductions inside.
  Block BuildNest() {
    Block point = expression_.has_reduction() ? BuildReduction() : BuildPoint();
    Block block = Nest(/*reduced=*/false, std::move(point));
    Block guarded;
    guarded.push_back({If{{{Condition::Kind::kEqual, Index::Variable("thread"), Index(0), ""}},
                          std::make_shared<const Block>(std::move(block)),
                          nullptr}});
    return guarded;
  }

  Block Nest(bool reduced, Block body) const {
    for (int d = expression_.rank(); d-- > 0;) {
      if (expression_.is_reduction(d) != reduced) continue;
      Block loop;
      loop.push_back({For{index_names_[d], Index(0), Index(expression_.dimensions()[d].size), 1,
                          false, std::make_shared<const Block>(std::move(body))}});
      body = std::move(loop);
    }
    return body;
  }

  Index At(const AffineIndex& affine) const {
    Index at(0);
    for (int d = 0; d < expression_.rank(); ++d) {
      at = at + Index::Variable(index_names_[d]) * affine.coefficients[d];
    }
    return at + Index(affine.constant);
  }

  LoopValue Argument(int p) const {
    if (expression_.is_index(p)) {
      return MakeIndexValue(Index::Variable(index_names_[expression_.index_dimension(p)]), 1, 0);
    }
    const Expression::AccessRef ref = expression_.input_access(p);
    const Buffer& buffer = expression_.inputs()[ref.buffer];
    const ElementType::Field& field = buffer.type.fields()[ref.field];
    const std::string pointer =
        FieldPointer(buffer, arguments_[ref.buffer].name, field.type, /*is_const=*/true);
    if (buffer.boundary.kind == Boundary::Kind::kNone) {
      return LoadValue(pointer, At(buffer.Linearized(ref.access, ref.field)), {field.type, 1}, 1);
    }
    std::vector<Index> indices;
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      indices.push_back(At(index));
    }
    return LoadInsideValue(buffer, arguments_[ref.buffer].name, ref.field, indices,
                           std::vector<int64_t>(indices.size(), 0), 1);
  }

  std::vector<LoopValue> Values(Block& block) {
    return EmitFunction(
        expression_.function(), [&](int p) { return Argument(p); }, names_, block);
  }

  void Store(const std::vector<LoopValue>& values, Block& block) const {
    for (size_t r = 0; r < values.size(); ++r) {
      block.push_back({StoreElements{targets_[r].pointer, At(targets_[r].offset),
                                     StoredValue(values[r], targets_[r].type), 1}});
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
    const auto& identity = expression_.reduction().identity();
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
    auto name_all = [&](std::vector<LoopValue>& all, Block& where) {
      for (LoopValue& value : all) {
        const std::string name = names_.Unique("t");
        where.push_back({DeclareValue{name, value}});
        value = MakeNamed(name, value->type);
      }
    };
    name_all(values, body);
    std::vector<LoopValue> combined =
        EmitCombination(expression_.reduction(), results, values, names_, combine);
    if (combined.size() > 1) name_all(combined, combine);
    for (size_t r = 0; r < results.size(); ++r) {
      const std::string& name = std::get<NamedValue>(results[r]->form).name;
      start.push_back({Assign{name, values[r]}});
      combine.push_back({Assign{name, combined[r]}});
    }
    if (identity) {
      for (Statement& statement : combine) body.push_back(std::move(statement));
    } else {  // the first point starts the result
      start.push_back({ClearFlag{"empty"}});
      body.push_back({If{{{Condition::Kind::kFlag, Index(0), Index(0), "empty"}},
                         std::make_shared<const Block>(std::move(start)),
                         std::make_shared<const Block>(std::move(combine))}});
    }
    for (Statement& statement : Nest(/*reduced=*/true, std::move(body))) {
      block.push_back(std::move(statement));
    }
    Store(results, block);
    return block;
  }

  const Expression& expression_;
  std::set<std::string> taken_;
  NameAllocator names_;
  std::vector<std::string> index_names_;
  std::vector<KernelArgument> arguments_;
  std::vector<ResultTarget> outputs_, targets_;
};

}  // namespace

Kernel GenerateLoopNest(const Expression& expression) {
  LoopNestBuilder builder(expression);
  const LoopProgram program = builder.Build();
  const CUnitOptions options{
      EntryName(expression),
      absl::StrCat("Plain loop nest.\n\n", ToText(expression), "\nIndex map:\n",
                   DescribeIndexMap(expression, builder.arguments())),
      builder.arguments(), static_cast<int>(program.stages.size())};
  Kernel kernel;
  kernel.entry = options.entry;
  kernel.source = PrintCUnit(program, options);
  kernel.header = PrintCHeader(options);
  kernel.arguments = options.arguments;
  kernel.stages = options.stages;
  kernel.compile_options = {"-std=gnu11",
                            "-O2",
                            "-march=native",
                            "-fopenmp",
                            "-ffp-contract=off",
                            "-fno-math-errno",
                            "-fno-tree-slp-vectorize",
                            "-fwrapv",
                            "-lm"};
  return kernel;
}

}  // namespace mdh
