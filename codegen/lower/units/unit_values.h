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
  // Appends statements that load and compute them: the name of an array of UnitPlan::held. Those
  // that do not exist are 0. `batch`: the point, but along m, n and k.
  std::string Emit(const Neighbours& neighbours, const UnitContext::Point& batch,
                   const Exists& exists, Block* block) const;

  // Sets neighbours in memory to what is there, or to 0.
  static void EmitElements(const LoopValueType& type, const std::string& from, const Index& at,
                           const std::string& target, const Index& to,
                           std::vector<Condition> conditions, Block* block);

 private:
  // A parameter of the operand's function that is loaded, `width` neighbours at once.
  struct Loaded {
    int parameter;
    Expression::AccessRef access;
    const Buffer* buffer;
    ScalarType type;
    int width;
    std::string array;  // of neighbours that are loaded at once
  };
  int64_t Run(const Neighbours& neighbours) const;
  std::vector<Loaded> LoadedOf(const Neighbours& neighbours) const;
  UnitContext::Point PointOf(const Neighbours& neighbours, const Index& at,
                             UnitContext::Point point, Block* block) const;
  void EmitRun(const std::vector<Loaded>& loaded, const UnitContext::Point& first, int along,
               int64_t run, const std::string& values, const Index& at, Block* block) const;
  void EmitLoads(const Loaded& loaded, const UnitContext::Point& first, int along, int64_t run,
                 Block* block) const;
  LoopValue Argument(const std::vector<Loaded>& loaded, int parameter,
                     const UnitContext::Point& point, const Index& in_run) const;

  UnitContext& context_;
  const ContractionOperand& operand_;
  const UnitOperandPlan& in_memory_;
  const std::vector<int>& own_;  // dimensions along m or n
  const std::vector<std::string> pointers_;
  const std::string name_;
};

}  // namespace mdh
