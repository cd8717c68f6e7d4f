// Items with several owners; they lie in the chunks of a store, which uses the places of dropped items again. Owners are
// counted without locks: those of a store's items belong to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace commmodel {

template <class Item> class Store;

// What an item that is `Shared` derives from.
template <class Item> class Counted {
    friend class Store<Item>;
    template <class> friend class Shared;
    Store<Item> *store_ = nullptr;
    int32_t owners_ = 0;
};

// An owner of an item: the last one drops it.
template <class Item> class Shared {
  public:
    Shared() = default;
    Shared(std::nullptr_t) {}
    explicit Shared(Item *item) : item_(item) {  // of an item that has owners, or of a new one
        if (item_ != nullptr) ++item_->owners_;
    }
    Shared(const Shared &other) : Shared(other.item_) {}
    Shared(Shared &&other) noexcept : item_(std::exchange(other.item_, nullptr)) {}
    Shared &operator=(Shared other) noexcept {
        std::swap(item_, other.item_);
        return *this;
    }
    ~Shared() { reset(); }

    // Take an item over from, or give it to, a plain pointer, which then stands for an owner.
    static Shared adopt(Item *item) {
        Shared owner;
        owner.item_ = item;
        return owner;
    }
    Item *release() { return std::exchange(item_, nullptr); }

    void reset() {
        Item *const item = release();
        if (item != nullptr && --item->owners_ == 0) item->store_->drop(item);
    }

    Item &operator*() const { return *item_; }
    Item *operator->() const { return item_; }
    explicit operator bool() const { return item_ != nullptr; }

  private:
    Item *item_ = nullptr;
};

// Outlives its items.
template <class Item> class Store {
  public:
    Store() = default;
    Store(const Store &) = delete;
    Store &operator=(const Store &) = delete;

    template <class... Arguments> Shared<Item> make(Arguments &&...arguments) {
        if (unused_ == nullptr) grow();
        Place *const place = unused_;
        Place *const next = place->next;
        Item *const item = new (place->bytes) Item(std::forward<Arguments>(arguments)...);
        unused_ = next;
        item->store_ = this;
        return Shared<Item>(item);
    }

    void drop(Item *item) {
        item->~Item();
        Place *const place = reinterpret_cast<Place *>(item);
        place->next = unused_;
        unused_ = place;
    }

  private:
    union Place {
        Place *next;
        alignas(Item) unsigned char bytes[sizeof(Item)];
    };
    static constexpr size_t CHUNK = 256;

    void grow() {
        chunks_.emplace_back(new Place[CHUNK]);
        for (size_t i = CHUNK; i-- > 0;) {
            chunks_.back()[i].next = unused_;
            unused_ = &chunks_.back()[i];
        }
    }

    std::vector<std::unique_ptr<Place[]>> chunks_;
    Place *unused_ = nullptr;
};

// First in, first out; an item is in one line at a time and has a member `next`. Plain data: whoever drops a line that
// is not empty pops its items first.
template <class Item> struct Line {
    Item *first = nullptr, *last = nullptr;

    bool empty() const { return first == nullptr; }
    Item &front() const { return *first; }
    void push(Shared<Item> item) {
        Item *const added = item.release();
        added->next = nullptr;
        (first == nullptr ? first : last->next) = added;
        last = added;
    }
    Shared<Item> pop() {
        Item *const item = first;
        first = item->next;
        return Shared<Item>::adopt(item);
    }
};

}  // namespace commmodel
