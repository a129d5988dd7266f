#include "capture/commands/source_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/source/filtered.h"
#include "capture/source/live.h"
#include "capture/source/open.h"

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kMostSnapshot = 262'144;

Result<> check(const SourceFlags& flags) {
  if (!flags.files.empty() && !flags.interfaces.empty()) {
    return fail(ErrorKind::Usage, "", "--interface, --read", "give only one of them");
  }
  if (!flags.files.empty() && !flags.network_namespace.empty()) {
    return fail(ErrorKind::Usage, "", "--netns, --read", "give only one of them");
  }
  return {};
}

std::string expression_of(const SourceFlags& flags) {
  return fmt::format("{}", fmt::join(flags.filter, " "));
}

Result<OpenedSource> open_files(const SourceFlags& flags) {
  Result<std::unique_ptr<source::Source>> files = source::open_files(flags.files);
  if (files && !flags.filter.empty()) {
    files = source::filtered(std::move(*files), expression_of(flags));
  }
  if (!files) {
    return std::unexpected(files.error());
  }
  return OpenedSource{.source = std::move(*files)};
}

Result<OpenedSource> open_interfaces(const SourceFlags& flags, const sys::Root& root) {
  const std::int64_t wanted = flags.snapshot_bytes > 0 ? flags.snapshot_bytes : kMostSnapshot;
  Result<std::unique_ptr<source::LiveSource>> live =
      source::open_live({.interfaces = flags.interfaces,
                         .snapshot_bytes = static_cast<std::uint32_t>(wanted),
                         .ring_bytes = flags.ring.count,
                         .filter = expression_of(flags),
                         .netns = flags.network_namespace,
                         .root = root});
  if (!live) {
    return std::unexpected(live.error());
  }
  source::LiveSource* const stopped = live->get();
  return OpenedSource{.source = std::move(*live), .stop = [stopped] { stopped->stop(); }};
}

}  // namespace

void define(cli::Flags& flags, SourceFlags& source) {
  flags.group("Where packets come from")
      .option("interface,i", &source.interfaces, "IF",
              "this interface; 'any', and without it: all that are up, no packet twice")
      .option("read,r", &source.files, "FILE",
              "a capture instead (pcap, pcapng, gzip, zstd; '-': standard input); several are "
              "merged by time")
      .option("netns", &source.network_namespace, "NAME", "look inside this network namespace")
      .option("snaplen", &source.snapshot_bytes, "N",
              "bytes of a packet to take; 0: all. The analysis needs no more than headers", 0,
              kMostSnapshot)
      .option("ring", &source.ring, "SIZE",
              "memory for packets that wait; 0: chosen for the link's rate");
  flags.positional("filter", &source.filter, "only these packets: an expression as tcpdump has",
                   false);
}

Result<OpenedSource> open(const SourceFlags& flags, const sys::Root& root) {
  TRY(check(flags));
  return flags.is_live() ? open_interfaces(flags, root) : open_files(flags);
}

std::string name_of(const SourceFlags& flags) {
  if (flags.is_live() && flags.interfaces.empty()) {
    return "any";
  }
  if (flags.files == std::vector<std::string>{"-"}) {
    return "standard input";
  }
  return fmt::format("{}", fmt::join(flags.is_live() ? flags.interfaces : flags.files, ", "));
}

}  // namespace chokepoint::capture
