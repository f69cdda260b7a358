"""What lab 08 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("08-step-bound", "A step in which 30 requests decode a token each takes as long as what?",
           choices={"a": "Reading the weights and everybody's keys and values.",
                    "b": "The arithmetic for 30 tokens.",
                    "c": "30 steps of one request."},
           answer="a",
           why="Each weight that is read serves all 30 tokens, and the arithmetic is done long before the reading. So "
               "a few tokens more in the same step cost next to nothing, and this lab makes use of that."),
    Recall("08-when-taken", "When does a request take its next block?",
           choices={"a": "When it is admitted, for its longest possible answer.",
                    "b": "With every token.",
                    "c": "When a token comes and its last block is full."},
           answer="c",
           why="Blocks are taken on demand, one when the last is full. That wastes little, and it means that nobody "
               "has promised the block will be there."),
    Recall("08-draft-ends", "Two drafts share 62 blocks. One ends. How many of those blocks become free?",
           choices={"a": "62.", "b": "None.", "c": "31."},
           answer="b",
           why="Each of them still has an owner, so its count falls from two to one. The same holds for a draft that "
               "is made to leave: shared blocks stay, and only its own become free."),
    Recall("08-bug-hunt", "Why is Ana preempted again and again?",
           choices={"a": "Somebody older always takes her block.",
                    "b": "Her tokens are lost each time, so she begins anew.",
                    "c": "She needs more than the whole pool, and leaves for herself.",
                    "d": "The watermark is too large."},
           answer="c",
           why="Nobody else holds a block that could be given to her. When she leaves, all blocks are free, she is "
               "admitted, and runs into the same wall. One that is alone has to be refused, with both numbers.",
           reasons={"a": "There is nobody else in this server.",
                    "b": "She comes back with all her tokens, as the second event \"admitted\" shows.",
                    "d": "This server keeps no block spare."}),
]

SAY_IT: list[SayIt] = [
    SayIt("08", "What happens when a token needs a block and none is free? Who leaves, and what becomes of its "
                "keys and values?",
          rubric=(Point("somebody is preempted: the most recent, or the lowest priority",
                        ("most recent", "lowest priority", "last in order", "newest", "youngest")),
                  Point("never the oldest, so that somebody is sure to end",
                        ("never the oldest", "never the first", "oldest never", "first in order")),
                  Point("its blocks are dropped and its tokens recomputed later",
                        ("recomput", "run again", "computed again", "dropped", "freed")),
                  Point("or swapped to the host and back, a shared block once", ("swap", "host")),
                  Point("it comes back when all its tokens fit; a watermark keeps some blocks free",
                        ("watermark", "fit again", "spare")),
                  Point("what can never fit is refused when it is submitted", ("refused", "never fit"))),
          model="Somebody is preempted: the most recent, or the lowest priority, never the oldest, so that somebody is "
                "sure to end. Its blocks are dropped and its tokens recomputed later, or they are swapped to the host "
                "and back, a shared block once. It comes back when all its tokens fit, and a watermark of free blocks "
                "keeps that rare. A request that could never fit is refused when it is submitted.",
          seconds=40),
]
