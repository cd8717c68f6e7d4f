// Routes made of hops: of each pair of points only the point before the last is kept, and of each hop its links. All
// routes of a ring of 500 hosts, listed, would be 31 million links; so they are 250,000 points and 1000 hops.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "routing/zone.hpp"

namespace commmodel::routing {

class Hops final : public Zone {
  public:
    explicit Hops(const Description &description)
        : Zone(description), before_(description.numbers("before", NONE, points - 1, "point")),
          ends_(description.numbers("ends", 0, points - 1, "point")), links_(description.link_numbers("links")),
          first_(description.offsets("first", points, ends_.size(), "hops")),
          offsets_(description.offsets("offsets", static_cast<int64_t>(ends_.size()), links_.size(), "links of hops")) {
        if (before_.size() != static_cast<size_t>(times(points, points)) || !is_sound())
            refuse("hops: a route that does not lead from its first point to its last");
    }

    // The route is followed from its end.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        const size_t begin = links.size();
        const int32_t *last = &before_[static_cast<size_t>(source * points)];
        if (source != destination && last[destination] == NONE) return;
        for (int64_t point = destination;;) {
            const int64_t from = point == source ? source : last[point];
            const int64_t hop = find(from, point);
            if (hop != NONE)
                for (int64_t place = offsets_[hop + 1]; place-- > offsets_[hop];) links.push_back(links_[place]);
            point = from;
            if (point == source) break;
        }
        std::reverse(links.begin() + static_cast<std::ptrdiff_t>(begin), links.end());
    }

    bool has_gateway() const override { return false; }

  private:
    // Number of the hop from one point to another, NONE where there is none.
    int64_t find(int64_t source, int64_t destination) const {
        const auto begin = ends_.begin() + first_[source], end = ends_.begin() + first_[source + 1];
        const auto place = std::lower_bound(begin, end, static_cast<int32_t>(destination));
        return place == end || *place != destination ? NONE : place - ends_.begin();
    }

    // Whether every route consists of hops that exist, and comes to its end.
    bool is_sound() const {
        std::vector<int64_t> reached(static_cast<size_t>(points));
        int64_t stamp = 0;
        for (int64_t source = 0; source < points; ++source) {
            const int64_t sound = ++stamp;  // points whose routes have been followed to their beginning
            std::fill(reached.begin(), reached.end(), 0);
            reached[source] = sound;
            for (int64_t destination = 0; destination < points; ++destination) {
                if (before_[source * points + destination] < 0) continue;
                const int64_t trail = ++stamp;
                int64_t point = destination;
                while (reached[point] != sound) {
                    const int32_t last = before_[source * points + point];
                    if (reached[point] == trail || last < 0 || last >= points || find(last, point) < 0) return false;
                    reached[point] = trail;
                    point = last;
                }
                for (point = destination; reached[point] == trail; point = before_[source * points + point])
                    reached[point] = sound;
            }
        }
        return true;
    }

    const std::vector<int32_t> before_;  // of each pair of points: the point before the last, NONE: no route
    const std::vector<int32_t> ends_;    // of each hop: the point to which it leads, ascending for each point
    const std::vector<int32_t> links_;
    const std::vector<int64_t> first_;    // of each point: its first hop, and where the last one's end
    const std::vector<int64_t> offsets_;  // of each hop: where its links begin
};

const Registered<Hops> hops{"hops"};

}  // namespace commmodel::routing
