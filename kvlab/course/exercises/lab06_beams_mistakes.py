"""`beam_step` as beginners write it."""

from __future__ import annotations


def _chosen(tables, parents):
    return [list(tables[parent]) for parent in parents]


def _all(tables):
    return [block for table in tables for block in table]


def _losers(tables, parents):
    return [table for number, table in enumerate(tables) if number not in parents]


def releases_all_first(tables, parents, pool):
    chosen = _chosen(tables, parents)
    pool.release(_all(tables))
    pool.share(_all(chosen))
    return chosen


def frees_losers_alone(tables, parents, pool):
    pool.release(_all(_losers(tables, parents)))
    return _chosen(tables, parents)


def losers_stay(tables, parents, pool):
    chosen = _chosen(tables, parents)
    pool.share(_all(chosen))
    return chosen


def parents_stay(tables, parents, pool):
    chosen = _chosen(tables, parents)
    pool.share(_all(chosen))
    pool.release(_all(_losers(tables, parents)))
    return chosen


def only_winners_let_go(tables, parents, pool):
    chosen = _chosen(tables, parents)
    pool.share(_all(chosen))
    pool.release(_all(table for number, table in enumerate(tables) if number in parents))
    return chosen


def overwrites_while_reading(tables, parents, pool):
    for number, parent in enumerate(parents):
        if number != parent:
            pool.share(tables[parent])
            pool.release(tables[number])
            tables[number] = list(tables[parent])
    return tables[: len(parents)]


def no_counts(tables, parents, pool):
    return _chosen(tables, parents)


def releases_for_each_child(tables, parents, pool):
    chosen = []
    for parent in parents:
        pool.share(tables[parent])
        chosen.append(list(tables[parent]))
        pool.release(tables[parent])
    return chosen


def only_what_no_survivor_names(tables, parents, pool):
    chosen = _chosen(tables, parents)
    for parent in set(parents):
        pool.share(tables[parent] * (parents.count(parent) - 1))
    kept = set(_all(chosen))
    for table in _losers(tables, parents):
        pool.release([block for block in table if block not in kept])
    return chosen


def each_parent_once(tables, parents, pool):
    for parent in set(parents):
        pool.share(tables[parent])
    pool.release(_all(tables))
    return _chosen(tables, parents)


def the_same_list(tables, parents, pool):
    chosen = [tables[parent] for parent in parents]
    pool.share(_all(chosen))
    pool.release(_all(tables))
    return chosen


def drops_repeats(tables, parents, pool):
    return releases_after(tables, list(dict.fromkeys(parents)), pool)


def releases_after(tables, parents, pool):
    """The right way."""
    chosen = _chosen(tables, parents)
    pool.share(_all(chosen))
    pool.release(_all(tables))
    return chosen


def sorts_the_parents(tables, parents, pool):
    return releases_after(tables, sorted(parents), pool)


def the_other_way(tables, parents, pool):
    chosen = [list(tables[number]) for number in range(len(tables))]
    for number, parent in enumerate(parents):
        chosen[parent] = list(tables[number])
    pool.share(_all(chosen))
    pool.release(_all(tables))
    return chosen


def copies_the_blocks(tables, parents, pool):
    chosen = [pool.take(len(tables[parent])) for parent in parents]
    pool.release(_all(tables))
    return chosen


def last_block_only(tables, parents, pool):
    chosen = _chosen(tables, parents)
    pool.share([table[-1] for table in chosen])
    pool.release([table[-1] for table in tables])
    return chosen


def tables_unchanged(tables, parents, pool):
    return tables


def losers_twice(tables, parents, pool):
    chosen = releases_after(tables, parents, pool)
    pool.release(_all(_losers(tables, parents)))
    return chosen
