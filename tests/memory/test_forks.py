"""Replays of sampling and beam search: counted by hand where that can be done, and beside the paper's figures."""

from __future__ import annotations

import pytest

from kvlab.errors import UsageError
from kvlab.memory import (
    BlockManager,
    Saving,
    alpaca_like,
    drawn_parents,
    make_trace,
    replay_beams,
    replay_parents,
    replay_samples,
    sharegpt_like,
)


def test_samples_share_the_full_blocks_of_their_prompt_and_copy_the_rest_once_each_but_one() -> None:
    """A prompt of 6 in blocks of 4, three answers of 4: lengths 7 to 10, so 1 + 3 blocks, then 1 + 6."""
    assert replay_samples(make_trace("one", [6], [4]), 3, 4) == Saving(4 + 4 + 7 + 7, 6 + 6 + 9 + 9, copies=2)
    assert replay_samples(make_trace("one", [8], [1]), 3, 4) == Saving(2 + 3, 9, copies=0)
    assert Saving().saved == 0 and Saving(22, 30).saved == pytest.approx(8 / 30)


def test_a_single_sample_saves_nothing() -> None:
    assert replay_samples(alpaca_like(20, 1), 1).saved == 0


def test_a_replay_of_parents_counts_what_the_block_manager_counts() -> None:
    width, prompt, size, parents = 4, 13, 4, drawn_parents(4, 30, 0.6, seed=2)
    manager, names, total = BlockManager(400, size), [f"0 {i}" for i in range(width)], Saving()
    manager.admit("stem", prompt)
    manager.fork("stem", names)
    manager.free("stem")
    for step, chosen in enumerate([None, *parents]):
        if chosen is not None:
            born = [f"{step} {i}" for i in range(width)]
            for name, parent in zip(born, chosen, strict=True):
                manager.fork(names[parent], [name])
            for name in names:
                manager.free(name)
            names = born
        copies = sum(len(manager.append_cow(name).copies) for name in names)
        entries = sum(len(manager.table(name)) for name in names)
        total = total.plus(Saving(400 - manager.pool.num_free, entries, copies))
        manager.check()
    assert replay_parents(prompt, width, parents, size) == total


def test_beams_that_all_continue_one_share_all_but_their_last_block() -> None:
    blocks = [-(-length // 16) for length in range(17, 118)]
    copies = 3 * sum(length % 16 != 1 for length in range(18, 118))  # the winner's last block, unless it was full
    winner = Saving(sum(number + 3 for number in blocks), 4 * sum(blocks), copies)
    assert replay_parents(16, 4, [[0] * 4] * 100, 16) == winner
    loyal = replay_parents(16, 4, [[0, 1, 2, 3]] * 100, 16)
    assert loyal == replay_parents(16, 4, drawn_parents(4, 100, 1.0), 16) and loyal.copies == 0


def test_parents_are_drawn_the_same_for_a_seed_and_make_no_sense_otherwise() -> None:
    assert drawn_parents(4, 50, 0.5, seed=1) == drawn_parents(4, 50, 0.5, seed=1) != drawn_parents(4, 50, 0.5, seed=2)
    assert drawn_parents(3, 0) == []
    for call in (lambda: drawn_parents(0, 3), lambda: drawn_parents(2, 3, 1.5), lambda: replay_parents(0, 2, [])):
        with pytest.raises(UsageError, match="at least 1"):
            call()


@pytest.mark.parametrize(
    ("trace", "samples", "beams"),
    [
        (alpaca_like(300, 1), (0.061, 0.098), (0.376, 0.552)),
        (sharegpt_like(150, 1), (0.162, 0.305), (0.443, 0.663)),
    ],
    ids=["alpaca-like", "sharegpt-like"],
)
def test_savings_are_near_those_of_the_paper(trace, samples, beams) -> None:
    """Figure 15 of Kwon et al. 2023, for 2 and 6 of each; ours are of the same lengths but not of the same requests."""
    for name, paper, found in (
        ("samples", samples, [replay_samples(trace, n).saved for n in (2, 6)]),
        ("beams", beams, [replay_beams(trace, n).saved for n in (2, 6)]),
    ):
        ours, theirs = (f"{low:.1%} to {high:.1%}" for low, high in (found, paper))
        print(f"{trace.name}, {name}: ours {ours}, the paper's {theirs}")
        assert found == pytest.approx(paper, abs=0.05 if name == "samples" else 0.1)
