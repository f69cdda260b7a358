"""Answers to `radix_match` and `radix_insert` as learners give them; the wrong ones with what must be said."""

from tests.exercises.lab01_answers import given, wrong

_MATCH = "radix_match(root, tokens)"
_INSERT = "radix_insert(root, tokens, slots)"
_NODE = "from kvlab.memory import RadixNode\n"

_DOWN = (
    _NODE + "node, slots = root, []\nwhile len(slots) < len(tokens) and tokens[len(slots)] in node.children:\n"
    "    node = node.children[tokens[len(slots)]]\n    n = 0\n"
    "    for a, b in zip(tokens[len(slots):], node.tokens):\n        if a != b:\n            break\n        n += 1\n"
)
_CUT = (
    "    if n < len(node.tokens):\n"
    "        front = RadixNode(node.tokens[:n], node.slots[:n], node.parent, node.locks)\n"
    "        node.parent.children[node.tokens[0]] = front\n        node.tokens = node.tokens[n:]\n"
    "        node.slots = node.slots[n:]\n        node.parent = front\n        front.children[node.tokens[0]] = node\n"
    "        node = front\n"
)
_END = "    slots += node.slots\nreturn node, slots"

MATCH_RIGHT = given(
    _MATCH,
    _DOWN + _CUT + _END,
    _NODE + "def go(node, rest, slots):\n    child = node.children.get(rest[0]) if rest else None\n"
    "    if child is None:\n        return node, slots\n    n = 0\n"
    "    while n < min(len(rest), len(child.tokens)) and rest[n] == child.tokens[n]:\n        n += 1\n"
    "    if n < len(child.tokens):\n"
    "        front = RadixNode(child.tokens[:n], child.slots[:n], node, child.locks)\n"
    "        node.children[rest[0]] = front\n        child.tokens, child.slots = child.tokens[n:], child.slots[n:]\n"
    "        front.children[child.tokens[0]] = child\n        child.parent = front\n        child = front\n"
    "    return go(child, rest[n:], slots + child.slots)\nreturn go(root, tokens, [])",
)

MATCH_WRONG = wrong(
    _MATCH,
    (_DOWN + "    slots += node.slots[:n]\n    if n < len(node.tokens):\n        break\nreturn node, slots",
     "the whole node is returned"),
    (_DOWN + "    if n < len(node.tokens):\n        return node.parent, slots\n" + _END, "Gives up a node"),
    (_DOWN + _END, "takes the rest on trust"),
    (_DOWN + _CUT.replace(", node.locks)", ")") + _END, "The front begins with 0 locks"),
    (_DOWN + _CUT.replace("        node.parent.children[node.tokens[0]] = front\n", "") + _END,
     "The front is nobody's child"),
    (_DOWN + _CUT.replace("        front.children[node.tokens[0]] = node\n", "") + _END, "The rear is nobody's child"),
    (_DOWN + _CUT.replace("        node.parent = front\n", "") + _END, "names another parent"),
    (_DOWN + _CUT.replace("node.slots[:n]", "node.slots") + _END, "The front keeps all slots"),
    (_DOWN + _CUT.replace("        node = front\n", "") + "    slots += node.slots[:n]\nreturn node, slots",
     "beside the tokens that match"),
    (_DOWN + "    if n < len(node.tokens):\n"
     "        rear = RadixNode(node.tokens[n:], node.slots[n:], node, node.locks)\n"
     "        rear.children = node.children\n        for c in rear.children.values():\n            c.parent = rear\n"
     "        node.children = {rear.tokens[0]: rear}\n"
     "        node.tokens, node.slots = node.tokens[:n], node.slots[:n]\n" + _END, "The old node becomes the front"),
    (_DOWN + "    if n < len(node.tokens):\n"
     "        rear = RadixNode(node.tokens[n:], node.slots[n:], node, node.locks)\n"
     "        node.children = {rear.tokens[0]: rear}\n"
     "        node.tokens, node.slots = node.tokens[:n], node.slots[:n]\n" + _END, "The children of the node are lost"),
    (_DOWN + _CUT + "    slots += node.slots\nreturn slots", "Gives the slots alone"),
    (_DOWN + _CUT + "    slots += node.slots\nreturn slots, node", "in this order"),
    (_DOWN + _CUT + "    slots += node.slots\n    return node, slots", "returned nothing (None)"),
    (_DOWN + _CUT + "    slots += node.slots\nprint(node, slots)", "is a `return` missing?"),
    (_NODE + "node = root.children.get(tokens[0])\nif node is None:\n    return root, []\nreturn node, node.slots",
     "Stops after the first node"),
    (_NODE + "def go(node, rest, slots):\n    child = node.children.get(rest[0]) if rest else None\n"
     "    if child is None:\n        return node, slots\n    n = 0\n"
     "    while n < min(len(rest), len(child.tokens)) and rest[n] == child.tokens[n]:\n        n += 1\n"
     "    if n < len(child.tokens):\n"
     "        front = RadixNode(child.tokens[:n], child.slots[:n], node, child.locks)\n"
     "        node.children[rest[0]] = front\n        child.tokens, child.slots = child.tokens[n:], child.slots[n:]\n"
     "        front.children[child.tokens[0]] = child\n        child.parent = front\n        child = front\n"
     "    if slots is None:\n        slots = child.slots\n    else:\n        slots += child.slots\n"
     "    return go(child, rest[n:], slots)\nnode, slots = go(root, tokens, None)\nreturn node, slots or []",
     "`+=` changes the node's own list."),
    (_NODE + "return root, []", "expected [10, 11, 12, 13]"),
)

