// Ways through a platform, computed when asked for: a table of all pairs would not fit for many hosts.
//
// Every direction of a link that shares bandwidth for itself is one link here. A platform is a number of zones, each
// with hosts of its own; a zone gives the way between two of its points and between a point and its gateway; between
// zones, each either lists its links outwards and inwards, or a table lists the links for every two zones.
//
// Sources: fat trees and D-mod-k: Zahavi 2010 (parallel ports generalised fat trees); dragonflies: Kim et al. 2008,
// with the three colours of links of the Cray XC (Alverson et al. 2012). Numbering and order of links are those that
// tests/oracles/routes.toml holds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "routing/hops.hpp"

namespace commmodel {

enum class Kind : int32_t { star = 0, table = 1, torus = 2, fat_tree = 3, dragonfly = 4, hops = 5 };

struct Port {  // what a host of a star is connected by; -1: by none such
    int32_t limiter, up, down, loopback;
};

struct Zone {
    static constexpr int64_t gateway = -1;  // the point through which a zone is left that has no point for it

    Kind kind = Kind::star;
    int64_t first = 0;   // number of its first host; its point 0
    int64_t hosts = 0;
    int64_t points = 0;  // hosts, and of tables and hops its routers after them
    // Of stars.
    std::vector<Port> ports;
    int32_t backbone = -1;
    // Of tables: where the links of the way between each two points begin, and the links.
    std::vector<int64_t> offsets;
    std::vector<int32_t> links;
    Hops hops;  // of zones that find their ways by themselves
    // Of the others: first of their links, which count 2 where each direction shares for itself.
    int32_t first_link = 0, directions = 2;
    std::vector<int32_t> loopback;  // of each host; empty: none
    std::vector<int32_t> limiter;   // of each host, then of each switch; empty: none
    // Torus: its sizes. Fat tree: children of a node of each level. Dragonfly: groups, chassis, blades, nodes.
    std::vector<int64_t> sizes;
    // Fat trees: parents of a node, and cables to each.
    std::vector<int64_t> parents, cables;
    // Fat trees and dragonflies: ways as SimGrid 3.32 has them, where they are not those of the literature.
    bool as_simgrid = false;
    std::vector<int64_t> below;       // hosts below a node of the level
    std::vector<int64_t> copies;      // switches of the level that have the same hosts below them
    std::vector<int64_t> stride;      // hosts that have one port after the other upwards from the level
    std::vector<int64_t> level_link;  // of level: its first link upwards
    std::vector<int64_t> level_node;  // of level: its first node
    // Dragonflies: first green, black, and blue link.
    int64_t green = 0, black = 0, blue = 0;

    // Work out what follows from the rest.
    void prepare() {
        if (kind == Kind::fat_tree) {
            const size_t levels = sizes.size();
            below = copies = stride = {1};
            level_link = level_node = {0};
            for (size_t level = 0; level < levels; ++level) {
                const int64_t nodes = hosts / below[level] * copies[level];
                level_node.push_back(level_node[level] + nodes);
                level_link.push_back(level_link[level] + nodes * parents[level] * cables[level]);
                below.push_back(below[level] * sizes[level]);
                copies.push_back(copies[level] * parents[level]);
                const int64_t ports = parents[level] * (as_simgrid ? 1 : cables[level]);
                stride.push_back(std::min(hosts, stride[level] * ports));
            }
        } else if (kind == Kind::dragonfly) {
            const int64_t groups = sizes[0], chassis = sizes[1], blades = sizes[2];
            green = hosts;
            black = green + groups * chassis * (blades * (blades - 1) / 2);
            blue = black + groups * (chassis * (chassis - 1) / 2) * blades;
        }
    }

    // Links of torus, fat tree and dragonfly, each direction counted as it shares.
    int64_t own_links() const {
        int64_t count = 0;
        if (kind == Kind::torus)
            count = hosts * static_cast<int64_t>(sizes.size());
        else if (kind == Kind::fat_tree)
            count = level_link.back();
        else if (kind == Kind::dragonfly)
            count = blue + sizes[0] * (sizes[0] - 1) / 2;
        return count * directions;
    }

    // Hosts and switches of torus, fat tree and dragonfly.
    int64_t nodes() const {
        if (kind == Kind::fat_tree) return level_node.back() + hosts / below.back() * copies.back();
        if (kind == Kind::dragonfly) return hosts + hosts / sizes[3];
        return hosts;
    }

