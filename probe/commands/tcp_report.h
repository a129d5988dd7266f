// What probe tcp shows: chokepoint.probe.tcp/1, the table for people, and the live line an
// interval.
#pragma once

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/tcp/outcome.h"
#include "probe/tcp/trial.h"
#include "probe/tcp/verdict.h"

namespace chokepoint::probe {

// One direction with what was made of it.
struct Judged {
  tcp::Outcome outcome = {};
  tcp::Verdict verdict = {};
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const tcp::Trial& test, const std::vector<Judged>& directions);

void print_page(const cli::Context& context, const tcp::Trial& test,
                const std::vector<Judged>& directions);

// A line on standard error for each interval, where a person watches: once both ends have told
// their part of it.
class TcpLive {
 public:
  explicit TcpLive(const cli::Context& context) : context_(context) {}
  void show(tcp::Side side, const tcp::IntervalMeasure& interval);

 private:
  struct Way {
    std::optional<tcp::IntervalMeasure> sent = {};
    std::optional<tcp::IntervalMeasure> received = {};
  };
  void print(bool from_here);

  const cli::Context& context_;
  Way to_peer_;
  Way from_peer_;
};

}  // namespace chokepoint::probe
