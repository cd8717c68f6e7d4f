// Links that a symmetry of ranks moves onto one another: what flows on one of them, flows on all at the same time.
//
// One link of each class stands for all. Where a symmetry leaves links in their places, such as a backbone, several flows
// of those for which one flow stands use the same link: their number is the class's `flows`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/symmetry.hpp"
#include "routing/routing.hpp"
#include "sharing/flow_table.hpp"

namespace commmodel {

class LinkClasses {
  public:
    // hosts: of all ranks, each on another one. `must_be_checked`: routes may not follow the symmetry.
    LinkClasses(const Routing &routing, const Symmetry &symmetry, const int32_t *hosts, bool must_be_checked)
        : routing_(routing), symmetry_(symmetry), hosts_(hosts), must_be_checked_(must_be_checked),
          class_of_(routing.capacity().size(), NONE), flows_(routing.capacity().size(), 0),
          times_(routing.capacity().size(), 0), rank_of_(static_cast<size_t>(routing.hosts()), NONE) {
        for (int32_t rank = 0; rank < symmetry.ranks(); ++rank) rank_of_[hosts[rank]] = rank;
    }

    const Symmetry &symmetry() const { return symmetry_; }

    // Whether some route did not follow the symmetry.
    bool are_broken() const { return broken_; }

    // Flows on a link that stands for its class, of those for which one flow stands.
    int32_t flows(int32_t link) const { return flows_[link]; }

    // Replace the links on a route, and on the route back, by those that stand for them.
    void replace(int32_t source, int32_t destination, Use *uses, int32_t count) {
        for (int32_t place = 0; place < count; ++place) {
            if (class_of_[uses[place].link] != NONE) continue;
            learn(source, destination);
            learn(destination, source);
            break;
        }
        for (int32_t place = 0; place < count && !broken_; ++place) {
            Use &use = uses[place];
            use.link = class_of_[use.link];
            if (routing_.fatpipe()[use.link]) continue;  // it bounds each flow alone
            const int32_t flows = flows_[use.link];
            // Sums of as many equal terms are exact then, as those of one term.
            if ((flows & (flows - 1)) != 0) broken_ = true;
            use.weight *= static_cast<float>(flows);
        }
    }

    // A route was made: does it follow the symmetry, as well as that back?
    void check(int32_t source, int32_t destination) {
        if (!must_be_checked_ || broken_) return;
        learn(source, destination);
        learn(destination, source);
    }

    // Let links have what those have that stand for them.
    void spread(std::vector<double> &of_links) const {
        for (size_t link = 0; link < class_of_.size(); ++link)
            if (class_of_[link] != NONE) of_links[link] = of_links[class_of_[link]];
    }

  private:
    // Find the classes of the links on a route, by the routes of all ranks for which its ranks stand.
    void learn(int32_t source, int32_t destination) {
        const int32_t from = rank_of_[source], to = rank_of_[destination];
        images_.clear();
        size_t length = 0;
        for (int32_t member = 0; member < symmetry_.members(); ++member) {
            routing_.route(hosts_[symmetry_.image(from, member)], hosts_[symmetry_.image(to, member)], images_);
            if (member == 0) length = images_.size();
            broken_ = broken_ || images_.size() != length * (static_cast<size_t>(member) + 1);
        }
        for (size_t place = 0; place < length && !broken_; ++place) learn_link(place, length);
    }

    // Find the class of the link at a place of the routes. All of its links must be there equally often: some image may
    // go another way round, over links of the same class.
    void learn_link(size_t place, size_t length) {
        const int32_t link = images_[place], known = class_of_[link];
        const int32_t stands = known == NONE ? link : known;
        int32_t size = 0;
        for (size_t at = place; at < images_.size(); at += length) {
            const int32_t image = images_[at];
            ++times_[image];
            if (known == NONE && class_of_[image] == NONE) {
                class_of_[image] = stands;
                ++size;
                broken_ = broken_ || !are_alike(image, stands);
            }
            broken_ = broken_ || class_of_[image] != stands;
        }
        if (known == NONE) flows_[stands] = symmetry_.members() / size;
        for (size_t at = place; at < images_.size(); at += length)
            broken_ = broken_ || times_[images_[at]] != flows_[stands];
        for (size_t at = place; at < images_.size(); at += length) times_[images_[at]] = 0;
    }

    bool are_alike(int32_t one, int32_t other) const {
        return routing_.capacity()[one] == routing_.capacity()[other] &&
               routing_.latency()[one] == routing_.latency()[other] &&
               routing_.fatpipe()[one] == routing_.fatpipe()[other];
    }

    const Routing &routing_;
    const Symmetry &symmetry_;
    const int32_t *hosts_;
    const bool must_be_checked_;
    std::vector<int32_t> class_of_;  // of each link: the link that stands for it
    std::vector<int32_t> flows_;
    std::vector<int32_t> times_;    // within `learn_link`: how often a link is there
    std::vector<int32_t> rank_of_;  // of hosts
    std::vector<int32_t> images_;   // routes of all ranks for which a rank stands, one after the other
    bool broken_ = false;
};

}  // namespace commmodel
