// A run's folder as a user names it on the command line. The caller's thread.
#pragma once

#include <string>

#include "base/record/reader.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// The command's name says already what failed.
Error without_operation(Error error);

// As it was given, without slashes that say nothing.
std::string name_of_folder(const std::string& folder);

// At least one record that can be read; an Error where there is none.
Result<record::Run> records_of(const std::string& folder);

}  // namespace chokepoint::analysis
