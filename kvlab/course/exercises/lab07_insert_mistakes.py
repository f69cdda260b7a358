"""`radix_insert` as beginners write it."""

from __future__ import annotations

from kvlab.memory import RadixNode, radix_match


def _free(slots, known):
    """The right answer: those of the slots in whose place the tree keeps others."""
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def _hang(node, tokens, slots):
    child = RadixNode(tokens, slots, node)
    node.children[child.tokens[0]] = child


def leaks(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        _hang(node, tokens[len(known) :], slots[len(known) :])
    return []


def frees_all_known(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        _hang(node, tokens[len(known) :], slots[len(known) :])
    return slots[: len(known)]


def frees_the_trees(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        _hang(node, tokens[len(known) :], slots[len(known) :])
    return [theirs for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def takes_over(root, tokens, slots):
    node, known = radix_match(root, tokens)
    old, done = [], 0
    for part in node.path():
        mine = slots[done : done + len(part.slots)]
        old += [theirs for own, theirs in zip(mine, part.slots, strict=True) if own != theirs]
        part.slots = mine
        done += len(mine)
    if len(known) < len(tokens):
        _hang(node, tokens[len(known) :], slots[len(known) :])
    return old


def below_the_root(root, tokens, slots):
    if tokens:
        _hang(root, tokens, slots)
    return []


def rest_below_the_root(root, tokens, slots):
    _, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        _hang(root, tokens[len(known) :], slots[len(known) :])
    return _free(slots, known)


def whole_text_below(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[tokens[len(known)]] = RadixNode(tokens, slots, node)
    return _free(slots, known)


def first_slots_for_the_rest(root, tokens, slots):
    node, known = radix_match(root, tokens)
    rest = len(tokens) - len(known)
    if rest:
        _hang(node, tokens[len(known) :], slots[:rest])
    return _free(slots, known)


def empty_nodes(root, tokens, slots):
    node, known = radix_match(root, tokens)
    child = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    node.children[child.tokens[0] if child.tokens else None] = child
    return _free(slots, known)


def no_parent(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :])
        node.children[child.tokens[0]] = child
    return _free(slots, known)


def not_hung(root, tokens, slots):
    node, known = radix_match(root, tokens)
    RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return _free(slots, known)


def lengthens_the_node(root, tokens, slots):
    node, known = radix_match(root, tokens)
    node.tokens += tokens[len(known) :]
    node.slots += slots[len(known) :]
    return _free(slots, known)


def filed_under_last(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[tokens[-1]] = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return _free(slots, known)


def filed_under_slot(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[slots[len(known)]] = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return _free(slots, known)


def born_locked(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :], node, locks=1)
        node.children[child.tokens[0]] = child
    return _free(slots, known)
