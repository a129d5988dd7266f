// What `history` and `history check` look at: the wanted part of a history, and what changed in it.
// The command's thread; blocks on the history.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/history/place.h"
#include "base/trends/lately.h"
#include "base/trends/unusual_hosts.h"

namespace chokepoint::analysis {

inline constexpr std::chrono::hours kLately{24 * 30};

// An Error where the user has switched the history off, or has no home.
Result<std::string> wanted_place(const history::Flags& flags, const cli::Context& context);

// What a history says of the wanted subjects.
struct Looked {
  std::string place = {};
  std::int64_t since_ns = 0;
  std::vector<history::MeasuredSeries> series = {};
  std::vector<trends::HistoryFinding> findings = {};
  std::vector<trends::UnusualHost> hosts = {};  // at present, beside hosts that are alike
};

struct LookFlags {
  history::Flags history = {};
  history::Wanted wanted = {};
  std::chrono::nanoseconds since = kLately;
  bool is_whole = false;  // with all that is older than a change needs to be seen

  history::Wanted read_from(std::int64_t now_ns) const {
    history::Wanted read = wanted;
    if (!is_whole && wanted.subject.empty()) {
      read.since_ns = now_ns - since.count();
      read.before = trends::level_before(read.since_ns);
    }
    return read;
  }

  void define(cli::Flags& flags) {
    flags.group("What to look at")
        .option("metric", &wanted.metric, "NAME", "of this figure alone, like throughput_mbps")
        .option("since", &since, "TIME",
                "changes of the last hours or days, like 48h; default: 720h");
    history::define_to_read(flags, history);
  }
};

Result<Looked> look(const LookFlags& flags, const cli::Context& context);

std::size_t rows_in(const std::vector<history::MeasuredSeries>& all);

// The chokepoint.history/1 document, and a line for each finding.
cli::Json full_document(const cli::Context& context, const Looked& looked);
void print_hosts(const cli::Context& context, const std::vector<trends::UnusualHost>& hosts);
void print_findings(const cli::Context& context,
                    const std::vector<trends::HistoryFinding>& findings);

}  // namespace chokepoint::analysis
