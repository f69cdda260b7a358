"""`radix_match` and `radix_insert` as beginners write them."""

from __future__ import annotations

from kvlab.memory import RadixNode, radix_match


def equal_tokens(one, other):
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def split(node, count, locks=True, parent=True, slots=True, children=True):
    front = RadixNode(node.tokens[:count], node.slots[:count] if slots else node.slots, node.parent,
                      node.locks if locks else 0)
    if parent:
        node.parent.children[front.tokens[0]] = front
    node.tokens, node.slots = node.tokens[count:], node.slots[count:]
    node.parent = front
    if children:
        front.children[node.tokens[0]] = node
    return front


def walk(root, tokens, cut=split, equal=equal_tokens, deep=True):
    node, slots = root, []
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        node = node.children[tokens[len(slots)]]
        count = equal(tokens[len(slots) :], node.tokens)
        if count < len(node.tokens):
            slots += node.slots[:count]
            return cut(node, count), slots
        slots += node.slots
        if not deep:
            break
    return node, slots


def no_split(root, tokens):
    return walk(root, tokens, cut=lambda node, count: node)


def parent_in_place_of_split(root, tokens):
    return walk(root, tokens, cut=lambda node, count: node.parent)


def whole_node(root, tokens):
    return walk(root, tokens, equal=lambda rest, run: len(run))


def only_whole_nodes(root, tokens):
    node, slots = root, []
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        child = node.children[tokens[len(slots)]]
        if tokens[len(slots) : len(slots) + len(child.tokens)] != child.tokens:
            break
        node = child
        slots += node.slots
    return node, slots


def first_node_only(root, tokens):
    return walk(root, tokens, deep=False)


def locks_left_behind(root, tokens):
    return walk(root, tokens, cut=lambda node, count: split(node, count, locks=False))


def locks_moved(root, tokens):
    def cut(node, count):
        front = split(node, count)
        node.locks = 0
        return front

    return walk(root, tokens, cut=cut)


def not_hung_in(root, tokens):
    return walk(root, tokens, cut=lambda node, count: split(node, count, parent=False))


def rear_lost(root, tokens):
    return walk(root, tokens, cut=lambda node, count: split(node, count, children=False))


def slots_not_cut(root, tokens):
    return walk(root, tokens, cut=lambda node, count: split(node, count, slots=False))


def slots_not_cut_and_returned(root, tokens):
    node, slots = root, []
    while len(slots) < len(tokens) and tokens[len(slots)] in node.children:
        node = node.children[tokens[len(slots)]]
        count = equal_tokens(tokens[len(slots) :], node.tokens)
        if count < len(node.tokens):
            node = split(node, count, slots=False)
        slots += node.slots
    return node, slots


def _old_is_front(node, count, children=True, parents=True):
    rear = RadixNode(node.tokens[count:], node.slots[count:], node, node.locks)
    if children:
        rear.children = node.children
        for child in rear.children.values() if parents else ():
            child.parent = rear
    node.tokens, node.slots = node.tokens[:count], node.slots[:count]
    node.children = {rear.tokens[0]: rear}
    return node


def old_node_in_front(root, tokens):
    return walk(root, tokens, cut=_old_is_front)


def children_lost(root, tokens):
    return walk(root, tokens, cut=lambda node, count: _old_is_front(node, count, children=False))


def parents_not_set(root, tokens):
    return walk(root, tokens, cut=lambda node, count: _old_is_front(node, count, parents=False))


def returns_rear(root, tokens):
    def cut(node, count):
        split(node, count)
        return node

    return walk(root, tokens, cut=cut)


def leaves_a_token(root, tokens):
    return walk(root, tokens[:-1])


def slots_alone(root, tokens):
    return walk(root, tokens)[1]


def last_nodes_slots(root, tokens):
    node, _ = walk(root, tokens)
    return node, list(node.slots)


def tokens_not_slots(root, tokens):
    node, slots = walk(root, tokens)
    return node, list(tokens[: len(slots)])


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
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def whole_text_below(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[tokens[len(known)]] = RadixNode(tokens, slots, node)
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def first_slots_for_the_rest(root, tokens, slots):
    node, known = radix_match(root, tokens)
    rest = len(tokens) - len(known)
    if rest:
        _hang(node, tokens[len(known) :], slots[:rest])
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def empty_nodes(root, tokens, slots):
    node, known = radix_match(root, tokens)
    child = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    node.children[child.tokens[0] if child.tokens else None] = child
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def no_parent(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :])
        node.children[child.tokens[0]] = child
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def not_hung(root, tokens, slots):
    node, known = radix_match(root, tokens)
    RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def lengthens_the_node(root, tokens, slots):
    node, known = radix_match(root, tokens)
    node.tokens += tokens[len(known) :]
    node.slots += slots[len(known) :]
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def filed_under_last(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[tokens[-1]] = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def filed_under_slot(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        node.children[slots[len(known)]] = RadixNode(tokens[len(known) :], slots[len(known) :], node)
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]


def born_locked(root, tokens, slots):
    node, known = radix_match(root, tokens)
    if len(known) < len(tokens):
        child = RadixNode(tokens[len(known) :], slots[len(known) :], node, locks=1)
        node.children[child.tokens[0]] = child
    return [mine for mine, theirs in zip(slots, known, strict=False) if mine != theirs]
