// usage: fit_judge RECORDS < SETTINGS
//
// Judges one run many times. The first line of the answer is the verdict by the constants as they
// are; then one for each line "FILE:NAME FACTOR" of the input, by that constant multiplied. A
// constant that this run never came to changes nothing. Each is judged by a process of its own, so
// that one that ends in a bad way ends nothing else.
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <optional>
#include <sstream>
#include <string>

#include "analysis/attribution/diagnose.h"
#include "analysis/commands/diagnose.h"
#include "analysis/load/run_data.h"
#include "base/cli/context.h"
#include "base/record/reader.h"
#include "base/sys/clock.h"
#include "tests/corpus/fit/fitted.h"

namespace chokepoint {
namespace {

constexpr unsigned kMostSeconds = 60;  // of one judgement
constexpr const char* kNoAnswer = R"({"verdict":{"class":"no-answer"}})";

struct Setting {
  std::string key = {};
  double factor = 1;
};

// What is worked out from the constant follows, whichever of them is listed first.
void apply(const Setting& setting) {
  for (int pass = 0; pass < 2; ++pass) {
    for (const fit::Constant& constant : fit::constants()) {
      constant.multiply(constant.key == setting.key ? setting.factor : 1);
    }
  }
}

std::string verdict_of(const analysis::RunData& run) {
  const sys::SystemClock clock;
  const cli::Context context{.out = std::cout,
                             .err = std::cerr,
                             .clock = clock,
                             .root = sys::Root("/"),
                             .environment = [](const std::string&) { return std::nullopt; },
                             .out_terminal = {},
                             .err_terminal = {}};
  const cli::Json document = analysis::document_of(context, analysis::diagnose(run));
  return cli::Json({{"verdict", document["verdict"]}, {"others", document["others"]}})
      .dump(-1, ' ', false, cli::Json::error_handler_t::replace);
}

void print_by(const Setting& setting, const analysis::RunData& run) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kMostSeconds);
    apply(setting);
    std::cout << verdict_of(run) << '\n' << std::flush;
    ::_exit(0);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
    std::cout << kNoAnswer << '\n';
  }
}

int judge(const std::string& folder) {
  Result<record::Run> records = record::open_run(folder);
  if (!records) {
    std::cerr << "fit_judge: " << describe(records.error()) << '\n';
    return 1;
  }
  const analysis::RunData run = analysis::load_run(*records);
  std::cout << verdict_of(run) << '\n';
  for (std::string line; std::getline(std::cin, line);) {
    Setting setting;
    if (!(std::istringstream(line) >> setting.key >> setting.factor)) {
      std::cerr << "fit_judge: no constant and factor: " << line << '\n';
      return 2;
    }
    print_by(setting, run);
  }
  return 0;
}

}  // namespace
}  // namespace chokepoint

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: fit_judge RECORDS < SETTINGS\n";
    return 2;
  }
  return chokepoint::judge(words[1]);
}
