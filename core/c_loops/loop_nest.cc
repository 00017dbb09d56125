// Bounds, steps, and what stands beside inner loops.
#include "core/c_loops/loop_nest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mdh {
namespace {

using Kind = CNode::Kind;

constexpr char kForm[] = "loops have the form for (int i = START; i < END; ++i)";

bool IsReferenceTo(const CNode& node, const std::string& declaration) {
  const CNode& inner = Unwrapped(node);
  return inner.kind == Kind::kReference && inner.declaration == declaration;
}

class LoopParser {
 public:
  LoopParser(const CNode& node, const std::vector<Loop>& outer, const IntegerEvaluator& integers)
      : node_(node), outer_(outer), integers_(integers), source_(integers.source()) {}

  Result<Loop> Run() {
    loop_.offset = node_.begin;
    if (node_.children.size() != 4) return source_.ErrorAt(node_.begin, kForm);
    MDH_RETURN_IF_ERROR(Start(node_.children[0]));
    MDH_RETURN_IF_ERROR(Step(node_.children[2]));
    MDH_ASSIGN_OR_RETURN(const AffineIndex bound, End(node_.children[1]));
    MDH_ASSIGN_OR_RETURN(const auto ends, RangeOf(bound, node_.children[1]));
    const int64_t end = ends.second;
    MDH_RETURN_IF_ERROR(AddGuards(bound));
    int64_t distance = 0;
    const bool never_meets =
        node_.children[1].text == "!=" && loop_.guards.empty() && end < loop_.start;
    if (never_meets || __builtin_sub_overflow(end, loop_.start, &distance)) {
      return source_.ErrorAt(node_.children[1].begin, "the loop runs from ", loop_.start,
                             " to below ", end, ": it does not end there");
    }
    loop_.size = distance <= 0 ? 0 : (distance - 1) / loop_.step + 1;
    return CheckRange();
  }

 private:
  Result<int64_t> Known(const CNode& node, absl::string_view what) const {
    if (const std::optional<int64_t> value = integers_.Integer(node); value.has_value()) {
      return *value;
    }
    const CNode& inner = Unwrapped(node);
    const bool has_no_value = inner.kind == Kind::kReference && !IsOuterVariable(inner);
    const std::string hint = has_no_value
                                 ? absl::StrCat("'", inner.text, "' has no value; give it one")
                                 : "it must be a constant or a size with a value";
    return source_.ErrorAt(node.begin, "the ", what, " of the loop is not known: ", hint);
  }

  bool IsOuterVariable(const CNode& reference) const {
    return std::ranges::any_of(
        outer_, [&](const Loop& outer) { return outer.declaration == reference.declaration; });
  }

  // A start or end: known, or affine in the variables of outer loops. In points of these.
  Result<AffineIndex> Bound(const CNode& node, absl::string_view what) const {
    const Result<int64_t> known = Known(node, what);
    if (known.ok()) return AffineIndex{std::vector<int64_t>(outer_.size(), 0), *known};
    IntegerEvaluator of_outer = integers_;
    of_outer.SetLoops(outer_);
    Result<AffineIndex> bound = of_outer.Affine(node);
    if (bound.ok()) return bound;
    const CNode& inner = Unwrapped(node);
    if (inner.kind == Kind::kReference) return known.status();
    return source_.ErrorAt(node.begin, "the ", what,
                           " of the loop is not known: it must be a constant, a size "
                           "with a value, or a sum of multiples of the variables of "
                           "outer loops and of constants");
  }

  // The least and the largest value over all points of the outer loops. Errors: InvalidArgument if
  // one of them does not fit in 63 bits.
  Result<std::pair<int64_t, int64_t>> RangeOf(const AffineIndex& bound, const CNode& node) const {
    int64_t least = bound.constant, most = bound.constant;
    for (size_t d = 0; d < outer_.size(); ++d) {
      int64_t reach = 0;
      int64_t& end = bound.coefficients[d] < 0 ? least : most;
      if (__builtin_mul_overflow(bound.coefficients[d], std::max<int64_t>(outer_[d].size, 1) - 1,
                                 &reach) ||
          __builtin_add_overflow(end, reach, &end)) {
        return source_.ErrorAt(node.begin, "this bound does not fit in 63 bits");
      }
    }
    return std::pair(least, most);
  }

  static bool IsConstant(const AffineIndex& bound) {
    return std::ranges::all_of(bound.coefficients,
                               [](int64_t coefficient) { return coefficient == 0; });
  }

