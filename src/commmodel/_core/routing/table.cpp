// Hosts and routers with a table of the links between each two.
#include <vector>

#include "routing/zone.hpp"

namespace commmodel::routing {

class Table final : public Zone {
  public:
    explicit Table(const Description &description)
        : Zone(description), links_(description.link_numbers("links")),
          offsets_(description.offsets("offsets", times(points, points), links_.size(), "table")) {}

    void route(int64_t source, int64_t destination, std::vector<int32_t> &links) const override {
        const size_t pair = static_cast<size_t>(source * points + destination);
        links.insert(links.end(), links_.begin() + offsets_[pair], links_.begin() + offsets_[pair + 1]);
    }

    bool has_gateway() const override { return false; }

  private:
    const std::vector<int32_t> links_;
    const std::vector<int64_t> offsets_;  // of each pair of points: where its links begin
};

const Registered<Table> table{"table"};

}  // namespace commmodel::routing
