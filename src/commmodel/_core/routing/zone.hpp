// A zone: a part of a platform that finds the routes between its own hosts; and the numbers that it is made of.
//
// A kind of zone is a class derived from `Zone` in a .cpp file of its own, which registers it by name. All such files of a
// folder are part of its module, so that no list names them; other modules know the interface only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/constants.hpp"

namespace commmodel::routing {

constexpr int32_t GATEWAY = -1;  // the point through which a zone is left that has no point for it

[[noreturn]] inline void refuse(const std::string &problem) { throw std::invalid_argument(problem); }

// Return the product of two counts, which must not exceed what can be numbered.
inline int64_t times(int64_t count, int64_t other) {
    if (other != 0 && count > LARGEST_INDEX / other) refuse("too large: more than " + std::to_string(LARGEST_INDEX));
    return count * other;
}

// The arrays of integers that describe a zone, or the routes between zones, by name; valid while it is made.
class Description {
  public:
    const int64_t links;  // of the platform

    explicit Description(int64_t links) : links(links) {}

    void add(const std::string &name, const int64_t *values, int64_t count) { arrays_[name] = {values, count}; }
    bool has(const std::string &name) const { return arrays_.count(name) > 0; }
    int64_t number(const std::string &name) const {
        const Array &array = find(name);
        if (array.count != 1) refuse(name + ": expected one number");
        return array.values[0];
    }

    // Numbers from `least` to `greatest`; what: for messages.
    std::vector<int32_t> numbers(const std::string &name, int64_t least, int64_t greatest, const char *what) const {
        const Array &array = find(name);
        std::vector<int32_t> out(static_cast<size_t>(array.count));
        for (int64_t i = 0; i < array.count; ++i) {
            const int64_t value = array.values[i];
            if (value < least || value > greatest)
                refuse(std::string(what) + " " + std::to_string(value) + ": expected " + std::to_string(least) +
                       " to " + std::to_string(greatest));
            out[static_cast<size_t>(i)] = static_cast<int32_t>(value);
        }
        return out;
    }
    std::vector<int32_t> link_numbers(const std::string &name, int64_t least = 0) const {
        return numbers(name, least, links - 1, "link");
    }

    // Where the items of each of `count` lists begin, and where the last one's end: ascending from 0 to `last`.
    std::vector<int64_t> offsets(const std::string &name, int64_t count, size_t last, const char *what) const {
        const Array &array = find(name);
        const auto end = static_cast<int64_t>(last);
        if (array.count != count + 1 || array.values[0] != 0 || array.values[count] != end)
            refuse(std::string(what) + ": " + std::to_string(array.count) + " offsets that must be " +
                   std::to_string(count + 1) + ", from 0 to " + std::to_string(last));
        for (int64_t i = 0; i < count; ++i)
            if (array.values[i + 1] < array.values[i]) refuse(std::string(what) + ": offsets must ascend");
        return {array.values, array.values + array.count};
    }

    // Counts of at least 1.
    std::vector<int64_t> counts(const std::string &name) const {
        const Array &array = find(name);
        if (array.count == 0) refuse(name + ": none");
        for (int64_t i = 0; i < array.count; ++i)
            if (array.values[i] < 1 || array.values[i] > LARGEST_INDEX)
                refuse(name + ": " + std::to_string(array.values[i]) + " must be from 1 to " +
                       std::to_string(LARGEST_INDEX));
        return {array.values, array.values + array.count};
    }

  private:
    struct Array {
        const int64_t *values;
        int64_t count;
    };
    const Array &find(const std::string &name) const {
        const auto place = arrays_.find(name);
        if (place == arrays_.end()) refuse(name + " is missing");
        return place->second;
    }
    std::map<std::string, Array> arrays_;
};

struct Port {  // the links of one host alone
    int32_t limiter = NONE, up = NONE, down = NONE, loopback = NONE;
};

class Zone {
  public:
    const int64_t hosts;   // points 0 to hosts - 1
    const int64_t points;  // hosts, and routers after them

    explicit Zone(const Description &description)
        : hosts(description.number("hosts")), points(description.number("points")) {
        if (hosts < 0 || hosts > points || points > LARGEST_INDEX)
            refuse(std::to_string(hosts) + " hosts of " + std::to_string(points) + " points");
    }
    virtual ~Zone() = default;

    // Append the links from one point to another, in order; `gateway` is a point too, where there is one.
    virtual void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const = 0;

    virtual bool has_gateway() const { return true; }

    // The links by which a host differs from the others of its zone; null where there is more to it.
    virtual const Port *port(int64_t) const { return nullptr; }

    // Add, to each link, the number of hosts that it belongs to: more than one for a link that hosts have in common.
    // A zone without ports need not.
    virtual void count_owners(std::vector<int32_t> &) const {}
};

using MakeZone = std::unique_ptr<const Zone> (*)(const Description &);

inline std::map<std::string, MakeZone> &zone_kinds() {
    static std::map<std::string, MakeZone> kinds;
    return kinds;
}

template <class Kind> struct Registered {
    explicit Registered(const char *name) {
        zone_kinds()[name] = [](const Description &description) -> std::unique_ptr<const Zone> {
            return std::make_unique<Kind>(description);
        };
    }
};

inline std::unique_ptr<const Zone> make_zone(const std::string &kind, const Description &description) {
    const auto place = zone_kinds().find(kind);
    if (place == zone_kinds().end()) refuse("unknown kind of zone '" + kind + "'");
    return place->second(description);
}

}  // namespace commmodel::routing
