"""`strategy-lab devices`: what this machine has, and which strategies that allows."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from strategy_core.planning import strategy_catalog
from strategy_core.planning.inventory import Inventory, PhysicalDevice, probe
from strategy_core.runtime.nvml import cards, state_of
from strategy_profiles.extras import require

HELP = "physical and logical devices of this machine, and the strategies they allow"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace) -> int:
    require("tensorflow")
    inventory = probe()
    if args.json:
        print(json.dumps(_document(inventory), indent=1))
    else:
        _print(inventory)
    return 0


def _document(inventory: Inventory) -> dict[str, Any]:
    """`logical` says what a run may ask for: logical devices exist only inside a run."""
    inventoried = inventory.to_json()
    return {
        "schema_version": 1,
        "tensorflow": inventoried["tensorflow"],
        "physical": inventoried["physical"],
        "why_no_gpu": inventoried["why_no_gpu"],
        "cards": _cards(),
        "logical": inventoried["possibilities"],
        "strategies": [
            {
                "name": offer.row.name,
                "title": offer.row.title,
                "available": offer.available,
                "reason": offer.reason,
                "needs": offer.row.needs,
                "explanation": offer.row.explanation,
                "link": offer.row.link,
            }
            for offer in strategy_catalog.offers(inventory)
        ],
    }


def _cards() -> list[dict[str, Any]] | None:
    """What NVML says of each card; None if it cannot be asked."""
    known = cards()
    return None if isinstance(known, str) else [asdict(card) for card in known]


def _host(device: PhysicalDevice) -> str:
    """A CPU is the whole host, and TensorFlow has no name for it."""
    return f"{os.cpu_count()} cores" if device.kind == "CPU" else ""


def _print(inventory: Inventory) -> None:
    console = Console(emoji=False)
    devices = Table(
        "kind", "physical device", "what it is", title=f"TensorFlow {inventory.tensorflow}"
    )
    for device in inventory.physical:
        devices.add_row(device.kind, device.name, device.description or _host(device))
    console.print(devices)
    if inventory.why_no_gpu:
        console.print(f"TensorFlow sees no GPU. It says: {inventory.why_no_gpu}", highlight=False)
    known = cards()
    for number, card in enumerate(() if isinstance(known, str) else known):
        console.print(f"NVML's card {number}: {state_of(card)}", highlight=False)
    console.print("--devices may be:")
    for words in inventory.possibilities:
        console.print(f"  {words}", highlight=False)
    strategies = Table("--strategy", "here", "needs, or why it cannot run here")
    for offer in strategy_catalog.offers(inventory):
        strategies.add_row(
            offer.row.name, "yes" if offer.available else "no", offer.reason or offer.row.needs
        )
    console.print(strategies)
