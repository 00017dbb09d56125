// P_prog and P_stmt (paper, Figures 7 to 9), and what codegen makes of the last state.
#include "core/teml/program.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/source.h"
#include "core/base/text_view.h"
#include "core/teml/state.h"
#include "core/teml/transformations.h"

namespace mdh {
namespace {

// Of all trees of a program, so that texts of strangers end.
constexpr int64_t kMaxNodesOfProgram = 1 << 18;

class ProgramEvaluator {
 public:
  ProgramEvaluator(TokenStream* stream, const ProgramText& text, const TemlSyntax& syntax)
      : stream_(*stream),
        text_(text),
        syntax_(syntax),
        names_(syntax.names),
        tensors_(state_, declared_, &names_, text) {}

  Result<TemlProgram> Run() {
    for (const StatementSyntax& statement : syntax_.statements) {
      MDH_RETURN_IF_ERROR(std::visit(
          Overloaded{[&](const AssignmentSyntax& assignment) { return Assign(assignment); },
                     [&](const InitSyntax& init) { return Initialize(init); },
                     [&](const CodegenSyntax& codegen) { return Generate(codegen); }},
          statement));
    }
    if (!has_codegen_) GenerateLastLoops();
    MDH_RETURN_IF_ERROR(TakeAssignments());
    MDH_RETURN_IF_ERROR(CheckVersions());
    MDH_RETURN_IF_ERROR(CheckDependences(generated_, text_));
    for (GeneratedLoops& loops : generated_) program_.loops.push_back(std::move(loops.trees));
    return std::move(program_);
  }

 private:
  Status Spend(const Token& at, int64_t nodes) {
    spent_ += nodes;
    if (spent_ <= kMaxNodesOfProgram) return absl::OkStatus();
    return text_.ErrorAt(at, "the trees of the program have more than ", kMaxNodesOfProgram,
                         " nodes in all");
  }

  // (17), (18), (26)
  Status Assign(const AssignmentSyntax& statement) {
    const std::string name(statement.name.text);
    if (const auto* const loop = std::get_if<LoopSyntax>(&statement.right)) {
      if (statement.target.has_value()) {
        return text_.ErrorAt(*statement.target,
                             "'@' names the tensor that is assigned to (18), but loops assign "
                             "none (26); leave it out");
      }
      MDH_ASSIGN_OR_RETURN(LoopTrees trees, EvaluateLoop(*loop, statement));
      // Tiling copies all loops for each of them.
      const int64_t depth = DepthOf(trees);
      MDH_RETURN_IF_ERROR(Spend(statement.name, LeavesOf(trees) + depth * depth));
      state_.insert_or_assign(name, StateValue(std::move(trees)));
      last_loops_.insert_or_assign(name, statement.name);
      return absl::OkStatus();
    }
    MDH_ASSIGN_OR_RETURN(StateValue value, tensors_.Evaluate(statement));
    if (const auto* const tree = std::get_if<TensorTree>(&value)) {
      if (statement.target.has_value()) {
        return text_.ErrorAt(*statement.target,
                             "'@' names the tensor that is assigned to (18), but '",
                             statement.function.text, "' stores nothing; leave it out");
      }
      MDH_RETURN_IF_ERROR(Spend(statement.name, (*tree)->nodes));
    }
    if (const auto* const tensor = std::get_if<TensorPointer>(&value)) Declare(*tensor);
    if (auto* const made = std::get_if<AssignmentPointer>(&value)) {
      TensorAssignment numbered = **made;
      numbered.number = static_cast<int>(assignments_.size());
      *made = std::make_shared<const TensorAssignment>(std::move(numbered));
      assignments_.push_back(*made);
      MDH_RETURN_IF_ERROR(Spend(statement.name, (*made)->value->nodes));
      if (declared_.count((*made)->target->name) == 0) Declare((*made)->target);
    }
    state_.insert_or_assign(name, std::move(value));
    last_loops_.erase(name);
    return absl::OkStatus();
  }

  void Declare(const TensorPointer& tensor) {
    declared_.emplace(tensor->name, tensor);
    program_.tensors.push_back(tensor);
  }

  Result<LoopTrees> EvaluateLoop(const LoopSyntax& loop, const AssignmentSyntax& statement) {
    if (loop.function == LoopFunction::kBuild) {
      const Token& name = loop.names[0];
      const auto found = state_.find(name.text);
      if (found != state_.end()) {
        if (const auto* const made = std::get_if<AssignmentPointer>(&found->second)) {
          return BuildLoops(*made);
        }
      }
      return text_.ErrorAt(
          name, found == state_.end()
                    ? absl::StrCat("nothing is called '", name.text, "', which build (19) takes")
                    : absl::StrCat("build (19) makes loops around an assignment, but '", name.text,
                                   "' is ", KindOf(found->second),
                                   "; assign it with eq, add, contract, ..."));
    }
    std::vector<LoopTrees> loops;
    for (const Token& name : loop.names) {
      MDH_ASSIGN_OR_RETURN(loops.emplace_back(), LoopsNamed(name, statement.function.text));
    }
    return Transform({statement.name, &loop, &names_, &text_}, loops);
  }