_HANG = (
    _NODE + "node, known = radix_match(root, tokens)\nk = len(known)\nif k < len(tokens):\n"
    "    child = RadixNode(tokens[k:], slots[k:], node)\n    node.children[tokens[k]] = child\n"
)

INSERT_RIGHT = given(
    _INSERT,
    _HANG + "return [s for s, t in zip(slots, known) if s != t]",
    _HANG + "return [s for s in slots[:k] if s not in known]",
    _HANG + "return list(set(slots[:k]) - set(known))",
    _HANG + "free = []\nfor i in range(k):\n    if slots[i] != known[i]:\n        free.append(slots[i])\nreturn free",
)

INSERT_WRONG = wrong(
    _INSERT,
    (_HANG + "return []", "Returns nothing to free"),
    (_HANG + "return slots[:k]", "Frees all slots of the known part"),
    (_HANG + "return [t for s, t in zip(slots, known) if s != t]", "Frees the tree's slots"),
    (_HANG + "return [s for s in slots if s not in known]", "says that"),
    (_HANG + "return slots[k:]", "says that"),
    (_HANG.replace("\nif k < len(tokens):\n    child", "\nif True:\n    child") + "return []", "IndexError"),
    (_HANG.replace("slots[k:], node)", "slots[k:])") + "return [s for s, t in zip(slots, known) if s != t]",
     "The new node names no parent"),
    (_HANG.replace("slots[k:], node)", "slots[k:], root)") + "return [s for s, t in zip(slots, known) if s != t]",
     "names another parent"),
    (_HANG.replace("tokens[k:], slots[k:]", "tokens, slots") + "return [s for s, t in zip(slots, known) if s != t]",
     "its beginning is there twice"),
    (_HANG.replace("node.children", "root.children") + "return [s for s, t in zip(slots, known) if s != t]",
     "names another parent"),
    (_NODE + "root.children[tokens[0]] = RadixNode(tokens, slots, root)\nreturn []",
     "Hangs the whole text below the root"),
    (_HANG + "print(known)", "returned nothing (None)"),
    (_HANG.replace("    node.children[tokens[k]] = child\n", "") + "return []", "hang nowhere in the tree"),
    ("node, known = radix_match(root, tokens)\nnode.tokens += tokens[len(known):]\nnode.slots += slots[len(known):]\n"
     "return [s for s, t in zip(slots, known) if s != t]", "Lengthens the node that matched"),
    ("known, node = radix_match(root, tokens)\nreturn []", "hang nowhere in the tree"),
    (_HANG + "return len(tokens) - k", "expected a list of slots"),
)
