"""What lab 07 asks: its recall questions, and what to say aloud at its end."""

from __future__ import annotations

from kvlab.course.questions.form import Point, Recall, SayIt

RECALL: list[Recall] = [
    Recall("07-which-copied",
           "Ten drafts share a prompt that fills 62 blocks and half of one more. All write on. Which blocks are ever "
           "copied?",
           choices={"a": "All of them, once for each draft.",
                    "b": "Only the one that is half full.",
                    "c": "None: shared blocks are read."},
           answer="b",
           why="A full block is never written again, so any number of owners can read it for ever. Only the partly "
               "filled one is written, and copied by whoever writes while others own it. That is why full blocks are "
               "what strangers can share too."),
    Recall("07-depends-on", "On what do the keys and values of token 40 depend?",
           choices={"a": "On token 40 and its position.",
                    "b": "On the tokens of its block.",
                    "c": "On token 40 and all tokens before it."},
           answer="c",
           why="In the first layer they depend on the token and its position alone. But attention has mixed in the "
               "tokens before it by the second layer, so from there on the whole beginning counts."),
    Recall("07-count-zero", "The count of a block falls to 0. What happens to the keys and values in it?",
           choices={"a": "Nothing, until the block is taken and written again.",
                    "b": "They are set to zero, so that nobody can read them.",
                    "c": "They are moved to the end of the pool."},
           answer="a",
           why="Releasing only changes the books: the number goes back to the free list. The bytes stay until a next "
               "owner writes over them, and this lab makes use of the time between."),
    Recall("07-bug-hunt", "Why did Dora read Carl's complaint?",
           choices={"a": "Ana's block kept its hash when she ended.",
                    "b": "Carl was given a block, and the old text's entry still led to it.",
                    "c": "Two texts had the same hash.",
                    "d": "Dora became an owner of a block that was free."},
           answer="b",
           why="An entry says what lies in a block. It stays true while the block is idle, and turns false when "
               "somebody else is about to write there. That is the moment to drop it.",
           reasons={"a": "That is what makes the cache useful: idle blocks can be found until they are needed.",
                    "c": "The texts themselves were the keys here, and no two were the same.",
                    "d": "She may: an idle block can be had back, as long as what it holds is what the entry says."}),
]

SAY_IT: list[SayIt] = [
    SayIt("07", "How do requests of strangers share the beginning of their prompts? What is in a block's hash, and why "
                "is a freed block not yet forgotten?",
          rubric=(Point("full blocks are found by a hash, and named in the new request's table",
                        ("hash", "looked up", "found by")),
                  Point("the hash covers the block before it, the block's own tokens and the tag (adapter, salt)",
                        ("before", "parent", "all tokens up to", "chain")),
                  Point("at least one token is always computed, even if all is known",
                        ("one token", "a token is left", "leaves a token", "last token", "at least one")),
                  Point("a freed block keeps its hash until somebody else takes it",
                        ("keeps its hash", "keep their hash", "until it is", "still be found", "until somebody",
                         "until the block is")),
                  Point("evicted: least recently used, the tail of a chain before its head",
                        ("least recently", "lru", "tail")),
                  Point("a radix tree does the same with runs of tokens, split where prompts part",
                        ("radix", "tree"))),
          model="Each full block gets a hash of the block before it, its own tokens and the request's tag, so equal "
                "hashes mean an equal past. A new request looks up its hashes until one is missing, names those blocks "
                "in its table, and computes the rest, at least one token. A freed block keeps its hash until "
                "somebody takes it; the least recently used go first, the tail of a chain before its head. A radix "
                "tree finds the same by walking runs of tokens.",
          seconds=40),
]
