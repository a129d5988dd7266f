#include "analysis/compare/compared_run.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr std::array kTraits{
    FigureTraits{"samples_per_s", "sample throughput", "", Unit::PerSecond, Better::More},
    FigureTraits{"scaling_factor", "scaling factor", "scaling", Unit::Factor, Better::More},
    FigureTraits{"network_mbps", "network throughput", "net", Unit::Mbps, Better::Neither},
    FigureTraits{"volume_bytes", "network volume", "volume", Unit::Bytes, Better::Neither},
    FigureTraits{"step_ms", "step", "step", Unit::Milliseconds, Better::Less},
    FigureTraits{"median_step_ms", "median step", "median", Unit::Milliseconds, Better::Less},
    FigureTraits{"p99_step_ms", "p99 step", "p99", Unit::Milliseconds, Better::Less},
    FigureTraits{"duration_s", "time", "time", Unit::Seconds, Better::Less},
    FigureTraits{"epoch_s", "epoch 2 time", "epoch 2", Unit::Seconds, Better::Less},
    FigureTraits{"lost_ms", "lost a step", "lost", Unit::Milliseconds, Better::Less},
    FigureTraits{"input_ms", "input a step", "input", Unit::Milliseconds, Better::Less},
    FigureTraits{"storage_ms", "storage a step", "storage", Unit::Milliseconds, Better::Less},
    FigureTraits{"gpu_memory_bytes", "peak GPU memory", "GPU memory", Unit::Memory,
                 Better::Neither},
    FigureTraits{"compute_ms", "computing a step", "computing", Unit::Milliseconds, Better::Less},
    FigureTraits{"exposed_ms", "exposed communication a step", "exposed", Unit::Milliseconds,
                 Better::Less},
    FigureTraits{"energy_j", "GPU energy", "GPU energy", Unit::Plain, Better::Less, "J"}};
static_assert(kTraits.size() == kRunFigures);

FigureTraits traits_of(const documents::MainFigure& figure) {
  const std::string_view unit = figure.unit;
  return {.key = figure.key,
          .title = figure.name,
          .short_title = figure.name,
          .unit = unit == "Mb/s" ? Unit::Mbps
                  : unit == "ms" ? Unit::Milliseconds
                  : unit == "B"  ? Unit::Bytes
                                 : Unit::Plain,
          .better = figure.better,
          .plain = figure.unit};
}

std::vector<FigureTraits> all_traits() {
  std::vector<FigureTraits> traits(kTraits.begin(), kTraits.end());
  for (std::size_t place = 0; place < documents::kMainFigures.size(); ++place) {
    if (is_first_of_its_key(place)) {
      traits.push_back(traits_of(documents::kMainFigures.at(place)));
    }
  }
  return traits;
}

const std::vector<FigureTraits>& table() {
  static const std::vector<FigureTraits> traits = all_traits();
  return traits;
}

}  // namespace

const FigureTraits& traits_of(Figure figure) { return table()[place_of(figure)]; }

std::optional<Figure> figure_of(std::string_view key) {
  const auto found =
      std::ranges::find_if(table(), [&](const FigureTraits& traits) { return traits.key == key; });
  return found == table().end()
             ? std::nullopt
             : std::optional(figure_at(static_cast<std::size_t>(found - table().begin())));
}

}  // namespace chokepoint::analysis
