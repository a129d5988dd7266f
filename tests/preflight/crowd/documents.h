// What agents answer, as text: documents of real commands (documents/) with gaps that are filled
// in. Values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chokepoint::preflight::crowd {

using Gaps = std::vector<std::pair<std::string_view, std::string>>;

class Form {
 public:
  // `text` is JSON with gaps such as @mbps@; white space between its parts is dropped.
  explicit Form(std::string_view text);
  // Gaps that nobody fills stay null.
  std::string filled(const Gaps& gaps) const;

 private:
  struct Piece {
    std::string text;
    std::string gap;  // that follows
  };
  std::vector<Piece> pieces_;
};

struct Forms {
  Form doctor;
  Form latency;
  Form udp;
  Form path;
  Form tcp;
  Form tcp_direction;  // what tcp holds for one direction, and for each of both
};
const Forms& forms();

}  // namespace chokepoint::preflight::crowd
