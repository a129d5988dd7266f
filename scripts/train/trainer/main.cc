// usage: lab_trainer --meet FOLDER --pattern dp|tp|pp [options]; --help has them all
//
// A training job's traffic by real Gloo collectives, with computing of a known length: for trying
// chokepoint, and for the lab. ../README.md tells how.
#include <fmt/core.h>

#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "scripts/train/trainer/group.h"
#include "scripts/train/trainer/marks.h"
#include "scripts/train/trainer/pattern.h"
#include "scripts/train/trainer/settings.h"
#include "scripts/train/trainer/step_clock.h"
#include "scripts/train/trainer/truth.h"

namespace {

using namespace chokepoint::trainer;

void tell(const Settings& settings, long number, const StepTruth& step) {
  if (settings.quiet) {
    return;
  }
  const double loss = 0.2 + 2.0 / std::sqrt(double(number));
  fmt::print("step {} loss {:.3f} time {:.1f}ms\n", number, loss,
             double(step.end_ns - step.start_ns) / 1e6);
  std::fflush(stdout);
}

void train(const Settings& settings, StepClock& clock) {
  Group group(settings);
  const auto pattern = make_pattern(group, settings);
  const Marks marks(settings.marks);
  const auto began = now_ns();
  bool is_over = false;
  for (long number = 1; !is_over; ++number) {
    const bool is_last = settings.rank == 0 && (number >= settings.steps ||
                                                double(now_ns() - began) / 1e9 >= settings.seconds);
    marks.step(number);
    clock.begin();
    is_over = pattern->step(clock, is_last);
    clock.end();
    tell(settings, number, clock.steps().back());
  }
  group.meet();
}

// The failure, or nothing.
std::string trained(const Settings& settings, StepClock& clock) {
  try {
    train(settings, clock);
    return {};
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

int run(const Settings& settings) {
  StepClock clock(settings);
  const auto failure = trained(settings, clock);
  if (!settings.truth.empty()) {
    write_truth(settings, clock, failure);
  }
  if (!failure.empty()) {
    fmt::print(stderr, "lab_trainer: rank {}: {}\n", settings.rank, failure);
  }
  return failure.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto settings = parse(argc, argv);
    return settings ? run(*settings) : 0;
  } catch (const std::exception& mistake) {
    fmt::print(stderr, "lab_trainer: {}; --help tells how it is used\n", mistake.what());
    return 2;
  }
}
