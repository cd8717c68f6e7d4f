// Runs of which derivatives are asked for: compiled apart from other runs, whose code they would change.
#include "flows/engine.hpp"

namespace commmodel {

void run_noting(const Routing &routing, const Protocol &protocol, const int32_t *hosts, int32_t ranks,
                const Operation *operations, const int64_t *offsets, Run &run, LinkClasses *classes) {
    Engine<true>(routing, protocol, hosts, ranks, operations, offsets, run, classes).run();
}

}  // namespace commmodel
