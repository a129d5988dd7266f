// The figures by which runs are compared: one table of their names, units and which way is better.
// Values; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::analysis {

enum class Figure {
  SamplesPerS,
  ScalingFactor,
  NetworkMbps,
  VolumeBytes,
  StepMs,
  MedianStepMs,
  P99StepMs,
  DurationS,
  EpochS,
  LostMs,
  GpuMemoryBytes,
};
constexpr std::size_t kFigures = 11;

enum class Unit { PerSecond, Factor, Mbps, Bytes, Memory, Milliseconds, Seconds };
enum class Better { More, Less, Neither };

struct FigureTraits {
  const char* key;    // as options and documents name it
  const char* title;  // of a column
  Unit unit;
  Better better;
};

const FigureTraits& traits_of(Figure figure);
std::optional<Figure> figure_of(std::string_view key);
constexpr std::size_t place_of(Figure figure) { return static_cast<std::size_t>(figure); }
constexpr Figure figure_at(std::size_t place) { return static_cast<Figure>(place); }

}  // namespace chokepoint::analysis
