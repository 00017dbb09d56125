// Transformations as schedules (core/schedule/grammar.md): what the loops of a program say of the
// kernels of its steps. TeML has no words for packing, registers, vector widths and prefetching,
// which stay open.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/device/system_model.h"
#include "core/pipeline/pipeline.h"
#include "core/teml/program.h"
#include "core/text/parser.h"

namespace mdh {

// What a schedule holds beside what the loops say.
enum class ScheduleDetail : uint8_t {
  kWhatIsSaid = 1,  // nothing: all else is searched for
  // The loops as they stand: single points in the innermost ones, vectors in one loop, no copies,
  // results where the loops keep them. Only the width of vectors is open.
  kNothingElse = 2,
};

// Something that a schedule says in another way than the program.
struct TemlNotice {
  size_t offset;  // in the program's text
  std::string message;
};

struct TemlSchedules {
  // ToPipeline's, but assignments that are fused in all of their loops are one step, as far as none
  // needs the other.
  Pipeline pipeline;
  std::vector<std::string> schedules;  // one per step; empty: nothing is said of it
  std::vector<TemlNotice> notices;
};

// The loops around every assignment, from the outside in:
//   - parallel loops are parts of the layer of cores; inside of other loops they are moved out,
//     which is noticed;
//   - the others form groups, in which an iterator occurs once, and these are the memory layers,
//     from the inside out. Layers that have no group cut nothing;
//   - loops that are unrolled inside of all others are tiles of registers; unrolled around others
//     they are loops again, which is noticed;
//   - the vectorized loop is that of lanes.
// Parts of single points are not pinned in the innermost group unless loops inside of it are
// unrolled, as all loops end in them. Assignments without a transformation have no schedule, and
// nor has anything for models with explicit memory, which is noticed. Errors: as ToPipeline; also
// InvalidArgument for more groups than the model has memory layers, and for parts that do not
// divide those around them; OffsetInProgram tells where.
Result<TemlSchedules> ToSchedules(const TemlProgram& program, const std::string& name,
                                  const SystemModel& model,
                                  ScheduleDetail detail = ScheduleDetail::kWhatIsSaid);

// Of a text; notices have positions, as errors do.
struct ScheduledTeml {
  Pipeline pipeline;
  std::vector<std::string> schedules;
  std::vector<std::string> notices;
};
// Errors: as ParseTemlProgram and ToSchedules.
Result<ScheduledTeml> ParseTemlSchedules(std::string_view text, const Bindings& bindings,
                                         std::string_view source_name, const SystemModel& model,
                                         ScheduleDetail detail = ScheduleDetail::kWhatIsSaid);

}  // namespace mdh
