#include "scripts/train/trainer/settings.h"

#include <fmt/core.h>
#include <fmt/ostream.h>

#include <cstdlib>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

namespace chokepoint::trainer {
namespace {

namespace po = boost::program_options;

std::string from_environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

void apply_environment(Settings& settings) {
  settings.rank = std::stoi(from_environment("RANK", "0"));
  settings.ranks = std::stoi(from_environment("WORLD_SIZE", "1"));
  settings.interface = from_environment("GLOO_SOCKET_IFNAME", "");
}

po::options_description described(Settings& settings) {
  po::options_description options("a training job's traffic by real Gloo collectives");
  auto add = options.add_options();
  add("help", "this text");
  add("pattern", po::value(&settings.pattern), "dp, tp or pp");
  add("rank", po::value(&settings.rank), "of this process; else RANK");
  add("ranks", po::value(&settings.ranks), "in all; else WORLD_SIZE");
  add("meet", po::value(&settings.meet)->required(), "a folder all ranks see, new for each run");
  add("interface", po::value(&settings.interface), "else GLOO_SOCKET_IFNAME, else the host's name");
  add("family", po::value(&settings.family), "4 or 6");
  add("rdma", po::value(&settings.rdma), "by verbs over this device, such as rxe0; dp only");
  add("gid-index", po::value(&settings.gid_index), "of this device");
  add("bytes", po::value(&settings.bytes), "a step (dp, pp), or a layer's activation (tp)");
  add("pieces", po::value(&settings.pieces), "buckets (dp), layers (tp), micro-batches (pp)");
  add("compute-ms", po::value(&settings.compute_ms), "a step and rank");
  add("spin", po::bool_switch(&settings.spin), "computes with the processor, else sleeps");
  add("forward-only", po::bool_switch(&settings.forward_only), "pp: nothing goes back");
  add("late-rank", po::value<int>(), "comes late in each step");
  add("late-ms", po::value(&settings.late_ms), "so much");
  add("steps", po::value(&settings.steps), "so many");
  add("seconds", po::value(&settings.seconds), "or for so long, as rank 0 counts");
  add("quiet", po::bool_switch(&settings.quiet), "no line a step");
  add("marks", po::bool_switch(&settings.marks), "marks each step by CHOKEPOINT_MARKS");
  add("truth", po::value(&settings.truth), "a file for what the time went to");
  return options;
}

// @FILE stands for the words in it, one a line.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words;
  for (const std::string_view word : std::span(argv, std::size_t(argc)).subspan(1)) {
    if (!word.starts_with('@')) {
      words.emplace_back(word);
      continue;
    }
    std::ifstream file{std::string(word.substr(1))};
    for (std::string line; std::getline(file, line);) {
      words.push_back(line);
    }
  }
  return words;
}

void check(const Settings& settings) {
  if (settings.rank < 0 || settings.rank >= settings.ranks) {
    throw std::runtime_error(fmt::format("no rank {} of {}", settings.rank, settings.ranks));
  }
  if (!settings.rdma.empty() && settings.pattern != "dp") {
    throw std::runtime_error("Gloo's collectives over verbs are enough for --pattern dp only");
  }
  if (settings.pieces < 1 || settings.bytes < sizeof(float) * std::size_t(settings.pieces)) {
    throw std::runtime_error("each piece needs at least four bytes");
  }
}

}  // namespace

std::optional<Settings> parse(int argc, char** argv) {
  Settings settings;
  apply_environment(settings);
  const auto options = described(settings);
  po::variables_map given;
  po::store(po::command_line_parser(words_of(argc, argv)).options(options).run(), given);
  if (given.contains("help")) {
    fmt::print("{}", fmt::streamed(options));
    return {};
  }
  po::notify(given);
  if (given.contains("late-rank")) {
    settings.late_rank = given["late-rank"].as<int>();
  }
  check(settings);
  return settings;
}

}  // namespace chokepoint::trainer
