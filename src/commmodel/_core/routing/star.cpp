// Hosts on one switch, each by links of its own; a backbone may lie on every route.
#include <vector>

#include "routing/zone.hpp"

namespace commmodel::routing {

class Star final : public Zone {
  public:
    explicit Star(const Description &description) : Zone(description) {
        const auto limiter = description.link_numbers("limiter", NONE), up = description.link_numbers("up", NONE),
                   down = description.link_numbers("down", NONE), loopback = description.link_numbers("loopback", NONE);
        const auto count = static_cast<size_t>(hosts);
        if (limiter.size() != count || up.size() != count || down.size() != count || loopback.size() != count)
            refuse("a star has one limiter, up, down and loopback link for each host");
        ports_.reserve(count);
        for (size_t host = 0; host < count; ++host)
            ports_.push_back({limiter[host], up[host], down[host], loopback[host]});
        const auto backbone = description.link_numbers("backbone", NONE);
        if (backbone.size() != 1) refuse("a star has one backbone, or -1");
        backbone_ = backbone[0];
    }

    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        if (source == destination) {
            if (source < 0) return;
            const Port &port = ports_[source];
            if (port.loopback >= 0) return links.push_back(port.loopback);
            push(port.limiter, links);
            push(port.up, links);
            push(backbone_, links);
            if (port.down != port.up) push(port.down, links);
            return;
        }
        if (source >= 0) {
            push(ports_[source].limiter, links);
            push(ports_[source].up, links);
        }
        push(backbone_, links);
        if (destination >= 0) {
            push(ports_[destination].down, links);
            push(ports_[destination].limiter, links);
        }
    }

    const Port *port(int64_t host) const override { return &ports_[host]; }

    void count_owners(std::vector<int32_t> &owners) const override {
        if (backbone_ >= 0) owners[backbone_] += 2;
        for (const Port &port : ports_)
            for (const int32_t link : {port.limiter, port.up, port.down == port.up ? NONE : port.down, port.loopback})
                if (link >= 0) ++owners[link];
    }

  private:
    static void push(int32_t link, std::vector<int32_t> &links) {
        if (link >= 0) links.push_back(link);
    }

    std::vector<Port> ports_;
    int32_t backbone_ = NONE;
};

const Registered<Star> star{"star"};

}  // namespace commmodel::routing
