// What a prediction took for granted because nobody told it, a line each for people. Pure.
#pragma once

#include <string>
#include <vector>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {

std::vector<std::string> assumptions_of(const JobProfile& profile, const Target& target,
                                        const Prediction& prediction);

}  // namespace chokepoint::analysis
