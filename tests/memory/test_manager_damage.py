"""Damage to a block manager, of every kind: `check` finds it."""

from __future__ import annotations

import pytest

from kvlab.errors import InvariantBroken
from kvlab.memory import BlockManager
from tests.memory.managers import mixed


def set_table(manager: BlockManager, table: list[int]) -> None:
    manager._sequences["a"].table[:] = table


@pytest.mark.parametrize(
    ("damage", "invariant"),
    [
        (lambda manager: manager.pool._blank.pop(), "I1"),
        (lambda manager: manager.pool._blank.append(0), "I1"),
        (lambda manager: manager.pool.share([0]), "I2"),  # a count that no table accounts for
        (lambda manager: manager._sequences.pop("b"), "I2"),  # a leak
        (lambda manager: set_table(manager, [0, 3]), "I5"),  # a block that another has other tokens in
        (lambda manager: set_table(manager, [0, 4]), "I2"),  # a block that is free
        (lambda manager: set_table(manager, [0, 0]), "I5"),  # the second block of tokens over the first
        (lambda manager: set_table(manager, [0]), "I3"),
        (lambda manager: set_table(manager, [0, 2, 4]), "I3"),
        (lambda manager: setattr(manager._sequences["a"], "num_tokens", 9), "I3"),
        (lambda manager: setattr(manager._sequences["a"], "num_tokens", 4), "I3"),
        (lambda manager: set_table(manager, [0, 8]), "I4"),
        (lambda manager: set_table(manager, [0, -1]), "I4"),
    ],
)
def test_a_damaged_manager_is_found_out(damage, invariant: str) -> None:
    manager = mixed()
    damage(manager)
    with pytest.raises(InvariantBroken, match=invariant) as broken:
        manager.check()
    assert broken.value.invariant == invariant


def test_a_write_into_a_shared_block_is_found_out() -> None:
    manager = mixed()
    manager.pool.share([0, 2])
    manager._sequences["fork"] = type(manager._sequences["a"])([0, 2], 6)
    manager.check()  # both have two tokens in block 2
    manager._sequences["fork"].num_tokens = 7
    with pytest.raises(InvariantBroken, match="I5: block 2 is shared"):
        manager.check()
