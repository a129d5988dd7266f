#include "preflight/commands/history_rows.h"

#include "base/documents/test_head.h"

namespace chokepoint::preflight {

history::Batch history_rows(const cli::Json& document, const Measured& measured,
                            const history::Origin& origin) {
  history::Batch batch = history::measured_in(document, origin);
  if (batch.rows.empty()) {
    return batch;
  }
  for (const HostResult& host : measured.hosts) {
    if (host.facts && !host.facts->host.empty() && !host.settings.empty()) {
      batch.hosts.push_back({.host = documents::label_of(host.facts->host),
                             .wall_ns = batch.rows.front().measured.wall_ns,
                             .settings = host.settings});
    }
  }
  return batch;
}

}  // namespace chokepoint::preflight
