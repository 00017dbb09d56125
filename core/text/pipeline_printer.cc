// Printing pipelines so that they parse back.
#include "core/text/pipeline_printer.h"

#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/text/printer.h"

namespace mdh {
namespace {

// Definitions with names of their own, each once.
class Definitions {
 public:
  explicit Definitions(const std::string& pipeline) : names_{pipeline} {}

  // The name under which the expression is defined.
  const std::string& Add(const Expression& expression) {
    const std::string text = ToText(expression);
    const std::string body = text.substr(expression.name().size());
    const auto [entry, is_new] = name_of_body_.try_emplace(body);
    if (is_new) {
      entry->second = FreeName(expression.name());
      absl::StrAppend(&text_, "\n", entry->second, body);
    }
    return entry->second;
  }

  const std::string& text() const { return text_; }

 private:
  std::string FreeName(const std::string& wanted) {
    constexpr size_t kRoomForNumber = 8;  // names have at most 128 characters
    std::string name = wanted;
    for (int number = 2; !names_.insert(name).second; ++number) {
      name = absl::StrCat(wanted.substr(0, 128 - kRoomForNumber), "_", number);
    }
    return name;
  }

  std::set<std::string> names_;
  std::map<std::string, std::string> name_of_body_;
  std::string text_;
};

}  // namespace

std::string ToText(const Pipeline& pipeline) {
  const auto append_name = [&](std::string* out, int buffer) {
    absl::StrAppend(out, pipeline.buffers()[buffer].name);
  };
  const auto tuple = [&](const std::vector<int>& buffers) {
    return absl::StrCat("(", absl::StrJoin(buffers, ", ", append_name), ")");
  };
  const auto results = [&](const std::vector<int>& buffers) {
    return buffers.size() == 1 ? pipeline.buffers()[buffers[0]].name : tuple(buffers);
  };
  Definitions definitions(pipeline.name());
  std::vector<std::string> calls;
  for (const PipelineStep& step : pipeline.steps()) {
    calls.push_back(absl::StrCat("  ", results(step.outputs), " = ",
                                 definitions.Add(step.expression), tuple(step.inputs)));
  }
  return absl::StrCat(pipeline.name(), " := pipeline",
                      tuple(pipeline.BuffersOf(PipelineBuffer::Role::kInput)), " -> ",
                      results(pipeline.BuffersOf(PipelineBuffer::Role::kOutput)), " {\n",
                      absl::StrJoin(calls, ";\n"), "\n}\n", definitions.text());
}

}  // namespace mdh
