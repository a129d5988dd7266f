// chokepoint capture: its flags, the source, files and record that they lead to, and the run
// itself.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/math/units.h"
#include "base/record/forward.h"
#include "base/record/schema.h"
#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "base/sys/sandbox.h"
#include "base/sys/signals.h"
#include "capture/commands/capture_document.h"
#include "capture/commands/captured_job.h"
#include "capture/commands/commands.h"
#include "capture/commands/findings.h"
#include "capture/commands/progress.h"
#include "capture/commands/record_process.h"
#include "capture/job/place.h"
#include "capture/live/prepared_follow_up.h"
#include "capture/observer/ends.h"
#include "capture/observer/gloo.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/decoder.h"
#include "capture/source/capture_writer.h"
#include "capture/source/file_source.h"
#include "capture/source/helper.h"
#include "capture/source/live.h"
#include "capture/source/source.h"

namespace chokepoint::capture {
namespace {

struct Named {
  std::string_view name;
  bool packet::Tunnels::* member;
};

constexpr std::array<Named, 4> kTunnels{{{"vxlan", &packet::Tunnels::vxlan},
                                         {"geneve", &packet::Tunnels::geneve},
                                         {"gre", &packet::Tunnels::gre},
                                         {"ipip", &packet::Tunnels::ip_in_ip}}};

// --decapsulate: each may be a list by comma, "vxlan,gre". Mistakes are of kind Usage.
Result<packet::Tunnels> tunnels_named(const std::vector<std::string>& lists) {
  packet::Tunnels tunnels;
  for (const std::string& list : lists) {
    for (const auto word : std::views::split(list, ',')) {
      const std::string_view name(word.begin(), word.end());
      const auto* const found = std::ranges::find(kTunnels, name, &Named::name);
      if (found == kTunnels.end()) {
        return fail(ErrorKind::Usage, "", "--decapsulate " + std::string(name), "no such tunnel",
                    "give vxlan, geneve, gre or ipip");
      }
      tunnels.*(found->member) = true;
    }
  }
  return tunnels;
}

// Where frames come from.
struct SourceFlags {
  std::vector<std::string> interfaces = {};
  std::vector<std::string> files = {};
  std::vector<std::string> filter = {};  // words of one expression
  std::string network_namespace = {};
  std::int64_t snapshot_bytes = 144;  // Ethernet, VLAN, IPv6, TCP with timestamps, Gloo's header
  math::Bytes ring = {};              // 0: chosen for the rate of the link

