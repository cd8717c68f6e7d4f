// Routes through a platform, computed on request: a table of all pairs would not fit for many hosts.
//
// Each direction of a link that has a bandwidth of its own is a link here. A platform is a number of zones, each with
// hosts of its own; a zone knows the routes between its points, and between a point and its gateway. Between zones,
// either each zone lists its links outwards and inwards, or a table lists the links for each two zones. Numbering and
// order of links are those of tests/oracles/routes.toml.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "routing/zone.hpp"

namespace commmodel {

class Routing {
  public:
    Routing() = default;

    int64_t hosts() const { return static_cast<int64_t>(zone_of_.size()); }
    const std::vector<double> &capacity() const { return capacity_; }  // bytes per second, of each link
    const std::vector<double> &latency() const { return latency_; }    // seconds
    const std::vector<uint8_t> &fatpipe() const { return fatpipe_; }   // 1: bounds each flow alone

    // Append the links from one host to another, in order. The same host: its loopback, or nothing; where a star has no
    // loopback, out and back in, which may use a shared link twice.
    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const {
        if (zones_.size() == 1) return zones_[0]->route(source, destination, links);
        const int32_t from = zone_of_[source], to = zone_of_[destination];
        const routing::Zone &left = *zones_[from], &entered = *zones_[to];
        const int64_t begin = source - first_host_[from], end = destination - first_host_[to];
        if (from == to) return left.route(begin, end, links);
        if (passages_.empty()) {
            left.route(begin, routing::GATEWAY, links);
            outward_.append(from, links);
            inward_.append(to, links);
            entered.route(routing::GATEWAY, end, links);
        } else {
            const size_t pair = static_cast<size_t>(from) * zones_.size() + to;
            const Passage &passage = passages_[pair];
            if (begin != passage.leave) left.route(begin, passage.leave, links);
            between_.append(pair, links);
            if (end != passage.enter) entered.route(passage.enter, end, links);
        }
    }

    // Kinds of hosts: hosts with ports, between which all is alike but the numbers of their own links, are of one kind.
    // A route between two hosts tells those between all others of the same two kinds. Any other host is of a kind of
    // its own, without a port.
    struct Kinds {
        std::vector<int32_t> kind;
        std::vector<routing::Port> port;
        int32_t count = 0;
    };
    Kinds kinds() const {
        const std::vector<int32_t> owners = count_owners();
        const std::vector<uint8_t> entered = entered_at_hosts();
        Kinds kinds;
        std::map<std::array<double, 14>, int32_t> numbers;
        for (int64_t host = 0; host < hosts(); ++host) {
            const int32_t zone = zone_of_[host];
            const routing::Port *const port = zones_[zone]->port(host - first_host_[zone]);
            kinds.port.emplace_back();
            kinds.kind.push_back(kinds.count);
            if (port == nullptr || entered[zone]) {
                ++kinds.count;
                continue;
            }
            std::array<double, 14> properties{static_cast<double>(zone), port->down == port->up ? 1.0 : 0.0};
            size_t place = 2;
            bool owned = true;
            for (const int32_t link : {port->limiter, port->up, port->down}) {
                properties[place] = link >= 0 ? 1.0 : 0.0;
                if (link >= 0) {
                    owned = owned && owners[link] == 1;
                    properties[place + 1] = capacity_[link];
                    properties[place + 2] = latency_[link];
                    properties[place + 3] = fatpipe_[link];
                }
                place += 4;
            }
            if (owned) {
                kinds.port.back() = *port;
                kinds.kind.back() = numbers.emplace(properties, kinds.count).first->second;
            }
            kinds.count += kinds.kind.back() == kinds.count;
        }
        return kinds;
    }

    // Construction: links, zones in order, then what is between them.
    void set_links(std::vector<double> capacity, std::vector<double> latency, std::vector<uint8_t> fatpipe) {
        capacity_ = std::move(capacity);
        latency_ = std::move(latency);
        fatpipe_ = std::move(fatpipe);
    }

