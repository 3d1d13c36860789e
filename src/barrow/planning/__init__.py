"""Planning: from a promise to a mechanism that keeps it, from public numbers only."""

from barrow.planning.frequency import FrequencyQuestion, frequency_question
from barrow.planning.items import ItemChoice, choose_items

__all__ = ["FrequencyQuestion", "ItemChoice", "choose_items", "frequency_question"]
