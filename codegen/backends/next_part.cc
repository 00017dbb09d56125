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
#include "core/base/round.h"

namespace mdh {
namespace {

// Below, parts that follow each other look like one row to the processor, which reads ahead itself.
constexpr int64_t kLeastLines = 128;
// So many parts fit into the second level: what is read, what comes next, and temporaries.
constexpr int64_t kPartsInCache = 4;
constexpr int64_t kPartsWithWritten = 5;

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

// Whether vectors of neighbours are stored there, for caches to keep.
bool IsVectorStore(const StoreElements& store, const std::string& pointer) {
  return store.pointer == pointer && store.stride == 1 && store.value->type.lanes > 1 &&
         !store.is_streaming;
}

// Every statement that loads vectors from the buffer, or stores them to it, behind requests for
// elements so far behind them, one for each cache line of a block.
class Requests : public Rewriter {
 public:
  Requests(const std::string& pointer, int64_t ahead, int64_t line_elements, bool for_writing)
      : pointer_(pointer),
        ahead_(ahead),
        line_elements_(line_elements),
        for_writing_(for_writing) {}

  Block RewriteBlock(const Block& block) override {
    std::vector<Index> outside = std::exchange(requested_, {});
    Block result = Rewriter::RewriteBlock(block);
    requested_ = std::move(outside);
    return result;
  }

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override {
    const auto* store = std::get_if<StoreElements>(&statement.form);
    if (const auto* declared = std::get_if<DeclareValue>(&statement.form)) {
      RequestLoads(declared->value, out);
    } else if (const auto* assigned = std::get_if<Assign>(&statement.form)) {
      RequestLoads(assigned->value, out);
    } else if (for_writing_ && store != nullptr && IsVectorStore(*store, pointer_)) {
      Request(store->offset, out);
    }
    Rewriter::RewriteStatement(statement, out);
  }

 private:
  void RequestLoads(const LoopValue& value, Block& out) {
    if (for_writing_) return;
    Visit(value, {.value = [&](const ValueNode& node) {
            if (!IsVectorOf(node, pointer_)) return;
            Request(std::get<LoadElements>(node.form).offset, out);
          }});
  }

  void Request(const Index& offset, Block& out) {
    const bool is_requested = std::ranges::any_of(requested_, [&](const Index& other) {
      const std::optional<int64_t> apart = ConstantDifference(offset, other);
      return apart.has_value() && *apart >= 0 && *apart < line_elements_;
    });
    if (is_requested) return;
    requested_.push_back(offset);
    out.push_back({PrefetchElement{pointer_, offset + Index(ahead_), for_writing_}});
  }

  const std::string pointer_;
  const int64_t ahead_, line_elements_;
  const bool for_writing_;
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
      if (!written_.contains(buffer)) RequestInputs(readers);
    }
    for (size_t s = 0; s < programs_.size(); ++s) {
      const std::vector<PartBuffer>& outputs = parts_.part.steps[s].outputs;
      const size_t inputs = programs_[s].arguments.size() - outputs.size();
      for (size_t n = 0; n < outputs.size(); ++n) {
        const KernelArgument& argument = programs_[s].arguments[inputs + n];
        const int64_t ahead = ElementsAhead(outputs[n], argument.type, /*for_writing=*/true);
        if (ahead > 0) RequestAhead(s, argument, ahead, /*for_writing=*/true);
      }
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

  // From what a part accesses to the same of the next part; where parts that follow each other in
  // memory are short, of what is written, to that of a later one. 0: there is none, or requests do
  // not pay.
  int64_t ElementsAhead(const PartBuffer& place, const ElementType& type, bool for_writing) const {
    if (place.kind != PartBuffer::Kind::kWhole || type.is_record()) return 0;
    int64_t number = 1;
    std::optional<int64_t> next;
    bool follow = true;
    for (size_t k = place.moves.size(); k-- > 0;) {
      const int64_t parts = parts_.extents[k] / parts_.points[k];
      if (parts == 1) continue;
      const int64_t move = place.moves[k] * parts_.points[k];
      if (!next) next = move;
      follow &= move == *next * number;
      number *= parts;
    }
    const int64_t size = type.size_bytes(), least = kLeastLines * device_.cache_line_bytes / size;
    int64_t ahead = next.value_or(0);
    const bool is_large = ahead * size * number > device_.l2_bytes;
    if (for_writing && follow && ahead > 0) ahead = RoundUp(std::max(least, ahead), ahead);
    const int64_t in_cache = for_writing ? kPartsWithWritten : kPartsInCache;
    return is_large && ahead >= least && ahead * size * in_cache <= device_.l2_bytes ? ahead : 0;
  }

  void RequestInputs(const std::vector<Reader>& readers) {
    const PartBuffer& place = PlaceOf(readers[0]);
    const int64_t ahead = ElementsAhead(place, ArgumentOf(readers[0]).type, /*for_writing=*/false);
    const bool is_same =
        std::ranges::all_of(readers, [&](const Reader& other) { return PlaceOf(other) == place; });
    if (!is_same || ahead == 0) return;
    const Reader* best = nullptr;
    double most = 0;
    for (const Reader& reader : readers) {
      if (reader.step == readers[0].step) continue;
      const double work = WorkOfLoad(programs_[reader.step].program, ArgumentOf(reader).name);
      if (work > 0 && work >= most) best = &reader;
      most = std::max(most, work);
    }
    if (best == nullptr) return;
    RequestAhead(best->step, ArgumentOf(*best), ahead, /*for_writing=*/false);
  }

  void RequestAhead(size_t step, const KernelArgument& argument, int64_t ahead, bool for_writing) {
    const int64_t line = device_.cache_line_bytes / argument.type.size_bytes();
    LoopProgram& program = programs_[step].program;
    program = RewriteBodies(std::move(program), [&](const Block& block) {
      return Requests(argument.name, ahead, line, for_writing).RewriteBlock(block);
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
