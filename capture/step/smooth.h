// What a series is made of before periods are looked for in it. Pure functions.
#pragma once

#include <span>
#include <vector>

namespace chokepoint::capture::step {

// The mean of `width` bins around each; at the ends of those that are there.
std::vector<float> box_mean(std::span<const float> series, std::size_t width);
// A bell of about `width` / 2 bins' deviation.
std::vector<float> smoothed(std::span<const float> series, std::size_t width);
// No bin more than some times the mean of those with traffic: one burst must not outweigh all.
std::vector<float> clipped(std::span<const float> series);

}  // namespace chokepoint::capture::step
