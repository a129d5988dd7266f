// Where a comparison goes and in which form: standard output, or a file whose ending may tell the
// form. Writes files; the caller's thread.
#pragma once

#include <optional>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::analysis {

enum class Form { Text, Markdown, Csv, Html, Json };

// Of what --format says, else of the file's ending, else text. An Error where an ending says
// nothing.
Result<Form> form_of(const std::string& format, const std::string& file);

}  // namespace chokepoint::analysis
