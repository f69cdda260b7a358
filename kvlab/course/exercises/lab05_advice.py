"""What to do next, in the words that the two decode kernels of lab 05 share."""

MASK = "give -inf to scores where start + offset >= length, and mask both loads"
STRIDE = "go by the pool's shape [block, offset, kv_head, dim]"
SHRINK = "multiply old sum and old output by exp(old largest - new largest)"
TABLE = "load block_tables + sequence * max_blocks + page"
WIDE = "turn the block id into tl.int64 as soon as it is loaded"
ZERO = "store zeros before you return"
ENTRIES = "walk over ceil(length / BLOCK_SIZE) entries"
