// A share as a bar of blocks; of all it has as many as `letters`.
#pragma once

#include <cmath>
#include <string>

namespace chokepoint::analysis {

inline std::string share_bar(double share, double letters) {
  std::string bar;
  for (int left = static_cast<int>(std::lround(share * letters)); left > 0; --left) {
    bar += "█";
  }
  return bar;
}

}  // namespace chokepoint::analysis
