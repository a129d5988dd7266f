// chokepoint mark: sends a mark from a training script to the run that watches it.
#include <fmt/ostream.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/host/launcher.h"
#include "capture/commands/commands.h"
#include "capture/step/marks.h"

namespace chokepoint::capture {
namespace {

constexpr std::int64_t kMaxNumber = std::numeric_limits<std::int64_t>::max();

std::optional<std::int64_t> given(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

Result<> sent(const cli::Context& context, const step::Mark& mark) {
  const std::string variable(step::kMarksVariable);
  const std::string socket = context.environment(variable).value_or("");
  if (socket.empty()) {
    return fail(ErrorKind::NotFound, "", "",
                variable + " is not set, so no 'chokepoint run' is listening",
                "start the job by 'chokepoint run'");
  }
  return step::send_mark(socket, mark);
}

class MarkCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "mark",
        .purpose = "a step mark from inside a job",
        .description =
            "Marks the beginning of a step for the 'chokepoint run' that watches this job; the "
            "previous step ends. Other names than 'step' become events in the record. It never "
            "waits.\n\n"
            "A training script must not fail because it is not watched: in that case a line on "
            "standard error says so, and the exit code is 0, unless --required is given.",
        .examples = {{"chokepoint mark", "a step begins"},
                     {"chokepoint mark step --number 17 --samples 64", "its number and samples"},
                     {"chokepoint mark evaluation", "another event happens now"}},
        .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.positional("NAME", &name_, "what begins; default: step", false);
    flags.group("The mark")
        .option("number", &number_, "N", "the step's number, as counted by the job", 0, kMaxNumber)
        .option("samples", &samples_, "N", "samples of training data in this step", 0, kMaxNumber)
        .toggle("required", &required_, "fail if no 'chokepoint run' is listening");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    if (!step::is_mark_name(name_)) {
      return fail(ErrorKind::Usage, "", "NAME", "one word of at most 64 letters without '='");
    }
    const Result<> done = sent(context, {.name = name_,
                                         .number = given(number_),
                                         .samples = given(samples_),
                                         .rank = host::find_rank(context.environment).rank.rank,
                                         .t_ns = context.clock.monotonic_ns()});
    if (!done && required_) {
      return fail(done.error());
    }
    if (!done && !context.quiet) {
      fmt::print(context.err, "chokepoint: mark: {}\n", describe(done.error()));
    }
    return cli::ExitCode::Done;
  }

 private:
  std::string name_ = "step";
  std::int64_t number_ = -1;
  std::int64_t samples_ = -1;
  bool required_ = false;
};

}  // namespace

cli::CommandFactory mark_command() { return cli::command<MarkCommand>(); }

}  // namespace chokepoint::capture
