"""Collecting from people who trust nobody, over the network: cards, clients, collector, shuffler, analyser."""

from typing import TYPE_CHECKING

from barrow._lazy import lazily

if TYPE_CHECKING:
    from barrow.collect.card import Card, make_card, read_card
    from barrow.collect.client import Client, SendError
    from barrow.collect.client_budget import ClientBudget
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            ".card": "Card make_card read_card",
            ".client": "Client SendError",
            ".client_budget": "ClientBudget",
        },
    )
