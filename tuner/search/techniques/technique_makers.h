// Every search technique's constructor. One file each.
#pragma once

#include <memory>

#include "tuner/search/techniques/search_technique.h"

namespace mdh {

std::unique_ptr<SearchTechnique> MakeExhaustive();
std::unique_ptr<SearchTechnique> MakeRandom();
std::unique_ptr<SearchTechnique> MakeAnnealing();
std::unique_ptr<SearchTechnique> MakeDescent();
std::unique_ptr<SearchTechnique> MakeBayesian();
std::unique_ptr<SearchTechnique> MakeDifferentialEvolution();
std::unique_ptr<SearchTechnique> MakeParticleSwarm();
std::unique_ptr<SearchTechnique> MakePatternSearch();
std::unique_ptr<SearchTechnique> MakeTorczon();
std::unique_ptr<SearchTechnique> MakeNelderMead();
std::unique_ptr<SearchTechnique> MakeBestFirst();
std::unique_ptr<SearchTechnique> MakeTag();
std::unique_ptr<SearchTechnique> MakeUct();
std::unique_ptr<SearchTechnique> MakeRoundRobin();
std::unique_ptr<SearchTechnique> MakeAucBandit();

}  // namespace mdh
