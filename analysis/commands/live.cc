// chokepoint live: the nodes of a run while it goes on, and the verdict so far.
//
//   reader thread   records or metrics ─► LiveView ─┐ (mutex; a byte in a pipe)
//   main thread     keys, signals, size ─► draw() ◄─┘
//
// Without a terminal, and with --once, one thread reads and prints.
#include "analysis/commands/live.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <thread>

#include "analysis/commands/commands.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/run_files.h"
#include "base/cli/output.h"
#include "base/cli/screen.h"
#include "base/cli/text.h"
#include "base/host/launcher.h"
#include "base/json/codec.h"
#include "base/sys/signals.h"
#include "base/sys/thread.h"

namespace chokepoint::analysis {
namespace {

using std::chrono::nanoseconds;

// Reads repeatedly on a thread of its own; the thread that draws takes the newest. Signals are for
// the thread that draws.
class LiveReader {
 public:
  static Result<std::unique_ptr<LiveReader>> start(LiveSource& source, LiveView first,
                                                   nanoseconds every) {
    TRY(sys::Pipe news, sys::open_pipe("live", "a pipe"));
    std::unique_ptr<LiveReader> reader(new LiveReader(std::move(first), std::move(news)));
    TRY(reader->thread_, sys::start_thread("live", [reader = reader.get(), &source, every] {
          reader->read(source, every);
        }));
    return reader;
  }
  LiveReader(const LiveReader&) = delete;
  LiveReader& operator=(const LiveReader&) = delete;
  ~LiveReader() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopped_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  // Becomes readable when there is something new.
  int descriptor() const { return news_.read.get(); }

  LiveView newest() {
    std::array<char, 64> bytes{};
    if (sys::is_readable(news_.read.get())) {
      std::ignore = ::read(news_.read.get(), bytes.data(), bytes.size());
    }
    const std::scoped_lock lock(mutex_);
    return view_;
  }

 private:
  LiveReader(LiveView first, sys::Pipe news) : view_(std::move(first)), news_(std::move(news)) {}

