// Joint limits of schedules: `require bytes(A, L2) + bytes(B, L2) <= 524288`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/expression/expression.h"
#include "core/schedule/cursor.h"
#include "core/schedule/names.h"

namespace mdh {

// A formula over what decompositions have, with integers as values; conditions are 0 and 1.
struct Limit {
  enum class Op : uint8_t {
    kNumber,
    kTile,       // extent of a part on (layer, dimension)
    kParts,      // number of parts on (layer, dimension)
    kBytes,      // of input or output `buffer` that a part of `layer` needs
    kThreads,    // of a block; of CPUs, parts of the computation that cores take
    kRegisters,  // words of 32 bits that a thread keeps in registers
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,     // rounded towards minus infinity
    kRemainder,  // of that
    kMin,
    kMax,
    kLess,
    kLessEqual,
    kEqual,
    kNotEqual,
    kAnd,
    kOr,
    kNot,
  };

  Op op = Op::kNumber;
  int64_t number = 1;
  int layer = -1, dimension = -1, buffer = -1;
  bool is_output = false;  // the buffer
  std::vector<Limit> operands = {};

  bool is_condition() const { return op >= Op::kLess; }
};

// Reads a condition up to the end of the line. Errors: InvalidArgument at the place: names that
// there are not, numbers where conditions are expected and the other way round.
Result<Limit> ParseLimit(const ScheduleNames& names, ScheduleCursor* cursor);
// Reads back to the same.
std::string ToText(const Limit& limit, const ScheduleNames& names);

// What the leaves of a limit are of one decomposition.
class LimitValues {
 public:
  virtual ~LimitValues() = default;
  virtual int64_t Tile(int layer, int dimension) const = 0;
  virtual int64_t Parts(int layer, int dimension) const = 0;
  virtual int64_t Bytes(int buffer, bool is_output, int layer) const = 0;
  virtual int64_t Threads() const = 0;
  virtual int64_t Registers() const = 0;
};

// nullopt: a division by zero, or numbers beyond 64 bits.
std::optional<int64_t> Evaluate(const Limit& limit, const LimitValues& values);

}  // namespace mdh
