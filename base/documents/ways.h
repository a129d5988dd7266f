// The figures of a test between two hosts, for each direction: at the top level of its document
// where it went one way, in `send` and `receive` where it went both. Values.
#pragma once

#include <optional>
#include <utility>

#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

template <class Figures>
struct Ways {
  std::optional<Figures> only = {};
  std::optional<Figures> send = {};
  std::optional<Figures> receive = {};

  // `test` is the direction of the whole test, `way` Send or Receive.
  void set(Direction test, Direction way, Figures figures) {
    auto& at = test != Direction::Both ? only : way == Direction::Send ? send : receive;
    at = std::move(figures);
  }
  // Null where that way was not measured.
  const Figures* find(Direction test, Direction way) const {
    if (test != way && test != Direction::Both) {
      return nullptr;
    }
    const auto& at = test == way ? only : way == Direction::Send ? send : receive;
    return at ? &*at : nullptr;
  }
};

}  // namespace documents

template <class Figures>
struct Fields<documents::Ways<Figures>> {
  using W = documents::Ways<Figures>;
  static constexpr std::tuple kList{
      spread(&W::only),
      field("send", &W::send, "if `direction` is both: from here to the peer").omitted_if_unknown(),
      field("receive", &W::receive, "if `direction` is both: from the peer to here")
          .omitted_if_unknown()};
};

}  // namespace chokepoint
