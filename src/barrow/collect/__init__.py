"""Collecting from people who trust nobody, over the network: cards, clients, collector, shuffler, analyser."""

from barrow.collect.card import Card, make_card, read_card
from barrow.collect.client import Client, SendError
from barrow.collect.wallet import Wallet

__all__ = ["Card", "Client", "SendError", "Wallet", "make_card", "read_card"]
