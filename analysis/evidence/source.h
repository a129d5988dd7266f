// The bytes of a file that is read in pieces, unpacked if it is gzip'd, and the parts that all
// readers of analysis/evidence share. A ByteSource belongs to its reader's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "analysis/evidence/tool_file.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // How many bytes it wrote; 0 at the end, or where the rest cannot be read.
  virtual std::size_t read(std::span<char> into) = 0;
  // Why it ended before its end; empty: it did not.
  virtual std::string flaw() const { return {}; }
};

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
std::unique_ptr<ByteSource> bytes_of(std::string_view bytes);

// A source whose first bytes were read already.
class Peeked final : public ByteSource {
 public:
  Peeked(ByteSource& below, std::size_t bytes);
  std::string_view head() const { return head_; }
  std::size_t read(std::span<char> into) override;
  std::string flaw() const override { return below_.flaw(); }

 private:
  ByteSource& below_;
  std::string head_;
  std::size_t given_ = 0;
};

// All that is left; an Error beyond `most_bytes`, or if the file is damaged.
Result<std::string> all_of(ByteSource& source, std::size_t most_bytes, const std::string& file);

// The number behind "rank" in a file's name, as in "rank-3.Jul_15.pt.trace.json.gz"; where there is
// no such word, the name's last number if `takes_any`.
std::optional<std::int64_t> rank_in_name(const std::string& file, bool takes_any);

// "2026-11-26T21:04:05", also with a blank for the T; 0 of anything else. Without a "Z" at its end
// it is taken for this host's local time.
std::int64_t wall_ns_of(std::string_view text);

std::unexpected<Error> malformed(const std::string& file, std::string_view reason);

// Of an object or a dictionary. Json looks for a key one by one, so a hostile object of a million
// keys would take hours.
inline constexpr std::size_t kMaxKeys = 4096;
// Of one text of a file: the rest is cut off.
inline constexpr std::size_t kMaxFieldBytes = 256;

// A JSON value of bounded depth, of objects with a bounded number of keys.
Result<json::Json> parsed_json(std::string_view text, const std::string& file);

// Of untrusted values: bounded, and empty where a value is of another type.
const json::Json& member(const json::Json& object, const char* key);
const json::Json& list_in(const json::Json& object, const char* key);    // empty if it is none
const json::Json& object_in(const json::Json& object, const char* key);  // likewise
std::string text_in(const json::Json& object, const char* key);
std::optional<std::int64_t> whole_in(const json::Json& object, const char* key);
std::optional<double> number_in(const json::Json& object, const char* key);
std::optional<std::int64_t> whole_of(const json::Json& value);  // also "3"

bool is_rank(std::optional<std::int64_t> rank);

// Lines and words of text that other programs print for people: calls visit(line) for each, without
// what ends it. Bounded by the text.
template <class F>
void each_line(std::string_view text, F&& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    visit(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Between any of `blanks`, the first 64 of them; empty ones too if `blanks` is one letter.
std::vector<std::string_view> words_of(std::string_view line, std::string_view blanks = " \t");

// What stands behind `label` up to the next blank, or nothing.
std::string_view word_behind(std::string_view text, std::string_view label);

}  // namespace chokepoint::analysis
