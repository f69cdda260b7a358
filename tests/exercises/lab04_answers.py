"""Answers to `write_kv` and `gather_kv` of lab 04 as learners give them; the wrong ones with what must be said."""

_WRITE = "def write_kv(key_pool, value_pool, key, value, slots):"
_GATHER = "def gather_kv(pool, table, length):"
_KEEP = "keep = slots >= 0\ns = slots[keep]\n"
_N = "n = -(-length // pool.shape[1])\n"
_ROWS = "rows = pool[torch.tensor(table[:n]).long()].flatten(0, 1)\n"


def cells(signature: str, *bodies: str) -> list[str]:
    """One cell for each body, with the import that the lab's first cell has."""
    return ["import torch\n" + signature + "\n" + "\n".join("    " + line for line in body.strip("\n").split("\n"))
            for body in bodies]


def wrong(signature: str, *answers: tuple[str, str]) -> list[tuple[str, str]]:
    """The same, with the text that the verdict must hold."""
    return [(cells(signature, body)[0], text) for body, text in answers]


RIGHT = {
    "write_kv": cells(
        _WRITE,
        """
size = key_pool.shape[1]
for token, slot in enumerate(slots.tolist()):
    if slot != -1:
        key_pool[slot // size, slot % size] = key[token]
        value_pool[slot // size, slot % size] = value[token]
""", """
keep = slots >= 0
for pool, rows in ((key_pool, key), (value_pool, value)):
    pool.view(-1, *pool.shape[2:])[slots[keep]] = rows[keep]
""", """
keep = (slots != -1).nonzero().squeeze(1)
key_pool.flatten(0, 1).index_copy_(0, slots[keep], key[keep])
value_pool.flatten(0, 1).index_copy_(0, slots[keep], value[keep])
return key_pool, value_pool
""", """
block, offset = slots.div(key_pool.shape[1], rounding_mode="floor"), slots.remainder(key_pool.shape[1])
mine = slots > -1
key_pool.index_put_((block[mine], offset[mine]), key[mine])
value_pool.index_put_((block[mine], offset[mine]), value[mine])
""", """
flat_keys, flat_values = key_pool.reshape(-1, *key_pool.shape[2:]), value_pool.reshape(-1, *value_pool.shape[2:])
for k, v, slot in zip(key, value, slots):
    if slot >= 0:
        flat_keys[slot], flat_values[slot] = k, v
""", """
keep = slots >= 0
where = slots[keep][:, None, None]
key_pool.flatten(0, 1).scatter_(0, where.expand(-1, *key.shape[1:]), key[keep])
value_pool.flatten(0, 1).scatter_(0, where.expand(-1, *value.shape[1:]), value[keep])
"""),
    "gather_kv": cells(
        _GATHER,
        """
size = pool.shape[1]
slots = torch.tensor([table[i // size] * size + i % size for i in range(length)], dtype=torch.long)
return pool.view(-1, *pool.shape[2:])[slots]
""", """
found = torch.empty(length, *pool.shape[2:], dtype=pool.dtype)
for i in range(length):
    found[i] = pool[table[i // pool.shape[1]]][i % pool.shape[1]]
return found
""", """
if length == 0:
    return pool.new_zeros(0, *pool.shape[2:])
full, rest = divmod(length, pool.shape[1])
parts = [pool[block] for block in table[:full]]
if rest:
    parts.append(pool[table[full], :rest])
return torch.cat(parts)
""", """
import math
blocks = torch.LongTensor(table[:math.ceil(length / pool.shape[1])])
return torch.index_select(pool, 0, blocks).reshape(-1, pool.shape[2], pool.shape[3])[:length]
""", """
i = torch.arange(length)
t = torch.tensor(table if table else [0])
return pool[t[i // pool.shape[1]], i % pool.shape[1]]
"""),
}

