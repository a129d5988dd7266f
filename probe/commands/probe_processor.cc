// chokepoint probe processor: what this host's processors compute. The document
// chokepoint.probe.processor/1, and the table for people. One thread, and those that compute.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/json/codec.h"
#include "base/sys/descriptor.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/kinds.h"
#include "probe/local/processor.h"

namespace chokepoint::probe {
namespace {

void print_page(const cli::Context& context, const documents::ProbeProcessor& outcome) {
  using cli::Align;
  cli::Table table({{"processor"}, {"steps", Align::Right}, {"of its time", Align::Right}});
  const auto add = [&](const std::string& name, const documents::ProcessorPace& pace) {
    table.add({name, fmt::format("{:.0f} M/s", pace.million_steps_per_s),
               fmt::format("{:.1f} %", pace.got_percent)});
  };
  add("one thread alone", outcome.alone);
  for (const documents::ProcessorPace& pace : outcome.processors) {
    add(fmt::format("{}", pace.processor.value_or(0)), pace);
  }
  table.print(context.out, context.out_terminal);
  if (outcome.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

class ProbeProcessorCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe processor",
        .purpose =
            "speed of this host's processors, and the share of their time that a process gets",
        .description =
            "Computes with one thread alone, then with a thread pinned to each processor that "
            "this process may use, and reports the pace of each and the share of the time that "
            "it got. A lower pace than that of an equal host means a lower clock; less than all of "
            "the time means another program, or a quota of this process's control group. The pace "
            "is that of the best fifth of the time, so a short use by another program does not "
            "count.\n\n"
            "It loads every processor for --time. The work is a chain of multiplications: it can "
            "compare hosts with equal processors, not with different ones.",
        .examples = {{"chokepoint probe processor", "a second of one thread, then of all"},
                     {"chokepoint probe processor --time 0.2 --json", "the same for a script"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .option("time,t", &time_, "TIME", "duration of each of the two parts");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check_local_time("--time", time_, std::chrono::milliseconds(10)));
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeProcessor>::kSchema);
    cli::show_progress(context, "computing");
    TRY(const documents::ProbeProcessor outcome,
        processor::measure({.time = time_, .stopped = [interrupt = signals.descriptor()] {
                              return sys::is_readable(interrupt);
                            }}));
    document.update(json::to_json(outcome));
    return baseline::answer(context, baseline_,
                            {.kind = "processor", .document = std::move(document)},
                            outcome.interrupted, [&] { print_page(context, outcome); });
  }

 private:
  baseline::Flags baseline_;
  std::chrono::nanoseconds time_ = std::chrono::seconds(1);
};

}  // namespace

cli::CommandFactory processor_command() { return cli::command<ProbeProcessorCommand>(); }

}  // namespace chokepoint::probe
