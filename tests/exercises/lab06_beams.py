"""Answers to `beam_step` and `sample_generators` as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab01_answers import given, wrong

_BEAM = "beam_step(tables, parents, pool)"
_SEEDS = "sample_generators(seed, n)"

_CHOSEN = "chosen = [list(tables[p]) for p in parents]\n"
_SHARE = "for t in chosen:\n    pool.share(t)\n"
_LEAVE = "for t in tables:\n    pool.release(t)\n"
_LOSERS = "for i, t in enumerate(tables):\n    if i not in parents:\n        pool.release(t)\n"

BEAM_RIGHT = given(
    _BEAM,
    _CHOSEN + _SHARE + _LEAVE + "return chosen",
    "new = []\nfor p in parents:\n    new.append(tables[p][:])\n    pool.share(tables[p])\n" + _LEAVE + "return new",
    "for i, t in enumerate(tables):\n    n = parents.count(i)\n    if n == 0:\n        pool.release(t)\n"
    "    for _ in range(n - 1):\n        pool.share(t)\nreturn [list(tables[p]) for p in parents]",
    "from kvlab.memory import fork\nnew = [fork(tables[p], pool) for p in parents]\n" + _LEAVE + "return new",
    _CHOSEN + "pool.share([b for t in chosen for b in t])\npool.release(sum(tables, []))\ntables.clear()\n"
    "return chosen",
)

BEAM_WRONG = wrong(
    _BEAM,
    ("from kvlab.memory import fork\nnew = []\nfor p in parents:\n    new.append(fork(tables[p], pool))\n"
     "    pool.release(tables[p])\nreturn new", "Releases a parent once for each child, and the losers never"),
    (_CHOSEN + _SHARE + "for p in parents:\n    pool.release(tables[p])\nreturn chosen",
     "Next: release every old table once: for table in tables"),
    ("taken, new = set(), []\nfor p in parents:\n    if p in taken:\n        pool.share(tables[p])\n"
     "        new.append(list(tables[p]))\n    else:\n        new.append(tables[p])\n        taken.add(p)\n"
     + _LOSERS + "return new", "returned the old list of beam"),
    ("if parents == list(range(len(tables))):\n    return tables\n" + _CHOSEN + _SHARE + _LEAVE + "return chosen",
     "returned the old list of beam 0 as table 0"),
    (_CHOSEN + _SHARE + _LEAVE + "tables[:] = chosen\nreturn tables", "into the list that it was given"),
    (_CHOSEN + _LEAVE + _SHARE + "return chosen", "For a moment nobody owns the survivors' blocks"),
    (_CHOSEN + _LOSERS + "return chosen", "Each survivor counts as one owner"),
    (_CHOSEN + _SHARE + "return chosen", "the old beams still are: a leak"),
    (_CHOSEN + _SHARE + _LOSERS + "return chosen", "the parents' own holds stay"),
    (_CHOSEN + "return chosen", "the pool does not know of any of it"),
    ("chosen = [tables[p] for p in parents]\n" + _SHARE + _LEAVE + "return chosen", "the same list"),
    (_CHOSEN.replace("parents]", "sorted(parents)]") + _SHARE + _LEAVE + "return chosen", "Sorts the parents"),
    (_CHOSEN.replace("parents]", "set(parents)]") + _SHARE + _LEAVE + "return chosen", "one for each entry of parents"),
    (_CHOSEN + "for p in set(parents):\n    pool.share(tables[p])\n" + _LEAVE + "return chosen",
     "Each survivor counts as one owner"),
    ("chosen = [pool.take(len(tables[p])) for p in parents]\n" + _LEAVE + "return chosen", "Takes new blocks"),
    (_CHOSEN + _SHARE + _LEAVE + "return None", "is a `return` missing?"),
    (_CHOSEN + _SHARE + _LEAVE + "return parents", "one table, itself a list, for each beam"),
    (_CHOSEN + _SHARE + _LEAVE + "return tables", "Returns the old tables"),
    ("return tables", "Returns the old tables"),
    (_CHOSEN + _SHARE + _LEAVE + _LOSERS + "return chosen", "Releases the losers twice"),
    (_CHOSEN + "for t in chosen:\n    pool.share(t[-1:])\nfor t in tables:\n    pool.release(t[-1:])\nreturn chosen",
     "the last block of each table"),
    ("chosen = [list(tables[i]) for i in range(len(tables)) if i in parents]\n" + _SHARE + _LEAVE + "return chosen",
     "Makes one table for each parent"),
    ("chosen = [list(tables[parents[p]]) for p in parents]\n" + _SHARE + _LEAVE + "return chosen",
     "Next: next beam i continues the table"),
    (_CHOSEN + "pool.share(chosen)\npool.release(tables)\nreturn chosen", "Next: give pool.share a list of blocks"),
    (_CHOSEN + "for t in chosen:\n    for b in t:\n        pool.share(b)\n" + _LEAVE + "return chosen",
     "Next: give pool.share a list of blocks"),
    ("for i in range(len(tables)):\n    tables[i] = list(tables[parents[i]])\nreturn tables",
     "the pool does not know of any of it"),
    ("for i, p in enumerate(parents):\n    if i != p:\n        pool.release(tables[i])\n        pool.share(tables[p])\n"
     "        tables[i] = list(tables[p])\nreturn tables", "Writes into tables while it reads from it"),
    (_CHOSEN + _SHARE + "for i, t in enumerate(tables):\n    if i in parents:\n        pool.release(t)\nreturn chosen",
     "the losers keep theirs: a leak"),
    ("new = []\nfor p in parents:\n    new += list(tables[p])\n    pool.share(tables[p])\n" + _LEAVE + "return new",
     "one table, itself a list, for each beam"),
    (_CHOSEN + _SHARE + "kept = {b for t in chosen for b in t}\n"
     "pool.release([b for t in tables for b in t if b not in kept])\nreturn chosen", "the old beams still are"),
)

SEED_RIGHT = given(
    _SEEDS,
    "import random\nreturn [random.Random(f'{seed} {i}') for i in range(n)]",
    "import random\nbase = random.Random(seed)\nreturn [random.Random(base.getrandbits(64)) for _ in range(n)]",
    "import numpy as np\nreturn [np.random.default_rng([seed, i]) for i in range(n)]",
    "import numpy as np\nreturn [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]",
    "import random\nreturn [random.Random(seed * 1_000_003 + i) for i in range(n)]",
    "import random\nfrom hashlib import sha256\n"
    "return tuple(random.Random(sha256(f'{seed}/{i}'.encode()).digest()) for i in range(n))",
)

SEED_WRONG = wrong(
    _SEEDS,
    ("import random\nreturn [random.Random(seed)] * n", "one generator, named n times"),
    ("import random\nreturn [random.Random(seed) for i in range(n)]", "one answer n times"),
    ("import random\nreturn [random.Random(seed + i) for i in range(n)]", "Sample 1 of seed 7 is sample 0 of seed 8"),
    ("import random\nreturn [random.Random(seed + 1000 * i) for i in range(n)]", "a wider step only moves it"),
    ("import random\nreturn [random.Random(seed * i) for i in range(n)]", "Looks like seed * i"),
    ("import random\nreturn [random.Random(seed * n + i) for i in range(n)]", "Looks like seed * n + i"),
    ("import random\nreturn [random.Random(i) for i in range(n)]", "The seed is not used: every request"),
    ("import random\nreturn [random.Random() for i in range(n)]", "Something besides seed and number decides"),
    ("import random\nrandom.seed(seed)\nreturn [random.Random(random.random()) for _ in range(n)]",
     "Seeds the module's own generator"),
    ("import random\nrandom.seed(seed)\nreturn [random.random() for _ in range(n)]", "Next: return the generators"),
    ("import random\nr = random.Random(seed)\nreturn [r.random() for _ in range(n)]", "Gives n numbers"),
    ("import random\nreturn random.Random(seed)", "one generator for all"),
    ("import random\nreturn [random.Random((seed, i)) for i in range(n)]",
     'Next: make one string of both, as in f"{seed} {i}"'),
    ("import random\nreturn [random.Random(seed ^ (i << 32)) for i in range(n)]", "in pieces of 32 bits"),
    ("import random\nreturn [random.Random((seed << 32) + i) for i in range(n)]", "in pieces of 32 bits"),
    ("import random\nreturn [random.Random((i << 32) + seed) for i in range(n)]", "in pieces of 32 bits"),
    ("import random\nreturn [random.Random(seed * 1000 + i) for i in range(n)]", "Sample 1000 of seed 0 is sample 0"),
    ("import random\nreturn [random.Random(seed + i / 1000) for i in range(n)]", "or seed + i / 1000. Sample 1000 of"),
    ("import random\nreturn [random.Random(f'{seed}{i}') for i in range(n)]", "Glues the digits together"),
    ("import random\nreturn [random.Random(str(seed) + str(i)) for i in range(n)]", "Glues the digits together"),
    ("import random\nreturn [random.Random(seed ^ i) for i in range(n)]", "two requests, one answer"),
    ("return [random.Random(f'{seed} {i}') for i in range(n)]", "Next: put import random at the top of the cell"),
    ("import random\nreturn (random.Random(f'{seed} {i}') for i in range(n))", "Next: return a list"),
    ("import random\nreturn [random.Random for i in range(n)]", "raised TypeError"),
    ("import random\nreturn [random.seed(seed + i) for i in range(n)]", "expected generators, such as random.Random"),
    ("import random\nreturn [random.Random(f'{seed} {i}').random for i in range(n)]",
     "expected generators, such as random.Random"),
    ("import random\nreturn random.Random(seed).sample(range(1000), n)", "Next: return the generators themselves"),
    ("import random\nreturn [random.Random(f'{seed} {i}') for i in range(1, n)]", "one generator for each sample"),
    ("import numpy as np\nreturn [np.random.default_rng(seed + i) for i in range(n)]", "two requests, one answer"),
)
