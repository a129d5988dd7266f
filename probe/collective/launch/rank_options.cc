#include "probe/collective/launch/rank_options.h"

#include <algorithm>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::probe::collective {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr int kMostGpus = 1024;
constexpr int kLongestTimeout = 3600;

// An interface, an address or an algorithm; nothing that a command line takes for a flag.
bool is_plain(const std::string& text) {
  const auto plain = [](unsigned char each) {
    return std::isalnum(each) != 0 ||
           std::string_view("_.:-%@,=^").contains(static_cast<char>(each));
  };
  return !text.starts_with('-') && std::ranges::all_of(text, plain);
}

}  // namespace

std::vector<std::string> command_of(const std::string& program, const RankOptions& options) {
  std::vector<std::string> command{program, "probe", "collective", "--backend=" + options.backend,
                                   "--timeout=" + std::to_string(options.timeout.count())};
  if (!options.interface.empty()) {
    command.push_back("--interface=" + options.interface);
  }
  if (!options.algorithm.empty()) {
    command.push_back("--algorithm=" + options.algorithm);
  }
  if (options.gpu) {
    command.push_back("--gpu=" + std::to_string(*options.gpu));
  }
  return command;
}

control::Json body_of(const RankOptions& options) {
  return {{"backend", options.backend},
          {"interface", options.interface},
          {"algorithm", options.algorithm},
          {"gpu", control::or_null(options.gpu)},
          {"timeout_s", options.timeout.count()}};
}

Result<RankOptions> rank_options_in(const control::Json& body) {
  control::Fields in(body, "ranks");
  RankOptions options{.backend = in.text("backend", kLongestName),
                      .interface = in.text("interface", kLongestName),
                      .algorithm = in.text("algorithm", kLongestName)};
  if (const auto gpu = in.maybe_integer("gpu", 0, kMostGpus)) {
    options.gpu = static_cast<int>(*gpu);
  }
  options.timeout = std::chrono::seconds(in.integer("timeout_s", 1, kLongestTimeout));
  for (const std::string& text : {options.backend, options.interface, options.algorithm}) {
    if (!is_plain(text)) {
      return fail(ErrorKind::Malformed, "read message", "ranks", "a name with odd characters");
    }
  }
  return in.finish(std::move(options));
}

}  // namespace chokepoint::probe::collective
