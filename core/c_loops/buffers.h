// The arrays that an innermost body reads and writes: buffers, and their accesses.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/c_loops/evaluator.h"
#include "core/c_loops/loop_nest.h"
#include "core/expression/expression.h"

namespace mdh {

// One access of a buffer.
struct CAccess {
  IndexFunction index;
  size_t offset;        // of its first appearance
  int first_parameter;  // number of the parameter that stands for its first field
  std::string state;    // outputs: its name in Evaluator::state()
  // Where it stands; in neither if it is in what stands before loops only.
  bool is_in_body = false;
  bool is_behind = false;
};

struct CBuffer {
  std::string name;
  std::string declaration;
  size_t offset;  // of its first appearance
  CType element;  // a scalar or a record
  bool is_output;
  std::vector<int64_t> extents;  // -1: not known; the outermost only
  std::vector<CAccess> accesses;
};

// Thread-compatible; one for each nest.
class BufferMemory : public CMemory {
 public:
  BufferMemory(ClangUnit* unit, IntegerEvaluator* integers) : unit_(*unit), integers_(*integers) {}

  // Variables that the statements assign to, but not declare, are outputs.
  void FindOutputs(const CLoopNest& nest);

  // Which statements are evaluated next: those before inner loops, the innermost body, or those
  // behind inner loops.
  enum class Part : uint8_t { kBefore, kBody, kBehind };
  void Enter(Part part) { part_ = part; }
  // The number of the first of so many parameters that stand for something else than accesses.
  int NewParameters(size_t count) {
    parameters_ += static_cast<int>(count);
    return parameters_ - static_cast<int>(count);
  }

  Result<CValue> Read(const CNode& lvalue, Evaluator* evaluator) override;
  Status Write(const CNode& lvalue, CValue value, Evaluator* evaluator) override;
  CValue Former(const std::string& name) override;
  void Declared(const std::string& declaration, const CNode& value) override;
  void Assigned(const std::string& declaration) override { integers_.Forget(declaration); }

  // In the order of their first appearance.
  const std::vector<CBuffer>& buffers() const { return buffers_; }
  // Parameters with these numbers stand for the indices of dimensions.
  static constexpr int kIndexParameters = 1 << 20;

  // The buffer of the expression, its accesses and extents. Errors: InvalidArgument with position.
  Result<Buffer> ToBuffer(const CBuffer& buffer) const;

 private:
  // a[i][j] or *p: the variable and its indices.
  struct Place {
    const CNode* variable = nullptr;
    std::vector<const CNode*> indices;
    bool is_dereferenced = false;
  };
  Result<Place> PlaceOf(const CNode& lvalue) const;
  Result<CBuffer*> BufferOf(const Place& place, const CVariable& variable);
  Result<CAccess*> AccessOf(const Place& place, const CVariable& variable, CBuffer* buffer,
                            Evaluator* evaluator);
  Result<std::vector<int64_t>> ExtentsOf(const Place& place, const CVariable& variable) const;
  // Of loops whose bounds depend on one another: extents follow from the iterations alone, and
  // inputs are read at their nearest element at points that are none.
  void FitToIterations(const CBuffer& buffer, Buffer* result) const;
  // False if it depends on a loop without iterations.
  bool HasValues(const AffineIndex& index) const;
  Result<const CVariable*> VariableOf(const Place& place) const;
  Result<CValue> ReadConstant(const Place& place, const CVariable& variable, Evaluator* evaluator);
  Result<CValue> ReadTable(const Place& place, const CVariable& variable, Evaluator* evaluator);
  Result<CValue> ReadLoopVariable(int loop, Evaluator* evaluator);
  template <typename... Parts>
  Status ErrorAt(const CNode& node, const Parts&... message) const {
    return unit_.source().ErrorAt(node.begin, message...);
  }

  ClangUnit& unit_;
  IntegerEvaluator& integers_;
  std::set<std::string> outputs_;  // declarations
  std::vector<CBuffer> buffers_;
  std::map<std::string, int> buffer_of_;  // declaration
  std::map<std::string, CValue> former_;  // by CAccess::state
  int parameters_ = 0;
  Part part_ = Part::kBody;
};

}  // namespace mdh
