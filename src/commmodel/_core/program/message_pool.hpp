// Messages as `Matching` keeps them.
#pragma once

#include <cstdint>

#include "program/pool.hpp"

namespace commmodel {

// BEFORE, AFTER: the members that link the unmatched messages of a rank.
template <class Message, int32_t Message::*BEFORE, int32_t Message::*AFTER>
class MessagePool : public Pool<Message, &Message::link> {
  public:
    int32_t &link(int32_t index) { return (*this)[index].link; }
    int32_t &before(int32_t index) { return (*this)[index].*BEFORE; }
    int32_t &after(int32_t index) { return (*this)[index].*AFTER; }
    int32_t source(int32_t index) const { return (*this)[index].source; }
    int32_t tag(int32_t index) const { return (*this)[index].tag; }
};

}  // namespace commmodel
