#include "core/c_loops/accumulators.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/c_loops/reduction.h"

namespace mdh {
namespace {

void FindDeclarations(const CNode& node, std::vector<const CNode*>* found) {
  if (node.kind == CNode::Kind::kDeclaration) found->push_back(&node);
  for (const CNode& child : node.children) FindDeclarations(child, found);
}

bool Assigns(const CNode& statement, const std::string& declaration) {
  std::set<std::string> assigned, declared;
  FindAssigned(statement, &assigned, &declared);
  return assigned.count(declaration) > 0 || declared.count(declaration) > 0;
}

// Whether a declaration alone, or one with a value, or an assignment.
bool HasValue(const CNode& statement, const CNode& declaration) {
  std::set<std::string> assigned, declared;
  FindAssigned(statement, &assigned, &declared);
  return assigned.count(declaration.declaration) > 0 || !declaration.children.empty();
}

bool Mentions(const CNode& node, const std::string& declaration) {
  return (node.kind == CNode::Kind::kReference && node.declaration == declaration) ||
         std::ranges::any_of(node.children,
                             [&](const CNode& child) { return Mentions(child, declaration); });
}

bool IsMentionedBehind(const CLoopNest& nest, const CNode& declaration) {
  return std::ranges::any_of(nest.after, [&](const CNode* statement) {
    return Mentions(*statement, declaration.declaration);
  });
}

// How many loops are around the statements beside loops that give it a value.
std::set<size_t> LevelsWithValue(const CLoopNest& nest, const CNode& declaration) {
  std::set<size_t> levels;
  for (const CLoopNest::Before& before : nest.before) {
    const bool is_own = Assigns(*before.statement, declaration.declaration);
    if (is_own && HasValue(*before.statement, declaration)) levels.insert(before.loops);
  }
  for (const CNode* statement : nest.after) {
    if (Assigns(*statement, declaration.declaration)) levels.insert(nest.outer);
  }
  return levels;
}

// Of a variable that the innermost body does not assign: it has its value from one place, so that
// no iteration sees that of the one before.
Status CheckNotCarried(const CLoopNest& nest, const CNode& declaration, Evaluator* evaluator) {
  const std::set<size_t> levels = LevelsWithValue(nest, declaration);
  if (levels.size() < 2) return absl::OkStatus();
  return evaluator->ErrorAt(declaration, "'", declaration.text, "' goes on from one iteration of '",
                            nest.loops[*levels.begin()].name,
                            "' to the next, which only what the innermost loop combines can do");
}

Status CheckStart(const CLoopNest& nest, const CNode& declaration, Evaluator* evaluator) {
  const std::string& name = declaration.text;
  if (!nest.has_after()) {
    return evaluator->ErrorAt(declaration, "'", name,
                              "' goes on from one iteration to the next, and no "
                              "statement behind the loops reads it");
  }
  for (const CLoopNest::Before& before : nest.before) {
    if (!Assigns(*before.statement, declaration.declaration) || before.loops == nest.outer ||
        (before.loops < nest.outer && !HasValue(*before.statement, declaration))) {
      continue;
    }
    const std::string& reduced = nest.loops[nest.outer].name;
    if (before.loops > nest.outer) {
      return evaluator->ErrorAt(*before.statement, "'", name,
                                "' is set anew by every iteration of '", reduced,
                                "'; set it before that loop");
    }
    return evaluator->ErrorAt(*before.statement, "'", name, "' goes on from one iteration of '",
                              nest.loops[nest.outer - 1].name,
                              "' to the next; set it directly before the loop over '", reduced,
                              "'");
  }
  return absl::OkStatus();
}

// Of functions of the file: that of the start and the result.
Result<CValue> CombinedWithStart(const Accumulator& accumulator, const CombineOperator& combine,
                                 size_t results, Evaluator* evaluator, ClangUnit* unit) {
  const std::string& name = combine.function().name();
  MDH_ASSIGN_OR_RETURN(const CFunction* function, unit->Function(name));
  if (function == nullptr || function->parameters.size() != 2 ||
      results != accumulator.result.size()) {
    return unit->source().ErrorAt(
        accumulator.offset, "'", accumulator.name, "' has a value before the loops, which '", name,
        "' cannot combine with the result: it combines several at once; leave out the "
        "value, and assign plainly in the loops");
  }
  return evaluator->Call(*function, {accumulator.start, accumulator.result}, accumulator.offset);
}

}  // namespace

Result<std::vector<Accumulator>> StartAccumulators(const CLoopNest& nest, Evaluator* evaluator,
                                                   BufferMemory* memory,
                                                   IntegerEvaluator* integers) {
  memory->Enter(BufferMemory::Part::kBefore);
  std::vector<const CNode*> declarations;
  for (const CLoopNest::Before& before : nest.before) {
    MDH_RETURN_IF_ERROR(evaluator->Run(*before.statement));
    FindDeclarations(*before.statement, &declarations);
  }
  for (const Loop& loop : nest.loops) evaluator->state().erase(loop.declaration);
  std::vector<Accumulator> accumulators;
  for (const CNode* declaration : declarations) {
    if (!Assigns(*nest.body, declaration->declaration)) {
      MDH_RETURN_IF_ERROR(CheckNotCarried(nest, *declaration, evaluator));
      continue;
    }
    // Without a value before, and unread behind, it is one of each iteration.
    const bool has_start = !LevelsWithValue(nest, *declaration).empty();
    if (!has_start && !IsMentionedBehind(nest, *declaration)) continue;
    MDH_RETURN_IF_ERROR(CheckStart(nest, *declaration, evaluator));
    CValue& state = evaluator->state().at(declaration->declaration);
    Accumulator found{declaration->text,
                      declaration->declaration,
                      declaration->begin,
                      declaration->type,
                      state,
                      {}};
    const std::vector<ScalarType> types = found.type.ScalarTypes();
    const int first = memory->NewParameters(types.size());
    for (size_t n = 0; n < types.size(); ++n) {
      found.result.push_back(evaluator->builder().Parameter(types[n], first + static_cast<int>(n)));
    }
    state = found.result;
    integers->Forget(declaration->declaration);
    accumulators.push_back(std::move(found));
  }
  memory->Enter(BufferMemory::Part::kBody);
  return accumulators;
}

std::vector<NestResult> ResultsOf(const std::vector<Accumulator>& accumulators,
                                  const CLoopNest& nest, Evaluator* evaluator) {
  std::vector<bool> uses(nest.loops.size(), false);
  std::fill_n(uses.begin(), nest.outer, true);
  std::vector<NestResult> results;
  for (const Accumulator& accumulator : accumulators) {
    const CValue& value = evaluator->state().at(accumulator.declaration);
    const std::vector<ScalarType> types = accumulator.type.ScalarTypes();
    for (size_t n = 0; n < types.size(); ++n) {
      results.push_back({accumulator.name, accumulator.offset, uses, types[n],
                         evaluator->builder().Cast(types[n], value[n]), accumulator.result[n]});
    }
  }
  return results;
}

Status FinishAccumulators(const std::vector<Accumulator>& accumulators,
                          const std::vector<NestResult>& results, const CombineOperator& combine,
                          Evaluator* evaluator, ClangUnit* unit) {
  ScalarBuilder& builder = evaluator->builder();
  const bool is_custom = combine.kinds()[0] == PointWiseKind::kCustom;
  const auto uses_former = [&](const NestResult& result) {
    return std::ranges::any_of(results, [&](const NestResult& other) {
      return DependsOn(builder, result.value, other.former);
    });
  };
  size_t r = 0;
  for (const Accumulator& accumulator : accumulators) {
    CValue value = accumulator.result;
    const size_t first = r;
    r += value.size();
    evaluator->state()[accumulator.declaration] = value;
    // One that is assigned plainly is that of one iteration, and no start counts.
    if (!std::any_of(results.begin() + static_cast<std::ptrdiff_t>(first),
                     results.begin() + static_cast<std::ptrdiff_t>(r), uses_former)) {
      continue;
    }
    if (std::ranges::any_of(accumulator.start, [](int start) { return start < 0; })) {
      return unit->source().ErrorAt(accumulator.offset, "'", accumulator.name,
                                    "' has no value before the first iteration; give it one");
    }
    if (is_custom) {
      MDH_ASSIGN_OR_RETURN(
          value, CombinedWithStart(accumulator, combine, results.size(), evaluator, unit));
    }
    for (size_t n = 0; n < value.size() && !is_custom; ++n) {
      const ScalarInstruction& start = builder.at(accumulator.start[n]);
      const bool is_neutral =
          start.op == ScalarOp::kConstant && start.constant == (*combine.identity())[first + n];
      if (is_neutral) continue;
      value[n] = builder.Binary(OperationOf(combine.kinds()[first + n]), accumulator.start[n],
                                accumulator.result[n]);
    }
    evaluator->state()[accumulator.declaration] = std::move(value);
  }
  return absl::OkStatus();
}

}  // namespace mdh
