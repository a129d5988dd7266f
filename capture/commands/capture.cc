#include "capture/commands/capture.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <thread>

#include "base/sys/signals.h"
#include "capture/commands/capture_document.h"
#include "capture/commands/capture_page.h"
#include "capture/commands/tunnels.h"
#include "capture/commands/watch.h"
#include "capture/observer/own_addresses.h"
#include "capture/source/privileges.h"

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kMostThreads = 64;
constexpr std::int64_t kMostFlows = 16'777'216;
constexpr std::int64_t kMostCount = std::int64_t{1} << 62;

// A file is read as fast as it goes; beside a job one thread has to do.
std::size_t usual_threads(const SourceFlags& source) {
  return source.is_live() || std::thread::hardware_concurrency() < 2 ? 1 : 2;
}

}  // namespace

cli::Summary CaptureCommand::summary() const {
  return {
      .name = "capture",
      .purpose = "what travels here, flow by flow: how fast, what was lost, what held it back?",
      .description =
          "Watches interfaces, or reads captures, without touching the traffic, and says of every "
          "flow how much it carried each way and how fast, what was sent again and why, the round "
          "trip, what was in flight and whether the receiver's window was full; of Gloo's "
          "collectives and RoCE's queue pairs, too. On a terminal the busiest flows are shown "
          "while it goes on. Super-frames of segmentation offload count as the segments that the "
          "wire carries.\n\n"
          "Without --duration or --count a live capture goes on until Ctrl-C, which prints the "
          "results and ends with exit code 130. Needs CAP_NET_RAW to watch an interface, and gives "
          "it up once that is open; files need no privilege.",
      .examples = {{"chokepoint capture -i eth0", "the flows over eth0, until Ctrl-C"},
                   {"chokepoint capture -i eth0 --duration 10 --json port 29500",
                    "ten seconds of one port, as a document"},
                   {"chokepoint capture -r job.pcap.zst", "what a capture holds"},
                   {"tcpdump -i eth0 -w - | chokepoint capture -r -",
                    "somebody else's capture as it comes"}}};
}

void CaptureCommand::define(cli::Flags& flags) {
  capture::define(flags, source_);
  flags.group("How much")
      .option("duration", &duration_, "TIME", "end after that long")
      .option("count", &count_, "N", "end after so many frames", 0, kMostCount)
      .option("flows", &flows_, "N", "keep so many; the longest idle are summed up beyond", 1,
              kMostFlows)
      .option("threads", &threads_, "N",
              "1: one reads and analyses; 2 and more: one reads; 0: as it suits", 0, kMostThreads)
      .group("What to look at")
      .option("decapsulate", &tunnels_, "KIND",
              "look inside these tunnels: vxlan, geneve, gre, ipip; several by comma")
      .group("What to show")
      .option("top", &top_, "N", "so many flows on the page", 0, kMostFlows)
      .choice("sort", &sort_, sort_names(), "which flows come first")
      .toggle("series", &series_, "with --json: the course of the flows that --top names");
  capture::define(flags, write_);
  capture::define(flags, record_);
}

Result<> CaptureCommand::check(const cli::Context& context) const {
  if (context.json && write_.path == "-") {
    return fail(ErrorKind::Usage, "", "--json, --write -", "only one can have standard output");
  }
  if (series_ && !context.json) {
    return fail(ErrorKind::Usage, "", "--series", "needs --json");
  }
  return {};
}

Result<observer::Settings> CaptureCommand::settings() const {
  observer::Settings settings{.limits = {.flows = static_cast<std::size_t>(flows_)},
                              .most_frames = static_cast<std::uint64_t>(count_),
                              .most_time = duration_};
  TRY(const packet::Tunnels tunnels, tunnels_named(tunnels_));
  settings.tunnels = tunnels;
  settings.threads = threads_ > 0 ? static_cast<std::size_t>(threads_) : usual_threads(source_);
  return settings;
}

