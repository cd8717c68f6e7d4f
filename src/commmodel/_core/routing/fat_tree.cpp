// Fat tree: a tree with several parents of each node, and several cables to each parent.
// Source: parallel-ports generalised fat trees and D-mod-k: Zahavi 2010.
#include <algorithm>
#include <vector>

#include "routing/regular.hpp"

namespace commmodel::routing {

class FatTree final : public RegularZone {
  public:
    // sizes: children of a node of each level, from the lowest up.
    explicit FatTree(const Description &description)
        : RegularZone(description, "fat-tree"), parents_(description.counts("parents")),
          cables_(description.counts("cables")), as_simgrid_(description.number("as_simgrid") != 0) {
        if (parents_.size() != sizes_.size() || cables_.size() != sizes_.size())
            refuse("a fat tree has children, parents and cables for each level");
        int64_t nodes = 0, links = 0;
        below_ = copies_ = stride_ = {1};
        for (size_t level = 0; level < sizes_.size(); ++level) {
            const int64_t nodes_of_level = times(hosts / below_[level], copies_[level]);
            level_node_.push_back(nodes);
            level_link_.push_back(links);
            nodes += nodes_of_level;
            links += times(times(nodes_of_level, parents_[level]), cables_[level]);
            below_.push_back(below_[level] * sizes_[level]);
            copies_.push_back(times(copies_[level], parents_[level]));
            const int64_t ports = parents_[level] * (as_simgrid_ ? 1 : cables_[level]);
            stride_.push_back(std::min(hosts, stride_[level] * ports));
        }
        level_node_.push_back(nodes);
        take_links(description, nodes + times(hosts / below_.back(), copies_.back()), links);
    }

  protected:
    // Up to the first level that has both below it, by the port that the destination names (D-mod-k); then down.
    // A node of a level is its hosts' place among those of the level, and which copy of them it is.
    void follow(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        const int64_t levels = static_cast<int64_t>(sizes_.size());
        int64_t level = 0, copy = 0;
        do {
            const int64_t port = destination / stride_[level] % (parents_[level] * cables_[level]);
            const int64_t parent = port % parents_[level];
            push_limiter(level_node_[level] + source / below_[level] * copies_[level] + copy, links);
            push_cable(source, level, copy, parent, port / parents_[level], false, links);
            copy += parent * copies_[level];
            ++level;
        } while (level < levels && source / below_[level] != destination / below_[level]);
        if (as_simgrid_) {
            // A switch takes its next port towards the destination, counted from the cable that the source names, or
            // in a switch below another from the port after the one that led there, as long as there is one.
            for (int64_t from = 0; level-- > 0;) {
                const int64_t children = sizes_[level], child = destination / below_[level] % children;
                int64_t port = from + (child - from % children + children) % children;
                if (from == 0 || port >= children * cables_[level]) port = source % cables_[level] * children + child;
                descend(destination, level, port / children, copy, links);
                from = port + 1;
            }
        } else {
            while (level-- > 0) {
                const int64_t port = destination / stride_[level] % (parents_[level] * cables_[level]);
                descend(destination, level, port / parents_[level], copy, links);
            }
        }
        push_limiter(destination, links);
    }

  private:
    // From the switch above down to a level, by one of the parallel cables.
    void descend(int64_t destination, int64_t level, int64_t cable, int64_t &copy, std::vector<int32_t> &links) const {
        const int64_t above = destination / below_[level + 1] * copies_[level + 1] + copy;
        const int64_t parent = copy / copies_[level];
        copy %= copies_[level];
        push_cable(destination, level, copy, parent, cable, true, links);
        push_limiter(level_node_[level + 1] + above, links);
    }

    void push_cable(int64_t host, int64_t level, int64_t copy, int64_t parent, int64_t cable, bool down,
                    std::vector<int32_t> &links) const {
        const int64_t node = host / below_[level] * copies_[level] + copy;
        push_link(level_link_[level] + (node * parents_[level] + parent) * cables_[level] + cable, down, links);
    }

    const std::vector<int64_t> parents_, cables_;   // parents of a node, and cables to each
    const bool as_simgrid_;                         // routes down as SimGrid 3.32 has them
    std::vector<int64_t> below_;                    // hosts below a node of the level
    std::vector<int64_t> copies_;                   // switches of the level that have the same hosts below them
    std::vector<int64_t> stride_;                   // hosts that have one port after the other upwards from the level
    std::vector<int64_t> level_link_, level_node_;  // of level: its first link upwards, its first node
};

const Registered<FatTree> fat_tree{"fat-tree"};

}  // namespace commmodel::routing
