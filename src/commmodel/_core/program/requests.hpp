// Open requests: a pool, a list for each rank, and a hash that finds named ones by rank and name.
#pragma once

#include <cstdint>

#include "common/hash_table.hpp"
#include "program/pool.hpp"
#include "program/program.hpp"

namespace commmodel {

// `Request` has `name`, and `before` and `after`, which link those of its rank.
template <class Request> class Requests {
  public:
    Request &operator[](int32_t index) { return pool_[index]; }
    const Request &operator[](int32_t index) const { return pool_[index]; }

    // NONE where there is no such request.
    int32_t find(int32_t rank, int32_t name) const { return names_[names_.find({rank, name})].first; }

    // first: of the rank's list.
    int32_t open(int32_t rank, const Request &request, int32_t &first) {
        const int32_t index = pool_.add(request);
        pool_[index].before = NONE;
        pool_[index].after = first;
        if (first != NONE) pool_[first].before = index;
        first = index;
        if (request.name >= 0) {
            const Named key{rank, request.name};
            names_.fill(names_.find(key), key, {index});
        }
        return index;
    }

    void close(int32_t rank, int32_t index, int32_t &first) {
        const Request &request = pool_[index];
        (request.before == NONE ? first : pool_[request.before].after) = request.after;
        if (request.after != NONE) pool_[request.after].before = request.before;
        if (request.name >= 0) names_.empty(names_.find({rank, request.name}));
        pool_.drop(index);
    }

  private:
    struct Named {
        int32_t rank, name;
        bool operator==(const Named &other) const { return rank == other.rank && name == other.name; }
        uint64_t hash() const { return mixed(pair_of(rank, name)); }
    };
    Pool<Request, &Request::after> pool_;
    HashTable<Named, Number, 256> names_;
};

}  // namespace commmodel
