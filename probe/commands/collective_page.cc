#include "probe/commands/collective_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

using documents::Collective;
using documents::CollectiveSize;

constexpr std::string_view kEmpty = "-";

std::string time_of(double us) { return math::format_ms(us / 1000); }

std::string rate_of(const std::optional<double>& mbps) {
  return mbps ? math::format_rate(*mbps * math::kMega) : std::string(kEmpty);
}

// As nccl-tests have it, 10^9 bytes/s, with three significant digits.
std::string gigabytes_of(const std::optional<double>& mbps) {
  if (!mbps) {
    return std::string(kEmpty);
  }
  const double gigabytes = *mbps / (math::kBits * 1e3);
  return gigabytes >= 1 ? math::three_digits(gigabytes) : fmt::format("{:#.3g}", gigabytes);
}

cli::Cell checked_of(const CollectiveSize& size) {
  if (!size.checked) {
    return {std::string(kEmpty)};
  }
  return *size.checked ? cli::Cell("yes") : cli::Cell("WRONG", cli::Tint::Bad);
}

std::vector<cli::Cell> row_of(const CollectiveSize& size) {
  const auto& times = size.time_us;
  return {math::format_bytes(static_cast<double>(size.bytes)),
          times ? time_of(times->median) : std::string(kEmpty),
          times ? time_of(times->p99) : std::string(kEmpty),
          rate_of(size.algbw_mbps),
          gigabytes_of(size.algbw_mbps),
          rate_of(size.busbw_mbps),
          gigabytes_of(size.busbw_mbps),
          std::to_string(times ? times->count : 0),
          checked_of(size)};
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "all-reduce of float32 by gloo, 4 ranks on 2 hosts, libgloo, tcp, eth0, ipv4, 1 socket a peer"
std::string head_of(const Collective& measured) {
  std::string text = fmt::format(
      "{} of {} by {}, {} on {}", measured.collective, name_of(measured.type), measured.backend,
      counted(measured.members.size(), "rank"), counted(measured.hosts, "host"));
  const documents::DataPath& path = measured.data_path;
  for (const std::string& each : {path.library, path.transport, path.interface, path.family}) {
    text += each.empty() ? "" : ", " + cli::printable(each);
  }
  if (path.channels) {
    text += ", " + counted(static_cast<std::size_t>(*path.channels), "channel");
  }
  if (path.sockets_per_peer) {
    text += ", " + counted(static_cast<std::size_t>(*path.sockets_per_peer), "socket") + " a peer";
  }
  return text;
}

}  // namespace

void print_page(const cli::Context& context, const CollectiveMeasured& measured) {
  using cli::Align;
  const Collective& document = measured.document;
  fmt::print(context.out, "{}\n\n", head_of(document));
  cli::Table table({{"size", Align::Right},
                    {"median", Align::Right},
                    {"p99", Align::Right},
                    {"algbw", Align::Right},
                    {"GB/s", Align::Right},
                    {"busbw", Align::Right},
                    {"GB/s", Align::Right},
                    {"iterations", Align::Right},
                    {"checked"}});
  for (const CollectiveSize& size : document.sizes) {
    table.add(row_of(size));
  }
  if (!document.sizes.empty()) {
    table.print(context.out, context.out_terminal);
    context.out << '\n';
  }
  if (document.alpha_us && document.beta_mbps) {
    fmt::print(context.out, "fitted: {} and the size at {}\n", time_of(*document.alpha_us),
               rate_of(document.beta_mbps));
  }
  for (const std::string& each : measured.advice) {
    fmt::print(context.out, "{}\n", cli::printable(each));
  }
  for (const CollectiveSize& size : document.sizes) {
    for (const auto& wrong : size.wrong.value_or(std::vector<documents::WrongElement>())) {
      fmt::print(context.out, "Wrong data: {}.\n", collective::describe(wrong));
    }
  }
  for (const std::string& each : document.missed) {
    fmt::print(context.out, "Threshold missed: {}.\n", each);
  }
  if (document.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
