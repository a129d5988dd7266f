#include "base/cli/built_in.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <fstream>

#include "base/cli/common_flags.h"

namespace chokepoint::cli {
namespace {

std::vector<Summary> summaries(const std::vector<Registered>& commands) {
  std::vector<Summary> list;
  for (const Registered& command : commands) {
    list.push_back(command.summary);
  }
  return list;
}

std::vector<Definition> definitions(const std::vector<Registered>& commands) {
  std::vector<Definition> list;
  for (const Registered& entry : commands) {
    const std::unique_ptr<Command> command = entry.make();
    CommonFlags common;
    list.push_back(define(*command, common));
  }
  return list;
}

bool write_page(const std::string& folder, std::string page, const std::string& text) {
  std::ranges::replace(page, ' ', '-');
  std::ofstream file(folder + "/" + page + ".1");
  file << text;
  return file.flush().good();
}

Result<> write_manual(const Program& program, const std::vector<Registered>& commands,
                      const std::string& folder) {
  bool good = write_page(folder, program.name, manual_overview(program, summaries(commands)));
  for (const Definition& definition : definitions(commands)) {
    good = good && write_page(folder, program.name + "-" + definition.summary.name,
                              manual_page(program, definition));
  }
  if (!good) {
    return fail(ErrorKind::NotFound, "man-pages", folder, "cannot be written to",
                "give an existing folder");
  }
  return {};
}

}  // namespace

std::string overview_of(const Program& program, const std::vector<Registered>& commands,
                        int width) {
  return overview(program, summaries(commands), width);
}

ExitCode print_version(const Program& program, Context& context) {
  fmt::print(context.out, "{} {}\n", program.name, program.version);
  return ExitCode::Done;
}

Result<std::optional<ExitCode>> run_built_in(const Program& program,
                                             const std::vector<Registered>& commands,
                                             const std::vector<std::string>& words,
                                             Context& context) {
  if (words[0] == "--help" || words[0] == "-h" || (words[0] == "help" && words.size() == 1)) {
    context.out << overview_of(program, commands, context.out_terminal.width);
    return ExitCode::Done;
  }
  if (words[0] == "--version") {
    return print_version(program, context);
  }
  if (words == std::vector<std::string>{"completion", "bash"}) {
    context.out << bash_completion(program, definitions(commands));
    return ExitCode::Done;
  }
  if (words[0] == "man-pages" && words.size() == 2) {
    const Result<> written = write_manual(program, commands, words[1]);
    return written ? Result<std::optional<ExitCode>>(ExitCode::Done)
                   : std::unexpected(written.error());
  }
  return std::nullopt;
}

}  // namespace chokepoint::cli
