// Values of operands of matrix units, from what is loaded.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/lower/units/unit_context.h"

namespace mdh {

// That the point is inside of a buffer with a boundary.
std::vector<Condition> InsideOf(const Expression& expression, Expression::AccessRef access,
                                const UnitContext::Point& point);

// Refers to `context`.
class UnitValues {
 public:
  UnitValues(UnitContext& context, bool is_a);

  // Neighbours, along m or n (`is_across`) or along k.
  struct Neighbours {
    Index own, along_k;  // of the first one
    bool is_across;
    int64_t count;
  };
  // Conditions for a run of neighbours that begins at a point along m or n, and along k.
  using Exists = std::function<std::vector<Condition>(const Index& own, const Index& along_k)>;

  // What is loaded for neighbours: an array for each parameter of the operand's function, whose
  // elements are read `width` at once. Declares them.
  struct Loaded {
    int parameter;
    Expression::AccessRef access;
    const Buffer* buffer;
    ScalarType type;
    int width;
    std::string array;
  };
  std::vector<Loaded> Declare(int64_t count, bool is_across, Block* block) const;
  // Loads those that exist. `batch`: the point, but along m, n and k.
  void EmitLoads(const std::vector<Loaded>& loaded, const Neighbours& neighbours,
                 const UnitContext::Point& batch, const Exists& exists, Block* block) const;
  // Computes them of what is loaded: the name of an array of UnitOperandPlan::held. Those that do
  // not exist are 0.
  std::string EmitValues(const std::vector<Loaded>& loaded, const Neighbours& neighbours,
                         const UnitContext::Point& batch, const Exists& exists, Block* block) const;

  // Sets neighbours in memory to what is there, or to 0.
  static void EmitElements(const LoopValueType& type, const std::string& from, const Index& at,
                           const std::string& target, const Index& to,
                           std::vector<Condition> conditions, Block* block);

 private:
  // Neighbours of which all exist, or none, and number `number` of these runs.
  static int64_t RunOf(const std::vector<Loaded>& loaded);
  static Neighbours RunAt(const Neighbours& neighbours, const Index& at, int64_t run);
  int Along(bool is_across) const;
  UnitContext::Point PointOf(const Neighbours& run, UnitContext::Point point, Block* block) const;
  void EmitRunOfLoads(const Loaded& loaded, const UnitContext::Point& first, int along, int64_t run,
                      const Index& at, Block* block) const;
  LoopValue LoadAt(const Loaded& loaded, const UnitContext::Point& point) const;

  UnitContext& context_;
  const ContractionOperand& operand_;
  const UnitOperandPlan& in_memory_;
  const std::vector<int>& own_;  // dimensions along m or n
  const std::vector<std::string> pointers_;
  const std::string name_;
};

}  // namespace mdh
