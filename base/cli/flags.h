// A command's flags and positional arguments: name, place to store, help, together. Parsing is
// Boost.Program_options'; it stays behind this header because it is slow to compile.
//
//   flags.group("What to check")
//       .option("interface,i", &interface_, "IF", "only this interface")
//       .toggle("strict", &strict_, "warnings count as failures");
//   flags.positional("DIR", &folder_, "the run's folder");
//
// Bound members outlive the Flags. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/math/units.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

// What a value looks like, for who describes it to a program. Text is all that is no plain number,
// such as 10G; whether a value makes sense, store() says.
enum class ValueForm : std::uint8_t { Text, Whole, Number };

struct Flag {
  std::string name;   // long name without dashes
  char letter = 0;    // short name, 0 where there is none
  std::string value;  // placeholder in help; empty for a switch
  std::string help;
  std::string default_text;
  std::vector<std::string> choices;  // for completion and errors
  ValueForm form = ValueForm::Text;
  std::int64_t least = 0;  // of a whole number
  std::int64_t most = 0;
  bool repeats = false;
  bool is_run = false;                                     // completion offers the names of runs
  std::function<Result<>(const std::string& text)> store;  // a switch is given ""
  bool* is_setting = nullptr;  // set where the value is a setting's (defaults.h); may be null
};

// What an option was called until the last release. It works, one line on standard error names the
// new one, and neither help nor completion shows it.
struct FormerName {
  std::string name;
  std::string now;  // of the flag; empty for a switch that had no effect any more
};

struct FlagGroup {
  std::string title;
  std::vector<Flag> flags;
};

struct Positional {
  std::string name;  // placeholder, "DIR"
  std::string help;
  bool required = true;
  bool repeats = false;   // takes all that is left; must be the last
  bool verbatim = false;  // what follows "--", unparsed
  bool is_run = false;    // completion offers the names of runs
  std::function<Result<>(const std::string& text)> store;
};

class Flags {
 public:
  Flags& group(std::string title);

  Flags& toggle(std::string_view name, bool* target, std::string help);
  Flags& option(std::string_view name, std::string* target, std::string value, std::string help);
  Flags& option(std::string_view name, std::vector<std::string>* target, std::string value,
                std::string help);
  Flags& option(std::string_view name, std::int64_t* target, std::string value, std::string help,
                std::int64_t least, std::int64_t most);
  Flags& option(std::string_view name, double* target, std::string value, std::string help);
  Flags& percent(std::string_view name, double* target, std::string help);  // 1 or 1%
  // Of micro- or milliseconds: a number needs its unit.
  Flags& short_time(std::string_view name, std::chrono::nanoseconds* target, std::string help);
  Flags& option(std::string_view name, math::Bytes* target, std::string value, std::string help);
  Flags& option(std::string_view name, math::Rate* target, std::string value, std::string help);
  Flags& option(std::string_view name, std::chrono::nanoseconds* target, std::string value,
                std::string help);
  Flags& choice(std::string_view name, std::string* target, std::vector<std::string> choices,
                std::string help);

  // Of the option that was added last: whether its value is a setting's, and was not typed.
  Flags& note_setting(bool* target);

  Flags& positional(std::string name, std::string* target, std::string help, bool required = true);
  Flags& positional(std::string name, std::vector<std::string>* target, std::string help,
                    bool required = true);
  // Everything after "--", for commands that start another program.
  Flags& rest(std::string name, std::vector<std::string>* target, std::string help,
              bool required = true);

  // Of the option that was defined last.
  Flags& formerly(std::string_view name);
  // A switch that is always on: without effect, and named in no help.
  Flags& always(std::string_view name);

  // The option or the positional that was defined last takes the name of a run.
  Flags& a_run();

  // What was defined until now is stored through these, for who has to know all that was given.
  void intercept(const std::function<Result<>(const Flag&, const std::string&)>& flag,
                 const std::function<Result<>(const Positional&, const std::string&)>& positional);

  const std::vector<FlagGroup>& groups() const { return groups_; }
  const std::vector<Positional>& positionals() const { return positionals_; }
  const std::vector<FormerName>& former_names() const { return former_names_; }

 private:
  Flag& add(std::string_view name, std::string value, std::string help);
  Flags& add_positional(Positional positional);

  std::vector<FlagGroup> groups_;
  std::vector<Positional> positionals_;
  std::vector<FormerName> former_names_;
  bool last_is_positional_ = false;
};

// What a user should know of a command line that was understood, a line each.
using Notices = std::vector<std::string>;

// Fills the bound members. A mistake is an Error of kind Usage that names the flag and, where one
// is near, the name that was probably meant.
Result<Notices> parse(const Flags& flags, const std::vector<std::string>& arguments);

}  // namespace chokepoint::cli
