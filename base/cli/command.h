// A command of chokepoint: its words, its purpose, its flags and what it does. One class a
// command, one file a class, in its folder's commands/. Help, completion and man pages are
// generated from summary() and define().
//
//   dispatch: make() → define(flags) → parse → run(context) → exit code
//
// A command lives for one invocation; flags bind to its members. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

enum class ExitCode {
  Done = 0,
  Failed = 1,
  Usage = 2,
  Found = 3,  // done, and a check failed or a bottleneck was found
  Interrupted = 130,
};

struct Example {
  std::string line;     // what to type
  std::string meaning;  // what it does, in a few words
};

struct Summary {
  std::string name;         // "doctor", "record show"
  std::string purpose;      // one line
  std::string description;  // one or two paragraphs for a new user, parted by blank lines
  std::vector<Example> examples;
  bool json = true;  // offers --json
  // May run as a file that setcap gave capabilities: it gives them up before it reads what others
  // sent. All other commands refuse, as libraries that they open can be named by the caller.
  bool captures = false;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual Summary summary() const = 0;
  virtual void define(Flags& flags) = 0;
  virtual Result<ExitCode> run(Context& context) = 0;
};

using CommandFactory = std::function<std::unique_ptr<Command>()>;

// The commands in the order in which help shows them.
using Registry = std::vector<CommandFactory>;

template <class T, class... Given>
CommandFactory command(Given... given) {
  return [... given = std::move(given)] { return std::make_unique<T>(given...); };
}

// The commands that help shows together, under this title.
struct Section {
  std::string title;
  Registry commands;
};

inline std::vector<Section> one_section(Registry commands) {
  return {{.title = "Commands", .commands = std::move(commands)}};
}

struct Program {
  std::string name;     // "chokepoint"
  std::string version;  // "0.1.0"
  std::string purpose;  // one line
  std::vector<Section> sections;
  std::vector<Example> quick_start = {};
  // Runs that commands here take by name, for completion.
  std::function<std::vector<std::string>()> run_names = {};
};

}  // namespace chokepoint::cli