  bool is_live() const { return files.empty(); }
};

struct OpenedSource {
  std::unique_ptr<source::Source> source;
  std::function<void()> stop = {};  // ends a live one
};

constexpr std::int64_t kMaxSnapshot = 262'144;

// What is typed in place of -r FILE. A network such as 10.0.0.0/8 is no file.
bool is_capture_file(const std::string& word) {
  constexpr std::array<std::string_view, 6> kEndings{".pcap", ".pcapng", ".cap",
                                                     ".dmp",  ".gz",     ".zst"};
  std::error_code failed;
  return std::ranges::any_of(kEndings, [&](std::string_view e) { return word.ends_with(e); }) ||
         (word.find('/') != std::string::npos && std::filesystem::is_regular_file(word, failed));
}

Result<> check(const SourceFlags& flags) {
  if (!flags.files.empty() && !flags.interfaces.empty()) {
    return fail(ErrorKind::Usage, "", "--interface, --read", "give only one of them");
  }
  if (!flags.files.empty() && !flags.network_namespace.empty()) {
    return fail(ErrorKind::Usage, "", "--netns, --read", "give only one of them");
  }
  if (const auto file = std::ranges::find_if(flags.filter, is_capture_file);
      flags.is_live() && file != flags.filter.end()) {
    const std::array words{std::string("-r"), *file};
    return fail(ErrorKind::Usage, "", *file, "is a file, not a filter",
                "read it with " + record::shell_line(words));
  }
  return {};
}

std::string expression_of(const SourceFlags& flags) {
  return fmt::format("{}", fmt::join(flags.filter, " "));
}

Result<OpenedSource> open_files(const SourceFlags& flags, int interrupt) {
  Result<std::unique_ptr<source::Source>> files = source::open_files(flags.files, interrupt);
  if (files && !flags.filter.empty()) {
    files = source::filtered(std::move(*files), expression_of(flags));
  }
  TRY(auto opened, std::move(files));
  return OpenedSource{.source = std::move(opened)};
}

Result<OpenedSource> open_interfaces(const SourceFlags& flags, const sys::Root& root) {
  const std::int64_t wanted = flags.snapshot_bytes > 0 ? flags.snapshot_bytes : kMaxSnapshot;
  TRY(std::unique_ptr<source::LiveSource> live,
      source::open_live({.interfaces = flags.interfaces,
                         .snapshot_bytes = static_cast<std::uint32_t>(wanted),
                         .ring_bytes = flags.ring.count,
                         .filter = expression_of(flags),
                         .netns = flags.network_namespace,
                         .root = root}));
  source::LiveSource* const stopped = live.get();
  return OpenedSource{.source = std::move(live), .stop = [stopped] { stopped->stop(); }};
}

void define(cli::Flags& flags, SourceFlags& source) {
  flags.group("Source of packets")
      .option("interface,i", &source.interfaces, "IF",
              "this interface; default, or 'any': all that are up, each packet once")
      .option("read,r", &source.files, "FILE",
              "read a capture file (pcap, pcapng, gzip, zstd; '-': standard input); several are "
              "merged by time")
      .option("netns", &source.network_namespace, "NAME", "capture in this network namespace")
      .option("snaplen", &source.snapshot_bytes, "N",
              "bytes to capture of each packet; 0: all. The analysis needs only the headers", 0,
              kMaxSnapshot)
      .option("ring", &source.ring, "SIZE",
              "size of the packet buffer; 0: chosen for the link's rate");
  flags.positional("filter", &source.filter,
                   "only these packets: a filter expression as for tcpdump", false);
}

// Mistakes are of kind Usage. `root`: where facts of interfaces are read. `interrupt`: readable
// once nobody waits for a pipe any more.
Result<OpenedSource> open(const SourceFlags& flags, const sys::Root& root, int interrupt) {
  TRY(check(flags));
  return flags.is_live() ? open_interfaces(flags, root) : open_files(flags, interrupt);
}

// "eth0, eth1"; "a.pcap"
std::string source_name(const SourceFlags& flags) {
  if (flags.is_live() && flags.interfaces.empty()) {
    return "any";
  }
  if (flags.files == std::vector<std::string>{"-"}) {
    return "standard input";
  }
  return fmt::format("{}", fmt::join(flags.is_live() ? flags.interfaces : flags.files, ", "));
}

// --write: packets go into files, too.
struct WriteFlags {
  std::string path = {};  // empty: nothing is written; "-": standard output
  math::Bytes file_bytes = {};
  std::chrono::nanoseconds file_time{0};
};

void define(cli::Flags& flags, WriteFlags& write) {
  flags.group("What to write")
      .option("write,w", &write.path, "FILE",
              "also write the packets: pcap, or pcapng for '.pcapng' and for several interfaces; "
              "compressed for '.zst'; '-': standard output")
      .option("rotate-size", &write.file_bytes, "SIZE", "start a new file after this size")
      .option("rotate-time", &write.file_time, "TIME", "start a new file after this time");
}

// Mistakes are of kind Usage.
Result<> check(const WriteFlags& flags) {
  const bool rotates = flags.file_bytes.count > 0 || flags.file_time.count() > 0;
  if (rotates && (flags.path.empty() || flags.path == "-")) {
    return fail(ErrorKind::Usage, "", "--rotate-size, --rotate-time", "need --write FILE");
  }
  if (std::filesystem::path(flags.path).extension() == ".db") {
    return fail(ErrorKind::Usage, "", "--write " + flags.path, "is the name of a run's record",
                "end it with .pcap or .pcapng");
  }
  return {};
}

// Writing begins with an empty file, which must be none of those that are read.
Result<> check_apart(const SourceFlags& source, const WriteFlags& write) {
  for (const std::string& file : source.files) {
    std::error_code failed;
    if (std::filesystem::equivalent(file, write.path, failed)) {
      return fail(ErrorKind::Usage, "", "--write " + write.path, "is the file that is read",
                  "give another one");
    }
  }
  return {};
}

source::WriteOptions options_of(const WriteFlags& flags) {
  return {.path = flags.path, .file_bytes = flags.file_bytes.count, .file_time = flags.file_time};
}

struct RecordFlags {
  std::string folder = {};  // empty: nothing is kept
  std::string node = {};    // empty: the host's name
  bool diagnoses = false;
};

void define(cli::Flags& flags, RecordFlags& record) {
  flags.group("Record")
      .option("record", &record.folder, "DIR",
              "store flows and their course over time in this run record; default with --diagnose: "
              "one in 'chokepoint-runs'")
      .option("node", &record.node, "NAME",
              "name of this node in the record; default: the host name")
      .toggle("diagnose", &record.diagnoses,
              "say what holds the job back whose traffic was captured, when the capture has ended");
}

// The recorder of an analyser's flows, and the job whose traffic they are.
class RecordListener final : public observer::FlowListener {
 public:
  RecordListener(record::Sink& sink, const observer::RecorderOptions& options, CapturedJob& job)
      : recorder_(sink, options), job_(job) {}

