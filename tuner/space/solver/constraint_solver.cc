#include "tuner/space/solver/constraint_solver.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mdh {
namespace {

// Parameters with more open values are halved.
constexpr uint32_t kMostEnumerated = 32;
// Choices until it begins anew with what it has learnt; then twice as many.
constexpr int64_t kFirstChoices = 100;
// Between two questions whether it is still wanted.
constexpr int64_t kChoicesPerQuestion = 16;

std::vector<uint32_t> SizesOf(const std::vector<TuningParameter>& parameters,
                              const RuleSystem& system) {
  std::vector<uint32_t> sizes;
  for (const TuningParameter& parameter : parameters) sizes.push_back(parameter.range.size());
  for (const Term& term : system.terms) sizes.push_back(term.size);
  return sizes;
}

// Choices that can be open at once: those of a parameter halve it, and then take one of its values.
int MostDepth(const std::vector<TuningParameter>& parameters, const RuleSystem& system) {
  auto depth = static_cast<int>(system.terms.size());
  for (const TuningParameter& parameter : parameters) {
    ++depth;
    for (uint32_t left = parameter.range.size(); left > kMostEnumerated; left -= left / 2) ++depth;
  }
  return depth;
}

// Of the least integer that is not negative, as ranges that go below are rarely meant to.
uint32_t UsualPosition(const ParameterValues& values) {
  const bool has_negative =
      values.kind() == ValueKind::kInteger && values.is_increasing() && values.At(0).i < 0;
  const uint32_t position = has_negative ? values.PositionNotBelow(0) : 0;
  return position < values.size() ? position : 0;
}

}  // namespace

ConstraintSolver::ConstraintSolver(const std::vector<TuningParameter>& parameters,
                                   const std::vector<Constraint>& constraints,
                                   const std::vector<int>& group_of_constraint)
    : parameters_(parameters),
      system_(RulesOf(parameters, constraints, group_of_constraint)),
      reader_(system_),
      rules_of_(system_.variables()),
      weights_(system_.rules.size(), 1),
      certain_{OpenValues({}, 0), std::vector<uint8_t>(system_.rules.size())} {
  std::vector<int> always;
  for (int n = 0; n < std::ssize(system_.rules); ++n) {
    const Rule& rule = system_.rules[n];
    groups_ = std::max(groups_, rule.group + 1);
    certain_.is_settled[n] = rule.group >= 0 ? 1 : 0;
    if (rule.group < 0) always.push_back(n);
    for (const Rule::Use& use : rule.uses) rules_of_[use.variable].push_back(n);
  }
  for (const ParameterValues& values : system_.values) wanted_.push_back(UsualPosition(values));
  const size_t words = static_cast<size_t>(groups_ + MostDepth(parameters, system_)) / 64 + 1;
  conflict_ = why_ = Reasons(words);
  certain_.open = OpenValues(SizesOf(parameters, system_), words);
  is_possible_ = Narrow(certain_, std::move(always));
}

// Why a rule closes values, or is broken.
void ConstraintSolver::NoteWhy(const Rule& rule, const OpenValues& open) {
  why_.Clear();
  if (rule.group >= 0) why_.Add(rule.group);
  for (const Rule::Use& use : rule.uses) why_.Add(open.why(use.variable));
}

// Reads rules, and those of variables that lose values, until there is no more to close, or so
// many. False if one is broken; then conflict_ says why.
bool ConstraintSolver::Narrow(State& state, std::vector<int> rules, size_t most_reads) {
  std::vector<uint8_t> is_waiting(system_.rules.size());
  for (const int rule : rules) is_waiting[rule] = 1;
  std::vector<int> changed;
  for (size_t next = 0; next < rules.size() && next < most_reads; ++next) {
    const int number = rules[next];
    is_waiting[number] = 0;
    const Rule& rule = system_.rules[number];
    if (rule.term < 0 && state.is_settled[number] != 0) continue;
    changed.clear();
    const RuleReader::Finding finding = reader_.Read(rule, state.open, changed);
    if (finding == RuleReader::Finding::kBroken) {
      weights_[number] += 1;
      NoteWhy(rule, state.open);
      conflict_ = why_;
      return false;
    }
    state.is_settled[number] = finding == RuleReader::Finding::kSettled ? 1 : 0;
    for (const int variable : changed) {
      NoteWhy(rule, state.open);
      state.open.AddWhy(variable, why_.words());
      for (const int other : rules_of_[variable]) {
        // Whatever made it certain that a term has one of its open values, there are fewer now.
        if (system_.rules[other].term == variable) state.is_settled[other] = 0;
        if (is_waiting[other] != 0) continue;
        if (system_.rules[other].term < 0 && state.is_settled[other] != 0) continue;
        is_waiting[other] = 1;
        rules.push_back(other);
      }
    }
  }
  return true;
}

// The parameter or condition of the fewest values in the rules that were broken most; -1 if
// whatever is open will do.
int ConstraintSolver::VariableToChoose(const State& state) const {
  std::vector<double> weights(rules_of_.size());
  for (size_t n = 0; n < system_.rules.size(); ++n) {
    if (state.is_settled[n] != 0) continue;
    for (const Rule::Use& use : system_.rules[n].uses) weights[use.variable] += weights_[n];
  }
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int variable = 0; variable < system_.variables(); ++variable) {
    const uint32_t count = state.open.count(variable);
    if (count == 1 || weights[variable] == 0) continue;
    if (variable >= system_.parameters() && !system_.IsCondition(variable)) continue;
    const double cost = count / weights[variable];
    if (cost >= least) continue;
    least = cost;
    best = variable;
  }
  return best;
}