  static std::string KindOf(const StateValue& value) {
    return std::visit(
        Overloaded{[](const TensorPointer&) { return "a tensor that nothing is assigned to"; },
                   [](const TensorTree&) { return "a virtual tensor"; },
                   [](const AssignmentPointer&) { return "an assignment"; },
                   [](const LoopTrees&) { return "a loop nest"; }},
        value);
  }

  Result<LoopTrees> LoopsNamed(const Token& name, absl::string_view function) const {
    const auto found = state_.find(name.text);
    if (found == state_.end()) {
      return text_.ErrorAt(name, "nothing is called '", name.text, "', which ", function,
                           " takes; write ", name.text, " = build(...) before");
    }
    if (const auto* const loops = std::get_if<LoopTrees>(&found->second)) return *loops;
    return text_.ErrorAt(name, function, " takes loops, but '", name.text, "' is ",
                         KindOf(found->second), "; build(", name.text,
                         ") makes loops of an assignment (19)");
  }

  Status Initialize(const InitSyntax& init) {
    const auto found = declared_.find(std::string(init.name.text));
    if (found == declared_.end()) {
      return text_.ErrorAt(init.name, "init takes a tensor, but '", init.name.text,
                           "' is not introduced with tensor or scalar");
    }
    for (const AssignmentPointer& assignment : assignments_) {
      if (assignment->target->name != init.name.text) continue;
      return text_.ErrorAt(init.name, "'", init.name.text, "' is assigned in ",
                           text_.LineOf(assignment->token), "; init stands before");
    }
    MDH_ASSIGN_OR_RETURN(const ScalarValue value,
                         TypeLiteral(init.value, found->second->type, stream_));
    if (program_.initial.emplace(found->first, value).second) return absl::OkStatus();
    return text_.ErrorAt(init.name, "'", init.name.text, "' has a value from init already");
  }

  Status Generate(const CodegenSyntax& codegen) {
    has_codegen_ = true;
    for (const Token& name : codegen.names) {
      MDH_ASSIGN_OR_RETURN(LoopTrees loops, LoopsNamed(name, "codegen"));
      generated_.push_back({name, std::move(loops)});
    }
    return absl::OkStatus();
  }

  // Of every assignment the nest that was made last; without one, that of build. Nests of several
  // assignments stand where the last one of them does.
  void GenerateLastLoops() {
    std::vector<GeneratedLoops> last(assignments_.size());
    for (const AssignmentPointer& assignment : assignments_) {
      last[assignment->number] = {assignment->token, BuildLoops(assignment)};
    }
    std::vector<std::pair<size_t, std::string>> by_age;
    for (const auto& [name, token] : last_loops_) by_age.emplace_back(token.offset, name);
    std::ranges::sort(by_age);
    std::vector<bool> is_part(assignments_.size(), false);
    for (const auto& [offset, name] : by_age) {
      const auto& trees = std::get<LoopTrees>(state_.at(name));
      const std::set<int> numbers = AssignmentsOf(trees);
      for (const int number : numbers) is_part[number] = number != *numbers.rbegin();
      if (!numbers.empty()) last[*numbers.rbegin()] = {last_loops_.at(name), trees};
    }
    for (size_t n = 0; n < last.size(); ++n) {
      if (!is_part[n]) generated_.push_back(std::move(last[n]));
    }
  }

  // Those that are generated, in the order of their statements.
  Status TakeAssignments() {
    std::map<int, Token> generated;
    for (const GeneratedLoops& loops : generated_) {
      for (const int number : AssignmentsOf(loops.trees)) {
        const auto [first, is_new] = generated.emplace(number, loops.token);
        if (is_new) continue;
        return text_.ErrorAt(loops.token, "the assignment of ",
                             text_.LineOf(assignments_[number]->token), " is in the loops of '",
                             first->second.text, "' and of '", loops.token.text,
                             "'; let codegen name one nest for each assignment");
      }
    }
    for (const auto& [number, token] : generated) {
      program_.assignments.push_back(assignments_[number]);
    }
    if (!program_.assignments.empty()) return absl::OkStatus();
    const Token end = stream_.Peek();
    return text_.ErrorAt(end,
                         "the program assigns nothing (14); write t = eq(...), add(...), "
                         "contract(...), ...");
  }

