// The ways in which a simulated agent is not what it should be. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/control/message.h"

namespace chokepoint::preflight::crowd {

enum class Behaviour : std::uint8_t {
  Good,
  // Before it lets anybody in:
  Silent,        // takes the connection and says nothing
  Closes,        // takes it and closes it
  Http,          // is a web server
  Garbage,       // sends bytes without end
  HugeLength,    // announces a message of four gigabytes
  HalfFrame,     // half of its first message, then nothing
  WrongFraming,  // a frame from the future
  DeepWelcome,   // brackets in brackets
  OtherVersion,  // speaks version 3 of the protocol alone
  OldVersion,    // says that the client's version is too new
  Impostor,      // wants a key that it does not have
  // Instead of a preflight:
  Busy,  // another preflight is on
  NoSuchService,
  NeverReady,
  QueuesForEver,  // says so without end
  StrangeFacts,
  Hidden,  // closes once it has let the client in
  // When it is asked:
  NeverAnswers,
  NeverReads,
  Dies,
  HalfAnswer,  // the beginning of a large document, then nothing
  WrongTask,   // another number
  AnswersTwice,
  Unasked,  // before anybody asked
  DeepAnswer,
  LargeAnswer,  // more than any document
  NoObject,
  InvalidText,  // not UTF-8
  NeitherNor,   // neither document nor error
  ErrorOfWrongType,
  WrongMessage,  // a Result
  Floods,        // answers without end
  // Odd, and yet right:
  ByteByByte,
  UglyWords,  // control characters, quotes and tags in all its texts
  Last,
};

std::string_view name_of(Behaviour behaviour);
Behaviour behaviour_named(std::string_view name);  // Last where there is none

// A frame, whatever its body is.
std::string frame(control::Type type, std::string_view body);
std::string frame_of_length(control::Type type, std::uint32_t length, unsigned char framing = 1);
std::string ugly_words();
std::string nested(int depth);

}  // namespace chokepoint::preflight::crowd
