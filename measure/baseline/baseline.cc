#include "measure/baseline/baseline.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "base/cli/text.h"
#include "base/documents/host_facts.h"
#include "base/history/measured.h"
#include "base/host/inventory.h"
#include "base/host/settings.h"
#include "base/json/codec.h"
#include "base/record/writer.h"
#include "base/trends/earlier.h"
#include "base/trends/standing_text.h"

namespace chokepoint::baseline {
namespace {

constexpr std::chrono::seconds kPeersPatience{2};

record::WriterOptions options_of(const Flags& baseline, const Finding& finding,
                                 const cli::Context& context) {
  return {.folder = baseline.folder,
          .node = baseline.node,
          .role = finding.kind,
          .program = context.version};
}

void add_rows(record::Writer& writer, const Finding& finding, const host::Facts& facts,
              std::int64_t now_ns) {
  for (const host::Fact& fact : facts) {
    writer.add(record::Fact{.category = fact.category,
                            .subject = fact.subject,
                            .key = fact.key,
                            .value = fact.value,
                            .source = fact.source});
  }
  writer.add(record::Probe{
      .t_ns = now_ns,
      .kind = finding.kind,
      .peer = finding.peer,
      .direction = finding.direction,
      .schema = finding.document.value("schema", ""),
      .document = finding.document.dump(-1, ' ', false, cli::Json::error_handler_t::replace)});
}

bool is_document_wanted(const Flags& baseline, const cli::Context& context) {
  return context.json || !baseline.folder.empty() ||
         history::place_of(baseline.history, context).has_value();
}

history::Batch rows_of(const Flags& baseline, const Finding& finding, const cli::Context& context) {
  history::Batch batch = history::measured_in(
      finding.document, {.source = baseline.folder, .program = context.version});
  if (finding.facts && batch.hosts.empty() && !batch.rows.empty()) {
    batch.hosts.push_back({.host = finding.document.value("host", ""),
                           .wall_ns = batch.rows.front().measured.wall_ns,
                           .settings = host::settings_of(*finding.facts)});
  }
  return batch;
}

// Of the test's figures those that earlier tests did not have.
void print_unusual(const Flags& baseline, const history::Batch& batch,
                   const cli::Context& context) {
  if (context.json) {
    return;
  }
  const std::vector<trends::Standing> standings =
      trends::standings_in(baseline.history, context, batch.rows);
  for (const trends::UnusualPlace& place : trends::unusual_places(standings, trends::kTests)) {
    fmt::print(
        context.out, "{}",
        cli::wrapped("unusual: " + cli::printable(place.sentence), context.out_terminal.width, 2));
  }
}

void remember(const Flags& baseline, const Finding& finding, const cli::Context& context) {
  if (!history::place_of(baseline.history, context)) {
    return;
  }
  const history::Batch batch = rows_of(baseline, finding, context);
  print_unusual(baseline, batch, context);
  history::remember(baseline.history, batch, context);
}

// At the end of the document, where people who read it see its results first.
void add_host_facts(Finding& finding, const cli::Context& context) {
  if (finding.kind == "doctor") {
    return;  // its checks are about them
  }
  cli::Json facts =
      json::to_json(documents::HostFacts{.own = finding.facts ? host::settings_of(*finding.facts)
                                                              : host::read_settings(context.root)});
  if (const auto asked = finding.document.find(kHostFacts); asked != finding.document.end()) {
    facts.update(*asked);
    finding.document.erase(kHostFacts);
  }
  finding.document[kHostFacts] = std::move(facts);
}

}  // namespace

void define(cli::Flags& flags, Flags& baseline) {
  flags.group("Record")
      .option("record", &baseline.folder, "DIR", "store the result in this run record")
      .option("node", &baseline.node, "NAME",
              "name of this node in the record; default: the host name");
  history::define(flags, baseline.history);
}

Result<> check(const Flags& baseline) {
  namespace fs = std::filesystem;
  if (baseline.folder.empty()) {
    return {};
  }
  std::error_code failed;
  fs::path place = fs::absolute(baseline.folder, failed);
  if (fs::exists(place, failed) && !fs::is_directory(place, failed)) {
    return fail(ErrorKind::Usage, "--record", baseline.folder, "is a file, not a folder",
                "give a folder");
  }
  while (!fs::exists(place, failed) && place.has_relative_path()) {
    place = place.parent_path();
  }
  if (access(place.c_str(), W_OK) != 0) {
    Error error = from_errno(errno, "--record", baseline.folder);
    error.next_step = "give a folder that can be made and written to";
    return fail(std::move(error));
  }
  return {};
}

Result<> keep(const Flags& baseline, const Finding& finding, const cli::Context& context) {
  if (baseline.folder.empty()) {
    return {};
  }
  const std::int64_t now_ns = context.clock.monotonic_ns();
  const host::Facts facts =
      finding.facts ? *finding.facts : host::facts_of(host::read_inventory(context.root));
  TRY(const std::unique_ptr<record::Writer> writer,
      record::Writer::open(options_of(baseline, finding, context), context.root, context.clock));
  add_rows(*writer, finding, facts, now_ns);
  const std::string path = writer->path();
  const record::WriterStatus status = writer->close();
  if (status.trouble) {
    return std::unexpected(*status.trouble);
  }
  if (status.dropped > 0) {
    return fail(ErrorKind::Exhausted, "record", path,
                fmt::format("{} rows could not be kept", status.dropped));
  }
  if (!context.quiet) {
    fmt::print(context.err, "kept in {}\n", path);
  }
  return {};
}

Result<cli::ExitCode> answer(const cli::Context& context, const Flags& baseline, Finding finding,
                             bool interrupted, const std::function<void()>& print_page) {
  if (!baseline.folder.empty() && !finding.facts) {
    finding.facts = host::facts_of(host::read_inventory(context.root));
  }
  if (is_document_wanted(baseline, context)) {
    add_host_facts(finding, context);
  }
  if (context.json) {
    cli::print(context, finding.document);
  } else {
    print_page();
  }
  remember(baseline, finding, context);
  TRY(keep(baseline, finding, context));
  return interrupted ? cli::ExitCode::Interrupted : cli::ExitCode::Done;
}

Result<control::Demand> FactsService::check(const control::Json& /*parameters*/,
                                            const control::Limits& /*limits*/) const {
  return control::Weight::None;
}

Result<control::Json> FactsService::serve(control::Session& session,
                                          const control::Json& /*parameters*/) {
  const host::Settings settings = host::read_settings(session.context().root);
  TRY(session.send(control::Type::Ready, {{"settings", settings}}));
  return control::Json::object();
}

void ask_peer(control::Client& client, const Flags& baseline, const cli::Context& context,
              int interrupt, cli::Json& document) {
  if (!is_document_wanted(baseline, context)) {
    return;
  }
  const auto deadline = net::Deadline::of(kPeersPatience, interrupt);
  const Result<control::Json> answer =
      client.request("facts", control::Json::object(), deadline, [](const std::string&) {});
  if (!answer || !client.channel().expect(control::Type::Result, deadline)) {
    return;
  }
  const host::Settings settings =
      host::settings_in(answer->is_object() ? answer->value("settings", cli::Json()) : cli::Json());
  if (!settings.empty()) {
    document[kHostFacts]["peer"] = settings;
  }
}

void ask_peer(const control::ClientOptions& peer, const Flags& baseline,
              const cli::Context& context, int interrupt, cli::Json& document) {
  if (!is_document_wanted(baseline, context)) {
    return;
  }
  Result<control::Client> client =
      control::Client::connect(peer, net::Deadline::of(kPeersPatience, interrupt));
  if (client) {
    ask_peer(*client, baseline, context, interrupt, document);
    client->bye();
  }
}

}  // namespace chokepoint::baseline
