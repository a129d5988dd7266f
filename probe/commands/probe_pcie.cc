// chokepoint probe pcie: what the slots of GPUs and NICs carry, measured where it can be. The links
// are watched by threads of their own; all else is one thread.
#include <chrono>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/host/cpu.h"
#include "base/host/inventory.h"
#include "base/sys/descriptor.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/kinds.h"
#include "probe/commands/pcie_page.h"
#include "probe/pcie/findings.h"

namespace chokepoint::probe {
namespace {

constexpr std::uint64_t kMinCopyBytes = 4096;
constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{64} << 30;

class ProbePcieCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe pcie",
        .purpose =
            "throughput of the PCIe slots of GPUs and NICs, and which devices are close to each "
            "other",
        .description =
            "Copies between host memory and each GPU, in each direction and in both at once, from "
            "pinned and pageable memory and from another NUMA node's, and between the GPUs; "
            "verifies "
            "the copied data; and compares the rates with the capacity of the PCIe link as "
            "trained under load. NICs and RDMA devices are judged by their "
            "slots' links against their line rates. A matrix shows how close devices are to each "
            "other.\n\n"
            "No other program should use the GPUs during the test. Without a GPU or its driver "
            "the rest is reported.",
        .examples = {
            {"chokepoint probe pcie", "every GPU, every pair of them, every NIC's slot"},
            {"chokepoint probe pcie --gpu 0 --gpu 1 --time 5", "two GPUs, five seconds a test"},
            {"chokepoint probe pcie --at-least 85 --exit-code",
             "for a script: exit code 3 if copies stay below 85 % of the link"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .option("gpu,g", &gpus_, "N", "this GPU by its number or PCI address; may be repeated")
        .option("bytes,b", &bytes_, "SIZE", "of a copy")
        .option("time,t", &time_, "TIME", "duration of each measurement")
        .toggle("no-peers", &no_peers_, "no copies between GPUs")
        .toggle("no-copies", &no_copies_, "no copies at all: slots and distances only")
        .group("What to show")
        .toggle("all,a", &all_, "every check in full, and those that passed")
        .percent("at-least", &at_least_,
                 "CRITICAL if copies stay below this share of the link's capacity (without it, a "
                 "WARNING below 75)")
        .toggle("exit-code", &exit_code_, "exit code 3 when a check is CRITICAL")
        .group("Where to look")
        .option("root", &root_, "DIR",
                "read /proc and /sys below this folder: a copy taken from another host; copies "
                "nothing");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check());
    if (root_ != "/") {
      context.root = sys::Root(root_);
      if (!context.root.exists("/")) {
        return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
      }
    }
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::Pcie>::kSchema);
    PcieShown shown{.slots = pcie::read_slots(context.root, host::read_gpu_states(context.root))};
    TRY(shown.measured, measure(context, signals.descriptor()));
    pcie::Thresholds thresholds;
    if (at_least_ > 0) {
      thresholds.min_percent = at_least_;
    }
    shown.checks = judge(shown.slots, host::read_cpu(context.root),
                         shown.measured ? &*shown.measured : nullptr, thresholds);
    return show(shown, std::move(document), context);
  }

 private:
  Result<> check() const {
    if (bytes_.count < kMinCopyBytes || bytes_.count > kMaxCopyBytes) {
      return fail(ErrorKind::Usage, "", "--bytes", "must be from 4K to 64G");
    }
    TRY(check_local_time("--time", time_, std::chrono::milliseconds(1)));
    const bool is_share = at_least_ >= 0 && at_least_ <= 100;  // false for NaN
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

  Result<std::optional<pcie::Measured>> measure(const cli::Context& context, int interrupt) const {
    if (no_copies_ || !context.root.is_live()) {
      return std::nullopt;
    }
    pcie::SurveyContext host;
    host.root = context.root;
    host.on_step = [&](const std::string& what) { cli::show_progress(context, what); };
    const pcie::Pace pace{.bytes = bytes_.count, .time = time_, .stopped = [interrupt] {
                            return sys::is_readable(interrupt);
                          }};
    TRY(pcie::Measured measured, survey(host, {.gpus = gpus_, .peers = !no_peers_}, pace));
    return measured;
  }

  Result<cli::ExitCode> show(const PcieShown& shown, cli::Json document,
                             const cli::Context& context) const {
    document.update(json::to_json(document_of(shown)));
    TRY(const cli::ExitCode code,
        baseline::answer(context, baseline_, {.kind = "pcie", .document = std::move(document)},
                         shown.measured && shown.measured->interrupted,
                         [&] { print_page(context, shown, all_); }));
    const bool is_found = exit_code_ && worst(shown.checks) >= checks::Status::Critical;
    return code == cli::ExitCode::Done && is_found ? cli::ExitCode::Found : code;
  }

  std::string root_ = "/";
  baseline::Flags baseline_;
  std::vector<std::string> gpus_;
  math::Bytes bytes_{std::uint64_t{512} << 20};
  std::chrono::nanoseconds time_ = std::chrono::milliseconds(500);
  double at_least_ = 0;
  bool no_copies_ = false;
  bool no_peers_ = false;
  bool all_ = false;
  bool exit_code_ = false;
};

}  // namespace

cli::CommandFactory pcie_command() {
  return trials::repeatable(cli::command<ProbePcieCommand>(),
                            documents::figures_of(documents::schemas::kPcie));
}

}  // namespace chokepoint::probe