  // What a tensor holds before every assignment to it is known.
  Status CheckVersions() const {
    std::map<std::string, const TensorAssignment*> written;
    std::map<std::string, const TensorNode*> read;
    for (const AssignmentPointer& assignment : program_.assignments) {
      const std::string& name = assignment->target->name;
      for (const TensorNode* access : AccessesOf(assignment->terms)) {
        const bool is_own = access->tensor->name == name && written.count(name) == 0;
        if (is_own && program_.initial.count(name) == 0) {
          return text_.ErrorAt(access->token, "'", name,
                               "' is read before it has a value; give "
                               "it one with init, or assign to "
                               "another tensor");
        }
        read.emplace(access->tensor->name, access);
      }
      const auto before = written.find(name);
      const bool has_value = before != written.end() || program_.initial.count(name) > 0;
      if (before == written.end() && read.count(name) > 0 && !assignment->reads_target) {
        return text_.ErrorAt(assignment->token, "'", name, "' is assigned after ",
                             text_.LineOf(read.at(name)->token),
                             " has read it as an input; assign to another tensor");
      }
      if (has_value && assignment->overwrites) {
        return text_.ErrorAt(assignment->token, "'", name,
                             "' has a value already, to which the contraction would be "
                             "added (33); assign to another tensor, or write ",
                             name, " = add(", name, ", ...)");
      }
      if (before == written.end() && has_value && !assignment->accumulates.has_value() &&
          !assignment->reads_target) {
        return text_.ErrorAt(assignment->token, "the value that init gives '", name,
                             "' is overwritten here; leave init out, or accumulate: ", name,
                             " = add(", name, ", ...)");
      }
      const bool starts_at_zero =
          !assignment->accumulates.has_value() || *assignment->accumulates == PointWiseKind::kAdd;
      if ((has_value || !starts_at_zero) && !assignment->is_whole()) {
        return text_.ErrorAt(assignment->token, "'", name,
                             "' has a value before, of which only a part is assigned here; "
                             "index it by one iterator for each dimension");
      }
      written[name] = assignment.get();
    }
    return absl::OkStatus();
  }

  TokenStream& stream_;
  const ProgramText& text_;
  const TemlSyntax& syntax_;
  NameSupply names_;
  State state_;
  std::map<std::string, TensorPointer> declared_;  // of the target program
  TensorEvaluator tensors_;
  std::vector<AssignmentPointer> assignments_;
  std::map<std::string, Token> last_loops_;  // statements of the loops in the state
  std::vector<GeneratedLoops> generated_;
  bool has_codegen_ = false;
  int64_t spent_ = 0;
  TemlProgram program_;
};

std::string ShapeInC(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) absl::StrAppend(&text, "[", extent, "]");
  return text;
}

}  // namespace

const TensorAssignment* TemlProgram::FirstAssignment(const std::string& tensor) const {
  for (const AssignmentPointer& assignment : assignments) {
    if (assignment->target->name == tensor) return assignment.get();
  }
  return nullptr;
}

ScalarValue TemlProgram::InitialValue(const RealTensor& tensor) const {
  if (const auto given = initial.find(tensor.name); given != initial.end()) return given->second;
  const TensorAssignment* const first = FirstAssignment(tensor.name);
  if (first != nullptr && first->accumulates.has_value()) {
    const Result<CombineOperator> combine =
        CombineOperator::PointWise(*first->accumulates, {tensor.type});
    if (combine.ok() && combine->identity().has_value()) return (*combine->identity())[0];
  }
  return ScalarValue::Zero(tensor.type);
}

Result<TemlProgram> ParseTemlProgram(std::string_view text, const Bindings& bindings,
                                     std::string_view source_name) {
  const Source source(View(source_name), View(text));
  MDH_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  TokenStream stream(source, std::move(tokens));
  MDH_ASSIGN_OR_RETURN(const TemlSyntax syntax, ParseTemlSyntax(&stream, bindings));
  const ProgramText program_text(source);
  return ProgramEvaluator(&stream, program_text, syntax).Run();
}

std::string ToText(const TemlProgram& program) {
  std::string text;
  std::set<std::string> used;
  for (const AssignmentPointer& assignment : program.assignments) {
    used.insert(assignment->target->name);
    for (const TensorNode* access : AccessesOf(assignment->terms)) {
      used.insert(access->tensor->name);
    }
  }
  for (const TensorPointer& tensor : program.tensors) {
    if (used.count(tensor->name) == 0) continue;
    const absl::string_view type = Info(tensor->type).c_name;
    absl::StrAppend(&text, type.empty() ? Name(tensor->type) : type, " ", tensor->name,
                    ShapeInC(tensor->shape), ";");
    const TensorAssignment* const first = program.FirstAssignment(tensor->name);
    if (first == nullptr && program.initial.count(tensor->name) == 0) {
      absl::StrAppend(&text, "  // an input");
    } else if (first == nullptr || first->accumulates.has_value() || first->reads_target) {
      absl::StrAppend(&text, "  // ", program.InitialValue(*tensor).ToString(), " at first");
    }
    absl::StrAppend(&text, "\n");
  }
  for (const LoopTrees& loops : program.loops) absl::StrAppend(&text, "\n", ToText(loops));
  return text;
}

}  // namespace mdh
