// Copies of a loop's next parts that are made ahead of the computation of the part at hand: what
// passes that do so share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "codegen/program/loop_program.h"
#include "codegen/program/loop_program_walk.h"
#include "codegen/program/scalar_code.h"

namespace mdh {

// What they all expect: a program in which a name that is in scope is not declared again, and in
// which the array of a CopyRegion is read only between a Barrier after the region and the next
// Barrier that the region's block has.

// The arrays that a block declares anywhere, by name.
std::map<std::string, DeclareArray> ArraysIn(const Block& body);

// The region, a statement of the loop's body, such that it copies the part of any value of the
// loop's variable wherever the loop could stand: index variables that the loop declares are
// replaced by their values. nullopt unless
//   - its array is shared, and nothing but this region stores to it in the loop;
//   - nothing in `program`, the body around the loop, points into the array;
//   - it reads no memory that the loop writes, and no values or pointers declared in it.
std::optional<CopyRegion> CopyAhead(const CopyRegion& region, const For& loop, const Block& program,
                                    const std::map<std::string, DeclareArray>& arrays);

// The body of a loop without the regions of these arrays, the comments on them, the barriers that
// waited for nothing else, and its last barrier. Expects a body that ends with a barrier.
Block WithoutRegions(const Block& body, const std::set<std::string>& arrays);

// Whether the statement neither accesses memory nor waits.
bool IsPassive(const Statement& statement);

// The block with this value in place of the variable.
Block AtPart(const Block& block, const std::string& variable, const Index& value);

// The block in which what it declares has names that nothing else has.
Block WithOwnNames(const Block& block, NameAllocator& names);

// Loads from these arrays are from part number `part` of as many elements as they map to.
class PartSelector : public Rewriter {
 public:
  // Refers to both arguments.
  PartSelector(const std::map<std::string, int64_t>& elements, const Index& part)
      : elements_(elements), part_(part) {}

 protected:
  LoopValue RewriteValue(const LoopValue& value) override;

 private:
  const std::map<std::string, int64_t>& elements_;
  const Index& part_;
};

// Gives loops of a stage's body pipelines, those inside first, and room for several parts to the
// arrays that are copied ahead.
class LoopPipeliner : public Rewriter {
 public:
  // Refers to `body`.
  explicit LoopPipeliner(const Block& body);

  Block Rewrite();

 protected:
  void RewriteStatement(const Statement& statement, Block& out) override;
  // What comes in place of the loop; nothing: it stays as it is.
  virtual Block Pipelined(const For& loop) = 0;

  const Block& body_;
  const std::map<std::string, DeclareArray> arrays_;
  NameAllocator names_;
  std::map<std::string, int64_t> parts_;  // of arrays that become larger
};

}  // namespace mdh
