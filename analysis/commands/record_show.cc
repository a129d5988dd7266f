#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "analysis/commands/stacks_text.h"
#include "analysis/commands/text_views.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/record/stacks.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kEventsShown = 20;

template <class F>
std::string shown(std::optional<double> value, F&& format) {
  return value ? format(*value) : "not measured";
}

std::string shown_seconds(std::optional<double> seconds) {
  return shown(seconds, [](double value) { return math::format_ms(value * 1e3); });
}

std::string state_of(const NodeSummary& node) {
  return node.damage ? "cut short" : node.is_complete ? "complete" : "not ended";
}

void print_nodes(const cli::Context& context, const RunSummary& run) {
  using cli::Align;
  cli::Table table({{"node"},
                    {"host"},
                    {"state"},
                    {"sessions", Align::Right},
                    {"duration", Align::Right},
                    {"sent", Align::Right},
                    {"received", Align::Right},
                    {"steps", Align::Right},
                    {"dropped rows", Align::Right},
                    {"file", Align::Right}});
  for (const NodeSummary& node : run.nodes) {
    table.add(
        {node.name,
         node.host,
         {state_of(node), node.is_complete ? cli::Tint::None : cli::Tint::Notice},
         fmt::format("{}", node.sessions),
         shown_seconds(node.duration_s),
         shown(node.volume.sent_bytes, math::format_bytes),
         shown(node.volume.received_bytes, math::format_bytes),
         node.steps.source ? fmt::format("{}", node.steps.count) : "not seen",
         {fmt::format("{}", node.dropped), node.dropped > 0 ? cli::Tint::Bad : cli::Tint::None},
         math::format_bytes(static_cast<double>(node.bytes))});
  }
  table.print(context.out, context.out_terminal);
}

void print_why_without_end(const cli::Context& context, const RunSummary& run) {
  for (const NodeSummary& node : run.nodes) {
    if (!node.is_complete && !node.damage) {
      fmt::print(context.out, "{} has no end: {}\n", node.name, node.why_without_end);
    }
  }
}

void print_rows(const cli::Context& context, const RunSummary& run) {
  std::vector<cli::Column> columns{{"rows of"}};
  std::map<std::string, std::vector<std::int64_t>> rows;
  for (std::size_t index = 0; index < run.nodes.size(); ++index) {
    columns.push_back({run.nodes[index].name, cli::Align::Right});
    for (const auto& [name, count] : run.nodes[index].rows) {
      rows[name].resize(run.nodes.size());
      rows[name][index] = count;
    }
  }
  cli::Table table(columns);
  for (const auto& [name, counts] : rows) {
    std::vector<cli::Cell> cells{name};
    for (const std::int64_t count : counts) {
      cells.emplace_back(fmt::format("{}", count));
    }
    if (std::ranges::any_of(counts, [](std::int64_t count) { return count > 0; })) {
      table.add(std::move(cells));
    }
  }
  table.print(context.out, context.out_terminal);
}

void print_probes(const cli::Context& context, const RunSummary& run) {
  cli::Table table({{"probe"}, {"node"}, {"peer"}, {"direction"}, {"at"}, {"verdict"}});
  std::size_t count = 0;
  for (const NodeSummary& node : run.nodes) {
    for (const ProbeSummary& probe : node.probes) {
      table.add({probe.kind, node.name, probe.peer, probe.direction, sys::rfc3339(probe.wall_ns),
                 probe.verdict});
      ++count;
    }
  }
  if (count > 0) {
    fmt::print(context.out, "\n");
    table.print(context.out, context.out_terminal);
  }
}

// Stacks have a text of their own.
std::string detail_of(const record::Event& event) {
  const auto stacks = event.kind == record::kStacks ? record::stacks_in(event.detail)
                                                    : std::optional<record::Stacks>();
  return stacks ? record::place_of(*stacks) : event.detail;
}

// Of each rank the newest.
void print_stacks(const cli::Context& context, const RunSummary& run) {
  for (const NodeSummary& node : run.nodes) {
    std::map<std::string, const record::Event*> newest;
    for (const record::Event& event : node.events) {
      if (event.kind == record::kStacks) {
        newest[event.subject] = &event;
      }
    }
    for (const auto& [subject, event] : newest) {
      if (const auto stacks = record::stacks_in(event->detail)) {
        fmt::print(context.out, "\n{}", stacks_text(*stacks, node.name));
      }
    }
  }
}

