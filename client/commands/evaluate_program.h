// The process that evaluates candidates of programs: how others start it.
#pragma once

#include <string>

#include "tuner/program/isolated_evaluator.h"

namespace mdh {

// This program again. `cuda_root`: where the CUDA Toolkit is; empty: where it usually is.
WorkerCommand ThisProgramAsWorker(const std::string& cuda_root);

}  // namespace mdh
