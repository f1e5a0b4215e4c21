"""Routes that packages add, by entry points of the group `strategy_lab.routes`."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.routing import BaseRoute

from strategy_profiles.registered import loaded


@dataclass(frozen=True, slots=True)
class Link:
    """A link to one of the routes, on a page of the lab."""

    page: str
    """The address of that page."""
    title: str
    address: str
    """On the page `runs`, `{run}` in it is the run."""
    help: str


@dataclass(frozen=True, slots=True)
class Routes:
    """Routes behind the lab's gate. Those of the lab come first."""

    routes: tuple[BaseRoute, ...]
    links: tuple[Link, ...] = ()


def added_routes() -> list[BaseRoute]:
    """The routes of every package that can be loaded."""
    return [route for each in _added() for route in each.routes]


def links_on(page: str) -> list[Link]:
    """What packages link from a page."""
    return [link for each in _added() for link in each.links if link.page == page]


def _added() -> list[Routes]:
    return list(loaded("routes", Routes)[0].values())
