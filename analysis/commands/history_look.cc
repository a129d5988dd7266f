#include "analysis/commands/history_look.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "analysis/commands/history.h"
#include "base/cli/text.h"
#include "base/history/server_url.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/trends/finding_text.h"

namespace chokepoint::analysis {
namespace {

ShownFinding shown(const trends::HistoryFinding& finding) {
  ShownFinding document{.sentence = trends::headline_of(finding), .is_worse = finding.is_worse};
  for (const trends::SeriesChange& each : finding.changes) {
    const trends::LevelChange& change = each.change;
    document.changes.push_back({.subject = history::text_of(each.series.subject),
                                .metric = each.series.metric,
                                .setting = each.series.setting,
                                .unit = each.series.unit,
                                .before = change.before.median,
                                .after = change.after.median,
                                .percent = change.relative
                                               ? std::optional(math::kPercent * *change.relative)
                                               : std::nullopt,
                                .p = change.p,
                                .last_good = {.ns = change.last_good_ns},
                                .first_bad = {.ns = change.first_bad_ns},
                                .source_before = each.source_before,
                                .source_after = each.source_after});
  }
  for (const trends::FactLink& link : finding.settings) {
    document.settings.push_back({.host = finding.host,
                                 .name = link.fact,
                                 .before = link.old_value,
                                 .after = link.new_value,
                                 .share = link.share});
  }
  return document;
}

ShownHost shown(const trends::UnusualHost& host) {
  return {.sentence = trends::sentence_of(host),
          .host = host.host,
          .what = host.what,
          .metric = host.metric,
          .setting = host.setting,
          .unit = host.unit,
          .value = host.value,
          .others = host.others,
          .peers = static_cast<std::int64_t>(host.peers),
          .percent = host.relative ? std::optional(math::kPercent * *host.relative) : std::nullopt,
          .p = host.p,
          .is_worse = host.is_worse};
}

ShownHistory document_of(const Looked& looked) {
  ShownHistory document{.history = history::shown_place(looked.place),
                        .since = {.ns = looked.since_ns},
                        .series = looked.series.size(),
                        .rows = rows_in(looked.series)};
  for (const trends::HistoryFinding& finding : looked.findings) {
    document.findings.push_back(shown(finding));
  }
  for (const trends::UnusualHost& host : looked.hosts) {
    document.hosts.push_back(shown(host));
  }
  return document;
}

}  // namespace

Result<std::string> wanted_place(const history::Flags& flags, const cli::Context& context) {
  if (auto place = history::place_of(flags, context)) {
    return *std::move(place);
  }
  return fail(ErrorKind::Usage, "", "--history", "no history is named, and none is this user's own",
              "give --history FILE|URL");
}

std::size_t rows_in(const std::vector<history::MeasuredSeries>& all) {
  std::size_t rows = 0;
  for (const history::MeasuredSeries& series : all) {
    rows += series.points.size();
  }
  return rows;
}

Result<Looked> look(const LookFlags& flags, const cli::Context& context) {
  Looked looked;
  TRY(looked.place, wanted_place(flags.history, context));
  TRY(const std::unique_ptr<history::Store> store, history::open_to_read(looked.place));
  const std::int64_t now_ns = context.clock.wall_ns();
  TRY(looked.series, store->read(flags.read_from(now_ns)));
  if (looked.series.empty() && !(flags.wanted.subject + flags.wanted.metric).empty()) {
    return fail(ErrorKind::NotFound, "", flags.wanted.subject + flags.wanted.metric,
                "nothing is remembered of it", "'chokepoint history --list' shows what is");
  }
  TRY(const std::vector<history::StateSpan> states, store->states());
  looked.since_ns = now_ns - flags.since.count();
  looked.findings = trends::changed_since(looked.series, states, looked.since_ns, now_ns);
  looked.hosts = trends::unusual_hosts(looked.series, states, now_ns);
  return looked;
}

cli::Json full_document(const cli::Context& context, const Looked& looked) {
  cli::Json document = cli::document(context, Fields<ShownHistory>::kSchema);
  document.update(json::to_json(document_of(looked)));
  return document;
}

void print_findings(const cli::Context& context,
                    const std::vector<trends::HistoryFinding>& findings) {
  for (const trends::HistoryFinding& finding : findings) {
    fmt::print(
        context.out, "{}",
        cli::wrapped(cli::printable(trends::headline_of(finding)), context.out_terminal.width, 2));
  }
}

void print_hosts(const cli::Context& context, const std::vector<trends::UnusualHost>& hosts) {
  for (const trends::UnusualHost& host : hosts) {
    fmt::print(
        context.out, "{}",
        cli::wrapped(cli::printable(trends::sentence_of(host)), context.out_terminal.width, 2));
  }
}

}  // namespace chokepoint::analysis
