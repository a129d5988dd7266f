// chokepoint probe storage: what the storage below a folder does for a training job. The document
// chokepoint.probe.storage/1, and the table for people. One thread, and those of the random reads.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/host/mounts.h"
#include "base/math/units.h"
#include "base/sys/descriptor.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/kinds.h"
#include "probe/local/storage.h"

namespace chokepoint::probe {
namespace {

constexpr std::uint64_t kMinBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;

std::string place_of(const documents::ProbeStorage& outcome) {
  if (!outcome.mount) {
    return outcome.folder;
  }
  std::string place =
      fmt::format("{} lies on {}, {}", outcome.folder, outcome.mount->point, outcome.mount->type);
  if (outcome.mount->is_in_memory()) {
    return place + ", which is memory";
  }
  place += " of " + outcome.mount->source;
  if (outcome.disk) {
    place += fmt::format(" (disk {}{}{})", outcome.disk->name,
                         outcome.disk->model.empty() ? "" : ", " + outcome.disk->model,
                         outcome.disk->is_rotational.value_or(false) ? ", rotating" : "");
  }
  return place;
}

std::string megabytes_text(const std::optional<double>& mb_per_s) {
  return mb_per_s ? fmt::format("{:.0f} MB/s", *mb_per_s) : "-";
}

void print_page(const cli::Context& context, const documents::ProbeStorage& outcome) {
  using cli::Align;
  fmt::print(context.out, "{}\n\n", place_of(outcome));
  cli::Table table({{""},
                    {"rate", Align::Right},
                    {"median", Align::Right},
                    {"p99", Align::Right},
                    {"max", Align::Right}});
  table.add({"write, synced every 32 MiB", megabytes_text(outcome.write_mb_per_s), "", "", ""});
  if (const auto& sync = outcome.sync_ms) {
    table.add({"write of 4 KiB, synced each time", fmt::format("{:.0f}/s", 1e3 / sync->mean),
               math::format_ms(sync->median), math::format_ms(sync->p99),
               math::format_ms(sync->max)});
  }
  if (outcome.read_mb_per_s) {
    table.add({outcome.read_cold ? "read, not in the page cache" : "read, partly of the page cache",
               megabytes_text(outcome.read_mb_per_s), "", "", ""});
  }
  for (const documents::RandomReads& reads : outcome.random_reads) {
    table.add({fmt::format("random reads of 4 KiB, {} thread{}", reads.threads,
                           reads.threads == 1 ? "" : "s"),
               fmt::format("{:.0f}/s", reads.per_s), math::format_ms(reads.latency_ms.median),
               math::format_ms(reads.latency_ms.p99), math::format_ms(reads.latency_ms.max)});
  }
  table.print(context.out, context.out_terminal);
  for (const std::string& problem : outcome.problems) {
    fmt::print(context.out, "not measured: {}\n", problem);
  }
  if (!outcome.random_direct && !outcome.random_reads.empty()) {
    context.out << "This file system has no reads that bypass the page cache: random reads may be "
                   "faster than its disk.\n";
  }
  if (outcome.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

class ProbeStorageCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe storage",
        .purpose = "speed of the storage below a folder: writes, syncs, reads",
        .description =
            "Measures what a training job asks of its storage: writing a checkpoint, small synced "
            "writes as of a log, reading a data set from its beginning to its end and in random "
            "order, from one thread and from several, none of it from the page cache.\n\n"
            "It writes one file below the folder, which has no name if the file system allows "
            "that, and is removed in any case. At least a twentieth of the "
            "file system and 256 MiB stay free. The cache of a file server, or of the host of a "
            "virtual machine, may hold the file: give a --bytes larger than that cache.",
        .examples = {{"chokepoint probe storage /data", "the file system of the data set"},
                     {"chokepoint probe storage /mnt/nfs --bytes 16G --time 10",
                      "a file that a server's cache does not hold"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("PATH", &path_, "a folder in which this user may write")
        .group("What to measure")
        .option("bytes,b", &size_, "SIZE", "of the file, at most")
        .formerly("size")
        .option("time,t", &time_, "TIME", "duration of each measurement")
        .option("threads", &threads_, "N", "of the random reads", 1, 64);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check());
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::canonical(path_, error);
    if (error || !std::filesystem::is_directory(folder, error)) {
      return fail(ErrorKind::NotFound, "", path_, error ? "no such folder" : "is no folder",
                  "name a folder on the storage");
    }
    cli::Json document = cli::document(context, Fields<documents::ProbeStorage>::kSchema);
    const int interrupt = signals.descriptor();
    const storage::Plan plan{
        .folder = folder,
        .bytes = size_.count,
        .time = time_,
        .threads = static_cast<std::size_t>(threads_),
        .stopped = [interrupt] { return sys::is_readable(interrupt); },
        .on_step = [&](const std::string& what) { cli::show_progress(context, what); }};
    TRY(documents::ProbeStorage outcome, storage::measure(plan, context.clock));
    const std::vector<host::Mount> mounts = host::read_mounts(context.root);
    if (const host::Mount* mount = host::mount_of(mounts, outcome.folder)) {
      outcome.mount = *mount;
      outcome.disk = host::disk_of(context.root, *mount);
    }
    document.update(json::to_json(outcome));
    return baseline::answer(context, baseline_,
                            {.kind = "storage", .document = std::move(document)},
                            outcome.interrupted, [&] { print_page(context, outcome); });
  }

 private:
  Result<> check() const {
    if (size_.count < kMinBytes || size_.count > kMaxBytes) {
      return fail(ErrorKind::Usage, "", "--bytes", "must be from 1M to 1T");
    }
    TRY(check_local_time("--time", time_, std::chrono::milliseconds(10)));
    return {};
  }

  std::string path_;
  baseline::Flags baseline_;
  math::Bytes size_{std::uint64_t{1} << 30};
  std::chrono::nanoseconds time_ = std::chrono::seconds(2);
  std::int64_t threads_ = 8;
};

}  // namespace

cli::CommandFactory storage_command() {
  return trials::repeatable(cli::command<ProbeStorageCommand>(),
                            documents::figures_of(documents::schemas::kStorage));
}

}  // namespace chokepoint::probe
