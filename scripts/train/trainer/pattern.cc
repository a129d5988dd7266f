#include "scripts/train/trainer/pattern.h"

#include <stdexcept>

namespace chokepoint::trainer {

std::unique_ptr<Pattern> make_pattern(Group& group, const Settings& settings) {
  if (settings.pattern == "dp") {
    return make_data_parallel(group, settings);
  }
  if (settings.pattern == "tp") {
    return make_tensor_parallel(group, settings);
  }
  if (settings.pattern == "pp") {
    return make_pipeline_parallel(group, settings);
  }
  throw std::runtime_error("no such pattern: '" + settings.pattern + "'; there are dp, tp and pp");
}

}  // namespace chokepoint::trainer
