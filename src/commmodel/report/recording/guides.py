"""Pages of the documentation that go on where a call site is costly. Main entry: `guide`."""

from functools import cache
from importlib.metadata import PackageNotFoundError, metadata
from typing import NamedTuple

from commmodel.record import Profile
from commmodel.record.profiles import SiteProfile


class Guide(NamedTuple):
    """A page of the how-to guides."""

    name: str
    title: str

    def __str__(self) -> str:
        """Return its title and where it is: at the project's address, else among its sources."""
        address = _documentation()
        place = f"{address.rstrip('/')}/howto/{self.name}.html" if address else f"docs/howto/{self.name}.md"
        return f"{self.title} ({place})"


EXCHANGE = Guide("slow-halo", "My halo exchange is slow")
COLLECTIVES = Guide("collectives", "Measure and predict collective operations")
NODE = Guide("slow-node", "Is this node slow?")
GUIDES = (EXCHANGE, COLLECTIVES, NODE)


@cache
def _documentation() -> str:
    """Return the address of the documentation that the installed package names; empty without one."""
    try:
        urls = metadata("commmodel").get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    labelled = (url.partition(",") for url in urls)
    return next((address.strip() for label, _, address in labelled if label.strip().lower() == "documentation"), "")


def guide(profile: Profile, site: SiteProfile, method: str, *, is_waiting_for_one: bool) -> Guide | None:
    """Return the page on what a site does; None where there is none.

    `method` is the lower-case one of mpi4py that the site calls, and `is_waiting_for_one` says that it mostly waits,
    and for the same rank.
    """
    group = profile.calls[site.call].group
    if group in {"point-to-point", "completion"} or (method and not is_waiting_for_one):
        return EXCHANGE
    if is_waiting_for_one:
        return NODE
    return COLLECTIVES if group == "collective" else None