void print_events(const cli::Context& context, const RunSummary& run) {
  cli::Table table({{"event"}, {"node"}, {"subject"}, {"detail"}});
  std::size_t count = 0;
  for (const NodeSummary& node : run.nodes) {
    for (const record::Event& event : node.events) {
      if (count++ < kEventsShown) {
        table.add({event.kind, node.name, event.subject, detail_of(event)});
      }
    }
  }
  if (count == 0) {
    return;
  }
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
  if (count > kEventsShown) {
    fmt::print(context.out, "and {} more\n", count - kEventsShown);
  }
}

// "n1, n2, n3 and 61 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 8;
  const auto named = std::span(names).first(std::min(kMaxNamed, names.size()));
  return fmt::format(
      "{}{}", fmt::join(named, ", "),
      names.size() > kMaxNamed ? fmt::format(" and {} more", names.size() - kMaxNamed) : "");
}

std::string counted_ranks(std::size_t ranks) {
  return ranks == 0 ? "" : fmt::format("; {} {}", ranks, ranks == 1 ? "rank" : "ranks");
}

std::string nodes_text(const RunSummary& run) {
  std::vector<std::string> names;
  std::size_t ranks = 0;
  for (const NodeSummary& node : run.nodes) {
    names.push_back(node.host.empty() || node.host == node.name
                        ? node.name
                        : fmt::format("{} on {}", node.name, node.host));
    ranks += node.ranks;
  }
  return some_of(names) + counted_ranks(ranks);
}

bool is_running(const RunSummary& run) {
  return std::ranges::any_of(
      run.nodes, [](const NodeSummary& node) { return record::is_being_written(node.file); });
}

// Whether it ended well.
std::string end_text(const RunSummary& run) {
  if (is_running(run)) {
    return "running";
  }
  const auto failed = std::ranges::find_if(
      run.nodes, [](const NodeSummary& node) { return node.exit_status.value_or(0) != 0; });
  std::string text = failed != run.nodes.end()
                         ? fmt::format("failed: exit {} on {}", *failed->exit_status, failed->name)
                     : run.exit_status ? "ended well: exit 0"
                                       : "exit status not known";
  const auto whole = std::ranges::count(run.nodes, true, &NodeSummary::is_complete);
  const auto all = static_cast<std::ptrdiff_t>(run.nodes.size() + run.unreadable.size());
  return whole == all ? text
                      : fmt::format("{}; {} of {} records without an end", text, all - whole, all);
}

// What a run was made of, in words; without rows of a kind its name is left out.
std::string recorded_text(const RunSummary& run) {
  struct Kind {
    const char* table;
    const char* text;
  };
  constexpr std::array kKinds{Kind{"step", "steps"},
                              Kind{"collective", "collectives"},
                              Kind{"socket_sample", "connections"},
                              Kind{"flow_sample", "packets"},
                              Kind{"counter_sample", "counters"},
                              Kind{"probe", "probes"}};
  std::vector<std::string_view> found;
  std::vector<std::string_view> missing;
  for (const Kind& kind : kKinds) {
    const bool is_there = std::ranges::any_of(run.nodes, [&](const NodeSummary& node) {
      const auto rows = node.rows.find(kind.table);
      return rows != node.rows.end() && rows->second > 0;
    });
    (is_there ? found : missing).emplace_back(kind.text);
  }
  std::erase(missing, "probes");
  return fmt::format("{}{}", found.empty() ? "nothing" : fmt::format("{}", fmt::join(found, ", ")),
                     missing.empty() ? "" : fmt::format("; no {}", fmt::join(missing, ", ")));
}

std::string all_steps_text(const RunSummary& run) {
  return fmt::format("{}: {} a step, median {}, 99 % within {}", steps_text(run.steps),
                     shown(run.steps.mean_ms, math::format_ms),
                     shown(run.steps.median_ms, math::format_ms),
                     shown(run.steps.p99_ms, math::format_ms));
}

std::string time_text(const RunSummary& run) {
  std::int64_t began_ns = 0;
  for (const NodeSummary& node : run.nodes) {
    if (node.began_wall_ns != 0 && (began_ns == 0 || node.began_wall_ns < began_ns)) {
      began_ns = node.began_wall_ns;
    }
  }
  return fmt::format("{}; {}", began_ns == 0 ? "not known" : moment_text(began_ns) + " UTC",
                     run.duration_s ? "took " + shown_seconds(run.duration_s) : "not ended");
}

