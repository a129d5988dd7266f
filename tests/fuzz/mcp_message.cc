// What an assistant's client sends to `chokepoint mcp`: whatever the bytes and however they are
// parted, each line gets nothing or one line, which is an answer of JSON-RPC; and no argument of a
// tool becomes a flag of its command.
#include <cstdlib>
#include <string>
#include <vector>

#include "analysis/mcp/server.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::analysis::mcp;

class Sampled final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "made", .purpose = "of a test", .description = "", .examples = {}};
  }
  void define(cli::Flags& flags) override {
    flags.toggle("strict", &is_strict_, "a switch")
        .option("limit", &limit_, "N", "a number", 1, 100)
        .option("with", &with_, "FILE", "a list")
        .option("out", &out_, "FILE", "is written");
    flags.positional("DIR", &folders_, "folders", false);
  }
  Result<cli::ExitCode> run(cli::Context& /*context*/) override { return cli::ExitCode::Done; }

 private:
  bool is_strict_ = false;
  std::int64_t limit_ = 1;
  std::vector<std::string> with_;
  std::string out_;
  std::vector<std::string> folders_;
};

// As typed: what is not allowed is not among the flags, whatever was given.
CallOutcome play(const std::vector<std::string>& words) {
  bool is_flag = true;
  for (std::size_t at = 1; at < words.size(); ++at) {
    is_flag = is_flag && words[at] != "--";
    if (is_flag && words[at] != "--strict" && !words[at].starts_with("--limit=") &&
        !words[at].starts_with("--with=")) {
      std::abort();
    }
    if (words[at].contains('\0')) std::abort();
  }
  return {.has_failed = words.size() % 2 == 0, .out = R"({"schema":"chokepoint.x/1"})"};
}

Tool made_tool() {
  const Result<Tool> tool = tool_of({.name = "made",
                                     .command = cli::command<Sampled>(),
                                     .allowed = {"strict", "limit", "with", "DIR"},
                                     .schema = {{"title", "chokepoint.x/1"}, {"type", "object"}}});
  if (!tool) std::abort();
  return *tool;
}

void check(const std::string& answer) {
  const Json message = Json::parse(answer, nullptr, false);
  if (answer.contains('\n') || !message.is_object() || message["jsonrpc"] != "2.0" ||
      message.contains("result") == message.contains("error") || !message.contains("id")) {
    std::abort();
  }
}

std::string answers_to(std::string_view bytes, std::size_t piece) {
  static const Tool tool = made_tool();
  Server server("1", {tool}, play);
  LineReader lines;
  std::string answers;
  const auto take = [&](const Line& line) {
    if (const auto answer = server.answer(line)) {
      check(*answer);
      answers += *answer + '\n';
    }
  };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    lines.add(bytes.substr(0, piece));
    while (const auto line = lines.next()) take(*line);
  }
  if (const auto line = lines.rest()) take(*line);
  return answers;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (answers_to(bytes, 7) != answers_to(bytes, 65'536)) std::abort();
  return 0;
}
