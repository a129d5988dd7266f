// What `web` serves at which address, and by which command it is found:
//
//   /                        the page, which asks for the rest
//   /page.js  /page.css      what draws it
//   /data/newest             web --json --newest
//   /data/fleet              web --json
//   /data/subject?subject=S  web --json S; also &metric=M
//   /data/runs               runs DIR --json
//   /data/live?run=RUN       live RUN --once --json
//   /report?run=RUN          report RUN -o -
//
// No address leads to a file: a run is one below the folder of runs, and all else is not found.
// respond() is for the server's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/web/access.h"
#include "analysis/web/answers.h"
#include "base/net/page_server.h"

namespace chokepoint::analysis::web {

class Site {
 public:
  struct Places {
    std::string runs = {};                  // a folder
    std::vector<std::string> options = {};  // of each `web --json`
  };

  Site(Access access, Answers& answers, Places places)
      : access_(std::move(access)), answers_(answers), places_(std::move(places)) {}

  void respond(const net::PageRequest& request, const net::PageReply& reply) const;

 private:
  struct Asked;

  std::optional<Asked> asked_for(const net::PageRequest& request) const;
  std::optional<Asked> asked_of_history(const net::PageRequest& request) const;
  std::optional<Asked> asked_of_run(const net::PageRequest& request) const;

  Access access_;
  Answers& answers_;
  Places places_;
};

// A run that a request names, if it lies in that folder by its name, or is the folder itself: no
// part of it is "..", empty or hidden.
std::optional<std::string> run_below(const std::string& folder,
                                     const std::optional<std::string>& named);

}  // namespace chokepoint::analysis::web
