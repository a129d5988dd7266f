#include "preflight/commands/show.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/cli/document.h"
#include "base/cli/output.h"
#include "base/cli/utf8.h"
#include "preflight/judge/judge.h"
#include "preflight/report/document.h"
#include "preflight/report/drain_list.h"
#include "preflight/report/html.h"
#include "preflight/report/page.h"

namespace chokepoint::preflight {
namespace {

Result<> write_file(const std::string& file, const std::string& content) {
  const Result<std::unique_ptr<cli::Output>> output = cli::open_file(file);
  if (!output) {
    return fail(output.error());
  }
  (*output)->write(content);
  return (*output)->finish();
}

std::size_t present_in(const Measured& measured) {
  return static_cast<std::size_t>(
      std::ranges::count(measured.hosts, Presence::Present, &HostResult::presence));
}

// Each on a line of its own, so that no host's reason hides another's.
void tell_absent(const Measured& measured, const cli::Context& context) {
  for (const HostResult& host : measured.hosts) {
    if (host.error && !context.quiet) {
      fmt::print(context.err, "{}: {}\n", cli::printable(host.name),
                 cli::printable(describe(*host.error)));
    }
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
    const Result<std::string> html = html_of(context, measured, judgement);
    if (!html) {
      return std::unexpected(html.error());
    }
    if (Result<> written = write_file(showing.output, *html); !written) {
      return written;
    }
  }
  return keep(showing.record, {.kind = "preflight", .document = document}, context);
}

Result<cli::ExitCode> exit_code(const Showing& showing, const Measured& measured,
                                const Judgement& judgement) {
  if (measured.was_interrupted) {
    return cli::ExitCode::Interrupted;
  }
  if (measured.pairs.empty()) {
    return fail(ErrorKind::Unreachable, "",
                fmt::format("{} of {} hosts", present_in(measured), measured.hosts.size()),
                "can be tested, and it takes two",
                "is 'chokepoint serve' running there? --launch ssh starts it");
  }
  const checks::Status least = showing.strict ? checks::Status::Warning : checks::Status::Critical;
  return judgement.verdict >= least ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace

Result<cli::ExitCode> show(const Showing& showing, const Measured& measured,
                           const cli::Context& context) {
  const Judgement judgement =
      judge(measured, showing.limits, showing.before ? &*showing.before : nullptr);
  const cli::Json document = document_of(context, measured, judgement);
  if (context.json) {
    cli::print(context, document);
  } else if (showing.drain_list) {
    context.out << drain_list(measured, judgement);
  } else if (measured.pairs.empty()) {
    tell_absent(measured, context);
  } else {
    print_page(context, measured, judgement, showing.all);
  }
  if (const Result<> written = write(showing, measured, judgement, document, context); !written) {
    return std::unexpected(written.error());
  }
  return exit_code(showing, measured, judgement);
}

}  // namespace chokepoint::preflight
