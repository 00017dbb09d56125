// Several nests in one annotated block, which are the steps of a pipeline.
#pragma once

#include <map>
#include <string>

#include "core/c_loops/annotation.h"
#include "core/c_loops/clang_unit.h"
#include "core/pipeline/pipeline.h"

namespace mdh {

// Whether this is a block of two nests or more: loops, or blocks with a loop.
bool IsPipeline(const CNode& block);

// `name`: of the pipeline; `annotation`: of the block, whose inner ones stand before nests.
// Variables that the block declares and nests assign are temporaries; others are outputs, or, where
// no nest assigns them, inputs. Errors: see ParseCComputation.
Result<Pipeline> ConvertPipeline(const std::string& name, const CNode& block,
                                 const Annotation& annotation,
                                 const std::map<std::string, int64_t>& bound, ClangUnit* unit);

}  // namespace mdh
