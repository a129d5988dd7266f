#include "analysis/export/perfetto/links.h"

#include "analysis/phases/exchanges.h"

namespace chokepoint::analysis {

Links::Links(const ExportedRun& run) : links_(run.nodes()) {
  const Exchanges exchanges = exchanges_of(run.data(), run.clock().clocks());
  std::uint64_t link = 0;
  for (const Meeting& meeting : meetings_of(exchanges)) {
    if (meeting.size() < 2) {
      continue;
    }
    ++link;
    for (const Part part : meeting) {
      const Exchange& own = at(exchanges, part);
      links_[part.node].emplace(Key{own.kind, own.number, own.communicator, own.own_ready_ns},
                                link);
    }
  }
}

std::optional<std::uint64_t> Links::of(const ExportedRun& run, std::size_t node,
                                       const record::Collective& row) const {
  const std::int64_t ready_ns = row.own_ready_ns.value_or(row.first_data_ns.value_or(row.start_ns));
  const auto found = links_[node].find({row.kind, number_of(row), row.communicator.value_or(0),
                                        run.clock().clocks().common_ns(node, ready_ns)});
  return found == links_[node].end() ? std::nullopt : std::optional(found->second);
}

}  // namespace chokepoint::analysis
