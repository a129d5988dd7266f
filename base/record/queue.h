// Samples on their way from one producer's thread to the writer's: bounded, wait-free, no
// allocation. A row in the queue is one word with its kind and the words of the row itself, so
// that a short row takes no more space than it needs.
//
// The storage is pieces, of which the producer fills one and the writer empties one:
//
//   producer ── piece that is full ──► writer
//            ◄── piece that is empty ──
//
// The producer takes the piece that was returned last. So a queue that the writer keeps short uses
// one or two pieces for its whole life, and the memory pages of the others are never touched. A
// ring would touch all of its storage after some hours.
//
// push: the producer's thread only. drain: the writer's thread only.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <boost/lockfree/spsc_queue.hpp>

#include "base/record/samples.h"

namespace chokepoint::record {

using Word = std::uint64_t;

// The rows of a batch, one after the other, as they lay in the queue.
using Words = std::vector<Word>;

template <class Row, std::size_t Index = 0>
constexpr Word kind_of() {
  if constexpr (std::is_same_v<Row, std::variant_alternative_t<Index, Sample>>) {
    return Index;
  } else {
    return kind_of<Row, Index + 1>();
  }
}

template <class Row>
constexpr std::size_t kWordsOf = 1 + sizeof(Row) / sizeof(Word);

constexpr std::size_t kKinds = std::variant_size_v<Sample>;
constexpr auto kWordsOfKind = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array{kWordsOf<std::variant_alternative_t<Index, Sample>>...};
}(std::make_index_sequence<kKinds>());

template <class Row>
std::array<Word, kWordsOf<Row>> packed(const Row& row) {
  static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % sizeof(Word) == 0);
  std::array<Word, kWordsOf<Row>> words;
  words[0] = kind_of<Row>();
  std::memcpy(&words[1], static_cast<const void*>(&row), sizeof(Row));
  return words;
}

// Calls visit(row) with the row that begins at `words`, and gives the number of words it took.
template <class F, std::size_t Index = 0>
std::size_t unpack(const Word* words, F&& visit) {
  if constexpr (Index < kKinds) {
    if (words[0] != Index) {
      return unpack<F, Index + 1>(words, std::forward<F>(visit));
    }
    std::variant_alternative_t<Index, Sample> row;
    std::memcpy(static_cast<void*>(&row), words + 1, sizeof(row));
    visit(row);
    return kWordsOfKind.at(Index);
  }
  return 1;
}

constexpr std::size_t kLongestRow = std::ranges::max(kWordsOfKind);

class Queue {
 public:
  explicit Queue(std::size_t bytes)
      : piece_words_(std::clamp(bytes / sizeof(Word) / kPiecesWanted, kLongestRow, kMaxPieceWords)),
        pieces_(std::max<std::size_t>(2, bytes / sizeof(Word) / piece_words_)),
        words_(std::make_unique_for_overwrite<Word[]>(pieces_.size() * piece_words_)),
        full_(pieces_.size()),
        empty_(pieces_.size()) {
    for (std::size_t piece = pieces_.size(); piece-- > 1;) {
      free_.push_back(piece);
    }
  }

  // False where there is no room.
  template <class Row>
  bool push(const Row& row) {
    const auto words = packed(row);
    if (written_ + words.size() > piece_words_ && !begin_piece()) {
      return false;
    }
    std::ranges::copy(words, words_of(filled_) + written_);
    written_ += words.size();
    pieces_[filled_].written.store(written_, std::memory_order_release);
    return true;
  }

  // The producer's thread, too.
  template <class Row>
  bool has_room() const {
    return written_ + kWordsOf<Row> <= piece_words_ || !free_.empty() ||
           empty_.read_available() > 0;
  }

  // Appends whole rows while they fit into `most` words; gives their number.
  std::size_t drain(Words& out, std::size_t most) {
    std::size_t rows = 0;
    while (!empty()) {
      const Word* const row = words_of(emptied_) + read_;
      const std::size_t size = kWordsOfKind.at(*row);
      if (out.size() + size > most) {
        break;
      }
      out.insert(out.end(), row, row + size);
      read_ += size;
      ++rows;
    }
    return rows;
  }

  // Goes on to the next piece where there is one, so of the writer's thread.
  bool empty() {
    // Read first: a piece that is full is not written any more.
    const bool is_full = pieces_[emptied_].is_full.load(std::memory_order_acquire);
    if (read_ < pieces_[emptied_].written.load(std::memory_order_acquire)) {
      return false;
    }
    if (!is_full) {
      return true;
    }
    empty_.push(emptied_);
    full_.pop(emptied_);
    read_ = 0;
    return empty();
  }

 private:
  static constexpr std::size_t kPiecesWanted = 64;
  static constexpr std::size_t kMaxPieceWords = 8192;

  struct Piece {
    std::atomic<std::size_t> written = 0;  // words
    std::atomic<bool> is_full = false;     // the next one is in full_
  };

  Word* words_of(std::size_t piece) const { return words_.get() + piece * piece_words_; }

  bool begin_piece() {
    empty_.consume_all([this](std::size_t piece) { free_.push_back(piece); });
    if (free_.empty()) {
      return false;
    }
    const std::size_t next = free_.back();
    free_.pop_back();
    pieces_[next].written.store(0, std::memory_order_relaxed);
    pieces_[next].is_full.store(false, std::memory_order_relaxed);
    full_.push(next);
    pieces_[filled_].is_full.store(true, std::memory_order_release);
    filled_ = next;
    written_ = 0;
    return true;
  }

  std::size_t piece_words_;
  std::vector<Piece> pieces_;
  std::unique_ptr<Word[]> words_;
  boost::lockfree::spsc_queue<std::size_t> full_;   // in the order in which they were filled
  boost::lockfree::spsc_queue<std::size_t> empty_;  // on their way back

  // The producer's.
  std::vector<std::size_t> free_;  // the one that came back last at its end
  std::size_t filled_ = 0;         // the piece that is being filled
  std::size_t written_ = 0;        // words of it

  // The writer's.
  std::size_t emptied_ = 0;  // the piece that is being emptied
  std::size_t read_ = 0;     // words of it
};

}  // namespace chokepoint::record
