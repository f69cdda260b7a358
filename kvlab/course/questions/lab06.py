"""What lab 06 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("06-one-release", "A block has two owners, and one of them releases it. What does the pool do?",
           choices={"a": "It makes the block free, and hands it out again.",
                    "b": "It takes one from the count, and the block stays in use.",
                    "c": "It refuses, because somebody else still needs the block."},
           answer="b",
           why="An owner leaves, and the count falls from 2 to 1. Only at 0 is a block free, and a release is refused "
               "only where there is no owner left."),
    Recall("06-same-block", "Two block tables both begin with block 7. What does the second conversation read there?",
           choices={"a": "The same keys and values as the first.",
                    "b": "Nothing: a block can be read by the one who wrote it.",
                    "c": "Its own: each conversation has another block 7."},
           answer="a",
           why="Attention follows the table to the block and reads what lies there. Who wrote it does not matter; that "
               "the tokens are the same does."),
    Recall("06-merge",
           "Two programs attend the two halves of one long conversation. What must each hand over besides its output, "
           "so that the halves can be merged?",
           choices={"a": "The number of tokens in its half.",
                    "b": "Its keys, so that the other can attend them too.",
                    "c": "The log of the sum of exp(score) over its half."},
           answer="c",
           why="Each half's output is weighted by how much of the whole softmax lies in it, and that is what this sum "
               "says. Two halves of equal length may weigh very differently."),
    Recall("06-bug-hunt", "Why was the second release of draft two's blocks not refused?",
           choices={"a": "The pool looks at the table, and draft two still had one.",
                    "b": "fork had counted draft two twice, so there was one owner to spare.",
                    "c": "The blocks had other owners, and the pool took one of these for the one that left.",
                    "d": "The copy was not yet made, so no block was really shared."},
           answer="c",
           why="Its count was 2, for drafts one and three, and fell to 1. The pool counts owners and does not know "
               "their names, so it struck off an owner who was still there.",
           reasons={"a": "The pool never sees a table: it is given block numbers.",
                    "b": "After three tables the count was 3, as it should be.",
                    "d": "Nobody wrote, so no copy was due; owners are counted from the fork on."}),
]

SAY_IT: list[SayIt] = [
    SayIt("06", "How do many answers share one prompt's memory, when is a block copied and when not, and what does it "
                "save?",
          rubric=(Point("the answers' block tables name the same blocks (a fork; nothing is copied)",
                        ("same block", "fork", "share the", "shared block", "prompt's blocks")),
                  Point("each block counts its owners, and is free when the last one leaves",
                        ("count", "owners")),
                  Point("copy-on-write: copied when somebody writes into a block that others own too",
                        ("copy-on-write", "copy on write", "writes into", "write into", "when one writes",
                         "when somebody writes", "only when")),
                  Point("only the last, partly filled block; full ones stay shared",
                        ("last block", "partly", "half-filled", "half filled", "full ones", "full blocks")),
                  Point("the last owner writes in place", ("in place", "without a copy", "last owner")),
                  Point("saves 6 to 30 % of the blocks for samples, 38 to 66 % for beams",
                        ("%", "per cent", "percent", "save"))),
          model="The prompt runs once. Each answer has a block table of its own, and all of them name the prompt's "
                "blocks; each block counts its owners. Full blocks stay shared. Only when an answer writes into its "
                "last, partly filled block and others own it too is that block copied; the last owner writes in "
                "place. In the paper it saved 6 to 10 % of the blocks for samples of short prompts, 16 to 30 % for "
                "long ones, and up to 66 % in beam search.",
          seconds=30),
]
