#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <filesystem>

#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/page/page.h"
#include "base/trends/earlier.h"
#include "base/trends/standing_text.h"
#include "preflight/commands/history_rows.h"
#include "preflight/commands/preflight.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/judge.h"
#include "preflight/report/document.h"
#include "preflight/report/page.h"

namespace chokepoint::preflight {
namespace {

Result<> write_file(const std::string& file, const std::string& content) {
  TRY(const std::unique_ptr<cli::Output> output, cli::open_file(file));
  output->write(content);
  return output->finish();
}

// A pipe is opened once, when there is something for its reader.
Result<> can_write(const std::string& flag, const std::string& file) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(file, ignored);
  if (file.empty() || (exists(status) && !is_regular_file(status) && !is_directory(status))) {
    return {};
  }
  const Result<std::unique_ptr<cli::Output>> output = cli::open_file(file);
  if (output) {
    return {};
  }
  Error error = output.error();
  error.next_step = fmt::format("give another place with {}", flag);
  return fail(std::move(error));
}

std::size_t present_in(const Measured& measured) {
  return static_cast<std::size_t>(
      std::ranges::count(measured.hosts, Presence::Present, &HostResult::presence));
}

// "gpu1: it hung up", "gpu1 port 5210: connection refused": the host once.
std::string reason_of(const HostResult& host) {
  if (!host.error->subject.starts_with(host.name)) {
    return host.name + ": " + describe(*host.error);
  }
  Error error = *host.error;
  error.operation.clear();
  return describe(error);
}

// Each on a line of its own, so that no host's reason hides another's.
void print_absent(const Measured& measured, const cli::Context& context) {
  for (const HostResult& host : measured.hosts) {
    if (host.error && !context.quiet) {
      fmt::print(context.err, "{}\n", cli::printable(reason_of(host)));
    }
  }
}

constexpr trends::MeasurementName kPreflights{.one = "preflight", .several = "preflights"};

void print_unusual(const std::vector<trends::UnusualPlace>& unusual, const cli::Context& context) {
  if (!unusual.empty()) {
    fmt::print(context.out, "\nunlike earlier preflights\n");
  }
  for (const trends::UnusualPlace& place : unusual) {
    fmt::print(context.out, "  {}",
               cli::wrapped(cli::printable(place.sentence), context.out_terminal.width, 4));
  }
}

Result<> write(const Showing& showing, const Measured& measured, const Judgement& judgement,
               const cli::Json& document, const cli::Context& context) {
  if (!showing.keep.empty()) {
    const std::string text = document.dump(2, ' ', false, cli::Json::error_handler_t::replace);
    if (Result<> written = write_file(showing.keep, text + "\n"); !written) {
      return written;
    }
  }
  if (!showing.output.empty()) {
    TRY(const std::string html, html_of(context, measured, judgement));
    if (Result<> written = write_file(showing.output, html); !written) {
      return written;
    }
  }
  return keep(showing.record, {.kind = "preflight", .document = document}, context);
}

// What the first that is missing would be helped by, where it is known better than that.
std::string step_to_two(const Measured& measured) {
  const auto missing = std::ranges::find_if(
      measured.hosts, [](const HostResult& host) { return host.error.has_value(); });
  const bool has_none = missing == measured.hosts.end() || missing->error->next_step.empty() ||
                        missing->presence == Presence::NoAgent ||
                        missing->presence == Presence::Unreachable;
  return has_none ? "is 'chokepoint serve' running there? --launch ssh starts it"
                  : missing->error->next_step;
}

Result<cli::ExitCode> exit_code(const Showing& showing, const Measured& measured,
                                const Judgement& judgement) {
  if (measured.was_interrupted) {
    return cli::ExitCode::Interrupted;
  }
  if (measured.pairs.empty()) {
    return fail(ErrorKind::Unreachable, "", "",
                fmt::format("{} of {} hosts can be tested, and it takes two", present_in(measured),
                            measured.hosts.size()),
                step_to_two(measured));
  }
  if (measured.troubles.empty() && std::ranges::none_of(measured.pairs, is_tested) &&
      judgement.verdict < checks::Status::Critical) {
    return fail(ErrorKind::Timeout, "", "",
                fmt::format("none of {} was tested in the time that there was",
                            counted(measured.pairs.size(), "pair", "pairs")),
                "give a longer --time");
  }
  const checks::Status least = showing.strict ? checks::Status::Warning : checks::Status::Critical;
  return judgement.verdict >= least ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace

Result<> can_show(const Showing& showing) {
  Result<> fine = can_write("--keep", showing.keep);
  if (fine && !showing.output.empty()) {
    // Of nothing, to see that there is what draws it.
    if (const Result<std::string> page = page::html_of({}); !page) {
      return std::unexpected(page.error());
    }
    fine = can_write("-o", showing.output);
  }
  return fine;
}

Result<cli::ExitCode> show(const Showing& showing, const Measured& measured,
                           const cli::Context& context) {
  const Judgement judgement =
      judge(measured, showing.limits, showing.before ? &*showing.before : nullptr);
  cli::Json document = document_of(context, measured, judgement);
  const history::Batch figures =
      history_rows(document, measured,
                   {.source = showing.keep.empty() ? showing.record.folder : showing.keep,
                    .program = context.version});
  const std::vector<trends::UnusualPlace> unusual = trends::unusual_places(
      trends::standings_in(showing.record.history, context, figures.rows), kPreflights);
  for (const trends::UnusualPlace& place : unusual) {
    document["unusual"].push_back(json::to_json(trends::shown(place, kPreflights)));
  }
  if (context.json) {
    cli::print(context, document);
  } else if (showing.drain_list) {
    context.out << drain_list(measured, judgement);
  } else if (measured.pairs.empty()) {
    print_absent(measured, context);
  } else {
    print_page(context, measured, judgement, showing.all);
    print_unusual(unusual, context);
  }
  history::remember(showing.record.history, figures, context);
  TRY(write(showing, measured, judgement, document, context));
  return exit_code(showing, measured, judgement);
}

}  // namespace chokepoint::preflight
