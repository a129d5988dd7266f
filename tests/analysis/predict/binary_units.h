// Bytes in powers of 1024.
#pragma once

namespace chokepoint::analysis {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

}  // namespace chokepoint::analysis
