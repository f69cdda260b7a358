"""Lab 06: one step of a beam search, as tables see it."""

from __future__ import annotations

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab06_beams_mistakes as wrong
from kvlab.course.exercises.beam_bench import random_steps, render, run, run_new
from kvlab.course.exercises.scenarios import corners, scenarios

THREE = ((0, 1), (0, 2), (0, 3))  # a shared block, and one of each beam's own

BEAM_STEP = Exercise(
    name="beam_step", lab="06", part="kvlab.memory.beam_step", stars=3, core=True, minutes=15,
    checks=(
        scenarios("all go on", run, render, (5, THREE, ((0, 1, 2),)), (4, ((3, 1), (0, 2)), ((0, 1),)),
                  next="one owner for each child, and none for the parent"),
        scenarios("a loser leaves", run, render, (5, THREE, ((0, 0, 2),)), (5, THREE, ((0, 2, 2),)),
                  (5, ((0, 1), (0, 2)), ((1, 1),)), (6, ((0, 1), (0, 2), (0, 3), (0, 4)), ((0, 3, 3, 0),)),
                  next="share for the children, release the losers"),
        scenarios("one takes all", run, render, (5, THREE, ((1, 1, 1),)), (6, ((4, 1), (3, 2), (0, 5)), ((2, 2, 2),)),
                  next="one owner for each child, and none for the parent"),
        scenarios("another order", run, render, (5, THREE, ((2, 0, 1),)), (5, THREE, ((2, 2, 0),)),
                  (5, ((4, 1), (3, 2)), ((1, 0),)), next="next beam i continues the table of beam parents[i]"),
        scenarios("several steps", run, render, (5, THREE, ((0, 0, 2), (2, 1, 1), (0, 0, 0))),
                  (5, ((0, 1), (0, 2)), ((0, 0), (1, 0), (1, 1))),
                  next="share for the children, release the losers"),
        scenarios("no free block", run, render, (4, THREE, ((0, 0, 2),)), (2, ((0,), (1,)), ((1, 1),)),
                  next="a child names its parent's blocks: take none"),
        scenarios("other widths", run, render, (5, THREE, ((1,),)), (5, ((2, 4),), ((0, 0, 0),)), (4, ((3,),), ((0,),)),
                  (5, THREE, ((),)), next="one table for each entry of parents"),
        Traces("random steps", random_steps, run, render=render, next="run these lines by hand"),
        corners("new lists", run_new, render, (5, THREE, ((0, 1, 2),)), (5, THREE, ((2, 0, 2),)),
                next="give each child a list of its own: list(...)"),
    ),
    mistakes=(
        Mistake(wrong.releases_all_first,
                "Releases the old tables first. For a moment nobody owns the survivors' blocks, and the pool could "
                "hand them out.", invariant="I2", next="share for the children before you release"),
        Mistake(wrong.frees_losers_alone, "Each survivor counts as one owner. With two children, its blocks have two.",
                invariant="I2", next="share once for each child, not once for each parent"),
        Mistake(wrong.losers_stay,
                "The children are counted, and the old beams still are: a leak. Those without a child must go.",
                invariant="I2", next="release the old tables as well"),
        Mistake(wrong.only_winners_let_go,
                "Releases the tables of beams that go on, and the losers keep theirs: a leak.", invariant="I2",
                next="release every old table"),
        Mistake(wrong.overwrites_while_reading,
                "Writes into tables while it reads from it: a later beam finds its parent's table replaced already.",
                next="build the next tables in a list of their own"),
        Mistake(wrong.parents_stay,
                "Frees the losers and counts each child, but the parents' own holds stay: one owner too many.",
                invariant="I2", next="one owner for each child, and none for the parent"),
        Mistake(wrong.no_counts, "Makes the tables, and the pool does not know of any of it.", invariant="I2",
                next="share for the children, release the losers"),
        Mistake(wrong.releases_for_each_child, "Releases a parent once for each child, and the losers never.",
                invariant="I2", next="release every old table once: for table in tables"),
        Mistake(wrong.only_what_no_survivor_names,
                "Releases only blocks that no survivor names. A loser also leaves the blocks it shared.",
                invariant="I2", next="release the loser's whole table"),
        Mistake(wrong.each_parent_once, "Each survivor counts as one owner. With two children, its blocks have two.",
                invariant="I2", next="share once for each child, not once for each parent"),
        Mistake(wrong.the_same_list,
                "Gives two children of one parent the same list. What is appended for one is appended for both.",
                next="list(tables[parent]) for each child"),
        Mistake(wrong.drops_repeats, "Makes one table for each parent. There is one for each entry of parents.",
                next="go through parents as it is"),
        Mistake(wrong.sorts_the_parents,
                "Sorts the parents. Next beam i has the token and the score that belong to parents[i].",
                next="keep the order of parents"),
        Mistake(wrong.the_other_way, "Reads parents[i] as where beam i goes. It says where next beam i comes from.",
                next="next beam i continues the table of beam parents[i]"),
        Mistake(wrong.copies_the_blocks,
                "Takes new blocks for the children. A child differs from its parent when it writes, and not before.",
                next="name the parent's blocks, and take none"),
        Mistake(wrong.last_block_only,
                "Shares and releases the last block of each table. A beam owns every block that it names.",
                invariant="I2", next="share and release whole tables"),
        Mistake(wrong.tables_unchanged, "Returns the old tables. Next beam i continues that of beam parents[i].",
                next="[list(tables[parent]) for parent in parents]"),
        Mistake(wrong.losers_twice,
                "Releases the losers twice: with all old tables, and once more by themselves. The second time takes a "
                "hold that is somebody else's.", invariant="I2", next="release each old table once"),
    ),
    hints=(
        "Beams 0, 1, 2 become children of 0, 0 and 2. Which blocks get an owner, which lose one, and in which order so "
        "that no block that goes on is ever free?",
        "Make the next tables, each a list of its own. Share every block of every one of them. Then release every old "
        "table: a parent with one child ends as it was, a loser is gone.",
        "chosen = [list(tables[p]) for p in parents]; for each table in chosen: pool.share(table); for each old table: "
        "...; return chosen",
    ),
)
