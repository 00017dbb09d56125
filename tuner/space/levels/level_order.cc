#include "tuner/space/levels/level_order.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace mdh {
namespace {

using Parameters = std::vector<int>;

// Larger components are ordered from one start only.
constexpr size_t kManyStarts = 12;

// Estimates know nothing of what constraints rule out, people who declare parameters do: their
// order is left only for one that promises so many times less work.
constexpr double kWorthwhile = 8;

// Work that no other order is looked for.
constexpr double kNegligible = 1000;

// Parameters that share an operation, in the order of their first parameter.
std::vector<Parameters> Components(const std::vector<Parameters>& of_operations, int count) {
  std::vector<int> leader(count);
  std::iota(leader.begin(), leader.end(), 0);
  const auto find = [&leader](int parameter) {
    while (leader[parameter] != parameter)
      parameter = leader[parameter] = leader[leader[parameter]];
    return parameter;
  };
  std::vector<bool> is_constrained(count);
  for (const Parameters& parameters : of_operations) {
    for (int parameter : parameters) {
      is_constrained[parameter] = true;
      const int a = find(parameters[0]);
      const int b = find(parameter);
      leader[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<Parameters> components(count);
  Parameters free;
  for (int parameter = 0; parameter < count; ++parameter) {
    (is_constrained[parameter] ? components[find(parameter)] : free).push_back(parameter);
  }
  components.push_back(free);
  std::erase_if(components, [](const Parameters& component) { return component.empty(); });
  return components;
}

// Chooses the order inside a component.
class ComponentOrder {
 public:
  ComponentOrder(const OperationGraph& graph, const std::vector<Parameters>& of_operations,
                 const std::vector<double>& sizes, const Parameters& component)
      : graph_(graph), of_operations_(of_operations), sizes_(sizes), component_(component) {
    is_chosen_.resize(sizes.size());
    known_.resize(of_operations.size());
    seen_.resize(of_operations.size());
    for (size_t number = 0; number < of_operations.size(); ++number) {
      if (!of_operations[number].empty() &&
          std::ranges::binary_search(component, of_operations[number][0])) {
        operations_.push_back(static_cast<int>(number));
      }
    }
  }

  Parameters Run() {
    Parameters best = component_;
    double least = WorkOf(component_) / kWorthwhile;
    // Each level looks at as many prefixes as its parameter has values.
    double fewest = 0;
    for (int parameter : component_) fewest += sizes_[parameter];
    for (int start : component_) {
      if (least * kWorthwhile <= kNegligible + fewest) break;
      const Parameters order = From(start);
      const double work = WorkOf(order);
      if (work < least) {
        least = work;
        best = order;
      }
      if (component_.size() > kManyStarts) break;
    }
    return best;
  }

 private:
  // The estimated number of prefixes that are looked at.
  double WorkOf(const Parameters& order) {
    for (int parameter : component_) is_chosen_[parameter] = false;
    double work = 0;
    double states = 0;  // as logarithm
    for (int parameter : order) {
      work += std::exp2(states + std::log2(sizes_[parameter]));
      is_chosen_[parameter] = true;
      states = LogStates();
    }
    return work;
  }

  // Always the parameter that leaves the fewest states.
  Parameters From(int start) {
    Parameters order = {start};
    for (int parameter : component_) is_chosen_[parameter] = parameter == start;
    while (order.size() < component_.size()) {
      int next = -1;
      double least = std::numeric_limits<double>::infinity();
      for (int parameter : component_) {
        if (is_chosen_[parameter]) continue;
        is_chosen_[parameter] = true;
        const double after = LogStates();
        is_chosen_[parameter] = false;
        if (after >= least && next >= 0) continue;
        least = after;
        next = parameter;
      }
      is_chosen_[next] = true;
      order.push_back(next);
    }
    return order;
  }

  double LogValues(const Parameters& parameters) const {
    double sum = 0;
    for (int parameter : parameters) {
      if (is_chosen_[parameter]) sum += std::log2(sizes_[parameter]);
    }
    return sum;
  }

  // Estimated number of different values of what is known of an operation.
  double LogDistinct(int number) const {
    const double combinations = LogValues(of_operations_[number]);
    const Operation& operation = graph_.operations()[number];
    if (operation.kind == ValueKind::kCondition) return std::min(combinations, 1.0);
    if (operation.kind == ValueKind::kReal) return combinations;
    const Bounds& bounds = graph_.bounds()[number];
    const double width = static_cast<double>(bounds.hi.i) - static_cast<double>(bounds.lo.i) + 1;
    return std::min(combinations, std::log2(width));
  }

  // Logarithm of the estimated number of prefixes that differ in what is still needed of them.
  double LogStates() {
    for (int number : operations_) {
      const Parameters& parameters = of_operations_[number];
      known_[number] =
          std::ranges::all_of(parameters, [this](int parameter) { return is_chosen_[parameter]; });
      seen_[number] = false;
    }
    double sum = 0;
    std::vector<bool> is_live(sizes_.size());
    const auto add = [&](int number) {
      if (seen_[number]) return;
      seen_[number] = true;
      sum += LogDistinct(number);
      for (int parameter : of_operations_[number]) {
        if (is_chosen_[parameter]) is_live[parameter] = true;
      }
    };
    for (int number : operations_) {
      if (known_[number]) continue;
      const Operation& operation = graph_.operations()[number];
      int known_operands = 0;
      for (int operand : operation.operands) {
        known_operands += !of_operations_[operand].empty() && known_[operand] ? 1 : 0;
      }
      const bool is_one_value = known_operands > 1 && IsChain(operation.code);
      if (is_one_value) {
        add(number);
        continue;
      }
      for (int operand : operation.operands) {
        if (!of_operations_[operand].empty() && known_[operand]) add(operand);
      }
    }
    double all = 0;
    for (int parameter : component_) {
      if (is_live[parameter]) all += std::log2(sizes_[parameter]);
    }
    return std::min(sum, all);
  }

  const OperationGraph& graph_;
  const std::vector<Parameters>& of_operations_;
  const std::vector<double>& sizes_;
  const Parameters& component_;
  std::vector<int> operations_;
  std::vector<bool> is_chosen_;
  std::vector<bool> known_;
  std::vector<bool> seen_;
};

}  // namespace

std::vector<int> OrderParameters(const OperationGraph& graph,
                                 const std::vector<RootCondition>& roots,
                                 const std::vector<double>& sizes) {
  std::vector<Parameters> of_operations = ParametersOfOperations(graph);
  const std::vector<bool> is_used = UsedOperations(graph, roots);
  for (size_t number = 0; number < is_used.size(); ++number) {
    if (!is_used[number]) of_operations[number].clear();
  }
  Parameters order;
  for (const Parameters& component : Components(of_operations, static_cast<int>(sizes.size()))) {
    const Parameters ordered = ComponentOrder(graph, of_operations, sizes, component).Run();
    order.insert(order.end(), ordered.begin(), ordered.end());
  }
  return order;
}

}  // namespace mdh
