// Which parts of ranks in collectives are parts of one: so that a viewer can draw arrows from one
// to the other. Of a run that is too large to be loaded whole, those that lie in what was loaded.
// A value.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/export/exported_run.h"

namespace chokepoint::analysis {

class Links {
 public:
  explicit Links(const ExportedRun& run);

  std::optional<std::uint64_t> of(const ExportedRun& run, std::size_t node,
                                  const record::Collective& row) const;

 private:
  struct Key {
    record::CollectiveKind kind = record::CollectiveKind::Unknown;
    std::int64_t number = 0;
    std::int64_t communicator = 0;
    std::int64_t ready_ns = 0;  // of the common clock
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
      return static_cast<std::size_t>((static_cast<std::uint64_t>(key.ready_ns) ^
                                       static_cast<std::uint64_t>(key.number) * kSpread) *
                                      kSpread);
    }
  };
  std::vector<std::unordered_map<Key, std::uint64_t, Hash>> links_;  // by node
};

}  // namespace chokepoint::analysis
