"""`radix_match` as beginners write it."""

from __future__ import annotations

from kvlab.memory import RadixNode


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
