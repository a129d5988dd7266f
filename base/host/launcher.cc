#include "base/host/launcher.h"

#include <array>
#include <charconv>

namespace chokepoint::host {
namespace {

struct Names {
  std::string_view launcher;
  std::string_view rank;
  std::string_view local_rank;
  std::string_view world_size;
};

// The nearest to the training first: torchrun is started by srun, and mpirun in a batch script,
// where Slurm has set its own already.
constexpr std::array kNames{
    Names{"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE"},
    Names{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    Names{"mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
    Names{"mpirun", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    Names{"mpirun", "PMIX_RANK", "", ""},
    Names{"srun", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

using Ranks = std::array<Rank, kNames.size()>;

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return whole ? std::optional(number) : std::nullopt;
}

void note(std::string_view name, std::string_view value, Ranks& ranks) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i].rank) {
      ranks[i].rank = number_of(value);
    } else if (name == kNames[i].local_rank) {
      ranks[i].local_rank = number_of(value);
    } else if (name == kNames[i].world_size) {
      ranks[i].world_size = number_of(value);
    }
  }
}

Ranks all_ranks(std::string_view environment) {
  Ranks ranks;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      note(entry.substr(0, equals), entry.substr(equals + 1), ranks);
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return ranks;
}

// What one launcher leaves out (PMIx the number of ranks), another that speaks of the same rank may
// have said.
Rank filled(Rank rank, const Ranks& ranks) {
  for (const Rank& other : ranks) {
    if (other.rank == rank.rank) {
      rank.local_rank = rank.local_rank ? rank.local_rank : other.local_rank;
      rank.world_size = rank.world_size ? rank.world_size : other.world_size;
    }
  }
  return rank;
}

RankFound nearest(const Ranks& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank) {
      // A pod may be given RANK for its node; the ranks that torchrun starts there have both.
      const int local = ranks[i].local_rank ? 1 : 0;
      return {filled(ranks[i], ranks), 2 * static_cast<int>(ranks.size() - i) + local,
              kNames[i].launcher};
    }
  }
  return {};
}

}  // namespace

RankFound find_rank(std::string_view environment) { return nearest(all_ranks(environment)); }

RankFound find_rank(const Variables& variables) {
  Ranks ranks;
  for (const Names& names : kNames) {
    for (const std::string_view name : {names.rank, names.local_rank, names.world_size}) {
      if (const auto value = name.empty() ? std::nullopt : variables(std::string(name))) {
        note(name, *value, ranks);
      }
    }
  }
  return nearest(ranks);
}

}  // namespace chokepoint::host
