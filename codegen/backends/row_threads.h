// The threads that compute a row: which row and elements are a thread's, and how results of all of
// them come together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/program/loop_program.h"
#include "codegen/program/result_tuples.h"
#include "codegen/program/scalar_code.h"
#include "core/device/device_description.h"
#include "core/pipeline/plan/joint_group.h"

namespace mdh {

class RowThreads {
 public:
  using Values = std::vector<LoopValue>;

  // `names` outlives this.
  RowThreads(const RowLayout& layout, const DeviceDescription& device, NameAllocator& names);

  // Declares the thread's place. `rows`: of all blocks; `extents`: of the common dimensions, whose
  // product it is.
  void Begin(int64_t rows, const std::vector<int64_t>& extents, Block* body);

  const Index& row() const { return row_; }                       // number of its row in the block
  const Index& lane() const { return lane_; }                     // number of the thread in its row
  const std::vector<Index>& origins() const { return origins_; }  // of the row, per dimension
  // Threads of a row that see each other's registers.
  int64_t lanes() const { return lanes_; }

  // The variables `sums` of all threads of a row become what they are together. All threads of the
  // block come here. One barrier at most where there are shuffles; `arrays`: in shared memory.
  void Combine(ResultTuples& tuples, const Values& sums, Block* body,
               std::vector<DeclareArray>* arrays);

 private:
  Index Declared(const std::string& stem, Index value, Block* body);
  void CombineLanes(ResultTuples& tuples, const Values& sums, int64_t lanes, Block* body);
  Values LoadAt(const std::vector<std::string>& exchange, const Values& sums,
                const Index& at) const;
  void CombineInShared(ResultTuples& tuples, const std::vector<std::string>& exchange,
                       const Values& sums, Block* body);

  const RowLayout layout_;
  const int64_t lanes_;
  NameAllocator& names_;
  Index row_ = Index(0), lane_ = Index(0);
  std::vector<Index> origins_;
};

}  // namespace mdh
