// The process that evaluates candidates of programs: how others start it.
#pragma once

#include <string>

#include "tuner/program/isolated_evaluator.h"

namespace mdh {

// mdh-evaluator in the folder of this program. `cuda_root`: where the CUDA Toolkit is; empty: where
// it usually is.
WorkerCommand EvaluatorBesideThisProgram(const std::string& cuda_root);

}  // namespace mdh