  // sign * (variable - bound) + constant, in points of the loops up to this one.
  Status AddGuard(const AffineIndex& bound, int64_t sign, int64_t constant) {
    AffineIndex guard;
    int64_t distance = 0;
    bool fits = !__builtin_sub_overflow(loop_.start, bound.constant, &distance) &&
                !__builtin_mul_overflow(distance, sign, &distance) &&
                !__builtin_add_overflow(distance, constant, &guard.constant);
    for (const int64_t coefficient : bound.coefficients) {
      guard.coefficients.push_back(0);
      fits = fits && !__builtin_mul_overflow(coefficient, -sign, &guard.coefficients.back());
    }
    guard.coefficients.push_back(sign * loop_.step);
    loop_.guards.push_back(std::move(guard));
    if (fits) return absl::OkStatus();
    return source_.ErrorAt(loop_.offset, "the bounds of this loop do not fit in 63 bits");
  }

  Status Start(const CNode& node) {
    const CNode* value = nullptr;
    if (node.kind == Kind::kDeclarations && node.children.size() == 1 &&
        node.children[0].children.size() == 1) {
      loop_.name = node.children[0].text;
      loop_.declaration = node.children[0].declaration;
      loop_.type = node.children[0].type.scalar;
      value = &node.children[0].children[0];
      if (!node.children[0].type.is_scalar()) value = nullptr;
    } else if (node.kind == Kind::kAssign && node.text == "=" &&
               node.children[0].kind == Kind::kReference && node.children[0].type.is_scalar()) {
      loop_.name = node.children[0].text;
      loop_.declaration = node.children[0].declaration;
      loop_.type = node.children[0].type.scalar;
      value = &node.children[1];
    }
    if (value == nullptr || !IsInteger(loop_.type)) return source_.ErrorAt(node.begin, kForm);
    MDH_ASSIGN_OR_RETURN(first_, Bound(*value, "start"));
    MDH_ASSIGN_OR_RETURN(const auto starts, RangeOf(first_, *value));
    loop_.start = starts.first;
    return absl::OkStatus();
  }

  Status Step(const CNode& node) {
    loop_.step = 1;
    const CNode* by = nullptr;
    if (node.kind == Kind::kUnary && node.text == "++" &&
        IsReferenceTo(node.children[0], loop_.declaration)) {
      return absl::OkStatus();
    }
    if (node.kind == Kind::kAssign && IsReferenceTo(node.children[0], loop_.declaration)) {
      const CNode& right = Unwrapped(node.children[1]);
      if (node.text == "+=") by = &node.children[1];
      if (node.text == "=" && right.kind == Kind::kBinary && right.text == "+" &&
          IsReferenceTo(right.children[0], loop_.declaration)) {
        by = &right.children[1];
      }
    }
    if (by == nullptr) {
      return source_.ErrorAt(node.begin, kForm, "; the step must add to '", loop_.name, "'");
    }
    MDH_ASSIGN_OR_RETURN(loop_.step, Known(*by, "step"));
    if (loop_.step >= 1) return absl::OkStatus();
    return source_.ErrorAt(by->begin, "the step of the loop is ", loop_.step,
                           "; it must be at least 1");
  }

  Status AddGuards(const AffineIndex& end) {
    const bool is_aligned = std::ranges::all_of(
        first_.coefficients, [&](int64_t coefficient) { return coefficient % loop_.step == 0; });
    if (!is_aligned) {
      return source_.ErrorAt(node_.children[2].begin,
                             "a loop whose start depends on outer loops must step by "
                             "1, or the start by multiples of ",
                             loop_.step);
    }
    if (!IsConstant(first_)) MDH_RETURN_IF_ERROR(AddGuard(first_, 1, 0));
    return IsConstant(end) ? absl::OkStatus() : AddGuard(end, -1, -1);
  }

  // The first value that is out of the loop.
  Result<AffineIndex> End(const CNode& node) const {
    const bool is_comparison = node.kind == Kind::kBinary && node.children.size() == 2;
    const bool forward = is_comparison && IsReferenceTo(node.children[0], loop_.declaration) &&
                         (node.text == "<" || node.text == "<=" || node.text == "!=");
    const bool backward = is_comparison && IsReferenceTo(node.children[1], loop_.declaration) &&
                          (node.text == ">" || node.text == ">=");
    if ((!forward && !backward) || (node.text == "!=" && loop_.step != 1)) {
      return source_.ErrorAt(node.begin, kForm, "; the condition must compare '", loop_.name,
                             "' with its end");
    }
    MDH_ASSIGN_OR_RETURN(AffineIndex end, Bound(node.children[forward ? 1 : 0], "end"));
    if (node.text == "<=" || node.text == ">=") {
      if (__builtin_add_overflow(end.constant, 1, &end.constant)) {
        return source_.ErrorAt(node.begin, "the loop never ends");
      }
    }
    return end;
  }

  // The variable takes the first value beyond the end, too.
  Result<Loop> CheckRange() const {
    int64_t last = 0;
    const int bits = 8 * SizeBytes(loop_.type) - (IsSigned(loop_.type) ? 1 : 0);
    const int64_t largest =
        bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
    if (__builtin_mul_overflow(loop_.step, loop_.size, &last) ||
        __builtin_add_overflow(last, loop_.start, &last) || last > largest) {
      return source_.ErrorAt(loop_.offset, "the loop never ends: '", loop_.name, "' is of type ",
                             Name(loop_.type));
    }
    return loop_;
  }

