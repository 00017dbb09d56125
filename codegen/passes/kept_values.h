// What a loop over k reads of arrays that are copied ahead, in registers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/passes/pipelined_loop.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// Refers to its arguments.
class KeptValues : public Rewriter {
 public:
  KeptValues(const PipelinedLoop& loop, NameAllocator& names) : loop_(loop), names_(names) {}

  // The points of one k, which read registers; nullopt if they cannot, or if these would be more
  // than so many.
  std::optional<Block> Points(int64_t most_elements);

  // Registers for the values of the k at hand, and of the next one.
  Block Declare() const;

  // Loads values by `place_of`, where the loop over k has those of an iteration, into those at hand
  // or the next ones.
  Block Load(bool is_next, const std::function<Index(const Index& offset)>& place_of) const;

  // The next ones become those at hand.
  Block Advance() const;

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override;
  LoopValue RewriteValue(const LoopValue& value) override;

 private:
  struct Value {
    std::string array;
    Index offset;
    ScalarType type;
    std::vector<For> loops;  // that tell its elements apart, without bodies
    Index at;                // among the registers
    int64_t elements;
    std::string name, next;

    // Loops one behind the other may have the same variable, and different bounds.
    bool IsSame(const Value& other) const {
      const auto are_alike = [](const For& a, const For& b) {
        return a.variable == b.variable && a.begin == b.begin && a.end == b.end && a.step == b.step;
      };
      return array == other.array && offset == other.offset &&
             std::ranges::equal(loops, other.loops, are_alike);
    }
  };

  const Value& KeptFor(const LoadElements& load, ScalarType type);
  Statement InLoops(const Value& value, Statement statement) const;

  const PipelinedLoop& loop_;
  NameAllocator& names_;
  std::vector<For> loops_;  // around, unrolled
  int around_ = 0;          // other statements that have blocks
  std::set<std::string> declared_;
  std::vector<Value> values_;
  int64_t elements_ = 0;
  bool has_failed_ = false;
};

}  // namespace mdh
