#include "core/expression/dependences.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/scalar/needed_instructions.h"

namespace mdh {
namespace {

constexpr size_t kMostExchanged = 64;  // instructions of f

AffineIndex Exchanged(AffineIndex index, int i, int j) {
  std::swap(index.coefficients[i], index.coefficients[j]);
  return index;
}

// The access of the same buffer that reads with i and j exchanged what `access` reads; -1: none.
int ExchangedAccess(const Buffer& buffer, int access, int i, int j) {
  IndexFunction sought = buffer.accesses[access];
  for (AffineIndex& index : sought.indices) index = Exchanged(std::move(index), i, j);
  const auto found = std::ranges::find(buffer.accesses, sought);
  return found == buffer.accesses.end() ? -1 : static_cast<int>(found - buffer.accesses.begin());
}

// By parameter the one that is with i and j exchanged what it is; nullopt: one has none.
std::optional<std::vector<int>> ExchangedParameters(const Expression& e, int i, int j) {
  const int count = static_cast<int>(e.function().parameters().size());
  std::vector<int> exchanged;
  for (int p = 0; p < count; ++p) {
    int other = -1;
    if (e.is_index(p)) {
      const int d = e.index_dimension(p), sought = d == i ? j : d == j ? i : d;
      for (int q = e.input_parameters(); q < count; ++q) {
        if (e.index_dimension(q) == sought) other = q;
      }
    } else {
      const Expression::AccessRef ref = e.input_access(p);
      const int access = ExchangedAccess(e.inputs()[ref.buffer], ref.access, i, j);
      for (int q = 0; q < e.input_parameters(); ++q) {
        const Expression::AccessRef of_q = e.input_access(q);
        if (of_q.buffer == ref.buffer && of_q.access == access && of_q.field == ref.field)
          other = q;
      }
    }
    if (other < 0) return std::nullopt;
    exchanged.push_back(other);
  }
  return exchanged;
}

// Whether instructions are equal where the one reads parameters and the other those that they are
// exchanged for.
class EqualInstructions {
 public:
  EqualInstructions(const ScalarFunction& f, const std::vector<int>& exchanged)
      : f_(f), exchanged_(exchanged) {}

  bool operator()(int n, int m) {
    const auto [found, is_new] = known_.try_emplace({n, m}, false);
    if (is_new) known_[{n, m}] = AreEqual(f_.instructions()[n], f_.instructions()[m]);
    return known_[{n, m}];
  }

 private:
  bool AreEqual(const ScalarInstruction& a, const ScalarInstruction& b) {
    if (a.op != b.op || a.type != b.type) return false;
    if (a.op == ScalarOp::kParameter) return exchanged_[a.parameter] == b.parameter;
    if (a.constant != b.constant || a.table != b.table) return false;
    if (a.operands.size() != b.operands.size()) return false;
    const auto equal = [&](size_t n, size_t m) { return (*this)(a.operands[n], b.operands[m]); };
    bool is_in_order = true;
    for (size_t n = 0; n < a.operands.size(); ++n) is_in_order = is_in_order && equal(n, n);
    return is_in_order || (Info(a.op).is_commutative && equal(0, 1) && equal(1, 0));
  }

  const ScalarFunction& f_;
  const std::vector<int>& exchanged_;
  std::map<std::pair<int, int>, bool> known_;
};

bool AreExchangeable(const Expression& e, int i, int j) {
  const auto is_concat = [&](int d) { return e.combine_operators()[d].is_concat(); };
  if (!is_concat(i) || !is_concat(j) || e.dimensions()[i].size != e.dimensions()[j].size) {
    return false;
  }
  const std::optional<std::vector<int>> exchanged = ExchangedParameters(e, i, j);
  if (!exchanged.has_value()) return false;
  EqualInstructions equal(e.function(), *exchanged);
  return std::ranges::all_of(e.function().result_instructions(),
                             [&](int result) { return equal(result, result); });
}

}  // namespace

DimensionSet ActiveDimensions(const Expression& expression) {
  DimensionSet active = 0;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.dimensions()[d].size > 1) active |= DimensionSet{1} << d;
  }
  return active;
}

DimensionSet ReducedDimensions(const Expression& expression) {
  DimensionSet reduced = 0;
  for (int d = 0; d < expression.rank(); ++d) {
    if (expression.is_reduction(d)) reduced |= DimensionSet{1} << d;
  }
  return reduced & ActiveDimensions(expression);
}

