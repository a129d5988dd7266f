// What a command says as one HTML file that needs nothing beside it: the document as JSON, and what
// draws it in a browser (web/, bundled when this was built). It opens from a mail or a ticket, asks
// no network for anything, and says so to the browser: its policy allows the file's own script and
// style and nothing else. Pure functions; any thread.
#pragma once

#include <string>

#include "base/cli/document.h"
#include "base/sys/error.h"

namespace chokepoint::page {

struct Page {
  std::string title = {};
  std::string view = {};  // "report", "comparison": what of the bundle draws it
  cli::Json document = {};
  std::string plain_text = {};  // shown where scripts do not run
};

// Texts of the document may hold anything: nothing in them can end the element that carries them.
// Unsupported where this was built without the bundle.
Result<std::string> html_of(const Page& page);

}  // namespace chokepoint::page
