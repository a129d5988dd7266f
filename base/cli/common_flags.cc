#include "base/cli/common_flags.h"

namespace chokepoint::cli {

Definition define(Command& command, CommonFlags& common) {
  Definition definition{command.summary(), {}};
  command.define(definition.flags);
  definition.flags.group("Common");
  if (definition.summary.json) {
    definition.flags.toggle("json", &common.json,
                            "one JSON document on standard output, nothing else there");
  }
  definition.flags.toggle("quiet,q", &common.quiet, "no progress and no messages but errors")
      .toggle("help,h", &common.help, "this help")
      .toggle("version", &common.version, "the version");
  return definition;
}

}  // namespace chokepoint::cli
