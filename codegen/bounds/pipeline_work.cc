#include "codegen/bounds/pipeline_work.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/expression/touched_elements.h"

namespace mdh {
namespace {

using Role = PipelineBuffer::Role;

// What a step makes of its inputs that a sum of products behind it could make itself.
enum class Linear {
  kNone,     // something else
  kCopy,     // the same values, or sums of them
  kProduct,  // products, or sums of products
};

Linear LinearPart(const Expression& e) {
  const ScalarFunction& f = e.function();
  if (e.store() != nullptr || e.has_prefix_sum() || f.results().size() != 1) return Linear::kNone;
  if (e.has_reduction() && e.reduction().kinds()[0] != PointWiseKind::kAdd) return Linear::kNone;
  const ScalarInstruction* root = &f.instructions()[f.result_instructions()[0]];
  while (root->op == ScalarOp::kCast) root = &f.instructions()[root->operands[0]];
  switch (root->op) {
    case ScalarOp::kParameter:
      return Linear::kCopy;
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kNeg:
      return Linear::kProduct;
    default:
      return Linear::kNone;
  }
}

class PipelineCounter {
 public:
  explicit PipelineCounter(const Pipeline& pipeline)
      : pipeline_(pipeline), needed_(pipeline.steps().size(), false) {}

  ComputationWork Count() {
    FindNeeded();
    CountBytes();
    const std::vector<bool> regrouped = Regrouped();
    for (size_t s = 0; s < needed_.size(); ++s) {
      CertainWork work;
      if (needed_[s] && !regrouped[s]) work = CertainWorkOf(step(s).expression);
      work_.steps.push_back({&step(s).expression, work});
    }
    ShareVectorWork();
    ShareContractions();
    std::erase_if(work_.steps, [](const StepWork& one) { return one.work.operations() == 0; });
    return std::move(work_);
  }

 private:
  const PipelineStep& step(size_t s) const { return pipeline_.steps()[s]; }
  Role role(int buffer) const { return pipeline_.buffers()[buffer].role; }

  // Bytes of a buffer that a step certainly reads.
  double BytesRead(size_t s, int buffer) const {
    double bytes = 0;
    for (size_t b = 0; b < step(s).inputs.size(); ++b) {
      if (step(s).inputs[b] != buffer) continue;
      bytes = std::max(
          bytes, static_cast<double>(InputBytes(step(s).expression, static_cast<int>(b)).lower));
    }
    return bytes;
  }

  // From the last step to the first one.
  void FindNeeded() {
    for (size_t s = needed_.size(); s-- > 0;) {
      const std::vector<int>& outputs = step(s).outputs;
      needed_[s] = std::ranges::all_of(
          outputs, [&](int buffer) { return role(buffer) == Role::kOutput || IsRead(buffer); });
    }
  }

  // Whether a step that is needed certainly reads every element.
  bool IsRead(int buffer) const {
    const auto all = static_cast<double>(pipeline_.buffers()[buffer].size_bytes());
    const std::vector<int> readers = pipeline_.Readers(buffer);
    return std::ranges::any_of(readers,
                               [&](int s) { return needed_[s] && BytesRead(s, buffer) >= all; });
  }

  void CountBytes() {
    for (const int buffer : pipeline_.BuffersOf(Role::kInput)) {
      double bytes = 0;
      for (const int s : pipeline_.Readers(buffer)) {
        if (needed_[s]) bytes = std::max(bytes, BytesRead(s, buffer));
      }
      work_.read_bytes += bytes;
    }
    for (const int buffer : pipeline_.BuffersOf(Role::kOutput)) {
      const PipelineStep& writer = step(pipeline_.writer(buffer));
      const auto at = std::ranges::find(writer.outputs, buffer);
      const auto b = static_cast<int>(at - writer.outputs.begin());
      work_.written_bytes += static_cast<double>(OutputBytes(writer.expression, b).lower);
    }
  }

  // By step: whether it is a product that leads to a sum, or a sum that a product leads to.
  std::vector<bool> Regrouped() const {
    std::vector<bool> regrouped(needed_.size(), false);
    for (size_t s = 0; s < needed_.size(); ++s) {
      if (LinearPart(step(s).expression) != Linear::kProduct) continue;
      for (const size_t next : BehindTemporaries(s)) {
        if (step(next).expression.has_reduction()) regrouped[s] = regrouped[next] = true;
      }
    }
    return regrouped;
  }

  // The steps that use what this one makes, or what linear ones make of it, as temporaries.
  std::set<size_t> BehindTemporaries(size_t s) const {
    std::set<size_t> found;
    std::vector<size_t> open = {s};
    while (!open.empty()) {
      const size_t from = open.back();
      open.pop_back();
      if (LinearPart(step(from).expression) == Linear::kNone) continue;
      for (const int buffer : step(from).outputs) {
        if (role(buffer) != Role::kTemporary) continue;
        for (const int reader : pipeline_.Readers(buffer)) {
          if (found.insert(static_cast<size_t>(reader)).second) {
            open.push_back(static_cast<size_t>(reader));
          }
        }
      }
    }
    return found;
  }

  // Steps that are connected by common inputs: their work on vectors goes to the first of them.
  void ShareVectorWork() {
    std::vector<size_t> leader(needed_.size());
    std::iota(leader.begin(), leader.end(), size_t{0});
    std::map<int, size_t> first_reader;
    const auto find = [&](size_t s) {
      while (leader[s] != s) s = leader[s];
      return s;
    };
    for (size_t s = 0; s < needed_.size(); ++s) {
      for (const int buffer : step(s).inputs) {
        const size_t other = first_reader.emplace(buffer, s).first->second;
        const size_t a = find(s), b = find(other);
        leader[std::max(a, b)] = std::min(a, b);
      }
    }
    for (size_t s = 0; s < needed_.size(); ++s) {
      const size_t to = find(s);
      if (to == s) continue;
      for (const RealKind kind : kRealKinds) {
        ArithmeticWork& all = work_.steps[to].work.of(kind);
        all = Larger(all, work_.steps[s].work.of(kind));
        work_.steps[s].work.of(kind) = {};
      }
    }
  }

  void ShareContractions() {
    std::map<std::set<int>, size_t> first;
    for (size_t s = 0; s < needed_.size(); ++s) {
      const std::set<int> inputs(step(s).inputs.begin(), step(s).inputs.end());
      const auto [known, is_new] = first.emplace(inputs, s);
      if (is_new) continue;
      ArithmeticWork& all = work_.steps[known->second].work.contraction;
      // What remains is asked for at the rate of the first one, which may be the slower one.
      if (all.operations() >= work_.steps[s].work.contraction.operations()) {
        work_.steps[s].work.contraction = {};
      } else {
        all = {};
        known->second = s;
      }
    }
  }

  const Pipeline& pipeline_;
  std::vector<bool> needed_;  // by step
  ComputationWork work_;
};

}  // namespace

ComputationWork WorkOfComputation(ComputationView computation) {
  if (computation.pipeline() != nullptr) return PipelineCounter(*computation.pipeline()).Count();
  const CertainWork work = CertainWorkOf(*computation.expression());
  return {.steps = {{computation.expression(), work}},
          .read_bytes = work.read_bytes,
          .written_bytes = work.written_bytes};
}

}  // namespace mdh
