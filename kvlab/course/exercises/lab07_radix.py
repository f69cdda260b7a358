"""Lab 07: the prefix cache as a tree over tokens: match, which splits, and insert."""

from __future__ import annotations

from functools import partial

from kvlab.course.declare import Exercise, Mistake, Traces
from kvlab.course.exercises import lab07_insert_mistakes as insert
from kvlab.course.exercises import lab07_radix_mistakes as wrong
from kvlab.course.exercises.radix_bench import Op, random_ops, render, run_insert, run_match
from kvlab.course.exercises.scenarios import corners, scenarios


def _ins(*tokens: int, own: int = 0) -> Op:
    return Op("insert", tokens, own)


def _get(*tokens: int) -> Op:
    return Op("match", tokens)


def _lock(*tokens: int) -> Op:
    return Op("lock", tokens)


_FREE = Op("unlock")
_LONG, _FORK = _ins(1, 2, 3, 4), _ins(1, 2, 8, 9)

RADIX_MATCH = Exercise(
    name="radix_match", lab="07", part="kvlab.memory.radix_match", stars=3, core=True, minutes=20,
    checks=(
        scenarios("whole nodes", run_match, render, (_LONG, _get(1, 2, 3, 4)), (_LONG, _get(1, 2, 3, 4, 5)),
                  (_LONG, _ins(7, 8), _get(7, 8, 1)), next="compare token by token"),
        scenarios("nothing known", run_match, render, (_get(1, 2),), (_LONG, _get(5, 6)),
                  next="return (root, [])"),
        scenarios("several nodes", run_match, render, (_LONG, _FORK, _get(1, 2, 8, 9)),
                  (_LONG, _FORK, _get(1, 2, 3, 4, 5)), (_LONG, _FORK, _ins(1, 2, 8, 9, 5), _get(1, 2, 8, 9, 5)),
                  next="go on in the child, and add up the slots"),
        scenarios("the match ends inside a node", run_match, render, (_LONG, _get(1, 2)), (_LONG, _get(1, 2, 9)),
                  (_LONG, _get(1, 2, 9, 9)), (_LONG, _get(1)), (_LONG, _FORK, _get(1, 2, 8)),
                  (_LONG, _FORK, _get(1), _get(1, 2, 3)), next="split the node where the match ends inside it"),
        scenarios("what hangs below", run_match, render, (_LONG, _ins(1, 2, 3, 4, 5), _ins(1, 2, 3, 4, 6), _get(1, 2)),
                  (_LONG, _FORK, _get(1), _get(1, 2, 8, 9)), next="draw the nodes before and after the split"),
        scenarios("locks", run_match, render, (_LONG, _lock(1, 2, 3, 4), _get(1, 2)),
                  (_LONG, _lock(1, 2, 3, 4), _get(1, 2), _FREE), (_LONG, _lock(1, 2, 3, 4), _lock(1, 2), _FREE, _FREE),
                  (_LONG, _FORK, _lock(1, 2, 8, 9), _lock(1, 2, 3, 4), _get(1), _FREE, _FREE),
                  next="front and rear are read by whoever read the whole"),
        corners("an empty prompt", run_match, render, (_LONG, _get()), (_get(),), next="return (root, [])"),
        Traces("random trees", partial(random_ops, ("insert", "match", "lock", "unlock")), run_match, render=render,
               next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(wrong.no_split,
                "The match ends inside a node, and the whole node is returned. Its rear would be locked as well.",
                next="split the node where the match ends inside it"),
        Mistake(wrong.parent_in_place_of_split,
                "The match ends inside a node, and the node above it is returned. Nobody holds the matched part.",
                next="split the node where the match ends inside it"),
        Mistake(wrong.whole_node,
                "Compares the first token of a node and takes the rest on trust. It may differ later in its run.",
                invariant="I9", next="compare token by token"),
        Mistake(wrong.only_whole_nodes,
                "Gives up a node that matches in part. The tokens before the difference are known all the same.",
                next="split the node, and take its front"),
        Mistake(wrong.first_node_only, "Stops after the first node. The prompt may go on in its children.",
                next="go on in the child, and add up the slots"),
        Mistake(wrong.locks_left_behind,
                "The front begins with 0 locks, though it is read by whoever locked the whole node. Its unlock would "
                "count below zero.", invariant="I2", next="give the front the locks of the whole"),
        Mistake(wrong.locks_moved,
                "The locks move to the front. The rear is read by the same requests, and could be evicted now.",
                invariant="I2", next="give the front the locks, and let the rear keep them"),
        Mistake(wrong.not_hung_in, "The front is nobody's child: the parent still leads to the rear.",
                next="put the front into parent.children"),
        Mistake(wrong.rear_lost, "The rear is nobody's child: its tokens are lost, and its slots leak.",
                next="put the rear into front.children, under its first token"),
        Mistake(wrong.slots_not_cut, "The front keeps all slots. It has a slot for each of its tokens, and no more.",
                next="cut the slots where you cut the tokens"),
        Mistake(wrong.slots_not_cut_and_returned,
                "The front keeps all slots. It has a slot for each of its tokens, and no more.",
                next="cut the slots where you cut the tokens"),
        Mistake(wrong.old_node_in_front,
                "The old node becomes the front. Whoever locked it will unlock it from its end, and miss the rear.",
                invariant="I2", next="let the old node be the rear, and a new one the front"),
        Mistake(wrong.children_lost, "The children of the node are lost. They follow its rear.",
                next="let the old node be the rear: it keeps its children"),
        Mistake(wrong.parents_not_set,
                "The rear takes over the children, and they still name the old node as their parent.",
                next="set parent wherever you set a child"),
        Mistake(wrong.returns_rear, "Returns the rear. The match ends where the front ends.", next="return the front"),
        Mistake(wrong.leaves_a_token, "Leaves a token out. Whoever asks has seen to that already.",
                next="match all tokens"),
        Mistake(wrong.slots_alone, "Gives the slots alone. The node is what a request locks.",
                next="return (node, slots)"),
        Mistake(wrong.last_nodes_slots, "Gives the slots of the last node. Those of the nodes before it come first.",
                next="add up the slots along the path"),
        Mistake(wrong.tokens_not_slots, "Gives tokens. The question is where their keys and values lie.",
                next="collect node.slots"),
    ),
    hints=(
        "A node holds [1, 2, 3, 4], and the prompt is [1, 2, 9]. What is known of it, and which node ends there?",
        "Walk down: the child under the next token, then compare its run token by token. If it ends early, go on. If "
        "it differs, cut the node: a new one takes the front and the old one's place, and the old one hangs below it.",
        "front = RadixNode(node.tokens[:n], node.slots[:n], node.parent, node.locks); "
        "front.parent.children[front.tokens[0]] = front; node.tokens, node.slots = ...; node.parent = ...; "
        "front.children[...] = node",
    ),
)

RADIX_INSERT = Exercise(
    name="radix_insert", lab="07", part="kvlab.memory.radix_insert", stars=2, core=True, minutes=12,
    checks=(
        scenarios("new texts", run_insert, render, (_LONG,), (_LONG, _ins(5, 6)), (_ins(3),),
                  next="hang a node with all tokens below the root"),
        scenarios("a known beginning", run_insert, render, (_LONG, _ins(1, 2, 3, 4, 5, 6)), (_LONG, _FORK),
                  (_LONG, _FORK, _ins(1, 2, 3, 4, 5)), next="hang a node with the rest below the node that matched"),
        scenarios("computed twice", run_insert, render, (_LONG, _ins(1, 2, 3, 4, own=4)),
                  (_LONG, _ins(1, 2, 8, 9, own=2)), (_LONG, _ins(1, 2, 3, 4, 5, own=1)),
                  next="return the slots that the tree does not keep"),
        scenarios("all is known", run_insert, render, (_LONG, _LONG), (_LONG, _ins(1, 2)),
                  next="add a node only for tokens that are left"),
        scenarios("while others read", run_insert, render, (_LONG, _lock(1, 2, 3, 4), _FORK, _FREE),
                  (_LONG, _lock(1, 2, 3, 4), _ins(1, 2, 8, own=2), _lock(1, 2, 8), _FREE, _FREE),
                  next="a new node has no locks"),
        corners("an empty prompt", run_insert, render, (_LONG, _ins()), (_ins(),), next="return []"),
        Traces("random trees", partial(random_ops, ("insert", "insert", "match", "lock", "unlock")), run_insert,
               render=render, next="run these lines by hand"),
    ),
    mistakes=(
        Mistake(insert.leaks, "Returns nothing to free. Slots that were computed twice belong to nobody now: a leak.",
                next="return those of `slots` where the tree keeps other slots"),
        Mistake(insert.frees_all_known,
                "Frees all slots of the known part. Those the request had from the tree are still the tree's.",
                next="return only those that differ from the tree's"),
        Mistake(insert.frees_the_trees, "Frees the tree's slots and not the request's. Others read the tree's.",
                next="return those of `slots`, not those of the tree"),
        Mistake(insert.takes_over,
                "Puts the request's slots in the place of the tree's. Others read those at this moment.",
                invariant="I5", next="keep what the tree has, and return the request's"),
        Mistake(insert.below_the_root,
                "Hangs the whole text below the root. Where one begins alike already, it is overwritten.",
                next="match first, then hang the rest below the node that matched"),
        Mistake(insert.rest_below_the_root,
                "Hangs the rest below the root. A text is the path from the root, so this would be another text.",
                next="hang it below the node that matched"),
        Mistake(insert.whole_text_below,
                "Hangs the whole text below the node that matched, so its beginning is there twice.",
                next="hang only the rest, tokens[len(known):]"),
        Mistake(insert.first_slots_for_the_rest,
                "Gives the rest the first slots. Slot i holds token i, so the rest has the last ones.",
                next="use slots[len(known):]"),
        Mistake(insert.empty_nodes, "Adds a node without tokens when all is known.",
                next="add a node only for tokens that are left"),
        Mistake(insert.no_parent, "The new node names no parent. Whoever locks it would not lock those before it.",
                next="give RadixNode its parent"),
        Mistake(insert.not_hung, "The new tokens hang nowhere in the tree, so nobody finds them.",
                next="put it into node.children, under its first token"),
        Mistake(insert.lengthens_the_node,
                "Lengthens the node that matched. Its children, and whoever has locked it, count on where it ends.",
                next="hang a new node below it"),
        Mistake(insert.filed_under_last, "Files the node under its last token. It is looked for under its first.",
                next="use the first token of the rest"),
        Mistake(insert.filed_under_slot, "Files the node under a slot. It is looked for under its first token.",
                next="use the first token of the rest"),
        Mistake(insert.born_locked, "The new node has a lock, and nobody who would undo it: it is never evicted.",
                next="leave locks at 0"),
    ),
    hints=(
        "Two requests compute the same prompt at the same time, into different slots. The tree keeps one set. Who "
        "remembers the other?",
        "radix_match gives the node and the slots that the tree has. Hang what is left of tokens and slots below that "
        "node. Of the known part, those of your slots that differ from the tree's are free.",
        "node, known = radix_match(root, tokens); if len(known) < len(tokens): child = RadixNode(tokens[...:], "
        "slots[...:], node); node.children[child.tokens[0]] = ...; return [mine for mine, theirs in zip(slots, known) "
        "if ...]",
    ),
)
