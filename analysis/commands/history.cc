#include "analysis/commands/history.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "analysis/commands/commands.h"
#include "analysis/commands/history_look.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/quantity.h"

namespace chokepoint::analysis {
namespace {

// Figures over time in one row of letters, the oldest left.
std::string sparkline(const std::vector<history::Measured>& points, std::size_t most) {
  static constexpr std::array kBars{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = points.size() > most ? points.size() - most : 0;
  const auto [least, largest] =
      std::ranges::minmax_element(points.begin() + static_cast<std::ptrdiff_t>(first), points.end(),
                                  {}, &history::Measured::value);
  const double range = largest->value - least->value;
  std::string bars;
  for (std::size_t at = first; at < points.size(); ++at) {
    const double share = range > 0 ? (points[at].value - least->value) / range : 0;
    bars += kBars.at(static_cast<std::size_t>(std::lround(share * (kBars.size() - 1))));
  }
  return bars;
}

void print_series(const cli::Context& context, const std::vector<history::MeasuredSeries>& all) {
  constexpr std::size_t kBarsShown = 32;
  cli::Table table({{"subject"},
                    {"figure"},
                    {"rows", cli::Align::Right},
                    {"newest", cli::Align::Right},
                    {"over time"},
                    {"asked for"}});
  for (const history::MeasuredSeries& series : all) {
    table.add({cli::printable(history::text_of(series.series.subject)),
               cli::printable(series.series.metric), fmt::format("{}", series.points.size()),
               cli::printable(math::quantity_text(series.points.back().value, series.series.unit)),
               sparkline(series.points, kBarsShown), cli::printable(series.series.setting)});
  }
  table.print(context.out, context.out_terminal);
}

class HistoryCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "history",
            .purpose = "since when something is slower, where, and what changed just before",
            .description =
                "Each probe, RDMA test, doctor, preflight and run adds a few figures to a history "
                "when it ends. This command says which of them changed lately, the worst first: "
                "since when, by how much, on which host, and which settings changed there between "
                "the last good measurement and the first bad one.\n\n"
                "With a subject (a host, \"gpu1 > gpu2\", or the beginning of a job's command) it "
                "shows its figures over time.\n\n"
                "It also names hosts that differ at present from hosts with the same hardware.\n\n"
                "'history add' takes runs and documents of earlier times, 'history check' is for "
                "cron, 'history export' writes CSV, and 'history prune' removes old rows.",
            .examples = {{"chokepoint history", "what changed in the last 30 days"},
                         {"chokepoint history gpu3", "of what is on gpu3, and of paths from it"},
                         {"chokepoint history --list", "all that is remembered"},
                         {"chokepoint history --since 48h --json", "for a script"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("SUBJECT", &flags_.wanted.subject, "a host, a path, a device or a job", false);
    flags_.define(flags);
    flags.group("What to show")
        .toggle("list", &flags_.is_whole, "all series, with their newest value");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const Looked looked, look(flags_, context));
    if (context.json) {
      cli::print(context, full_document(context, looked));
      return cli::ExitCode::Done;
    }
    if (flags_.is_whole || !flags_.wanted.subject.empty()) {
      print_series(context, looked.series);
      fmt::print(context.out, "{}", looked.findings.empty() ? "" : "\n");
    }
    print_findings(context, looked.findings);
    if (!looked.hosts.empty()) {
      fmt::print(context.out, "{}unlike hosts with the same hardware\n",
                 looked.findings.empty() ? "" : "\n");
      print_hosts(context, looked.hosts);
    }
    if (looked.findings.empty() && looked.hosts.empty()) {
      fmt::print(context.out, "nothing changed in {:.0f} days: {} rows of {} series\n",
                 std::chrono::duration<double>(flags_.since) / std::chrono::hours(24),
                 rows_in(looked.series), looked.series.size());
    }
    return cli::ExitCode::Done;
  }

 private:
  LookFlags flags_;
};

}  // namespace

std::vector<cli::CommandFactory> history_commands() {
  return {cli::command<HistoryCommand>(), history_add_command(), history_check_command(),
          history_export_command(), history_prune_command()};
}

}  // namespace chokepoint::analysis
