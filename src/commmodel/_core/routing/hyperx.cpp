// HyperX: a grid of routers, each with hosts and a link to every other router of its row in each dimension.
// Source: Ahn et al. 2009. With two routers in each dimension it is a hypercube, with two dimensions a flattened butterfly.
#include <vector>

#include "routing/regular.hpp"

namespace commmodel::routing {

class HyperX final : public RegularZone {
  public:
    // sizes: hosts of a router, then routers in each dimension.
    explicit HyperX(const Description &description) : RegularZone(description, "hyperx") {
        int64_t links = hosts;
        for (size_t dimension = 1; dimension < sizes_.size(); ++dimension) {
            first_.push_back(links);
            links += times(routers() / sizes_[dimension], pairs(sizes_[dimension]));
        }
        take_links(description, hosts + routers(), links);
    }

  protected:
    // Dimension-ordered: one link in each dimension in which the routers differ, the first dimension first.
    void follow(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        int64_t router = source / sizes_[0], stride = 1;
        const int64_t last = destination / sizes_[0];
        push_limiter(source, links);
        push_link(source, false, links);
        push_limiter(hosts + router, links);
        for (size_t dimension = 1; dimension < sizes_.size(); ++dimension) {
            const int64_t size = sizes_[dimension];
            const int64_t here = router / stride % size, there = last / stride % size;
            if (here != there) {
                const int64_t row = router / (stride * size) * stride + router % stride;
                push_link(first_[dimension - 1] + row * pairs(size) + pair_number(here, there, size), here > there,
                          links);
                router += (there - here) * stride;
                push_limiter(hosts + router, links);
            }
            stride *= size;
        }
        push_link(destination, true, links);
        push_limiter(destination, links);
    }

  private:
    int64_t routers() const { return hosts / sizes_[0]; }

    std::vector<int64_t> first_;  // of each dimension: its first link
};

const Registered<HyperX> hyperx{"hyperx"};

}  // namespace commmodel::routing