    // Append the links from one point to another.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        switch (kind) {
        case Kind::star:
            return star(source, destination, way);
        case Kind::table: {
            const size_t pair = static_cast<size_t>(source * points + destination);
            way.insert(way.end(), links.begin() + offsets[pair], links.begin() + offsets[pair + 1]);
            return;
        }
        case Kind::hops:
            return hops.route(source, destination, way);
        default:
            break;
        }
        if (source < 0 || destination < 0) return;  // the gateway of these is every node's neighbour
        if (source == destination && !loopback.empty()) return way.push_back(loopback[source]);
        if (kind == Kind::torus)
            torus(source, destination, way);
        else if (kind == Kind::fat_tree)
            fat_tree(source, destination, way);
        else
            dragonfly(source, destination, way);
    }

  private:
    static void push(int32_t link, std::vector<int32_t> &way) {
        if (link >= 0) way.push_back(link);
    }

    void push_limiter(int64_t node, std::vector<int32_t> &way) const {
        if (!limiter.empty()) way.push_back(limiter[node]);
    }

    void push_link(int64_t link, bool down, std::vector<int32_t> &way) const {
        way.push_back(static_cast<int32_t>(first_link + link * directions + (down ? directions - 1 : 0)));
    }

    void star(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        if (source == destination) {
            if (source < 0) return;
            const Port &port = ports[source];
            if (port.loopback >= 0) return way.push_back(port.loopback);
            push(port.limiter, way);
            push(port.up, way);
            push(backbone, way);
            if (port.down != port.up) push(port.down, way);
            return;
        }
        if (source >= 0) {
            push(ports[source].limiter, way);
            push(ports[source].up, way);
        }
        push(backbone, way);
        if (destination >= 0) {
            push(ports[destination].down, way);
            push(ports[destination].limiter, way);
        }
    }

    // The first dimension first, each the shorter way round; halfway upwards, but from the
    // middle to 0 downwards.
    void torus(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        const int64_t dimensions = static_cast<int64_t>(sizes.size());
        int64_t node = source, stride = 1, from = source, to = destination;
        for (int64_t dimension = 0; dimension < dimensions; ++dimension) {
            const int64_t size = sizes[dimension];
            int64_t here = from % size;
            const int64_t there = to % size, upwards = there >= here ? there - here : there - here + size;
            const bool down = 2 * upwards > size || (there == 0 && 2 * here == size);
            from /= size;
            to /= size;
            while (here != there) {
                push_limiter(node, way);
                if (down) {
                    const int64_t next = here == 0 ? size - 1 : here - 1;
                    node += (next - here) * stride;
                    here = next;
                    push_link(node * dimensions + dimension, true, way);
                } else {
                    push_link(node * dimensions + dimension, false, way);
                    const int64_t next = here + 1 == size ? 0 : here + 1;
                    node += (next - here) * stride;
                    here = next;
                }
            }
            stride *= size;
        }
        if (source != destination) push_limiter(destination, way);
    }

    // Up to the first level that has both below it, by the port that the destination names (D-mod-k); then down.
    // A node of a level is its hosts' place among those of the level, and which copy of them it is.
    void fat_tree(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        const int64_t levels = static_cast<int64_t>(sizes.size());
        int64_t level = 0, copy = 0;
        do {
            const int64_t port = destination / stride[level] % (parents[level] * cables[level]);
            const int64_t parent = port % parents[level];
            push_limiter(level_node[level] + source / below[level] * copies[level] + copy, way);
            push_cable(source, level, copy, parent, port / parents[level], false, way);
            copy += parent * copies[level];
            ++level;
        } while (level < levels && source / below[level] != destination / below[level]);
        if (as_simgrid) {
            // A switch takes its next port towards the destination, counted from the cable that the source names, or
            // in a switch below another from the port after the one that led there, as long as there is one.
            for (int64_t from = 0; level-- > 0;) {
                const int64_t children = sizes[level], wanted = destination / below[level] % children;
                int64_t port = from + (wanted - from % children + children) % children;
                if (from == 0 || port >= children * cables[level]) port = source % cables[level] * children + wanted;
                descend(destination, level, port / children, copy, way);
                from = port + 1;
            }
        } else {
            while (level-- > 0) {
                const int64_t port = destination / stride[level] % (parents[level] * cables[level]);
                descend(destination, level, port / parents[level], copy, way);
            }
        }
        push_limiter(destination, way);
    }

    // From the switch above down to a level, by one of the parallel cables.
    void descend(int64_t destination, int64_t level, int64_t cable, int64_t &copy, std::vector<int32_t> &way) const {
        const int64_t above = destination / below[level + 1] * copies[level + 1] + copy;
        const int64_t parent = copy / copies[level];
        copy %= copies[level];
        push_cable(destination, level, copy, parent, cable, true, way);
        push_limiter(level_node[level + 1] + above, way);
    }

    void push_cable(int64_t host, int64_t level, int64_t copy, int64_t parent, int64_t cable, bool down,
                    std::vector<int32_t> &way) const {
        const int64_t node = host / below[level] * copies[level] + copy;
        push_link(level_link[level] + (node * parents[level] + parent) * cables[level] + cable, down, way);
    }

    // Place of a pair among all pairs of `count`, the lower first.
    static int64_t pair(int64_t one, int64_t other, int64_t count) {
        if (one > other) std::swap(one, other);
        return one * (2 * count - one - 1) / 2 + other - one - 1;
    }

    // Within a group first to the blade (green), then to the chassis (black). SimGrid, on the last steps, goes on from
    // a green link as from the first chassis.
    void within_group(int64_t group, int64_t &router, int64_t target, bool last, std::vector<int32_t> &way) const {
        const int64_t chassis = sizes[1], blades = sizes[2], all = chassis * blades;
        const int64_t blade = target % blades;
        int64_t row = router / blades, column = router % blades;
        if (column != blade) {
            push_limiter(hosts + group * all + router, way);
            const int64_t links_of_chassis = blades * (blades - 1) / 2;
            const int64_t base = green + (group * chassis + row) * links_of_chassis;
            push_link(base + pair(column, blade, blades), column > blade, way);
            if (as_simgrid && last) row = 0;
            router = row * blades + blade;
        }
        if (row != target / blades) {
            push_limiter(hosts + group * all + router, way);
            const int64_t base = black + group * (chassis * (chassis - 1) / 2) * blades;
            push_link(base + pair(row, target / blades, chassis) * blades + blade, row > target / blades, way);
            router = target;
        }
    }

    // At most one blue link, which joins two groups: it hangs, in each, on the router that has the other's number.
    void dragonfly(int64_t source, int64_t destination, std::vector<int32_t> &way) const {
        const int64_t all = sizes[1] * sizes[2], nodes = sizes[3];
        int64_t group = source / nodes / all, router = source / nodes % all;
        const int64_t to = destination / nodes / all, target = destination / nodes % all;
        push_limiter(source, way);
        push_link(source, false, way);
        if (group != to) {
            within_group(group, router, to, false, way);
            push_link(blue + pair(group, to, sizes[0]), group > to, way);
            push_limiter(hosts + group * all + router, way);
            router = group;
            group = to;
        }
        within_group(group, router, target, true, way);
        push_limiter(hosts + group * all + router, way);
        push_link(destination, true, way);
        push_limiter(destination, way);
    }
};