  void read(LiveSource& source, nanoseconds every) {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, every, [this] { return is_stopped_; }) && !has_ended(view_)) {
      lock.unlock();
      Result<LiveView> view = source.read();
      lock.lock();
      if (view) {  // else the one before stays
        view_ = *std::move(view);
        std::ignore = ::write(news_.write.get(), "", 1);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopped_ = false;
  LiveView view_;
  sys::Pipe news_;
  std::thread thread_;
};

enum class Key { None, Quit, Pause, Up, Down };

Key key_of(const std::string& typed) {
  if (typed == "q" || typed == "Q") {
    return Key::Quit;
  }
  if (typed == " ") {
    return Key::Pause;
  }
  if (typed == "\033[A" || typed == "\033OA" || typed == "k") {
    return Key::Up;
  }
  return typed == "\033[B" || typed == "\033OB" || typed == "j" ? Key::Down : Key::None;
}

class LiveCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<std::unique_ptr<LiveSource>> choose_source(const cli::Context& context) const;
  Result<cli::ExitCode> print_lines(cli::Context& context, LiveSource& source, LiveView view) const;
  Result<cli::ExitCode> show(cli::Context& context, LiveSource& source, LiveView view) const;

  std::vector<std::string> places_;
  DiagnoseOptions options_;
  nanoseconds every_ = std::chrono::seconds(2);
  bool once_ = false;
};

cli::Summary LiveCommand::summary() const {
  return {
      .name = "live",
      .purpose = "all nodes of a running job: steps, throughput, and the verdict so far",
      .description =
          "Shows a run while its job runs: the verdict so far with its reason and advice, the "
          "newest "
          "steps, and for each node how long they take, how long its ranks wait for others, what "
          "is sent and received, what is retransmitted, round trips, the busiest core, and GPUs. "
          "The records are read in a folder that the nodes share, or on this host. If no folder is "
          "shared, give the addresses at which 'run --metrics' "
          "serves each node's figures; these give no verdict.\n\n"
          "Keys: q quits, space pauses, arrows scroll if there are more nodes than rows. It ends "
          "with the run, and then shows the verdict. If standard output is no terminal, it prints "
          "one line for each reading, with --json one document for each.",
      .examples = {
          {"chokepoint live", "the newest run in chokepoint-runs"},
          {"chokepoint live /shared/runs/812", "the run of all nodes in a shared folder"},
          {"chokepoint live gpu[1-4]:9464", "four nodes under 'run --metrics :9464'"},
          {"chokepoint live --once", "the state of the run now, as text"},
          {"chokepoint live --json --interval 10s", "a document every ten seconds, a line each"}}};
}

void LiveCommand::define(cli::Flags& flags) {
  flags
      .positional("DIR", &places_,
                  "the run's folder or its name in chokepoint-runs, several if its nodes have one "
                  "each; or HOST:PORT of their metrics; default: the newest run here",
                  false)
      .a_run();
  flags.group("What to show")
      .option("interval", &every_, "TIME", "time between two readings")
      .formerly("every")
      .toggle("once", &once_, "read once and end");
  define_judging(flags, options_);
}

bool is_folder(const std::string& place) {
  std::error_code ignored;
  return std::filesystem::exists(place, ignored);
}

// "gpu[1-4]:9464": an address for each.
Result<std::vector<Scraper>> scrapers_of(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  std::vector<std::string> addresses{place};
  if (place.contains("[") && !place.contains("]:/") && place.find('[') > 0) {
    TRY(const auto hosts, host::hosts_of(place.substr(0, colon)));
    addresses.clear();
    for (const std::string& host : hosts) {
      addresses.push_back(host + place.substr(colon));
    }
  }
  std::vector<Scraper> scrapers;
  for (const std::string& address : addresses) {
    TRY(Scraper scraper, Scraper::of(address));
    scrapers.push_back(std::move(scraper));
  }
  return scrapers;
}

// Not one that looks like a folder that is missing.
bool is_address(const std::string& place) {
  return place.starts_with("http://") || (place.contains(':') && !place.contains('/'));
}

Result<std::unique_ptr<LiveSource>> LiveCommand::choose_source(const cli::Context& context) const {
  constexpr std::size_t kMaxNodes = 256;
  std::vector<std::string> folders;
  std::vector<Scraper> scrapers;
  for (const std::string& place : places_) {
    if (is_folder(place) || !is_address(place)) {
      TRY(std::string folder, choose_run(context, "live", place));
      folders.push_back(std::move(folder));
    } else {
      TRY(std::vector<Scraper> some, scrapers_of(place));
      std::ranges::move(some, std::back_inserter(scrapers));
    }
  }
  if (!folders.empty() && !scrapers.empty()) {
    return fail(ErrorKind::Usage, "", places_.back(), "folders and addresses cannot be mixed",
                "give one kind");
  }
  if (scrapers.size() > kMaxNodes) {
    return fail(ErrorKind::Usage, "", places_.front(),
                fmt::format("{} nodes are more than {}", scrapers.size(), kMaxNodes), "give fewer");
  }
  if (!scrapers.empty()) {
    return metrics_source(std::move(scrapers));
  }
  if (folders.empty()) {
    TRY(std::string newest, choose_run(context, "live", ""));
    folders.push_back(std::move(newest));
  }
  return record_source(std::move(folders), options_, every_, context.clock);
}

cli::Json document_of(const cli::Context& context, const LiveView& view) {
  cli::Json document = cli::document(context, "chokepoint.live/1");
  document["run"] = view.run;
  document["nodes"] = cli::Json::array();
  for (const LiveNode& node : view.nodes) {
    document["nodes"].push_back(json::to_json(node));
  }
  document["diagnosis"] = view.diagnosis ? document_of(context, *view.diagnosis) : cli::Json();
  return document;
}

void print_line(cli::Context& context, const LiveView& view) {
  if (context.json) {
    context.out
        << document_of(context, view).dump(-1, ' ', false, cli::Json::error_handler_t::replace)
        << '\n';
  } else {
    const std::string next =
        has_ended(view) && !view.next.empty() ? fmt::format("; next: {}", view.next) : "";
    fmt::print(context.out, "{} {}; {}{}\n", sys::rfc3339(context.clock.wall_ns()),
               cli::printable(state_of(view)),
               cli::printable(view.diagnosis ? headline_of(*view.diagnosis) : view.no_diagnosis),
               cli::printable(next));
  }
  context.out.flush();
}

void print_once(cli::Context& context, const LiveView& view) {
  if (context.json) {
    cli::print(context, document_of(context, view));
    return;
  }
  const LiveFrame frame{.columns = static_cast<std::size_t>(context.out_terminal.width), .rows = 0};
  for (const std::string& line : draw(view, frame, context.out_terminal)) {
    context.out << line << '\n';
  }
}

Result<cli::ExitCode> LiveCommand::print_lines(cli::Context& context, LiveSource& source,
                                               LiveView view) const {
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
  for (;;) {
    print_line(context, view);
    if (has_ended(view)) {
      return cli::ExitCode::Done;
    }
    pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(every_);
    if (poll(&waiting, 1, static_cast<int>(wait.count())) > 0) {
      return cli::ExitCode::Interrupted;
    }
    if (Result<LiveView> next = source.read()) {  // else the one before stays
      view = *std::move(next);
    }
  }
}

// Draws until a key, a signal or the end of the run; what it returns is the last view.
Result<std::pair<LiveView, cli::ExitCode>> draw_until_end(LiveReader& reader,
                                                          const cli::Screen& screen,
                                                          const sys::Signals& signals,
                                                          const cli::Terminal& terminal) {
  LiveFrame frame;
  LiveView view = reader.newest();
  for (;;) {
    const cli::ScreenSize size = screen.size();
    frame.columns = static_cast<std::size_t>(size.columns);
    frame.rows = static_cast<std::size_t>(size.rows);
    screen.draw(draw(view, frame, terminal));
    if (has_ended(view) && !frame.is_paused) {
      return std::pair(std::move(view), cli::ExitCode::Done);
    }
    std::array<pollfd, 3> waiting{pollfd{signals.descriptor(), POLLIN, 0},
                                  pollfd{screen.descriptor(), POLLIN, 0},
                                  pollfd{reader.descriptor(), POLLIN, 0}};
    poll(waiting.data(), waiting.size(), -1);
    while (const auto signal = signals.next()) {
      if (*signal != SIGWINCH) {
        return std::pair(std::move(view), cli::ExitCode::Interrupted);
      }
    }
    if (waiting[1].revents != 0) {
      const std::string typed = screen.keys();
      const Key key = key_of(typed);
      if (key == Key::Quit || (typed.empty() && (waiting[1].revents & POLLHUP) != 0)) {
        return std::pair(std::move(view), cli::ExitCode::Done);
      }
      frame.is_paused = frame.is_paused != (key == Key::Pause);
      frame.first_node += key == Key::Down && frame.first_node + 1 < view.nodes.size() ? 1 : 0;
      frame.first_node -= key == Key::Up && frame.first_node > 0 ? 1 : 0;
    }
    if (LiveView newest = reader.newest(); !frame.is_paused) {
      view = std::move(newest);
    }
  }
}

Result<cli::ExitCode> LiveCommand::show(cli::Context& context, LiveSource& source,
                                        LiveView view) const {
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM, SIGHUP, SIGWINCH}));
  std::optional<std::pair<LiveView, cli::ExitCode>> last;
  {
    TRY(const std::unique_ptr<LiveReader> reader,
        LiveReader::start(source, std::move(view), every_));
    TRY(const cli::Screen screen, cli::Screen::take("/dev/tty"));
    TRY(last, draw_until_end(*reader, screen, signals, context.out_terminal));
  }
  if (last->first.diagnosis) {
    print_page(context.out, context.out_terminal, *last->first.diagnosis);
  }
  return last->second;
}

Result<cli::ExitCode> LiveCommand::run(cli::Context& context) {
  constexpr auto kMinEvery = std::chrono::milliseconds(100);
  constexpr auto kMaxEvery = std::chrono::hours(1);
  if (every_ < kMinEvery || every_ > kMaxEvery) {
    return fail(ErrorKind::Usage, "", "--interval", "is no time to wait", "give 100ms to 1h");
  }
  TRY(check_judging(options_));
  TRY(const std::unique_ptr<LiveSource> source, choose_source(context));
  TRY(LiveView view, source->read());
  if (once_) {
    if (source->warm_up().count() > 0) {
      std::this_thread::sleep_for(source->warm_up());
      TRY(view, source->read());
    }
    print_once(context, view);
    return cli::ExitCode::Done;
  }
  return context.out_terminal.interactive && !context.json
             ? show(context, *source, std::move(view))
             : print_lines(context, *source, std::move(view));
}

}  // namespace

cli::CommandFactory live_command() { return cli::command<LiveCommand>(); }

}  // namespace chokepoint::analysis