PositionRange ConstraintSolver::ValuesToTry(const OpenValues& open, int variable) {
  const uint32_t first = open.first(variable), last = open.last(variable);
  if (variable >= system_.parameters()) {
    const uint32_t position = is_random_ && rng_() % 2 == 0 ? last : first;
    return {position, position};
  }
  const uint32_t wanted = std::clamp(wanted_[variable], first, last);
  if (open.count(variable) > kMostEnumerated) {
    const uint32_t middle = first + (last - first) / 2;
    return wanted <= middle ? PositionRange{first, middle} : PositionRange{middle + 1, last};
  }
  if (!open.is_listed(variable)) return {first, first};
  if (open.IsOpen(variable, wanted) && !is_random_) return {wanted, wanted};
  uint32_t position = first;
  if (is_random_) {
    for (uint64_t n = rng_() % open.count(variable); n > 0; --n) {
      position = open.Next(variable, position);
    }
  }
  return {position, position};
}

std::vector<int> ConstraintSolver::OpenRules(const State& state) const {
  std::vector<int> open;
  for (int n = 0; n < std::ssize(system_.rules); ++n) {
    if (state.is_settled[n] == 0) open.push_back(n);
  }
  return open;
}

bool ConstraintSolver::Stops() {
  if (--left_ % kChoicesPerQuestion == 0 && *gives_up_ && (*gives_up_)()) has_given_up_ = true;
  return left_ <= 0 || has_given_up_;
}

// The choice alone is why other values are closed, unless it leaves several.
void ConstraintSolver::Choose(int variable, PositionRange values, int choice, OpenValues& open) {
  open.CloseBelow(variable, values.first);
  open.CloseAbove(variable, values.last);
  why_.Clear();
  if (values.first != values.last) why_.Add(open.why(variable));
  why_.Add(choice);
  open.SetWhy(variable, why_.words());
}

// What there is behind so many choices. Refuted: conflict_ says why.
ConstraintSolver::End ConstraintSolver::Dive(State state, int depth) {
  const int choice = groups_ + depth;
  for (;;) {
    const int variable = VariableToChoose(state);
    if (variable < 0) {
      if (!Narrow(state, OpenRules(state))) return End::kRefuted;
      if (VariableToChoose(state) >= 0) continue;
      for (int p = 0; p < system_.parameters(); ++p) found_.push_back(state.open.first(p));
      return End::kFound;
    }
    if (Stops()) return End::kStopped;
    const PositionRange tried = ValuesToTry(state.open, variable);
    State inside = state;
    Choose(variable, tried, choice, inside.open);
    if (Narrow(inside, rules_of_[variable], MostReads())) {
      const End end = Dive(std::move(inside), depth + 1);
      if (end != End::kRefuted) return end;
    }
    // Whatever is chosen here, it is refuted.
    if (!conflict_.Has(choice)) return End::kRefuted;
    conflict_.Remove(choice);
    state.open.AddWhy(variable, conflict_.words());
    state.open.Close(variable, tried);
    if (state.open.count(variable) == 0) {
      conflict_.Clear();
      conflict_.Add(state.open.why(variable));
      return End::kRefuted;
    }
    if (!Narrow(state, rules_of_[variable], MostReads())) return End::kRefuted;
  }
}

ConstraintSolver::Answer ConstraintSolver::Find(const std::vector<int>& groups,
                                                const GivesUp& gives_up, int64_t most_choices) {
  using Outcome = Answer::Outcome;
  const auto empty = [&] {
    Answer answer{Outcome::kEmpty};
    for (const int group : groups) {
      if (is_possible_ && conflict_.Has(group)) answer.groups.push_back(group);
    }
    return answer;
  };
  if (gives_up && gives_up()) return {Outcome::kGivenUp};
  if (!is_possible_) return empty();
  State state = certain_;
  std::vector<int> rules;
  for (int n = 0; n < std::ssize(system_.rules); ++n) {
    const int group = system_.rules[n].group;
    if (group < 0 || std::ranges::find(groups, group) == groups.end()) continue;
    state.is_settled[n] = 0;
    rules.push_back(n);
  }
  if (!Narrow(state, std::move(rules))) return empty();
  gives_up_ = &gives_up;
  has_given_up_ = is_random_ = false;
  found_.clear();
  for (int64_t choices = kFirstChoices; most_choices > 0; choices *= 2) {
    left_ = std::min(choices, most_choices);
    most_choices -= left_;
    const End end = Dive(state, 0);
    if (end == End::kRefuted) return empty();
    if (end == End::kFound) break;
    if (has_given_up_) return {Outcome::kGivenUp};
    is_random_ = true;
  }
  if (found_.empty() && !parameters_.empty()) return {Outcome::kUnknown};
  Answer answer{Outcome::kFound};
  for (size_t p = 0; p < found_.size(); ++p) {
    answer.configuration.push_back(parameters_[p].range.CodeAt(found_[p]));
  }
  wanted_ = found_;
  return answer;
}

}  // namespace mdh
