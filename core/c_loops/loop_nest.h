// Loops: their dimensions, and integers that are affine in their variables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "core/base/status.h"
#include "core/c_loops/c_syntax.h"
#include "core/expression/index_function.h"

namespace mdh {

// for (variable = start; variable < start + step * size; variable += step). Point number n of the
// dimension is the iteration in which the variable is start + step * n.
//
// Where start or end depend on outer loops, start and size are those of the box around all
// iterations; a point of it is an iteration if all of `guards`, affine in the points of the loops
// up to this one, are at least 0.
struct Loop {
  std::string name;
  std::string declaration;
  ScalarType type;
  int64_t start;
  int64_t step;  // > 0
  int64_t size;
  size_t offset;
  std::vector<AffineIndex> guards = {};
};

struct CLoopNest {
  std::vector<Loop> loops;  // the outermost first
  const CNode* body;        // of the innermost
  // Local variables that stand before an inner loop, and how many loops are around them.
  struct Before {
    size_t loops;
    const CNode* statement;
  };
  std::vector<Before> before = {};
  // Statements behind inner loops, which are reduced; `outer` loops are around them.
  std::vector<const CNode*> after = {};
  size_t outer = 0;

  bool has_after() const { return !after.empty(); }
};

// Integers whose value is known before the loops run, and affine functions of the loop variables.
class IntegerEvaluator {
 public:
  // `bound`: values of variables by their declaration.
  IntegerEvaluator(const Source& source, std::map<std::string, int64_t> bound)
      : source_(source), bound_(std::move(bound)) {}

  const Source& source() const { return source_; }
  const std::vector<Loop>& loops() const { return loops_; }
  void SetLoops(std::vector<Loop> loops) { loops_ = std::move(loops); }
  // What follows stands behind the inner loops, from number `first` on.
  void EndLoops(size_t first) { first_ended_ = first; }
  // Errors: InvalidArgument at `node`, a use of the variable of a loop that has ended.
  Status CheckNotEnded(const CNode& node, int loop) const;
  // The number of the loop with this variable.
  std::optional<int> LoopOf(const std::string& declaration) const;
  std::optional<int64_t> BoundValue(const std::string& declaration) const;

  // Variables of the innermost body that hold an index.
  void Declare(const std::string& declaration, const CNode& value);
  void Forget(const std::string& declaration) { locals_.erase(declaration); }

  // nullopt: not known, or beyond 63 bits.
  std::optional<int64_t> Integer(const CNode& node) const;
  // Errors: InvalidArgument with position.
  Result<AffineIndex> Affine(const CNode& node) const;

 private:
  Result<AffineIndex> AffineReference(const CNode& node) const;
  Result<AffineIndex> AffineBinary(const CNode& node) const;
  AffineIndex Constant(int64_t value) const;
  Status NotAffine(const CNode& node) const;
  Status TooLarge(const CNode& node) const;

  const Source& source_;
  std::map<std::string, int64_t> bound_;
  std::vector<Loop> loops_;
  std::optional<size_t> first_ended_;
  std::map<std::string, AffineIndex> locals_;
};

// Adds the declarations of what `node` assigns to, and of what it declares.
void FindAssigned(const CNode& node, std::set<std::string>* assigned,
                  std::set<std::string>* declared);

// The nest that starts with `node`, a loop or a block with one: one loop in each, statements in the
// innermost one and, where inner loops are reduced, behind these. Errors: InvalidArgument with
// position.
Result<CLoopNest> ParseLoopNest(const CNode& node, const IntegerEvaluator& integers);

// `node` without parentheses and conversions.
const CNode& Unwrapped(const CNode& node);

}  // namespace mdh
