#include "probe/commands/probe_pcie.h"

#include <fmt/ostream.h>

#include "base/host/cpu.h"
#include "base/host/inventory.h"
#include "base/sys/signals.h"
#include "probe/commands/is_readable.h"
#include "probe/pcie/findings.h"

namespace chokepoint::probe {
namespace {

constexpr std::uint64_t kLeastBytes = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 30;

std::function<void(const std::string&)> teller(const cli::Context& context) {
  return [&context](const std::string& what) {
    if (context.err_terminal.interactive && !context.quiet) {
      fmt::print(context.err, "{} …\n", what);
      context.err << std::flush;
    }
  };
}

}  // namespace

cli::Summary ProbePcieCommand::summary() const {
  return {.name = "probe pcie",
          .purpose = "what do the slots of GPUs and NICs carry, and what is near to what?",
          .description =
              "Copies between host memory and each GPU, each way, both ways at once, from pinned "
              "and pageable memory and from another NUMA node's, and between the GPUs; holds what "
              "arrived against what was sent; and compares the rates with what the PCIe link "
              "carries as it is trained under load. NICs and RDMA devices are judged by their "
              "slots' links against their line rates. A matrix tells how near devices are to each "
              "other.\n\n"
              "Nobody else should use the GPUs meanwhile. Without a GPU or its driver the rest is "
              "told all the same.",
          .examples = {
              {"chokepoint probe pcie", "every GPU, every pair of them, every NIC's slot"},
              {"chokepoint probe pcie --gpu 0 --gpu 1 --time 5", "two GPUs, five seconds a test"},
              {"chokepoint probe pcie --at-least 85 --exit-code",
               "for a script: exit code 3 where copies stay below 85 % of the link"}}};
}

void ProbePcieCommand::define(cli::Flags& flags) {
  flags.group("What to measure")
      .option("gpu,g", &gpus_, "N", "this GPU by its number or PCI address; may be repeated")
      .option("bytes,b", &bytes_, "SIZE", "of a copy")
      .option("time,t", &time_, "TIME", "of each measurement")
      .toggle("no-peers", &no_peers_, "no copies between GPUs")
      .toggle("no-copies", &no_copies_, "no copies at all: slots and nearness only")
      .group("What to show")
      .toggle("all,a", &all_, "every check in full, and those that passed")
      .option("at-least", &at_least_, "PERCENT",
              "CRITICAL where copies stay below this share of what the link carries (a WARNING "
              "below 75 without it)")
      .toggle("exit-code", &exit_code_, "exit code 3 when a check is CRITICAL")
      .group("Where to look")
      .option("root", &root_, "DIR",
              "read /proc and /sys below this folder: a copy taken from another host; copies "
              "nothing");
  baseline::define(flags, baseline_);
}

Result<> ProbePcieCommand::check() const {
  if (bytes_.count < kLeastBytes || bytes_.count > kMostBytes) {
    return fail(ErrorKind::Usage, "", "--bytes", "must be from 4K to 64G");
  }
  if (time_ < std::chrono::milliseconds(1) || time_ > std::chrono::hours(1)) {
    return fail(ErrorKind::Usage, "", "--time", "must be from 1 ms to 1 h");
  }
  const bool is_share = at_least_ >= 0 && at_least_ <= 100;  // which "nan" is not
  if (!is_share) {
    return fail(ErrorKind::Usage, "", "--at-least", "must be from 0 to 100 percent");
  }
  if (!gpus_.empty() && (no_copies_ || root_ != "/")) {
    return fail(ErrorKind::Usage, "", "--gpu",
                no_copies_ ? "says what to copy, and --no-copies that nothing is"
                           : "is of this host, and --root of another");
  }
  return {};
}

Result<std::optional<pcie::Measured>> ProbePcieCommand::measure(const cli::Context& context,
                                                                int interrupt) const {
  if (no_copies_ || !context.root.is_live()) {
    return std::nullopt;
  }
  pcie::Surroundings host;
  host.root = context.root;
  host.tell = teller(context);
  const pcie::Pace pace{.bytes = bytes_.count, .time = time_, .stopped = [interrupt] {
                          return is_readable(interrupt);
                        }};
  auto measured = survey(host, {.gpus = gpus_, .peers = !no_peers_}, pace);
  return measured ? Result<std::optional<pcie::Measured>>(std::move(*measured))
                  : fail(std::move(measured.error()));
}

Result<cli::ExitCode> ProbePcieCommand::run(cli::Context& context) {
  TRY(check());
  if (root_ != "/") {
    context.root = sys::Root(root_);
    if (!context.root.exists("/")) {
      return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
    }
  }
  const auto signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return fail(signals.error());
  }
  cli::Json document = cli::document(context, "chokepoint.pcie/1");
  PcieShown shown{.slots = pcie::read_slots(context.root, host::read_gpu_states(context.root))};
  TRY(auto measured, measure(context, signals->descriptor()));
  shown.measured = std::move(measured);
  pcie::Thresholds thresholds;
  if (at_least_ > 0) {
    thresholds.least_percent = at_least_;
  }
  shown.checks = judge(shown.slots, host::read_cpu(context.root),
                       shown.measured ? &*shown.measured : nullptr, thresholds);
  return show(shown, std::move(document), context);
}

Result<cli::ExitCode> ProbePcieCommand::show(const PcieShown& shown, cli::Json document,
                                             const cli::Context& context) const {
  add_to(document, shown);
  if (context.json) {
    cli::print(context, document);
  } else {
    print_page(context, shown, all_);
  }
  const baseline::Finding finding{.kind = "pcie", .document = std::move(document)};
  TRY(keep(baseline_, finding, context));
  if (shown.measured && shown.measured->interrupted) {
    return cli::ExitCode::Interrupted;
  }
  const bool is_found = exit_code_ && worst(shown.checks) >= checks::Status::Critical;
  return is_found ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace chokepoint::probe
