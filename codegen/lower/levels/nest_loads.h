// Where a loop nest reads its inputs: in place or in the copies of the plan; and the statements
// that make the copies (paper, D3, D4 and appendix E.1).
#pragma once

#include <string>
#include <vector>

#include "codegen/lower/levels/nest_context.h"
#include "codegen/program/index_range.h"

namespace mdh {

// Refers to `context`.
class NestLoads {
 public:
  explicit NestLoads(NestContext& context) : context_(context) {}

  // Declares the arrays of copies in shared memory.
  void DeclareShared(Block* block) const;
  bool HasCopies(int place, bool shared) const;
  // Copies in front of level `place` what is read from there on; barriers are the caller's.
  void EmitCopies(int place, bool shared, Block* block);
  // The value of parameter p of f at the point at hand.
  LoopValue Load(int parameter);
  // From here on, points need not exist in dimensions that are kept: loads read some other element
  // for them, as branches would make them wait for each other.
  void ReadBeyond() { reads_beyond_ = true; }
  // Whether some input is read in place at an index that depends on dimension d.
  bool ReadsInPlace(int d) const;
  // Whether making copies as if all points of dimension d existed, and as if they need not, differ
  // in no more than one minimum per copy: where no copy in shared memory and only neighbours that
  // are moved at once depend on it.
  bool HardlyDependsOn(int d) const;

 private:
  // A place in a buffer or copy: indices of all dimensions.
  struct Element {
    std::vector<Index> indices;  // of the buffer
    std::vector<bool> is_bound;  // per dimension: whether the index may be beyond the buffer

    std::vector<Condition> Inside(const Buffer& buffer) const;  // what makes it exist
  };

  // What a thread copies in one round of a loop over `round`.
  struct Item {
    Index number;  // a variable
    std::string round;
    Index round_at, thread;  // numbers, of the round and of the thread among so many
    int64_t threads;
    Index sum;           // what `number` is
    IndexRanges ranges;  // of its variables

    Index Digit(int64_t divisor, int64_t extent) const;
  };

  const Expression& expression() const { return context_.expression(); }
  std::string Describe(const NestCopy& copy) const;
  void Declare(const NestCopy& copy, Block* block) const;
  const NestCopy* CopyOf(int input, const NestCopy* before) const;
  bool IsInBox(const NestCopy& copy, int n) const;
  // c of buffer dimension x in the dimension of place n, and c * tile: per part at that place.
  int64_t Coefficient(int input, int x, int n) const;
  int64_t Stride(int input, int x, int n) const;
  // Position in dimension x of `copy` of what the levels outside of `inner`'s box and `position` in
  // that box mean (nullptr: all levels), plus `constant` indices of the buffer.
  Index PositionIn(const NestCopy& copy, const NestCopy* inner, int x, const Index& position,
                   int64_t constant) const;
  bool MayReachBeyond(const NestCopy& copy, int x) const;
  Element ElementAt(const NestCopy& copy, const std::vector<Index>& positions) const;
  Index Clamped(const NestCopy& copy, int x, const Index& position, int64_t width) const;
  bool AreOneDimension(const NestCopy& copy, int x, int y) const;
  std::vector<Index> PositionsOf(const NestCopy& copy, int64_t width, const Item& item) const;
  int64_t RunOf(const NestCopy& copy, int64_t width) const;
  int64_t Width(const NestCopy& copy) const;
  Item ItemOf(const std::string& at, const std::string& round, const Index& number,
              int64_t rounds) const;
  void EmitItems(const NestCopy& copy, int64_t width, const Item& item, int64_t most, Block* block);
  void EmitSharedCopy(const NestCopy& copy, Block* block);
  void EmitPrivateCopy(const NestCopy& copy, Block* block);
  void EmitElement(const NestCopy& copy, const std::vector<Index>& positions, int64_t width,
                   Block* block);
  std::vector<int> SourceOrder(const NestCopy& copy) const;

  Index ClampedPoint(int d) const;
  bool IsClamped(int d) const {
    return reads_beyond_ && context_.IsGuarded(d) && !expression().is_reduction(d);
  }

  NestContext& context_;
  bool reads_beyond_ = false;
};

}  // namespace mdh
