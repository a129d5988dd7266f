// chokepoint web: a page over the history and the runs, served to a browser.
//
//   main thread     waits for a signal
//   server thread   requests ─► Site ─► Answers ─► responses (base/net/page_server.h)
//   Answers         threads that call this program: web --json, runs, report, live
//
// All that is read is read by children, each with a limit of time and memory: a huge or hostile
// record ends its child alone.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/commands/history_look.h"
#include "analysis/commands/run_files.h"
#include "analysis/mcp/child_call.h"
#include "analysis/web/answers.h"
#include "analysis/web/fleet.h"
#include "analysis/web/over_time.h"
#include "analysis/web/site.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/control/key.h"
#include "base/history/server_url.h"
#include "base/history/store.h"
#include "base/json/codec.h"
#include "base/page/page.h"
#include "base/record/runs.h"
#include "base/sys/signals.h"
#include "base/trends/lately.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDefaultPort = 9480;
constexpr std::int64_t kMaxPort = 65'535;

// Of each child, which inherits it. Under sanitizers a program takes far more than it uses.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMost = rlim_t{4} << 30;
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur > kMost) {
    limit.rlim_cur = kMost;
    setrlimit(RLIMIT_DATA, &limit);
  }
#endif
}

// As browsers write it behind "#".
std::string encoded(std::string_view text) {
  std::string all;
  for (const char byte : text) {
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || byte == '-' || byte == '.';
    all += is_plain ? std::string{byte} : fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  }
  return all;
}

class WebCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  bool is_of_subject() const { return !flags_.wanted.subject.empty(); }
  Result<> check() const;
  struct Read {
    std::string place = {};  // as it may be shown
    std::vector<history::MeasuredSeries> series = {};
    std::vector<history::StateSpan> states = {};
  };

  Result<Read> read(const cli::Context& context, const history::Wanted& wanted) const;
  Result<cli::Json> fleet(const cli::Context& context) const;
  Result<cli::Json> over_time(const cli::Context& context) const;
  Result<web::Access::Rules> rules(const cli::Context& context, const net::Address& address) const;
  Result<cli::ExitCode> serve(cli::Context& context) const;
  std::string address_of_page(const web::Access::Rules& rules, const net::Endpoint& bound) const;
  std::vector<std::string> options_of_children() const;
  std::string run_of(const std::string& source) const;

  LookFlags flags_;
  std::string runs_ = record::kRunsFolder;
  std::string listen_ = "127.0.0.1";
  std::int64_t port_ = kDefaultPort;
  std::string token_file_;
  bool is_newest_ = false;
};

cli::Summary WebCommand::summary() const {
  return {
      .name = "web",
      .purpose = "a page in the browser: hosts, what changed, runs, and the run that goes on now",
      .description =
          "Serves a page over the history and the runs until Ctrl-C, and prints its address. The "
          "page shows a map of hosts and figures with what is unusual, each subject over time with "
          "its changes, the runs with their reports, and the run that goes on now. It only reads, "
          "and asks no other server for anything.\n\n"
          "It listens on this host alone, where every user of the host can open it; --token-file "
          "keeps others out. With another address it asks for a token: that of --token-file, or "
          "else one that it makes and prints. The connection is not encrypted: for a network that "
          "you do not trust, use ssh -L.\n\n"
          "--json prints the document of the page and ends: the hosts, or SUBJECT over time.",
      .examples = {{"chokepoint web", "this user's history and chokepoint-runs, on this host"},
                   {"chokepoint web --history /shared/history.db --runs /shared/runs", "others"},
                   {"chokepoint web --listen 10.0.0.5 --token-file /etc/chokepoint.token",
                    "for other hosts, with a token"},
                   {"chokepoint web gpu3 --json", "what the page shows of gpu3, for a script"}}};
}

void WebCommand::define(cli::Flags& flags) {
  flags.positional("SUBJECT", &flags_.wanted.subject,
                   "a host, a path, a device or a job that the page shows first", false);
  flags_.define(flags);
  flags.group("What to show")
      .option("runs", &runs_, "DIR", "the folder of runs")
      .toggle("newest", &is_newest_, "with --json: newest values of the hosts, without changes");
  flags.group("Server")
      .option("listen", &listen_, "ADDRESS", "address to listen on")
      .option("port", &port_, "N", "port to listen on; 0: any that is free", 0, kMaxPort)
      .option("token-file", &token_file_, "FILE",
              "a token of 16 bytes or more, which others must not be able to read");
}

Result<> WebCommand::check() const {
  if (runs_.empty()) {
    return fail(ErrorKind::Usage, "", "--runs", "names no folder", "give the folder of runs");
  }
  if (!flags_.wanted.metric.empty() && !is_of_subject()) {
    return fail(ErrorKind::Usage, "", "--metric", "is of a subject", "give SUBJECT, too");
  }
  return {};
}

Result<WebCommand::Read> WebCommand::read(const cli::Context& context,
                                          const history::Wanted& wanted) const {
  Read read;
  TRY(const std::string place, wanted_place(flags_.history, context));
  TRY(const std::unique_ptr<history::Store> store, history::open_to_read(place));
  read.place = history::shown_place(place);
  TRY(read.series, store->read(wanted));
  if (!is_newest_) {
    TRY(read.states, store->states());
  }
  return read;
}