Result<CaptureCommand::Work> CaptureCommand::prepare(observer::Settings settings,
                                                     const cli::Context& context) const {
  TRY(OpenedSource opened, open(source_, context.root));
  Result<std::unique_ptr<source::CaptureWriter>> writer = open(write_);
  if (!writer) {
    return std::unexpected(writer.error());
  }
  const bool keeps_files = *writer != nullptr || !record_.folder.empty();
  TRY(source::give_up_privileges(keeps_files ? source::Keep::Files : source::Keep::Nothing));
  settings.stop_source = std::move(opened.stop);
  if (source_.is_live() && source_.network_namespace.empty()) {
    settings.own_addresses = observer::own_addresses(context.root);
  }
  Work work{.writer = std::move(*writer)};
  TRY(const observer::FlowListenerFactory listener_factory, begin_record(work, settings, context));
  observer::Keep keep;
  if (work.writer) {
    keep = [writer = work.writer.get()](const auto& batch, const auto& interfaces) {
      return writer->add(batch, interfaces);
    };
  }
  TRY(auto observer, observer::Observer::make(std::move(opened.source), settings, listener_factory,
                                              std::move(keep)));
  work.observer = std::move(observer);
  return work;
}

Result<observer::FlowListenerFactory> CaptureCommand::begin_record(
    Work& work, observer::Settings& settings, const cli::Context& context) const {
  if (record_.folder.empty()) {
    return observer::FlowListenerFactory();
  }
  TRY(auto opened, Recording::open(record_, settings.own_addresses, source_.is_live(), context));
  work.recording = std::move(opened);
  Recording* const recording = work.recording.get();
  settings.on_collective = [recording](const gloo::Collective& each) { recording->keep(each); };
  return [recording](std::size_t) { return recording->listener(); };
}

Result<cli::ExitCode> CaptureCommand::run(cli::Context& context) {
  TRY(check(context));
  TRY(const observer::Settings wanted, settings());
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  const cli::Json head = cli::document(context, "chokepoint.capture/1");
  TRY(Work work, prepare(wanted, context));
  work.observer->start();
  if (source_.is_live() && !context.quiet) {
    fmt::print(context.err, "listening on {}\n", name_of(source_));
    context.err.flush();
  }
  const bool is_interrupted = watch(*work.observer,
                                    {.source = name_of(source_),
                                     .is_live = source_.is_live(),
                                     .most_time = duration_,
                                     .sort = sort_named(sort_),
                                     .top = static_cast<std::size_t>(top_)},
                                    signals->descriptor(), context);
  const Result<> ended = work.observer->join();
  show(work, is_interrupted, head, context);
  const Result<> closed = close(work, context);
  if (!ended || !closed) {
    return std::unexpected(ended ? closed.error() : ended.error());
  }
  return is_interrupted ? cli::ExitCode::Interrupted : cli::ExitCode::Done;
}

void CaptureCommand::show(const Work& work, bool is_interrupted, const cli::Json& head,
                          const cli::Context& context) const {
  Findings findings = gather(*work.observer, sort_named(sort_), static_cast<std::size_t>(top_));
  findings.source = name_of(source_);
  findings.is_interrupted = is_interrupted;
  if (context.json) {
    print_document(context, head, findings, *work.observer, {.series = series_});
    return;
  }
  // Standard output may be taken by the packets.
  const bool is_taken = write_.path == "-";
  print_page(is_taken ? context.err : context.out,
             is_taken ? context.err_terminal : context.out_terminal, findings);
}

Result<> CaptureCommand::close(Work& work, const cli::Context& context) const {
  Result<> closed;
  if (work.writer) {
    closed = work.writer->finish();
    if (closed && !context.quiet) {
      fmt::print(context.err, "{} packets written to {}\n", work.writer->packets(),
                 fmt::join(work.writer->paths(), ", "));
    }
  }
  if (work.recording) {
    const Result<> recorded = work.recording->finish(*work.observer, context);
    closed = closed ? recorded : closed;
  }
  return closed;
}

}  // namespace chokepoint::capture
