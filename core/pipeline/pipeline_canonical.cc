// Canonical form of pipelines.
#include "core/pipeline/pipeline_canonical.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/expression/canonical.h"

namespace mdh {
namespace {

class CanonicalSteps {
 public:
  explicit CanonicalSteps(const Pipeline& pipeline)
      : pipeline_(pipeline),
        source_(pipeline.buffers().size()),
        number_(pipeline.steps().size(), -1) {
    const std::vector<int> inputs = pipeline.BuffersOf(PipelineBuffer::Role::kInput);
    for (size_t n = 0; n < inputs.size(); ++n) source_[inputs[n]] = absl::StrCat("i", n);
    for (const int output : pipeline.BuffersOf(PipelineBuffer::Role::kOutput)) {
      Visit(pipeline.writer(output));
      outputs_.push_back(source_[output]);
    }
    for (size_t n = 0; n < inputs.size(); ++n) inputs_.push_back(absl::StrCat("i", n));
  }

  std::string Text() const {
    if (IsOneExpression()) return forms_[0];
    std::string text = "mdh-pipeline-canonical 1\n";
    for (size_t n = 0; n < forms_.size(); ++n) {
      absl::StrAppend(&text, "step ", absl::StrJoin(sources_[n], ","), "\n", forms_[n]);
    }
    return absl::StrCat(text, "outputs ", absl::StrJoin(outputs_, ","), "\n");
  }

 private:
  // Numbers a step after those that it reads from. Pipelines have few steps: recursion is no
  // danger.
  void Visit(int s) {
    if (number_[s] >= 0) return;
    const PipelineStep& step = pipeline_.steps()[s];
    std::vector<std::string> sources;
    for (const int input : step.inputs) {
      if (const int writer = pipeline_.writer(input); writer >= 0) Visit(writer);
      sources.push_back(source_[input]);
    }
    std::string form = CanonicalForm(step.expression);
    const auto [entry, is_new] =
        numbers_.try_emplace({form, sources}, static_cast<int>(forms_.size()));
    number_[s] = entry->second;
    if (is_new) {
      forms_.push_back(std::move(form));
      sources_.push_back(std::move(sources));
    }
    for (size_t n = 0; n < step.outputs.size(); ++n) {
      source_[step.outputs[n]] = absl::StrCat("s", number_[s], ".", n);
    }
  }

  bool IsOneExpression() const {
    if (forms_.size() > 1 || sources_[0] != inputs_) return false;
    const size_t outputs = pipeline_.steps()[0].outputs.size();
    for (size_t n = 0; n < outputs_.size(); ++n) {
      if (outputs_[n] != absl::StrCat("s0.", n)) return false;
    }
    return outputs_.size() == outputs;
  }

  const Pipeline& pipeline_;
  std::vector<std::string> source_;  // of every buffer, once it is known
  std::vector<int> number_;          // of every step, -1: none yet
  std::map<std::pair<std::string, std::vector<std::string>>, int> numbers_;
  // Of the steps by number: canonical forms, and what they read.
  std::vector<std::string> forms_;
  std::vector<std::vector<std::string>> sources_;
  std::vector<std::string> inputs_, outputs_;  // of the pipeline
};

}  // namespace

std::string CanonicalForm(const Pipeline& pipeline) { return CanonicalSteps(pipeline).Text(); }

std::string Digest(const Pipeline& pipeline) { return Sha256Hex(CanonicalForm(pipeline)); }

}  // namespace mdh
