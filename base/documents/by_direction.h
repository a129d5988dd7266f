// The figures of a test between two hosts, by direction: at the top level of its document where
// one direction was tested, in `send` and `receive` where both were. Values.
#pragma once

#include <optional>
#include <utility>

#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

template <class Figures>
struct ByDirection {
  std::optional<Figures> only = {};
  std::optional<Figures> send = {};
  std::optional<Figures> receive = {};

  // `test` is the direction of the whole test; `direction` is Send or Receive.
  void set(Direction test, Direction direction, Figures figures) {
    auto& at = test != Direction::Both ? only : direction == Direction::Send ? send : receive;
    at = std::move(figures);
  }
  // Null where that direction was not measured.
  const Figures* find(Direction test, Direction direction) const {
    if (test != direction && test != Direction::Both) {
      return nullptr;
    }
    const auto& at = test == direction ? only : direction == Direction::Send ? send : receive;
    return at ? &*at : nullptr;
  }
};

}  // namespace documents

template <class Figures>
struct Fields<documents::ByDirection<Figures>> {
  using B = documents::ByDirection<Figures>;
  static constexpr FieldList kList{
      spread(&B::only),
      field("send", &B::send, "if `direction` is both: from here to the peer").omitted_if_unknown(),
      field("receive", &B::receive, "if `direction` is both: from the peer to here")
          .omitted_if_unknown()};
};

}  // namespace chokepoint
