#include "codegen/backends/next_part.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/program/loop_program_walk.h"
#include "codegen/program/operation_cost.h"

namespace mdh {
namespace {

// Below, parts that follow each other look like one row to the processor, which reads ahead itself.
constexpr int64_t kLeastLines = 128;
// So many parts fit into the second level: what is read, what comes next, and temporaries.
constexpr int64_t kPartsInCache = 4;

bool IsVectorOf(const ValueNode& value, const std::string& pointer) {
  const auto* load = std::get_if<LoadElements>(&value.form);
  return load != nullptr && load->pointer == pointer && load->stride == 1 && value.type.lanes > 1;
}

// Additions that the step's program takes for one vector that it loads from the buffer, in the
// text; 0: it loads none.
double WorkOfLoad(const LoopProgram& program, const std::string& pointer) {
  double work = 0, loads = 0;
  const BlockVisitor visitor = {.value = [&](const ValueNode& value) {
    loads += IsVectorOf(value, pointer) ? 1 : 0;
    const auto* operation = std::get_if<LoopOperation>(&value.form);
    if (operation != nullptr && value.type.lanes > 1) work += OperationCost(operation->op);
  }};
  for (const Function& function : program.functions) Visit(function.body, visitor);
  for (const Stage& stage : program.stages) Visit(stage.body, visitor);
  return loads == 0 ? 0 : work / loads;
}

// Every statement that loads vectors from the buffer behind requests for elements so far behind
// them, one for each cache line of a block.
class Requests : public Rewriter {
 public:
  Requests(const std::string& pointer, int64_t ahead, int64_t line_elements)
      : pointer_(pointer), ahead_(ahead), line_elements_(line_elements) {}

  Block RewriteBlock(const Block& block) override {
    std::vector<Index> outside = std::exchange(requested_, {});
    Block result = Rewriter::RewriteBlock(block);
    requested_ = std::move(outside);
    return result;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    if (const auto* declared = std::get_if<DeclareValue>(&statement.form)) {
      Request(declared->value, out);
    } else if (const auto* assigned = std::get_if<Assign>(&statement.form)) {
      Request(assigned->value, out);
    }
    Rewriter::RewriteStatement(statement, out);
  }

 private:
  void Request(const LoopValue& value, Block& out) {
    Visit(
        value, {.value = [&](const ValueNode& node) {
          if (!IsVectorOf(node, pointer_)) return;
          const Index offset = std::get<LoadElements>(node.form).offset;
          const bool is_requested = std::ranges::any_of(requested_, [&](const Index& other) {
            const std::optional<int64_t> apart = ConstantDifference(offset, other);
            return apart.has_value() && *apart >= 0 && *apart < line_elements_;
          });
          if (is_requested) return;
          requested_.push_back(offset);
          out.push_back({PrefetchElement{pointer_, offset + Index(ahead_), /*for_writing=*/false}});
        }});
  }

  const std::string pointer_;
  const int64_t ahead_, line_elements_;
  std::vector<Index> requested_;  // in this block
};

class NextPart {
 public:
  NextPart(absl::Span<KernelProgram> programs, const PartsInTurn& parts,
           const DeviceDescription& device)
      : programs_(programs), parts_(parts), device_(device) {
    for (size_t s = 0; s < programs_.size(); ++s) {
      const JointPart::Step& step = parts_.part.steps[s];
      for (size_t n = 0; n < step.inputs.size(); ++n) {
        readers_[step.inputs[n].buffer].push_back({s, n});
      }
      for (const PartBuffer& output : step.outputs) written_.insert(output.buffer);
    }
  }

  void Request() {
    for (const auto& [buffer, readers] : readers_) {
      const int64_t ahead = written_.contains(buffer) ? 0 : ElementsToNextPart(readers);
      if (ahead > 0) RequestAhead(readers, ahead);
    }
  }

 private:
  struct Reader {
    size_t step, input;
  };

  const PartBuffer& PlaceOf(const Reader& reader) const {
    return parts_.part.steps[reader.step].inputs[reader.input];
  }
  const KernelArgument& ArgumentOf(const Reader& reader) const {
    return programs_[reader.step].arguments[reader.input];
  }

  // 0: there is no next part of it, or requests do not pay.
  int64_t ElementsToNextPart(const std::vector<Reader>& readers) const {
    const PartBuffer& place = PlaceOf(readers[0]);
    const ElementType& type = ArgumentOf(readers[0]).type;
    const bool is_same =
        std::ranges::all_of(readers, [&](const Reader& other) { return PlaceOf(other) == place; });
    if (!is_same || place.kind != PartBuffer::Kind::kWhole || type.is_record()) return 0;
    int64_t number = 1, ahead = 0;
    for (size_t k = 0; k < place.moves.size(); ++k) {
      const int64_t parts = parts_.extents[k] / parts_.points[k];
      number *= parts;
      if (parts > 1) ahead = place.moves[k] * parts_.points[k];
    }
    const int64_t bytes = ahead * type.size_bytes();
    const bool pays = bytes >= kLeastLines * device_.cache_line_bytes &&
                      bytes * kPartsInCache <= device_.l2_bytes &&
                      bytes * number > device_.l2_bytes;
    return pays ? ahead : 0;
  }

  void RequestAhead(const std::vector<Reader>& readers, int64_t ahead) {
    const Reader* best = nullptr;
    double most = 0;
    for (const Reader& reader : readers) {
      if (reader.step == readers[0].step) continue;
      const double work = WorkOfLoad(programs_[reader.step].program, ArgumentOf(reader).name);
      if (work > 0 && work >= most) best = &reader;
      most = std::max(most, work);
    }
    if (best == nullptr) return;
    const KernelArgument& argument = ArgumentOf(*best);
    const int64_t line = device_.cache_line_bytes / argument.type.size_bytes();
    LoopProgram& program = programs_[best->step].program;
    program = RewriteBodies(std::move(program), [&](const Block& block) {
      return Requests(argument.name, ahead, line).RewriteBlock(block);
    });
  }

  const absl::Span<KernelProgram> programs_;
  const PartsInTurn& parts_;
  const DeviceDescription& device_;
  std::map<int, std::vector<Reader>> readers_;  // by buffers of the pipeline, in the order of steps
  std::set<int> written_;
};

}  // namespace

void RequestNextPart(absl::Span<KernelProgram> programs, const PartsInTurn& parts,
                     const DeviceDescription& device) {
  NextPart(programs, parts, device).Request();
}

}  // namespace mdh