  void on_drop(observer::Analyser& analyser, const source::Drop& drop) override {
    recorder_.on_drop(analyser, drop);
  }
  void on_fold(observer::Analyser& analyser, std::uint32_t slot,
               const flow::FlowFacts& facts) override {
    analyser.traffic_bins().mark(slot, false);
    recorder_.on_fold(analyser, slot, facts);
  }
  void on_gloo(observer::Analyser& analyser, std::uint32_t slot,
               const observer::GlooLedger::Connection& connection) override {
    analyser.traffic_bins().mark(slot, true);
    recorder_.on_gloo(analyser, slot, connection);
  }
  void on_content(observer::Analyser& analyser, std::uint32_t slot,
                  traffic::Content content) override {
    recorder_.on_content(analyser, slot, content);
  }
  void after_batch(observer::Analyser& analyser) override {
    analyser.traffic_bins().count_all();
    pass_on(analyser);
    recorder_.after_batch(analyser);
  }
  void finish(observer::Analyser& analyser) {
    pass_on(analyser);
    recorder_.finish(analyser);
  }

 private:
  void pass_on(observer::Analyser& analyser) {
    job_.take(analyser.traffic_bins().bins());
    analyser.traffic_bins().clear();
  }

  observer::Recorder recorder_;
  CapturedJob& job_;
};

// --record: rows on their way to the record process while the observer works. Made before the
// observer starts, and after the sandbox was entered, because it starts a thread; finished once the
// observer has ended.
class Recording {
 public:
  static Result<std::unique_ptr<Recording>> start(RecordProcess& process,
                                                  const observer::RecorderOptions& options) {
    TRY(std::unique_ptr<record::Forwarder> rows,
        record::Forwarder::start(
            [&process](std::string_view bytes) { return process.send_rows(bytes); },
            kRowsInterval));
    return std::unique_ptr<Recording>(new Recording(std::move(rows), options));
  }

  // A new one for each analyser; they live as long as the recording.
  observer::FlowListener* listener() {
    recorders_.push_back(std::make_unique<RecordListener>(*rows_, options_, job_));
    return recorders_.back().get();
  }

  void take(const gloo::Collective& part, const packet::Ends& sending, std::int64_t now_ns) {
    const record::Collective row = collectives_.row_of(part);
    job_.take(row, row.communicator.value_or(0), sending, now_ns);
  }

  void finish(const observer::Observer& observer) {
    for (std::size_t i = 0; i < recorders_.size(); ++i) {
      recorders_[i]->finish(*observer.analysers()[i]);
    }
    job_.finish();
    rows_->close();
  }

 private:
  static constexpr std::chrono::milliseconds kRowsInterval{50};

  Recording(std::unique_ptr<record::Forwarder> rows, const observer::RecorderOptions& options)
      : rows_(std::move(rows)),
        options_(options),
        collectives_(*rows_, connections_, options_.wall_to_monotonic_ns,
                     observer::Joining::ByConnection),
        job_(*rows_, options_.wall_to_monotonic_ns, options_.is_live) {
    options_.connections = &connections_;
  }

