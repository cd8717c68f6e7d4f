"""Power and price of hosts in SimGrid's platform files. Main entry: `costs_of`.

Properties are those of SimGrid's plugin host_energy: ``wattage_per_state`` has ``idle:epsilon:all`` in W for each of
the host's speeds, or ``idle:all``, where epsilon is idle; ``wattage_off`` is that of a host which is off. The price of
a host and hour is ours: ``price_per_hour``.
"""

import math

from commmodel.simulate.platform.description import NO_COSTS
from commmodel.simulate.platform.xml_elements import Element

_WATTS, _OFF, _PRICE = "wattage_per_state", "wattage_off", "price_per_hour"


def costs_of(host: Element) -> tuple[float, ...]:
    """Return the watts and the price of a host or of the hosts of a cluster, NaN where they are not known."""
    properties = {child.attributes.get("id", ""): child for child in host.children if child.tag == "prop"}
    watts, price = NO_COSTS[:-1], math.nan
    if _WATTS in properties:
        element = properties[_WATTS]
        states = element.text("value").split(",")
        chosen = int(host.text("pstate", "0"))
        if chosen >= len(states):
            element.fail(f"{_WATTS}: power of {len(states)} states, and the host is in state {chosen}")
        values = [_number(element, _WATTS, part) for part in states[chosen].split(":")]
        if len(values) not in {2, 3}:
            element.fail(f"{_WATTS} {states[chosen].strip()!r}: expected idle:epsilon:all in watts")
        off = _number(properties[_OFF], _OFF, properties[_OFF].text("value")) if _OFF in properties else 0.0
        watts = (values[0], values[-2], values[-1], off)
    if _PRICE in properties:
        price = _number(properties[_PRICE], _PRICE, properties[_PRICE].text("value"))
    return *watts, price


def _number(element: Element, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        element.fail(f"{name} {text.strip()!r}: expected a number from 0 up")
    return value
