// A JSON document that is written as it is made, so that a list of a million flows needs no memory.
// Ends the document when it goes. Reads like those of cli::print; list items take a line each.
// One thread.
#pragma once

#include <ostream>
#include <string_view>

#include "base/cli/output.h"

namespace chokepoint::capture {

class StreamedDocument {
 public:
  explicit StreamedDocument(std::ostream& out) : out_(out) { out_ << '{'; }
  StreamedDocument(const StreamedDocument&) = delete;
  StreamedDocument& operator=(const StreamedDocument&) = delete;
  ~StreamedDocument() { out_ << "\n}\n"; }

  void add(std::string_view name, const cli::Json& value);
  // Every member of an object, in its order.
  void add_all(const cli::Json& object);

  void begin_list(std::string_view name);
  void item(const cli::Json& value);
  void end_list();

 private:
  void key(std::string_view name);

  std::ostream& out_;
  bool is_empty_ = true;
  bool is_list_empty_ = true;
};

}  // namespace chokepoint::capture