  std::unique_ptr<record::Forwarder> rows_;
  observer::ConnectionFlows connections_;
  observer::RecorderOptions options_;
  observer::CollectiveRecorder collectives_;
  CapturedJob job_;
  std::vector<std::unique_ptr<RecordListener>> recorders_;
};

// A capture may be older than this host's monotonic clock, or another host's: the record of a file
// has the wall clock's times for both.
class WallClock final : public sys::Clock {
 public:
  std::int64_t monotonic_ns() const override { return wall_ns(); }
  std::int64_t wall_ns() const override { return sys::SystemClock().wall_ns(); }
};

constexpr std::int64_t kMaxThreads = 64;
constexpr std::int64_t kMaxFlows = 16'777'216;
constexpr std::int64_t kMaxFrames = std::int64_t{1} << 62;

// A file is read as fast as possible; a live capture takes one thread only, as it may run beside a
// job.
std::size_t usual_threads(const SourceFlags& source) {
  return source.is_live() || std::thread::hardware_concurrency() < 2 ? 1 : 2;
}

// chokepoint capture: the traffic of this host's interfaces, or of a file, flow by flow.
class CaptureCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "capture",
        .purpose = "traffic of this host by flow: throughput, loss, and what limited it",
        .description =
            "Captures on interfaces, or reads capture files, without changing the traffic. For "
            "every flow it reports volume and throughput in each direction, retransmissions and "
            "their causes, the round trip, bytes in flight and whether the receiver's window was "
            "full; also Gloo's collectives and RoCE's queue pairs. On a terminal the busiest "
            "flows are shown during the capture. Counts are packets on the wire, also with "
            "segmentation offload (TSO, GRO).\n\n"
            "Without --time or --count a live capture runs until Ctrl-C, which prints the "
            "results and ends with exit code 130. Needs CAP_NET_RAW to open an interface; files "
            "need "
            "no privilege. The process that reads packets has none; started by root, it runs as "
            "the user nobody.",
        .examples = {{"chokepoint capture -i eth0", "the flows over eth0, until Ctrl-C"},
                     {"chokepoint capture -i eth0 --time 10 --json port 29500",
                      "ten seconds of one port, as JSON"},
                     {"chokepoint capture -i br0 --time 60 --diagnose",
                      "what holds a job back that passes this host, such as a router"},
                     {"chokepoint capture -r job.pcap.zst", "the flows in a capture file"},
                     {"tcpdump -i eth0 -w - | chokepoint capture -r -",
                      "the capture of another program, from a pipe"}},
        .captures = true};
  }

  void define(cli::Flags& flags) override {
    capture::define(flags, source_);
    flags.group("How much")
        .option("time,t", &duration_, "TIME", "stop after this time")
        .formerly("duration")
        .option("count", &count_, "N", "stop after this many frames", 0, kMaxFrames)
        .option("flows", &flows_, "N",
                "keep at most N flows; beyond that the longest idle are only summed", 1, kMaxFlows)
        .option("threads", &threads_, "N",
                "1: one thread reads and analyses; 2 or more: one reads, the others analyse; 0: "
                "automatic",
                0, kMaxThreads)
        .group("What to look at")
        .option("decapsulate", &tunnels_, "KIND",
                "analyse the packets inside these tunnels: vxlan, geneve, gre, ipip; separate "
                "several by commas")
        .group("What to show")
        .option("top", &top_, "N", "show at most N flows", 0, kMaxFlows)
        .choice("sort", &sort_, sort_names(), "order of the flows")
        .toggle("series", &series_,
                "with --json: the course over time of the flows that --top selects");
    capture::define(flags, write_);
    capture::define(flags, record_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(check(context));
    if (source_.is_live()) {
      source::become_helper_if_needed();
    }
    if (!record_.diagnoses) {
      return capture(context);
    }
    if (record_.folder.empty()) {
      TRY(const job::Place place, job::choose_folder({}, record_.node, context.clock.wall_ns()));
      record_.folder = place.folder;
    }
    const bool is_taken = context.json || write_.path == "-";
    TRY(follow_up_, live::PreparedFollowUp::fork(
                        context, record_.folder,
                        {.diagnoses = true, .out = is_taken ? STDERR_FILENO : STDOUT_FILENO}));
    return capture(context);
  }

 private:
  Result<cli::ExitCode> capture(const cli::Context& context) {
    TRY(const observer::Settings wanted, settings());
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    const cli::Json head = cli::document(context, Fields<Findings>::kSchema);
    TRY(Work work, prepare(wanted, signals.descriptor(), context));
    work.observer->start();
    if (source_.is_live() && !context.quiet) {
      fmt::print(context.err, "listening on {}\n", source_name(source_));
      context.err.flush();
    }
    const bool is_interrupted = watch(*work.observer,
                                      {.source = source_name(source_),
                                       .is_live = source_.is_live(),
                                       .most_time = duration_,
                                       .sort = sort_named(sort_),
                                       .top = static_cast<std::size_t>(top_)},
                                      signals.descriptor(), context);
    // Taken, so that only another one ends the wait for the disk.
    while (signals.next()) {
    }
    const Result<> ended = work.observer->join();
    show(work, is_interrupted, head, context);
    // A file that cannot be written ends the capture; the record process reports why.
    const Result<> closed = close(work, signals.descriptor(), context);
    if (!ended || !closed) {
      return std::unexpected(closed ? ended.error() : closed.error());
    }
    if (follow_up_) {
      context.out.flush();
      follow_up_->run(signals.descriptor());
    }
    return is_interrupted ? cli::ExitCode::Interrupted : cli::ExitCode::Done;
  }

  // What is open while a capture goes on.
  struct Work {
    std::unique_ptr<RecordProcess> record_process = {};
    std::unique_ptr<source::CaptureWriter> writer = {};
    std::unique_ptr<Recording> recording = {};
    std::unique_ptr<observer::Observer> observer =
        {};  // the last: stops before what it writes to is destroyed
  };

  Result<> check(const cli::Context& context) const {
    if (context.json && write_.path == "-") {
      return fail(ErrorKind::Usage, "", "--json, --write -", "only one can use standard output");
    }
    if (duration_.count() == 0) {
      return fail(ErrorKind::Usage, "", "--time 0", "leaves no time to capture",
                  "leave it out to capture until Ctrl-C");
    }
    TRY(capture::check(write_));
    TRY(check_apart(source_, write_));
    if (series_ && !context.json) {
      return fail(ErrorKind::Usage, "", "--series", "needs --json");
    }
    return {};
  }

  Result<observer::Settings> settings() const {
    const bool is_course_kept = series_ || !record_.folder.empty();
    observer::Settings settings{
        .limits = {.flows = static_cast<std::size_t>(flows_), .keep_series = is_course_kept},
        .most_frames = static_cast<std::uint64_t>(count_),
        .most_time = duration_};
    TRY(const packet::Tunnels tunnels, tunnels_named(tunnels_));
    settings.tunnels = tunnels;
    settings.threads = threads_ > 0 ? static_cast<std::size_t>(threads_) : usual_threads(source_);
    return settings;
  }

  // Opens everything, and then enters the sandbox.
  Result<Work> prepare(observer::Settings settings, int interrupt,
                       const cli::Context& context) const {
    Work work;
    // First, as it forks; and it keeps the user's rights.
    TRY(start_record_process(work, context));
    TRY(OpenedSource opened, open(source_, context.root, interrupt));
    TRY(open_files(work));
    if (source_.is_live() && source_.network_namespace.empty()) {
      settings.own_addresses = observer::own_addresses(context.root);
    }
    TRY(sys::enter_sandbox(
        {.connected_to = work.record_process ? work.record_process->socket() : -1}));
    settings.stop_source = std::move(opened.stop);
    TRY(const observer::FlowListenerFactory listener_factory,
        begin_record(work, settings, context));
    observer::Keep keep;
    if (work.writer) {
      keep = [writer = work.writer.get()](const auto& batch, const auto& interfaces) {
        return writer->add(batch, interfaces);
      };
    }
    TRY(auto observer, observer::Observer::make(std::move(opened.source), settings,
                                                listener_factory, std::move(keep)));
    work.observer = std::move(observer);
    return work;
  }

  Result<> start_record_process(Work& work, const cli::Context& context) const {
    const bool has_files = !write_.path.empty() && write_.path != "-";
    if (!has_files && record_.folder.empty()) {
      return {};
    }
    RecordOptions options{.waits = !source_.is_live()};
    if (!record_.folder.empty()) {
      options.record = record::WriterOptions{.folder = record_.folder,
                                             .node = record_.node,
                                             .role = "capture",
                                             .program = context.version};
    }
    if (has_files) {
      options.files = options_of(write_);
    }
    static const WallClock packets_clock;
    const sys::Clock& clock = source_.is_live() ? context.clock : packets_clock;
    TRY(work.record_process, RecordProcess::start(options, context.root, clock));
    return {};
  }

  Result<> open_files(Work& work) const {
    if (write_.path.empty()) {
      return {};
    }
    source::WriteOptions options = options_of(write_);
    if (write_.path != "-") {
      // The record process may close its end of the pipe: that is an error of the write, not a
      // signal.
      sigset_t pipe;
      sigemptyset(&pipe);
      sigaddset(&pipe, SIGPIPE);
      pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
      options.open_next = [process = work.record_process.get()] { return process->next_file(); };
    }
    TRY(source::CaptureWriter writer, source::CaptureWriter::create(std::move(options)));
    work.writer = std::make_unique<source::CaptureWriter>(std::move(writer));
    return {};
  }

  Result<observer::FlowListenerFactory> begin_record(Work& work, observer::Settings& settings,
                                                     const cli::Context& context) const {
    if (record_.folder.empty()) {
      return observer::FlowListenerFactory();
    }
    // The record of a file has the packets' own times: see WallClock.
    const std::int64_t shift_ns =
        source_.is_live() ? context.clock.monotonic_ns() - context.clock.wall_ns() : 0;
    TRY(work.recording,
        Recording::start(*work.record_process, {.wall_to_monotonic_ns = shift_ns,
                                                .own_addresses = settings.own_addresses,
                                                .is_live = source_.is_live()}));
    Recording* const recording = work.recording.get();
    settings.on_part = [recording](const gloo::Collective& part, const packet::Ends& sending,
                                   std::int64_t now_ns) { recording->take(part, sending, now_ns); };
    return [recording](std::size_t) { return recording->listener(); };
  }

  // Prints the results.
  void show(const Work& work, bool is_interrupted, const cli::Json& head,
            const cli::Context& context) const {
    Findings findings = gather(*work.observer, sort_named(sort_), static_cast<std::size_t>(top_));
    findings.source = source_name(source_);
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

  // Ends the files and the record; an error if not everything could be kept. `interrupt`: readable
  // if the user does not want to wait.
  Result<> close(Work& work, int interrupt, const cli::Context& context) const {
    Result<> written;
    if (work.writer) {
      written = work.writer->finish();
    }
    if (work.recording) {
      work.recording->finish(*work.observer);
    }
    if (work.record_process) {
      TRY(const WrittenCapture outcome, work.record_process->close(interrupt));
      TRY(check_written(outcome, work.record_process->record_path()));
    }
    TRY(std::move(written));
    if (work.writer && !context.quiet) {
      fmt::print(context.err, "{} packets written to {}\n", work.writer->packets(),
                 fmt::join(work.writer->paths(), ", "));
    }
    if (work.recording && !context.quiet) {
      fmt::print(context.err, "kept in {}\n", work.record_process->record_path());
    }
    return {};
  }

  static Result<> check_written(const WrittenCapture& written, const std::string& record_path) {
    if (written.files_trouble || written.record_trouble) {
      return fail(written.files_trouble ? *written.files_trouble : *written.record_trouble);
    }
    if (written.dropped_rows > 0) {
      return fail(ErrorKind::Exhausted, "record", record_path,
                  fmt::format("{} rows could not be kept", written.dropped_rows),
                  "fewer flows fit: give a filter, or another disk");
    }
    return {};
  }

  SourceFlags source_;
  WriteFlags write_;
  RecordFlags record_;
  std::optional<live::PreparedFollowUp> follow_up_;
  std::vector<std::string> tunnels_;
  std::string sort_ = "rate";
  std::int64_t threads_ = 0;
  std::int64_t flows_ = 65'536;
  std::int64_t count_ = 0;
  std::int64_t top_ = 20;
  std::chrono::nanoseconds duration_{-1};  // less than 0: no end
  bool series_ = false;
};

}  // namespace

cli::CommandFactory capture_command() { return cli::command<CaptureCommand>(); }

}  // namespace chokepoint::capture
