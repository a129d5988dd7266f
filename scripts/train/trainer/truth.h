// What a rank knows of its own steps, as a JSON document for whoever judges a diagnosis. Written
// once, at the end, also at a bad one.
#pragma once

#include <string>

#include "scripts/train/trainer/settings.h"
#include "scripts/train/trainer/step_clock.h"

namespace chokepoint::trainer {

// `failure`: empty where all went well. Throws std::runtime_error where it cannot be written.
void write_truth(const Settings& settings, const StepClock& clock, const std::string& failure);

}  // namespace chokepoint::trainer