Result<cli::Json> WebCommand::fleet(const cli::Context& context) const {
  const std::int64_t now_ns = context.clock.wall_ns();
  const std::int64_t since_ns = now_ns - flags_.since.count();
  TRY(const Read read, this->read(context, is_newest_ ? history::Wanted{.since_ns = since_ns}
                                                      : flags_.read_from(now_ns)));
  std::vector<trends::HistoryFinding> findings;
  std::vector<trends::UnusualHost> hosts;
  if (!is_newest_) {
    findings = trends::changed_since(read.series, read.states, since_ns, now_ns);
    hosts = trends::unusual_hosts(read.series, read.states, now_ns);
  }
  web::Fleet fleet = web::fleet_of({.series = read.series,
                                    .findings = findings,
                                    .hosts = hosts,
                                    .since_ns = since_ns,
                                    .now_ns = now_ns});
  fleet.history = read.place;
  fleet.is_searched = !is_newest_;
  cli::Json document = cli::document(context, Fields<web::Fleet>::kSchema);
  document.update(json::to_json(fleet));
  return document;
}

Result<cli::Json> WebCommand::over_time(const cli::Context& context) const {
  TRY(const Read read, this->read(context, flags_.wanted));
  if (read.series.empty()) {
    return fail(ErrorKind::NotFound, "", flags_.wanted.subject, "nothing is remembered of it",
                "'chokepoint history --list' shows what is");
  }
  web::SubjectOverTime subject = web::over_time(read.series, read.states, context.clock.wall_ns());
  subject.history = read.place;
  subject.subject = flags_.wanted.subject;
  for (web::TimedSeries& series : subject.series) {
    for (web::TimedChange& change : series.changes) {
      change.run_before = run_of(change.source_before);
      change.run_after = run_of(change.source_after);
    }
  }
  cli::Json document = cli::document(context, Fields<web::SubjectOverTime>::kSchema);
  document.update(json::to_json(subject));
  return document;
}

// As the list of runs names it; empty where no run in the folder is the source.
std::string WebCommand::run_of(const std::string& source) const {
  const std::string folder = name_of_folder(runs_);
  std::error_code ignored;
  const fs::path name =
      fs::path(source).lexically_relative(fs::absolute(folder, ignored).lexically_normal());
  const bool is_inside = !name.empty() && name != "." && *name.begin() != "..";
  return is_inside && fs::is_directory(source, ignored) ? (fs::path(folder) / name).string()
                                                        : std::string();
}

Result<web::Access::Rules> WebCommand::rules(const cli::Context& context,
                                             const net::Address& address) const {
  web::Access::Rules rules{.host_name = sys::host_name(context.root),
                           .port = static_cast<int>(port_)};
  if (!token_file_.empty()) {
    TRY(rules.token, control::read_key_text(token_file_));
  } else if (!address.is_loopback()) {
    rules.token = control::random_id();
  }
  return rules;
}

std::string WebCommand::address_of_page(const web::Access::Rules& rules,
                                        const net::Endpoint& bound) const {
  const std::string place = bound.address.is_unspecified()
                                ? fmt::format("{}:{}", rules.host_name, bound.port)
                                : bound.text();
  const bool is_made = !rules.token.empty() && token_file_.empty();
  std::string shown;
  if (is_of_subject()) {
    shown = "#subject?subject=" + encoded(flags_.wanted.subject);
    shown += flags_.wanted.metric.empty() ? "" : "&metric=" + encoded(flags_.wanted.metric);
  }
  return fmt::format("http://{}/{}{}", place, is_made ? "?token=" + rules.token : "", shown);
}

// What this command was told of the history; the place itself comes by the environment, since a URL
// may hold a password.
std::vector<std::string> WebCommand::options_of_children() const {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(flags_.since).count();
  return {"--json", fmt::format("--since={}s", seconds)};
}

Result<cli::ExitCode> WebCommand::serve(cli::Context& context) const {
  constexpr std::chrono::seconds kClientTime{20};
  constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;
  if (page::page_script().empty()) {
    return fail(ErrorKind::Unsupported, "", "the page",
                "this chokepoint was built without the HTML pages: npm was missing",
                "build it again after 'scripts/setup build', or use a released package");
  }
  TRY(const net::Address address, net::Address::parse(listen_));
  TRY(web::Access::Rules rules, this->rules(context, address));
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  limit_memory();
  mcp::ChildCall call{.interrupt = signals.descriptor(), .most_bytes = kMaxAnswerBytes};
  if (const auto place = history::place_of(flags_.history, context)) {
    call.history = *place;
  }
  TRY(std::unique_ptr<web::Answers> answers, web::Answers::start(call));
  const web::Site site(web::Access(rules), *answers,
                       {.runs = name_of_folder(runs_), .options = options_of_children()});
  Result<std::unique_ptr<net::PageServer>> server = net::PageServer::start(
      {address, static_cast<std::uint16_t>(port_)},
      [&site](const net::PageRequest& request, const net::PageReply& reply) {
        site.respond(request, reply);
      },
      kClientTime);
  if (!server) {
    Error error = server.error();
    error.next_step =
        error.kind == ErrorKind::Busy ? "give another one with --port" : error.next_step;
    return fail(std::move(error));
  }
  fmt::print(context.out, "{}\n",
             address_of_page(rules, {address, static_cast<std::uint16_t>((*server)->port())}));
  context.out.flush();
  if (!context.quiet) {
    fmt::print(context.err, "chokepoint: web: Ctrl-C ends it\n");
  }
  // Read at the end: the calls that go on see by its descriptor that they have to end.
  pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, -1) <= 0) {
  }
  server->reset();
  answers.reset();
  std::ignore = signals.next();
  return cli::ExitCode::Done;
}

Result<cli::ExitCode> WebCommand::run(cli::Context& context) {
  TRY(check());
  if (!context.json) {
    return serve(context);
  }
  TRY(const cli::Json document, is_of_subject() ? over_time(context) : fleet(context));
  cli::print(context, document);
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory web_command() { return cli::command<WebCommand>(); }

}  // namespace chokepoint::analysis
