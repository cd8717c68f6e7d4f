// Torus: a grid closed to a ring in each dimension. Each host has one link upwards in each dimension.
#include <vector>

#include "routing/regular.hpp"

namespace commmodel::routing {

class Torus final : public RegularZone {
  public:
    explicit Torus(const Description &description) : RegularZone(description, "torus") {
        take_links(description, hosts, times(hosts, dimensions()));
    }

  protected:
    // Dimension-ordered: the first dimension first, each the shorter way round; half-way upwards, but from the middle
    // to 0 downwards.
    void follow(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        int64_t node = source, stride = 1, from = source, to = destination;
        for (int64_t dimension = 0; dimension < dimensions(); ++dimension) {
            const int64_t size = sizes_[dimension];
            int64_t here = from % size;
            const int64_t there = to % size, upwards = there >= here ? there - here : there - here + size;
            const bool down = 2 * upwards > size || (there == 0 && 2 * here == size);
            from /= size;
            to /= size;
            while (here != there) {
                push_limiter(node, links);
                if (down) {
                    const int64_t next = here == 0 ? size - 1 : here - 1;
                    node += (next - here) * stride;
                    here = next;
                    push_link(node * dimensions() + dimension, true, links);
                } else {
                    push_link(node * dimensions() + dimension, false, links);
                    const int64_t next = here + 1 == size ? 0 : here + 1;
                    node += (next - here) * stride;
                    here = next;
                }
            }
            stride *= size;
        }
        push_limiter(destination, links);
    }

  private:
    int64_t dimensions() const { return static_cast<int64_t>(sizes_.size()); }
};

const Registered<Torus> torus{"torus"};

}  // namespace commmodel::routing
