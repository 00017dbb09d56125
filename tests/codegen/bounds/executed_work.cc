#include "tests/codegen/bounds/executed_work.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "codegen/program/loop_program_walk.h"
#include "codegen/program/shuffled_stride.h"

namespace mdh {
namespace {

class OneThread {
 public:
  OneThread(const LoopProgram& program, int64_t vector_bytes)
      : program_(program), vector_bytes_(vector_bytes) {}

  ExecutedWork Count() {
    for (const Stage& stage : program_.stages) {
      names_ = {.indices = {{"thread", 0}, {"threads", 1}}, .flags = {}};
      Run(stage.body);
    }
    return work_;
  }

 private:
  struct Names {
    std::map<std::string, int64_t> indices;
    std::map<std::string, bool> flags;
  };

  int64_t At(const Index& index) const {
    switch (index.kind()) {
      case Index::Kind::kConstant:
        return index.constant();
      case Index::Kind::kVariable:
        return names_.indices.at(index.name());
      case Index::Kind::kShareBegin:
        return 0;
      case Index::Kind::kShareEnd:
        return index.shared_items();
      default:
        return Of(index.kind(), At(index.left()), At(index.right()));
    }
  }

  static int64_t Of(Index::Kind kind, int64_t a, int64_t b) {
    switch (kind) {
      case Index::Kind::kAdd:
        return a + b;
      case Index::Kind::kSub:
        return a - b;
      case Index::Kind::kMul:
        return a * b;
      case Index::Kind::kDiv:
        return a / b;
      case Index::Kind::kMod:
        return a % b;
      case Index::Kind::kXor:
        return a ^ b;
      default:
        return std::min(a, b);
    }
  }

  bool Holds(const Condition& c) const {
    switch (c.kind) {
      case Condition::Kind::kLess:
        return At(c.a) < At(c.b);
      case Condition::Kind::kEqual:
        return At(c.a) == At(c.b);
      case Condition::Kind::kFlag:
        return names_.flags.at(c.flag);
      case Condition::Kind::kNotFlag:
        break;
    }
    return !names_.flags.at(c.flag);
  }
  bool Hold(const std::vector<Condition>& all) const {
    return std::ranges::all_of(all, [&](const Condition& c) { return Holds(c); });
  }

  void Run(const Block& block) {
    for (const Statement& statement : block) {
      std::visit([&](const auto& form) { Run(form); }, statement.form);
    }
  }
  void Run(const DeclareIndex& s) { names_.indices[s.name] = At(s.value); }
  void Run(const DeclareFlag& s) { names_.flags[s.name] = Hold(s.all_of); }
  void Run(const ClearFlag& s) { names_.flags[s.name] = false; }
  void Run(const DeclareValue& s) { Load(s.value); }
  void Run(const Assign& s) { Load(s.value); }
  void Run(const StoreElements& s) { Load(s.value); }
  void Run(const If& s) {
    if (Hold(s.all_of)) {
      Run(*s.then_block);
    } else if (s.else_block != nullptr) {
      Run(*s.else_block);
    }
  }
  void Run(const For& s) {
    const int64_t end = At(s.end), slack = s.whole_steps ? s.step : 1;
    for (int64_t at = At(s.begin); at + slack <= end; at += s.step) {
      names_.indices[s.variable] = at;
      Run(*s.body);
    }
  }
  void Run(const ShareLoop& s) {
    for (int64_t item = 0; item < s.items; ++item) {
      names_.indices[s.variable] = item;
      Run(*s.body);
    }
  }
  void Run(const Call& s) {
    const Function& function = *std::ranges::find(program_.functions, s.function, &Function::name);
    Names inside;
    for (size_t n = 0; n < s.arguments.size(); ++n) {
      const Parameter& parameter = function.parameters[n];
      const Index* const index = std::get_if<Index>(&s.arguments[n]);
      if (parameter.kind == Parameter::Kind::kIndex) {
        inside.indices[parameter.name] =
            index != nullptr ? At(*index)
                             : names_.indices.at(std::get<std::string>(s.arguments[n]));
      } else if (parameter.kind == Parameter::Kind::kFlag) {
        inside.flags[parameter.name] = index != nullptr
                                           ? At(*index) != 0
                                           : names_.flags.at(std::get<std::string>(s.arguments[n]));
      }
    }
    std::swap(names_, inside);
    Run(function.body);
    std::swap(names_, inside);
  }
  // What computes nothing.
  template <typename Form>
  void Run(const Form& /*unused*/) {}

  void Load(const LoopValue& value) {
    Visit(value, {.value = [&](const ValueNode& node) {
            if (const auto* const load = std::get_if<LoadElements>(&node.form)) {
              LoadOne(node.type, load->stride);
            }
          }});
  }

  void LoadOne(const LoopValueType& type, int64_t stride) {
    const int64_t bytes = SizeBytes(type.scalar) * type.lanes;
    work_.loaded_bytes += bytes;
    if (type.lanes == 1 || std::abs(stride) <= kFarthestShuffled) return;
    work_.joins += type.lanes - std::max<int64_t>(1, bytes / vector_bytes_);
  }

  const LoopProgram& program_;
  const int64_t vector_bytes_;
  Names names_;
  ExecutedWork work_;
};

}  // namespace

ExecutedWork ExecutedWorkOf(const LoopProgram& program, int64_t vector_bytes) {
  return OneThread(program, vector_bytes).Count();
}

}  // namespace mdh