    void add_zone(const std::string &kind, const routing::Description &description) {
        std::unique_ptr<const routing::Zone> zone = routing::make_zone(kind, description);
        if (hosts() + zone->hosts > LARGEST_INDEX)
            routing::refuse("more than " + std::to_string(LARGEST_INDEX) + " hosts");
        first_host_.push_back(hosts());
        zone_of_.insert(zone_of_.end(), static_cast<size_t>(zone->hosts), static_cast<int32_t>(zones_.size()));
        zones_.push_back(std::move(zone));
    }

    void connect(const routing::Description &description) {
        const auto zones = static_cast<int64_t>(zones_.size());
        if (description.has("outward")) {
            for (const auto &zone : zones_)
                if (!zone->has_gateway()) routing::refuse("a zone with a table of routes has no gateway of its own");
            outward_ = Lists(description, "outward", "outward_offsets", zones, "outward");
            inward_ = Lists(description, "inward", "inward_offsets", zones, "inward");
            return;
        }
        const auto leave = description.numbers("leave", routing::GATEWAY, LARGEST_INDEX, "point"),
                   enter = description.numbers("enter", routing::GATEWAY, LARGEST_INDEX, "point");
        between_ = Lists(description, "links", "offsets", zones * zones, "passages");
        const auto pairs = static_cast<size_t>(zones * zones);
        if (leave.size() != pairs || enter.size() != pairs)
            routing::refuse("passages: one point to leave and one to enter for each two zones");
        for (size_t pair = 0; pair < pairs; ++pair) {
            const size_t from = pair / zones_.size(), to = pair % zones_.size();
            check_point(from, leave[pair], from != to);
            check_point(to, enter[pair], from != to);
            passages_.push_back({leave[pair], enter[pair]});
        }
    }

  private:
    struct Passage {  // between two zones: the points where a route leaves the one and enters the other
        int32_t leave, enter;
    };
    // Lists of links.
    struct Lists {
        std::vector<int32_t> links;
        std::vector<int64_t> offsets;

        Lists() = default;
        Lists(const routing::Description &description, const char *links_name, const char *offsets_name, int64_t count,
              const char *what)
            : links(description.link_numbers(links_name)),
              offsets(description.offsets(offsets_name, count, links.size(), what)) {}
        void append(size_t list, std::vector<int32_t> &route) const {
            if (offsets.empty()) return;
            route.insert(route.end(), links.begin() + offsets[list], links.begin() + offsets[list + 1]);
        }
    };

    void check_point(size_t zone, int32_t point, bool used) const {
        if (point >= zones_[zone]->points || (point < 0 && used && !zones_[zone]->has_gateway()))
            routing::refuse("passages: zone " + std::to_string(zone) + " has no point " + std::to_string(point));
    }

    // Of each link: how many hosts it belongs to; of one that routes between hosts have in common, more than one.
    std::vector<int32_t> count_owners() const {
        std::vector<int32_t> owners(capacity_.size(), 0);
        for (const Lists *lists : {&outward_, &inward_, &between_})
            for (const int32_t link : lists->links) owners[link] += 2;
        for (const auto &zone : zones_) zone->count_owners(owners);
        return owners;
    }

    // Of each zone: whether routes into it or out of it lead through one of its hosts.
    std::vector<uint8_t> entered_at_hosts() const {
        std::vector<uint8_t> entered(zones_.size(), 0);
        for (size_t pair = 0; pair < passages_.size(); ++pair) {
            if (passages_[pair].leave != routing::GATEWAY) entered[pair / zones_.size()] = 1;
            if (passages_[pair].enter != routing::GATEWAY) entered[pair % zones_.size()] = 1;
        }
        return entered;
    }

    std::vector<double> capacity_, latency_;
    std::vector<uint8_t> fatpipe_;
    std::vector<std::unique_ptr<const routing::Zone>> zones_;
    std::vector<int64_t> first_host_;  // of each zone
    std::vector<int32_t> zone_of_;     // of each host
    std::vector<Passage> passages_;    // of each two zones; empty: routes go outwards and inwards through gateways
    Lists outward_, inward_, between_;
};

}  // namespace commmodel