struct Passage {  // between two zones: the points where the way leaves one and enters the other; which links
    int32_t leave, enter;
    int64_t begin, end;
};

class Routing {
  public:
    Routing() = default;

    int64_t hosts() const { return hosts_; }
    const std::vector<double> &capacity() const { return capacity_; }   // bytes per second, of each link
    const std::vector<double> &latency() const { return latency_; }     // seconds
    const std::vector<uint8_t> &fatpipe() const { return fatpipe_; }    // 1: bounds each flow alone

    // Append the links from one host to another, in order. The same host: its loopback, or nothing; where a cluster
    // has no loopback, out and back in, which may use a shared link twice.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const {
        if (zones_.size() == 1) return zones_[0].route(source, destination, links);
        const int32_t from = zone_of_[source], to = zone_of_[destination];
        const Zone &one = zones_[from], &other = zones_[to];
        if (from == to) return one.route(source - one.first, destination - one.first, links);
        if (passages_.empty()) {
            one.route(source - one.first, Zone::gateway, links);
            append(outward_, from, links);
            append(inward_, to, links);
            other.route(Zone::gateway, destination - other.first, links);
        } else {
            const Passage &passage = passages_[static_cast<size_t>(from) * zones_.size() + to];
            const int64_t begin = source - one.first, end = destination - other.first;
            if (begin != passage.leave) one.route(begin, passage.leave, links);
            links.insert(links.end(), passage_links_.begin() + passage.begin, passage_links_.begin() + passage.end);
            if (end != passage.enter) other.route(passage.enter, end, links);
        }
    }

    // Hosts of stars, between which all is alike but the numbers of their own links, are of one kind: a way between two
    // hosts tells those between all others of the same two kinds. Any other host is of a kind of its own, without ports.
    struct Kinds {
        std::vector<int32_t> kind;
        std::vector<Port> port;
        int32_t count = 0;
    };
    Kinds kinds() const {
        const std::vector<int32_t> uses = owners();
        const std::vector<uint8_t> entered = entered_at_hosts();
        Kinds found;
        std::map<std::array<double, 14>, int32_t> known;
        for (int64_t host = 0; host < hosts_; ++host) {
            const int32_t number = zone_of_[host];
            const Zone &zone = zones_[number];
            found.port.push_back({-1, -1, -1, -1});
            found.kind.push_back(found.count);
            if (zone.kind != Kind::star || entered[number]) {
                ++found.count;
                continue;
            }
            const Port &port = zone.ports[host - zone.first];
            std::array<double, 14> alike{static_cast<double>(number), port.down == port.up ? 1.0 : 0.0};
            size_t place = 2;
            bool own = true;
            for (const int32_t link : {port.limiter, port.up, port.down}) {
                alike[place] = link >= 0 ? 1.0 : 0.0;
                if (link >= 0) {
                    own = own && uses[link] == 1;
                    alike[place + 1] = capacity_[link];
                    alike[place + 2] = latency_[link];
                    alike[place + 3] = fatpipe_[link];
                }
                place += 4;
            }
            if (own) {
                found.port.back() = port;
                found.kind.back() = known.emplace(alike, found.count).first->second;
            }
            found.count += found.kind.back() == found.count;
        }
        return found;
    }

    // Construction: links, zones in order, then what is between them.
    void set_links(std::vector<double> capacity, std::vector<double> latency, std::vector<uint8_t> fatpipe) {
        capacity_ = std::move(capacity);
        latency_ = std::move(latency);
        fatpipe_ = std::move(fatpipe);
    }

    void add_zone(Zone zone) {
        zone.first = hosts_;
        zone_of_.insert(zone_of_.end(), static_cast<size_t>(zone.hosts), static_cast<int32_t>(zones_.size()));
        hosts_ += zone.hosts;
        zones_.push_back(std::move(zone));
    }

    void set_passages(std::vector<Passage> passages, std::vector<int32_t> links) {
        passages_ = std::move(passages);
        passage_links_ = std::move(links);
    }

    // Links that every way out of a zone takes, and every way into it.
    struct Lists {
        std::vector<int64_t> offsets;
        std::vector<int32_t> links;
    };
    void set_lists(Lists outward, Lists inward) {
        outward_ = std::move(outward);
        inward_ = std::move(inward);
    }

  private:
    // Of each link: how many hosts it belongs to; of one that ways between hosts have in common, more than one.
    std::vector<int32_t> owners() const {
        std::vector<int32_t> uses(capacity_.size(), 0);
        for (const std::vector<int32_t> *links : {&outward_.links, &inward_.links, &passage_links_})
            for (const int32_t link : *links) uses[link] += 2;
        for (const Zone &zone : zones_) {
            if (zone.backbone >= 0) uses[zone.backbone] += 2;
            for (const Port &port : zone.ports)
                for (const int32_t link : {port.limiter, port.up, port.down == port.up ? -1 : port.down, port.loopback})
                    if (link >= 0) ++uses[link];
        }
        return uses;
    }

    // Of each zone: whether ways into it or out of it lead through one of its hosts.
    std::vector<uint8_t> entered_at_hosts() const {
        std::vector<uint8_t> entered(zones_.size(), 0);
        for (size_t pair = 0; pair < passages_.size(); ++pair) {
            if (passages_[pair].leave != Zone::gateway) entered[pair / zones_.size()] = 1;
            if (passages_[pair].enter != Zone::gateway) entered[pair % zones_.size()] = 1;
        }
        return entered;
    }

    static void append(const Lists &lists, int32_t zone, std::vector<int32_t> &links) {
        if (lists.offsets.empty()) return;
        links.insert(links.end(), lists.links.begin() + lists.offsets[zone],
                     lists.links.begin() + lists.offsets[zone + 1]);
    }

    int64_t hosts_ = 0;
    std::vector<double> capacity_, latency_;
    std::vector<uint8_t> fatpipe_;
    std::vector<Zone> zones_;
    std::vector<int32_t> zone_of_;
    std::vector<Passage> passages_;
    std::vector<int32_t> passage_links_;
    Lists outward_, inward_;
};

}  // namespace commmodel
