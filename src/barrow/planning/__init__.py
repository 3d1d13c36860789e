"""Planning: from a promise to a mechanism that keeps it, from public numbers only."""

from barrow.planning.items import ItemChoice, choose_items

__all__ = ["ItemChoice", "choose_items"]
