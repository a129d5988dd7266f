// usage: write_preflight KIND json|html|text|all [judged]
//
// What is told of a made cluster, for the tests that open its page in a browser and for who wants
// to look at it. judged: with what the judgement finds, not with made-up findings.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>

#include "preflight/judge/judge.h"
#include "preflight/report/document.h"
#include "preflight/report/page.h"
#include "tests/fakes/manual_clock.h"
#include "tests/preflight/report/made_cluster.h"

namespace {

using namespace chokepoint;

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int write(const std::string& kind, const std::string& form, bool is_judged) {
  const fakes::ManualClock clock;
  const cli::Context context{.out = std::cout,
                             .err = std::cerr,
                             .clock = clock,
                             .root = sys::Root("/"),
                             .environment = environment,
                             .out_terminal = cli::terminal_of(STDOUT_FILENO, environment),
                             .err_terminal = {}};
  preflight::MadeCluster cluster = preflight::made_cluster_named(kind);
  if (is_judged) {
    cluster.judgement = preflight::judge(cluster.measured, preflight::Limits(), nullptr);
  }
  if (form == "json") {
    cli::print(context, preflight::document_of(context, cluster.measured, cluster.judgement));
  } else if (form == "html") {
    const Result<std::string> html =
        preflight::html_of(context, cluster.measured, cluster.judgement);
    std::cout << (html ? *html : describe(html.error()));
    return html ? 0 : 77;
  } else {
    preflight::print_page(context, cluster.measured, cluster.judgement, form == "all");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool is_judged = argc == 4 && std::string_view(argv[3]) == "judged";
    if (argc == 3 || is_judged) {
      return write(argv[1], argv[2], is_judged);
    }
    std::cerr << "usage: write_preflight KIND json|html|text|all [judged]\n";
  } catch (const std::exception& error) {
    std::cerr << "write_preflight: " << error.what() << '\n';
  }
  return 2;
}
