// Dragonfly: groups of chassis of blades, each with a router and its hosts.
// Sources: Kim et al. 2008; the three colours of links are those of the Cray XC (Alverson et al. 2012).
#include <vector>

#include "routing/regular.hpp"

namespace commmodel::routing {

class Dragonfly final : public RegularZone {
  public:
    // sizes: groups, chassis, blades, hosts of a blade.
    explicit Dragonfly(const Description &description)
        : RegularZone(description, "dragonfly"), as_simgrid_(description.number("as_simgrid") != 0) {
        if (sizes_.size() != 4) refuse("a dragonfly has groups, chassis, blades and nodes");
        groups_ = sizes_[0], chassis_ = sizes_[1], blades_ = sizes_[2], nodes_ = sizes_[3];
        routers_ = chassis_ * blades_;
        if (groups_ > routers_)
            refuse("a dragonfly of " + std::to_string(groups_) + " groups needs as many routers in a group");
        green_ = hosts;
        black_ = green_ + times(groups_ * chassis_, pairs(blades_));
        blue_ = black_ + times(times(groups_, pairs(chassis_)), blades_);
        take_links(description, hosts + groups_ * routers_, blue_ + pairs(groups_));
    }

  protected:
    // At most one blue link, which joins two groups: it hangs, in each, on the router that has the other's number.
    void follow(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        int64_t group = source / nodes_ / routers_, router = source / nodes_ % routers_;
        const int64_t last_group = destination / nodes_ / routers_, last_router = destination / nodes_ % routers_;
        push_limiter(source, links);
        push_link(source, false, links);
        if (group != last_group) {
            within_group(group, router, last_group, false, links);
            push_link(blue_ + pair_number(group, last_group, groups_), group > last_group, links);
            push_limiter(hosts + group * routers_ + router, links);
            router = group;
            group = last_group;
        }
        within_group(group, router, last_router, true, links);
        push_limiter(hosts + group * routers_ + router, links);
        push_link(destination, true, links);
        push_limiter(destination, links);
    }

  private:
    // Within a group first to the blade (green), then to the chassis (black). SimGrid, on the last steps, goes on from
    // a green link as from the first chassis.
    void within_group(int64_t group, int64_t &router, int64_t target, bool last, std::vector<int32_t> &links) const {
        const int64_t blade = target % blades_;
        int64_t row = router / blades_, column = router % blades_;
        if (column != blade) {
            push_limiter(hosts + group * routers_ + router, links);
            const int64_t base = green_ + (group * chassis_ + row) * pairs(blades_);
            push_link(base + pair_number(column, blade, blades_), column > blade, links);
            if (as_simgrid_ && last) row = 0;
            router = row * blades_ + blade;
        }
        if (row != target / blades_) {
            push_limiter(hosts + group * routers_ + router, links);
            const int64_t base = black_ + group * pairs(chassis_) * blades_;
            push_link(base + pair_number(row, target / blades_, chassis_) * blades_ + blade, row > target / blades_,
                      links);
            router = target;
        }
    }

    const bool as_simgrid_;  // routes within the last group as SimGrid 3.32 has them
    int64_t groups_, chassis_, blades_, nodes_;
    int64_t routers_;               // of a group
    int64_t green_, black_, blue_;  // first link of each colour
};

const Registered<Dragonfly> dragonfly{"dragonfly"};

}  // namespace commmodel::routing