WRONG = {
    "write_kv": wrong(
        _WRITE,
        ("flat = key_pool.view(-1, *key_pool.shape[2:])\nflat[slots] = key\n"
         "value_pool.view(-1, *value_pool.shape[2:])[slots] = value", "index -1 is the last slot"),
        ("key_pool.view(-1, *key.shape[1:]).index_copy_(0, slots, key)\n"
         "value_pool.view(-1, *value.shape[1:]).index_copy_(0, slots, value)", "slots=tensor([5, -1])"),
        ("b = slots // key_pool.shape[1]\no = slots % key_pool.shape[1]\nkeep = slots >= 0\n"
         "key_pool[b[keep]][:, o[keep]] = key[keep]\nvalue_pool[b[keep]][:, o[keep]] = value[keep]",
         "the writes went to a copy"),
        (_KEEP + "key_pool = key_pool.flatten(0, 1).index_copy(0, slots[keep], key[keep])\n"
         "value_pool = value_pool.flatten(0, 1).index_copy(0, slots[keep], value[keep])\nreturn key_pool, value_pool",
         "the writes went to a copy"),
        ("for i, slot in enumerate(slots):\n    if slot == -1:\n        return\n"
         "    key_pool[slot // key_pool.shape[1], slot % key_pool.shape[1]] = key[i]\n"
         "    value_pool[slot // key_pool.shape[1], slot % key_pool.shape[1]] = value[i]", "Stops at the first -1"),
        ("n = len(slots)\nkey_pool.flatten(0, 1)[:n] = key\nvalue_pool.flatten(0, 1)[:n] = value",
         "slot 6 of key_pool holds what it held before, expected the key of token 0"),
        (_KEEP + "b, o = s // 16, s % 16\nkey_pool[b, o] = key[keep]\nvalue_pool[b, o] = value[keep]",
         "Right for blocks of 16 only"),
        (_KEEP + "key_pool[s // 4, s % 4] = key[keep]\nvalue_pool[s // 4, s % 4] = value[keep]",
         "Right for blocks of 4 only"),
        (_KEEP + "b, o = s // key_pool.shape[1], s % key_pool.shape[1]\n"
         "key_pool[b][o] = key[keep]\nvalue_pool[b][o] = value[keep]", "`[offsets]` then picks blocks"),
        ("b, o = slots // key_pool.shape[1], slots % key_pool.shape[1]\nkey_pool[b][o] = key\nvalue_pool[b][o] = value",
         "index once: pool[block, offset]"),
        (_KEEP + "key_pool.reshape(-1, *key_pool.shape[2:])[s] = key[keep]\n"
         "value_pool.reshape(-1, *key_pool.shape[2:])[s] = value[keep]", "Values may have another head_dim than keys"),
        (_KEEP + "b, o = slots[keep] // key_pool.shape[1], slots[keep] % key_pool.shape[1]\n"
         "key_pool[b, o] = key\nvalue_pool[b, o] = value", "its rows are not"),
        (_KEEP + "for pool, rows in ((key_pool, key), (key_pool, value)):\n"
         "    pool.flatten(0, 1)[slots[keep]] = rows[keep]", "Both land in key_pool"),
        ("s = torch.where(slots < 0, 0, slots)\nkey_pool.flatten(0, 1)[s] = key\nvalue_pool.flatten(0, 1)[s] = value",
         "Slot -1 becomes slot 0"),
        ("keep = slots > 0\nkey_pool.flatten(0, 1)[slots[keep]] = key[keep]\n"
         "value_pool.flatten(0, 1)[slots[keep]] = value[keep]", "Slot 0 is a slot like any other"),
        ("slots[slots == -1] = 0\nkey_pool.flatten(0, 1)[slots] = key\nvalue_pool.flatten(0, 1)[slots] = value",
         "Slot -1 becomes slot 0"),
        (_KEEP + "key_pool.flatten(0, 1).index_add_(0, slots[keep], key[keep])\n"
         "value_pool.flatten(0, 1).index_add_(0, slots[keep], value[keep])", "Adds to what lies in the slot"),
        ("key_pool[:] = 0\nvalue_pool[:] = 0\nkeep = slots >= 0\nkey_pool.flatten(0, 1)[slots[keep]] = key[keep]\n"
         "value_pool.flatten(0, 1)[slots[keep]] = value[keep]",
         "slot 0 of key_pool holds zeros, expected what it held before"),
        (_KEEP + "rows = torch.cat((key, value), -1)[keep]\n"
         "key_pool.flatten(0, 1)[slots[keep]] = rows[..., :3]\nvalue_pool.flatten(0, 1)[slots[keep]] = rows[..., 3:]",
         "head_dim 4"),
        ("return slots.view(2, 2)", "raised RuntimeError: shape '[2, 2]' is invalid"),
    ),
    "gather_kv": wrong(
        _GATHER,
        ("return torch.cat([pool[b] for b in table])[:length]", "Reads the whole table"),
        ("n = length // pool.shape[1]\nreturn torch.cat([pool[b] for b in table[:n]])", "forgets the last block"),
        (_N + "return torch.cat([pool[b] for b in table[:n]])", "another conversation's past"),
        (_N + "return torch.cat([pool[b] for b in table[:n]])[:length]",
         "does not join an empty list"),
        (_N + "return pool[table[0]:table[0] + n].flatten(0, 1)[:length]", "one piece"),
        (_N + "return pool[table[:n]].view(length, pool.shape[2], pool.shape[3])",
         "The last block is not full"),
        (_N + "return pool[torch.tensor(table[:n])].flatten(0, 1)[:length]",
         "a float is no index"),
        (_N + "return pool[torch.tensor(sorted(set(table[:n]))).long()].flatten(0, 1)[:length]",
         "lowest first"),
        (_N + "return pool[torch.tensor(table[:n]).long()].flatten(1, 2)[:length]",
         "returned a tensor of shape (1, 8, 3)"),
        ("return pool[torch.tensor(table).long()][:length]", "returned a tensor of shape (1, 4, 2, 3)"),
        ("found = torch.zeros(length, *pool.shape[2:])\nfor i in range(length):\n"
         "    found[i] = pool[table[i % pool.shape[1]], i // pool.shape[1]]\nreturn found", "raised IndexError"),
        ("n = -(-length // 4)\nreturn pool[torch.tensor(table[:n]).long()].flatten(0, 1)[:length]",
         "Blocks of 2 here: block_size is pool.shape[1]"),
        ("slots = [table[i // 4] * 4 + i % 4 for i in range(length)]\n"
         "return pool.flatten(0, 1)[torch.tensor(slots).long()]", "Blocks of 2 here: block_size is pool.shape[1]"),
        (_N + "return pool[torch.tensor(table[:n]).long()].flatten(0, 1)[:n]", "Next: cut to `length`"),
        ("n = -(-length // pool.shape[1])\nreturn pool[torch.tensor(table).long()].flatten(0, 1)[:n]",
         "Cuts to the number of blocks"),
        ("return pool.view(-1, *pool.shape[2:])[table]", "They are blocks"),
        ("return pool.view(-1, *pool.shape[2:])[table[:length]]", "They are blocks"),
        (_N + "return pool.view(-1, *pool.shape[2:])[torch.tensor(table[:n]).long()]", "They are blocks"),
        ("size = pool.shape[1]\nout = torch.zeros(length, *pool.shape[2:])\n" + _N + "for i in range(n):\n"
         "    out[i * size:(i + 1) * size] = pool[table[i]]\nreturn out", "copy only what is left of `length`"),
        ("size = pool.shape[1]\nout = torch.zeros(length, *pool.shape[2:])\nfor i, block in enumerate(table):\n"
         "    out[i * size:(i + 1) * size] = pool[block]\nreturn out", "The last block is not full"),
        (_N + "rows = pool[torch.tensor(table[:n]).long()].flatten(0, 1)\n"
         "rows[length:] = 0\nreturn rows", "expected (3, 2, 3)"),
        (_N + "return pool[torch.tensor(table[:n]).long()].flatten(0, 1)[:length].half()",
         "returned a tensor of float16, expected float32"),
        (_N + "return pool[torch.tensor(table[:n]).long()].flatten(0, 1)[:length].numpy()",
         "(a numpy array), expected a tensor of shape (4, 2, 3)"),
        (_N + "print(pool[torch.tensor(table[:n]).long()].flatten(0, 1)[:length])",
         "is a `return` missing?"),
        ("while len(table) > -(-length // pool.shape[1]):\n    table.pop()\n"
         "return pool[torch.tensor(table).long()].flatten(0, 1)[:length]", "changed the table to [5, 1]"),
    ),
}
