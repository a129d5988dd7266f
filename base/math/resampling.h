// What a series tells whose neighbours resemble each other, as a job's steps do: it is cut into
// blocks that are taken as one. The same input gives the same answer: chance is drawn from a seed
// that never changes. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/math/mean_test.h"

namespace chokepoint::math {

// The mean of each of so many blocks, one after the other, as equal as they can be. As many as
// there are values at most.
std::vector<double> block_means(std::span<const double> values, std::size_t blocks);

// The second's mean over the first's, by a bootstrap of moving blocks of so many values: where it
// lies with this confidence (0..1). Nothing where one is empty or the first's mean is not positive.
std::optional<Interval> bootstrap_ratio(std::span<const double> first,
                                        std::span<const double> second, std::size_t block,
                                        double confidence);

}  // namespace chokepoint::math
