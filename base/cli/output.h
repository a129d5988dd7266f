// The output of a command: a file, which exists whole or not at all, or a stream of the caller.
// Text is collected and written in large pieces. The first error is kept and returned by finish();
// text after it is lost, so a caller that writes much checks failed() from time to time. One
// thread.
#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/cli/context.h"
#include "base/sys/error.h"

namespace chokepoint::cli {

class Output {
 public:
  virtual ~Output() = default;

  // To be appended to; full() after each piece of it.
  std::string& buffer() { return buffer_; }
  void full() {
    if (buffer_.size() >= kPiece) {
      flush();
    }
  }
  void write(std::string_view text) {
    buffer_ += text;
    full();
  }
  bool failed() const { return !done_; }
  std::uintmax_t bytes() const { return bytes_ + buffer_.size(); }
  // All that was written has found room. Nothing is written afterwards.
  virtual Result<> settle();
  // Settles; and only after this a file has its name.
  virtual Result<> finish() { return settle(); }

 protected:
  Output() { buffer_.reserve(2 * kPiece); }
  void flush();
  virtual Result<> put(std::string_view bytes) = 0;
  const Result<>& done() const { return done_; }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::string buffer_;
  std::uintmax_t bytes_ = 0;
  Result<> done_;
};

// Written beside its place under another name, which goes with the Output if it is not finished.

// What the user has named: a place that is there and is no plain file (a pipe, a device) is written
// as it is, see sys::open_output(), and a link of this user's or root's is followed.
Result<std::unique_ptr<Output>> open_file(const std::filesystem::path& path);
// What this program has named, in a folder in which others may have put anything: it replaces a
// regular file, and nothing else.
Result<std::unique_ptr<Output>> open_own_file(const std::filesystem::path& path);

// The stream outlives the Output. `name` is for errors.
std::unique_ptr<Output> open_stream(std::ostream& out, std::string name);

// The head that every JSON document has: schema, host, started_at.

// Keys keep the order in which they are set, so that documents read as the contract lists them.
using Json = nlohmann::ordered_json;

// {"schema": schema, "host": this host's name, "started_at": now}
Json document(const Context& context, std::string_view schema);

// Prints it, two spaces a level. Bytes that are not UTF-8 are replaced, never thrown over.
void print(const Context& context, const Json& document);

}  // namespace chokepoint::cli
