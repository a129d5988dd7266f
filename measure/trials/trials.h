// A command run several times, and what its figures tell then: for who wants to know whether a
// setting changes anything. repeatable() wraps a command, which gets
//
//   --repeat N             N rounds; a mean and where it lies
//   --congestion cubic,bbr a list for one option whose value is none: a variant for each
//   --against "--mss 900"  a variant with other options than the command line as it stands
//   --setup "sysctl …"     a variant for each: what a shell does before each of its trials
//   --until-sure           no more rounds than it takes
//
//   round 1   B A        every round has every variant once, in random order, so that what drifts
//   round 2   A B        (other traffic, a warming processor) drifts for all of them
//   …         each is this same program with --json, a process of its own
//
// Without any of these the command runs as it is. judge() and the document are pure; the rest on
// the command's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/documents/main_figures.h"
#include "base/documents/trials.h"
#include "base/math/significance.h"

namespace chokepoint::trials {

struct Variant {
  std::string label = {};               // "cubic"; "as given"
  std::vector<std::string> words = {};  // of its command line, the program's name left out
  std::string setup = {};               // a shell's command before each of its trials
};

// Of one variant; empty where a document has no such number.
using Values = std::vector<std::optional<double>>;

using End = documents::TrialsEnd;

struct Trials {
  std::string command = {};  // as it was given, without what repeats it
  std::string varied = {};   // "--congestion"; empty where nothing is
  std::vector<documents::Figure> figures = {};
  std::vector<Variant> variants = {};
  // By variant and figure, a value for each trial that succeeded.
  std::vector<std::vector<Values>> values = {};
  std::vector<std::size_t> failed = {};  // trials by variant
  // By variant, "host_facts" of its last trial's document.
  std::vector<std::optional<documents::HostFacts>> host_facts = {};
  std::vector<std::string> errors = {};  // what they said, each once
  std::size_t rounds = 0;
  bool is_looked_at_often = false;  // after each round, to end as soon as it is sure
  End ended_by = End::Rounds;
};

// How often a difference may be told where there is none, over all variants and rounds.
constexpr double kAlpha = 0.05;

// A variant's figure.
struct Estimate {
  std::size_t count = 0;
  double mean = 0;
  double median = 0;
  std::optional<math::Interval> interval = {};  // of the mean, 95 %; from two values on
};

std::optional<Estimate> estimate(const Values& values);

enum class Judged : std::uint8_t {
  Open,     // a difference may be there
  Differs,  // and is larger than chance makes it
  Alike,    // the interval lies within kAlikePercent
};

constexpr double kAlikePercent = 2;

// The second's figure against the first's.
struct Difference {
  double percent = 0;
  math::Interval interval = {};  // in percent, at 1 − alpha
  double p = 1;
  Judged judged = Judged::Open;
};

// nullopt with fewer than two values on either side, or a first mean of 0. `alpha`: how often a
// difference may be told where there is none.
std::optional<Difference> judge(const Values& first, const Values& second, double alpha);

// Looking after every round gives chance a new opportunity each time: of the share alpha the look
// after round n gets 6 / (π n)², which all together are no more than alpha.
double alpha_of_look(double alpha, std::size_t look);

// From this round on a look may end the trials.
constexpr std::size_t kFirstLook = 3;

// What a comparison of these trials, as they stand, may spend of kAlpha.
double alpha_of(const Trials& trials);

// The figure that decides: the first of which every variant has values; nullopt if there is none.
std::optional<std::size_t> deciding_figure(const Trials& trials);

// What the deciding figure shows of each variant but the first, "bbr: throughput 12 % higher than
// with cubic (9 to 15 %), p 0.001"; of a single variant where its mean lies.
std::vector<std::string> sentences(const Trials& trials);

documents::Trials document_of(const Trials& trials);
void print_page(const cli::Context& context, const Trials& trials);

// `figures`: the first that its documents have decides.
cli::CommandFactory repeatable(const cli::CommandFactory& command,
                               std::vector<documents::Figure> figures);

}  // namespace chokepoint::trials