  const CNode& node_;
  const std::vector<Loop>& outer_;
  const IntegerEvaluator& integers_;
  const Source& source_;
  Loop loop_;
  AffineIndex first_;  // the start
};

// Takes apart the body of a loop: what stands before and behind an inner loop.
class InnerLoops {
 public:
  InnerLoops(const Source& source, CLoopNest* nest) : source_(source), nest_(*nest) {}

  // Makes nest.body the inner loop; false if there is none.
  Result<bool> Enter() {
    const CNode* only = nest_.body;
    while (only->kind == Kind::kCompound && only->children.size() == 1) only = &only->children[0];
    if (only->kind == Kind::kFor) {
      nest_.body = only;
      return true;
    }
    const auto is_loop = [](const CNode& statement) { return statement.kind == Kind::kFor; };
    if (only->kind != Kind::kCompound) return false;
    const std::vector<CNode>& statements = only->children;
    const auto loop = std::ranges::find_if(statements, is_loop);
    if (loop == statements.end()) return false;
    for (auto before = statements.begin(); before != loop; ++before) {
      MDH_RETURN_IF_ERROR(Before(*before));
    }
    for (auto behind = loop + 1; behind != statements.end(); ++behind) {
      MDH_RETURN_IF_ERROR(Behind(*behind));
    }
    nest_.body = &*loop;
    return true;
  }

 private:
  Status Before(const CNode& statement) {
    std::set<std::string> assigned;
    FindAssigned(statement, &assigned, &locals_);
    for (const std::string& name : assigned) {
      if (locals_.count(name) > 0) continue;
      return source_.ErrorAt(statement.begin,
                             "this stands beside a loop; only local variables are set there "
                             "(results need no initial value: they start at that of the operator)");
    }
    if (statement.kind != Kind::kEmpty) nest_.before.push_back({nest_.loops.size(), &statement});
    return absl::OkStatus();
  }

  Status Behind(const CNode& statement) {
    if (statement.kind == Kind::kEmpty) return absl::OkStatus();
    if (statement.kind == Kind::kFor) {
      return source_.ErrorAt(statement.begin,
                             "this stands beside a loop; there is one loop in each");
    }
    if (nest_.has_after() && nest_.outer != nest_.loops.size()) {
      return source_.ErrorAt(statement.begin,
                             "statements stand behind an outer loop already; only those behind one "
                             "loop can make outputs of its results");
    }
    nest_.outer = nest_.loops.size();
    nest_.after.push_back(&statement);
    return absl::OkStatus();
  }

  const Source& source_;
  CLoopNest& nest_;
  std::set<std::string> locals_;
};

}  // namespace

void FindAssigned(const CNode& node, std::set<std::string>* assigned,
                  std::set<std::string>* declared) {
  if (node.kind == Kind::kDeclaration) declared->insert(node.declaration);
  const bool steps = node.kind == Kind::kUnary && (node.text == "++" || node.text == "--");
  if ((node.kind == Kind::kAssign || steps) && !node.children.empty()) {
    const CNode* target = &node.children[0];
    while (target->kind != Kind::kReference && !target->children.empty()) {
      target = &target->children[0];
    }
    assigned->insert(target->declaration);
  }
  for (const CNode& child : node.children) FindAssigned(child, assigned, declared);
}

const CNode& Unwrapped(const CNode& node) {
  const CNode* inner = &node;
  while (inner->kind == Kind::kConvert && inner->children.size() == 1) inner = &inner->children[0];
  return *inner;
}

Result<CLoopNest> ParseLoopNest(const CNode& node, const IntegerEvaluator& integers) {
  CLoopNest nest{{}, &node};
  InnerLoops inner(integers.source(), &nest);
  if (node.kind == Kind::kCompound) {
    MDH_ASSIGN_OR_RETURN(const bool has_loop, inner.Enter());
    if (!has_loop) return integers.source().ErrorAt(node.begin, "there is no loop in this block");
  }
  while (nest.body->kind == Kind::kFor) {
    MDH_ASSIGN_OR_RETURN(Loop loop, LoopParser(*nest.body, nest.loops, integers).Run());
    for (const Loop& outer : nest.loops) {
      if (outer.declaration != loop.declaration) continue;
      return integers.source().ErrorAt(loop.offset, "'", loop.name,
                                       "' is the variable of an outer loop, too");
    }
    nest.loops.push_back(std::move(loop));
    nest.body = &nest.body->children[3];
    MDH_RETURN_IF_ERROR(inner.Enter().status());
  }
  return nest;
}

}  // namespace mdh
