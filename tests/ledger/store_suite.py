"""What every store must pass; each store's tests inherit this class and say how to make one."""

from __future__ import annotations

import threading
import time
from fractions import Fraction
from typing import Any

import pytest

from barrow.errors import LedgerError
from barrow.ledger import Ledger
from barrow.ledger.errors import AlreadyPaidError, OverBudgetError
from barrow.ledger.ledger import first_row
from barrow.ledger.store import Row
from tests.ledger.helpers import OUTPUTS, budget, pay


class StoreSuite:
    def make(self, tmp_path: Any, rows: list[Row]) -> Any:
        """A new store that holds ``rows``."""
        raise NotImplementedError

    def again(self, store: Any) -> Any:
        """A second object for the same rows, as another process would have."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Any) -> Any:
        return self.make(tmp_path, [Row(1, "{}", "h1")])

    def test_keeps_rows_in_order(self, store: Any) -> None:
        with store.transaction() as t:
            t.append(Row(2, '{"é":1}', "h2"))
            t.append(Row(3, "{}", "h3"))
        assert store.rows() == [Row(1, "{}", "h1"), Row(2, '{"é":1}', "h2"), Row(3, "{}", "h3")]
        assert store.rows(after=2) == [Row(3, "{}", "h3")]
        assert store.rows(after=3) == []
        assert self.again(store).rows() == store.rows()

    def test_a_transaction_sees_its_own_rows(self, store: Any) -> None:
        with store.transaction() as t:
            t.append(Row(2, "{}", "h2"))
            assert [row.seq for row in t.rows()] == [1, 2]
            assert [row.seq for row in t.rows(1)] == [2]

    def test_an_error_leaves_nothing(self, store: Any) -> None:
        def fail() -> None:
            with store.transaction() as t:
                t.append(Row(2, "{}", "h2"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert len(store.rows()) == 1
        with store.transaction() as t:
            t.append(Row(2, "{}", "other"))
        assert store.rows(1) == [Row(2, "{}", "other")]

    @pytest.mark.parametrize("seq", [1, 3, 0, -1])
    def test_refuses_a_row_out_of_order(self, store: Any, seq: int) -> None:
        with pytest.raises(LedgerError), store.transaction() as t:
            t.append(Row(seq, "{}", "h"))
        assert len(store.rows()) == 1

    def test_transactions_exclude_each_other(self, store: Any) -> None:
        other, order, inside = self.again(store), [], threading.Event()

        def second() -> None:
            inside.wait()
            with other.transaction() as t:
                order.append(f"second sees {len(t.rows())}")

        thread = threading.Thread(target=second)
        thread.start()
        with store.transaction() as t:
            inside.set()
            time.sleep(0.2)
            t.append(Row(2, "{}", "h2"))
            order.append("first ends")
        thread.join()
        assert order == ["first ends", "second sees 2"]

    def test_threads_never_overspend(self, tmp_path: Any) -> None:
        ledger = Ledger(self.make(tmp_path, [first_row(budget(alpha=4))]))
        paid: list[str] = []

        def spend(name: str) -> None:
            for number in range(100):
                try:
                    reservation = pay(ledger, f"{name}-{number}", Fraction(1, 3))
                except OverBudgetError:
                    return
                ledger.commit(reservation, OUTPUTS)
                paid.append(reservation.key)

        threads = [threading.Thread(target=spend, args=(str(i),)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(paid) == len(set(paid)) == 12
        assert ledger.left().loss == 0
        assert ledger.verify().releases == 12

    def test_two_ledgers_on_one_store(self, tmp_path: Any) -> None:
        store = self.make(tmp_path, [first_row(budget(alpha=2))])
        one, two = Ledger(store), Ledger(self.again(store))
        pay(one, "a", 1)
        with pytest.raises(AlreadyPaidError):
            pay(two, "a", 1)
        pay(two, "b", 1)
        with pytest.raises(OverBudgetError):
            pay(one, "c", Fraction(1, 10**30))
        assert one.head() == two.head()
