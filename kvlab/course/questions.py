"""The recall questions and the "say it" prompts of every lab, in one place.

Add an entry to `RECALL` for each question; the key is the lab that *asks* it and a word, and that lab's notebook
calls `recall("02-holes", ...)`, later `recall("02-holes", "b")`:

    Recall("02-holes", "An arena has 40 free slots and refuses a request for 30. How can that be?",
           choices={"a": "It keeps a reserve.", "b": "No single hole has 30 slots.", "c": "The request is too long."},
           answer="b", why="Free slots add up over holes; a request needs one hole. That is external fragmentation."),
    Recall("01-kib", "How many KiB does a token cost in Llama-3-8B?", answer=128, unit="KiB",
           why="2 (K and V) x 32 layers x 8 KV heads x 128 numbers x 2 bytes."),

and an entry to `SAY_IT` for each lab; the notebook calls `say_it("03", ...)`. A point of the rubric is ticked by itself
if one of its `words` (lower case, parts of words do) is in the learner's text, and the learner can correct the tick:

    SayIt("03", "Explain to a colleague, in 30 seconds, why blocks waste less than reservations.",
          rubric=(Point("names the waste of reserving: internal and external", ("intern", "extern", "reserv")),
                  Point("says at most one block per sequence is partly empty", ("last block", "one block", "partly"))),
          model="Reserving holds room for tokens that may never come ...", seconds=30),
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recall:
    """A question from an earlier lab. Either `choices` and the right letter as `answer`, or a number as `answer`.

    A number counts as right within `tolerance` (relative). `why` is one or two sentences, shown after any answer.
    """

    key: str
    prompt: str
    answer: str | float
    why: str
    choices: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    tolerance: float = 0.01

    @property
    def lab(self) -> str:
        """The lab that asks the question: the digits the key starts with."""
        return self.key.split("-")[0]


@dataclass(frozen=True)
class Point:
    """One line of a rubric: what a good answer does, and the words by which a first guess ticks it."""

    text: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class SayIt:
    """A prompt to answer aloud within `seconds`, the rubric to tick afterwards, and a model answer to compare with."""

    lab: str
    prompt: str
    rubric: tuple[Point, ...]
    model: str
    seconds: int = 60


RECALL: list[Recall] = [
    Recall("01-why-kv",
           "While a model writes an answer, why does the server keep the keys and values of all tokens so far?",
           choices={"a": "They are part of the weights, which every step needs.",
                    "b": "The next token has to look back at every token before it.",
                    "c": "The same question can then be answered again without the model."},
           answer="b",
           why="Attention compares the newest token with all earlier ones, through their keys and values. Weights are "
               "another part of the memory, and a store of finished answers is another kind of cache."),
    Recall("01-what-grows", "Which part of the GPU's memory has to hold more with every token that is read or written?",
           choices={"a": "The weights.",
                    "b": "The text of the conversation.",
                    "c": "The KV cache.",
                    "d": "None: all of it is reserved when the server starts."},
           answer="c",
           why="Each token adds a key and a value in every layer. The weights stay as they are, the text is a few "
               "bytes a word, and reserving a slot does not fill it: that was the trouble on Friday evening."),
    Recall("01-mode", "You take the course on a laptop without a GPU. What is different?",
           choices={"a": "Only real timings are missing: kernels run in an interpreter, and every exercise is checked.",
                    "b": "Exercises can be written but not checked.",
                    "c": "Only labs 00 to 03 work, since they are plain Python."},
           answer="a",
           why="The first four labs need no kernel at all, and the later ones run theirs in an interpreter: slower, "
               "with the same checks. The first cell of each lab says which way it runs."),
    Recall("02-per-token",
           "32 layers, 32 query heads, 8 KV heads, 128 numbers a head, 2 bytes each: what does one token cost?",
           choices={"a": "64 KiB", "b": "128 KiB", "c": "512 KiB", "d": "4 KiB"},
           answer="b",
           why="2 (key and value) x 32 layers x 8 KV heads x 128 x 2 bytes. 64 KiB leaves out the values, 512 KiB "
               "counts query heads, which keep nothing, and 4 KiB is one layer."),
    Recall("02-batch", "Why do 64 conversations together get many more tokens per second out of a GPU than one alone?",
           choices={"a": "Each step reads the weights once for all of them.",
                    "b": "They share their keys and values.",
                    "c": "A step takes the same time, however many conversations take part."},
           answer="a",
           why="Reading the weights is most of a small batch's step, and company shares it. Keys and values are each "
               "conversation's own, so a step does get longer with every one, only by much less."),
    Recall("02-smaller", "Which of these makes the keys and values of a token take fewer bytes?",
           choices={"a": "Handing out the memory in blocks of 16 tokens.",
                    "b": "Storing the weights in 4 bits.",
                    "c": "A model with 4 KV heads in place of 8.",
                    "d": "Half as many conversations at once."},
           answer="c",
           why="Half the KV heads, half the vectors. Blocks remove the waste around tokens and leave their price as it "
               "is; smaller weights and fewer conversations leave more room, and a token costs what it did."),
    Recall("03-kinds",
           "A request has 2,548 slots: a prompt of 500, and 40 of its 100 answer tokens are written. 540 slots are "
           "held, 60 will be used. What are the other 1,948?",
           choices={"a": "External fragmentation.",
                    "b": "Internal fragmentation.",
                    "c": "Reserved for later.",
                    "d": "Free."},
           answer="b",
           why="They are inside a reservation and will never be used, because the length was over-estimated. Later are "
               "the 60; external fragmentation lies between reservations; and nobody else can have these, so they are "
               "not free."),
    Recall("03-holes", "An arena has 40 free slots and refuses a request for 30. How can that be?",
           choices={"a": "No single hole has 30 slots.",
                    "b": "It keeps a reserve for the requests that run.",
                    "c": "First fit looks at the first hole only."},
           answer="a",
           why="A contiguous request needs one hole, and free slots in several holes do not add up: external "
               "fragmentation. First fit tries every hole, from the lowest on, until one is long enough."),
    Recall("03-memory-wall", "What bounds the number of conversations that one GPU can decode together?",
           choices={"a": "Its computing power.",
                    "b": "Its memory bandwidth.",
                    "c": "The memory that is left for keys and values beside the weights."},
           answer="c",
           why="Each conversation's keys and values have to lie in GPU memory. Bandwidth says how long a step takes, "
               "and while decoding the GPU computes little for each byte it reads."),
    Recall("03-bug-hunt", "Dora and Carl have the same block. What went wrong first?",
           choices={"a": "Both arrived at the same moment, and the pool gave one block to two.",
                    "b": "Carl's block was not cleared before Dora got it.",
                    "c": "Ana's block was given back twice: when she finished, and when she hung up."},
           answer="c",
           why="The second release put block 3 into the free list once more, and two later customers each took it. "
               "Clearing the block would hide the address and leave two conversations writing into it."),
    Recall("04-slot", "Blocks of 4 tokens, and the block table [5, 1, 6]: which slot belongs to token 9?",
           choices={"a": "9", "b": "25", "c": "29", "d": "7"},
           answer="b",
           why="Token 9 is in table entry 9 // 4 = 2, which is block 6, at offset 9 % 4 = 1: slot 6 * 4 + 1. 9 is its "
               "position, 29 goes on in one piece from block 5, and 7 adds block and offset."),
    Recall("04-last-block",
           "A conversation of 100 tokens lies in blocks of 16. Where is the memory that it has and does not use?",
           choices={"a": "In its last block: 12 slots.",
                    "b": "In the holes between its blocks.",
                    "c": "Nowhere: it has 100 slots for 100 tokens.",
                    "d": "In every block: none is quite full."},
           answer="a",
           why="It has 7 blocks, so 112 slots, and all but the last are full. Between its blocks lie other "
               "conversations' blocks, and free ones that anybody can take."),
    Recall("04-kv-heads", "A model has 32 query heads and 8 KV heads. What does one layer keep of a token?",
           choices={"a": "32 keys and 32 values.",
                    "b": "32 queries, 8 keys and 8 values.",
                    "c": "8 keys and 8 values.",
                    "d": "8 keys and 32 values."},
           answer="c",
           why="Only KV heads have keys and values, and four query heads share each pair. Queries are used once and "
               "thrown away."),
    Recall("04-bug-hunt", "Who wrote into the last block, and why was the pool full whenever somebody noticed?",
           choices={"a": "The token for slot 0, because slots are counted from 1.",
                    "b": "The row of padding: index -1 is the last slot, and only a full pool has given that one away.",
                    "c": "The customer: a block of 4 had no room for the fifth token."},
           answer="b",
           why="Slot -1 means that nothing is to be written. As an index it means the last slot. While the last block "
               "is free, what is written there harms nobody; in a full pool somebody owns it."),
]

SAY_IT: list[SayIt] = [
    SayIt("00", "What is this course about? Two sentences, as to a colleague in the lift.",
          rubric=(Point("the server reserves memory for the longest answer",
                        ("reserv", "set aside", "sets aside", "longest")),
                  Point("because nobody knows how long an answer will be",
                        ("unknown", "not know", "nobody knows", "no one knows", "can't know", "in advance")),
                  Point("most of that memory never holds a token",
                        ("empty", "waste", "never hold", "unused", "never used", "15 %")),
                  Point("small blocks are handed out on demand instead", ("block", "on demand")),
                  Point("so far more conversations run at the same time",
                        ("more conversations", "more requests", "more customers", "at once", "same time", "411",
                         "times as many"))),
          model="Nobody knows how long an answer will be, so a server reserves memory for the longest one, and most "
                "of it never holds a token: 64 conversations fill the card while 15 % of the memory is in use. This "
                "course builds the way out, small blocks handed out on demand through a table, with which 411 "
                "conversations run at the same time, and then the server around it.",
          seconds=30),
    SayIt("01", "Why does the batch size decide the throughput, and what bounds the batch size?",
          rubric=(Point("a decode step spends its time reading memory",
                        ("read", "bandwidth", "memory-bound", "memory bound")),
                  Point("it reads all weights once, whatever the batch",
                        ("weights once", "weight once", "all weights", "the weights")),
                  Point("so conversations share that read, and throughput grows with the batch",
                        ("share", "throughput grows", "more tokens", "same read", "together")),
                  Point("each conversation adds its own keys and values to what is read",
                        ("its own key", "own kv", "own keys", "adds")),
                  Point("the memory left for the KV cache bounds the batch",
                        ("fit in memory", "memory beside", "left for", "must fit", "bounded by",
                         "bounds the batch", "kv memory", "memory is")),
                  Point("a number: 128 KiB a token, 64 GiB, about 524,000 tokens", ("128", "64 gib", "524"))),
          model="Decoding spends its time reading memory. Each step reads all weights once, for one conversation or "
                "for sixty-four, so a larger batch writes more tokens for the same read; the gain flattens once the "
                "conversations' own keys and values are most of what is read. What bounds the batch is the memory "
                "beside the weights: at 128 KiB a token, 64 GiB hold about 524,000 tokens, and every conversation "
                "needs room for its own.",
          seconds=30),
    SayIt("02", "Why did early LLM servers waste most of their KV memory?",
          rubric=(Point("an answer's length is unknown when it starts",
                        ("unknown", "not know", "nobody knows", "no one knows", "in advance")),
                  Point("so they reserved one contiguous piece for the longest",
                        ("contiguous", "one piece", "longest", "maximum", "worst case")),
                  Point("slots for tokens still to come stand empty meanwhile",
                        ("later", "still to come", "to come", "not yet", "meanwhile")),
                  Point("what was over-estimated is never used: internal fragmentation",
                        ("internal", "over-estimat", "overestimat", "never used")),
                  Point("holes between pieces are too small for newcomers: external fragmentation",
                        ("external", "holes", "between pieces")),
                  Point("20 to 38 % of the memory held tokens", ("20", "38", "most of", "15.5"))),
          model="Attention wanted each request's keys and values in one piece, and nobody knows an answer's length "
                "when it starts. So servers reserved for the longest. Slots for later tokens stood empty meanwhile; "
                "what was over-estimated was never used, internal fragmentation; and between pieces of different "
                "sizes lay holes too small for a newcomer, external fragmentation. In Kwon et al.'s measurements 20 % "
                "of the memory held tokens, and 38 % even with every length known.",
          seconds=30),
    SayIt("03", "How do fixed-size blocks fix the waste? And then: why not blocks of one token?",
          rubric=(Point("the cache is a pool of blocks of a fixed size, such as 16 tokens",
                        ("pool", "fixed-size", "fixed size", "16")),
                  Point("a block table per request says where its blocks are, anywhere in memory",
                        ("table", "anywhere", "adjacent", "neighbour", "neighbor")),
                  Point("a block is taken only when the last one is full",
                        ("on demand", "only when", "last one is full", "is full")),
                  Point("only the last block is partly empty; no holes are too small",
                        ("partly", "last block", "partially", "any hole", "no external")),
                  Point("96 % in use in the paper, 411 requests in place of 64 here",
                        ("96", "99", "411", "times as many", "2.3")),
                  Point("one-token blocks: long tables, many lookups, short reads",
                        ("lookup", "look-up", "tables long", "table sixteen", "longer table", "short read",
                         "reads short", "every read"))),
          model="The cache is a pool of blocks of 16 tokens, and each request has a table of its blocks, anywhere in "
                "memory. It takes a block only when its last one is full. So nothing is reserved, any hole will do, "
                "and only the last block is partly empty: 96 % in use in the paper, and on our trace 411 requests in "
                "place of 64. One-token blocks would waste nothing, but they make the table sixteen times as long and "
                "every read short.",
          seconds=30),
    SayIt("04", "Does paging change the outputs? And what does attention do differently?",
          rubric=(Point("no: the outputs are the same, token by token",
                        ("no.", "no,", "no:", "unchanged", "the same", "does not change", "doesn't change")),
                  Point("only the place of keys and values is another", ("place", "where")),
                  Point("new keys and values are written to the slots that the block table gives",
                        ("slot", "written", "writes")),
                  Point("attention reads them through the table, in the order of the tokens",
                        ("through the table", "through its table", "block table", "gather", "in order")),
                  Point("and stops at the context length: what lies behind never matters",
                        ("length", "beyond", "behind", "stops")),
                  Point("a kernel does it block by block, with a running largest score and sum",
                        ("online", "block by block", "running", "largest"))),
          model="No, the outputs are the same, token by token: only the place of keys and values is another. Each new "
                "token's key and value are written to the slot that the block table gives. Attention then reads the "
                "conversation through the table, in order, and stops at the context length, because behind it lies "
                "somebody else's past. It need not gather anything first: with the largest score so far and a running "
                "sum it goes block by block, and forgets each after reading it.",
          seconds=30),
]