DimensionSet DimensionsOfParameter(const Expression& expression, int parameter) {
  DimensionSet uses = 0;
  if (expression.is_index(parameter)) {
    uses = DimensionSet{1} << expression.index_dimension(parameter);
  } else {
    const Expression::AccessRef ref = expression.input_access(parameter);
    const Buffer& buffer = expression.inputs()[ref.buffer];
    for (const AffineIndex& index : buffer.accesses[ref.access].indices) {
      for (int d = 0; d < expression.rank(); ++d) {
        if (index.coefficients[d] != 0) uses |= DimensionSet{1} << d;
      }
    }
  }
  return uses & ActiveDimensions(expression);
}

std::vector<DimensionSet> DimensionsOfInstructions(const Expression& expression) {
  std::vector<DimensionSet> uses;
  for (const ScalarInstruction& instruction : expression.function().instructions()) {
    DimensionSet of_this = instruction.op == ScalarOp::kParameter
                               ? DimensionsOfParameter(expression, instruction.parameter)
                               : 0;
    for (const int operand : instruction.operands) of_this |= uses[operand];
    uses.push_back(of_this);
  }
  return uses;
}

std::vector<int> Members(DimensionSet set) {
  std::vector<int> members;
  for (int d = 0; set != 0; ++d, set >>= 1) {
    if ((set & 1) != 0) members.push_back(d);
  }
  return members;
}

int64_t PointsAlong(const Expression& expression, const std::vector<int>& dimensions) {
  int64_t points = 1;
  for (const int d : dimensions) points *= expression.dimensions()[d].size;
  return points;
}

std::vector<bool> NeededResults(const Expression& e) {
  std::vector<bool> results(e.function().results().size(), true);
  if (e.store() != nullptr) {
    const ScalarFunction& s = e.store()->function;
    const std::vector<bool> taken =
        NeededParameters(s, std::vector<bool>(s.results().size(), true));
    std::copy_n(taken.begin(), results.size(), results.begin());
  }
  if (!e.has_reduction() && !e.has_prefix_sum()) return results;
  const std::vector<bool> operands = NeededParameters(e.reduction().function(), results);
  for (size_t r = 0; r < results.size(); ++r) {
    results[r] = operands[r] && operands[r + results.size()];
  }
  return results;
}

std::vector<std::vector<int>> ExchangeableDimensions(const Expression& e) {
  std::vector<std::vector<int>> groups;
  if (e.store() != nullptr || e.has_prefix_sum()) return groups;
  if (e.function().instructions().size() > kMostExchanged) return groups;
  // Exchanges compose: one member stands for all of its group.
  for (const int d : Members(ActiveDimensions(e))) {
    const auto group = std::ranges::find_if(
        groups, [&](const std::vector<int>& g) { return AreExchangeable(e, g.front(), d); });
    if (group == groups.end()) {
      groups.push_back({d});
    } else {
      group->push_back(d);
    }
  }
  std::erase_if(groups, [](const std::vector<int>& group) { return group.size() < 2; });
  return groups;
}

std::optional<ExchangeablePair> FirstExchangeablePair(const Expression& expression) {
  const std::vector<std::vector<int>> groups = ExchangeableDimensions(expression);
  if (groups.empty()) return std::nullopt;
  return ExchangeablePair{.row = groups[0][0], .column = groups[0][1]};
}

double MostEqualResults(const Expression& expression) {
  double results = 1;
  for (const std::vector<int>& group : ExchangeableDimensions(expression)) {
    for (size_t n = 2; n <= group.size(); ++n) results *= static_cast<double>(n);
  }
  return results;
}

// Of a group of m dimensions of n indices those whose indices ascend: (n+m-1 over m) of n^m.
double ShareOfDistinctResults(const Expression& expression) {
  double share = 1;
  for (const std::vector<int>& group : ExchangeableDimensions(expression)) {
    const auto size = static_cast<double>(expression.dimensions()[group[0]].size);
    for (size_t m = 0; m < group.size(); ++m) {
      share *= (size + static_cast<double>(m)) / (size * static_cast<double>(m + 1));
    }
  }
  return share;
}

}  // namespace mdh