// Of a record without a job, as `capture` and probes write it, nothing.
std::string next_text(const RunSummary& run, const std::string& folder) {
  if (run.command.empty() && !run.steps.source) {
    return "";
  }
  const std::string line = record::shell_line(std::array{folder});
  return fmt::format("chokepoint {} {}", is_running(run) ? "live" : "diagnose", line);
}

// What a person wants to know of a run, each behind its label. What is to be copied stays whole.
void print_head(const cli::Context& context, const RunSummary& run, const std::string& folder) {
  constexpr int kLabel = 10;
  const auto line = [&](const char* label, const std::string& text) {
    if (!text.empty()) {
      fmt::print(context.out, "{:<{}}{}\n", label, kLabel, cli::printable(text));
    }
  };
  const auto wrapped = [&](const char* label, const std::string& text) {
    const int room = std::max(context.out_terminal.width - kLabel, 1);
    for (const std::string& each :
         cli::broken(cli::printable(text), static_cast<std::size_t>(room))) {
      line(label, each);
      label = "";
    }
  };
  line("run", name_of_folder(folder));
  wrapped("began", time_text(run));
  wrapped("command", run.command.empty() ? "none" : run.command);
  wrapped("nodes", nodes_text(run));
  for (const auto& [key, value] : run.labels) {
    wrapped("label", key + "=" + value);
  }
  wrapped("steps", run.steps.source ? all_steps_text(run) : "none seen");
  wrapped("state", run.command.empty() && !is_running(run) ? "" : end_text(run));
  wrapped("recorded", recorded_text(run));
  line("next", next_text(run, folder));
  fmt::print(context.out, "\n");
}

void print_page(const cli::Context& context, const RunSummary& run, const std::string& folder) {
  print_head(context, run, folder);
  print_nodes(context, run);
  print_why_without_end(context, run);
  if (run.purposes.size() > 1) {
    purposes_table(run.purposes).print(context.out, context.out_terminal);
  }
  fmt::print(context.out, "\n");
  print_rows(context, run);
  print_probes(context, run);
  print_events(context, run);
  print_stacks(context, run);
}

}  // namespace

cli::Json document_of(const cli::Context& context, const RunSummary& run) {
  cli::Json document = cli::document(context, Fields<RunSummary>::kSchema);
  document.update(json::to_json(run));
  return document;
}

// chokepoint record show: what the records of a run hold.

namespace {

class RecordShowCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string folder_;
};

cli::Summary RecordShowCommand::summary() const {
  return {.name = "record show",
          .purpose = "what a run's record holds",
          .description =
              "Reads every node's record in a run's folder and shows what the run was: when, how "
              "long, its command, nodes and steps, how it ended, what was recorded, and the next "
              "command to type; then volume, rows by kind, what was dropped and what happened. A "
              "record can be read while it is being written, after its writer was "
              "killed, and from a folder that cannot be written to; nothing in it is changed.",
          .examples = {{"chokepoint record show runs/a", "the records of the run in runs/a"},
                       {"chokepoint record show runs/a --json", "the same for a script"}}};
}

void RecordShowCommand::define(cli::Flags& flags) {
  flags
      .positional(
          "DIR", &folder_,
          "the run's folder or its name in chokepoint-runs, or one node's .db file; default: "
          "the newest run here",
          false)
      .a_run();
}

Result<cli::ExitCode> RecordShowCommand::run(cli::Context& context) {
  TRY(folder_, choose_run(context, "record show", folder_));
  TRY(record::Run run, open_records(folder_));
  RunSummary summary = summarize(run);
  if (const auto diagnosed = diagnose_unconfirmed(folder_, {}, {})) {
    summary.steps = diagnosed->inquiry.diagnosis.steps;
  }
  print_troubles(context, "record show", troubles_of(summary));
  if (run.nodes.empty()) {
    return fail(ErrorKind::Malformed, "", folder_, "none of its records can be read");
  }
  if (context.json) {
    cli::print(context, document_of(context, summary));
  } else {
    print_page(context, summary, folder_);
  }
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory record_show_command() { return cli::command<RecordShowCommand>(); }

}  // namespace chokepoint::analysis
