// Command lines come from people, scripts and job schedulers: whatever the words, the parser either
// fills the flags or says in one error what is wrong.
#include <cstdlib>
#include <string>
#include <vector>

#include "base/cli/flags.h"
#include "base/sys/error.h"

namespace {

// One word a line.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (c == '\n') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace chokepoint;
  bool all = false;
  std::string out;
  std::string backend;
  std::string host;
  std::vector<std::string> command;
  std::int64_t streams = 1;
  math::Rate rate;
  cli::Flags flags;
  flags.toggle("all,a", &all, "all")
      .option("out,o", &out, "DIR", "where to")
      .option("streams", &streams, "N", "how many", 1, 128)
      .option("rate", &rate, "RATE", "how fast")
      .choice("backend", &backend, {"gloo", "nccl"}, "which")
      .positional("HOST", &host, "the peer", false)
      .rest("COMMAND", &command, "what to run");
  const Result<cli::Notices> parsed = cli::parse(flags, words_of(std::string(data, data + size)));
  const bool in_range = streams >= 1 && streams <= 128;
  const bool explained = parsed || !parsed.error().reason.empty();
  if (!in_range || !explained || (!parsed && parsed.error().kind != ErrorKind::Usage)) {
    std::abort();
  }
  return 0;
}
