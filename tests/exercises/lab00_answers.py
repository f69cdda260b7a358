"""Answers to the exercises of lab 00 as learners give them; the wrong ones with what the verdict must say."""

RIGHT = {
    "round_up_to_block": [
        "def round_up_to_block(num_tokens, block_size):\n"
        "    return (num_tokens + block_size - 1) // block_size * block_size",
        "import math\ndef round_up_to_block(num_tokens, block_size):\n"
        "    return math.ceil(num_tokens / block_size) * block_size",
        "def round_up_to_block(n, b):\n    return n + -n % b",
        """
        def round_up_to_block(num_tokens, block_size):
            slots = 0
            while slots < num_tokens:
                slots += block_size
            return slots
        """,
        """
        import numpy as np
        def round_up_to_block(num_tokens: int, block_size: int) -> int:
            return np.int64(-(-num_tokens // block_size)) * block_size
        """,
        """
        def round_up_to_block(num_tokens, block_size):
            full, rest = divmod(num_tokens, block_size)
            if rest:
                full += 1
            return full * block_size
        """,
    ],
}

WRONG = {
    "round_up_to_block": [
        ("def round_up_to_block(num_tokens, block_size):\n    return num_tokens", "comes back as it was"),
        ("def round_up_to_block(num_tokens, block_size):\n    return num_tokens - num_tokens % block_size",
         "rounds down"),
        ("def round_up_to_block(num_tokens, block_size):\n    return num_tokens + block_size - num_tokens % block_size",
         "even when the last one is exactly full"),
        ("def round_up_to_block(n, b):\n    return (n + b - 1) // b", "the number of blocks"),
        ("def round_up_to_block(n, b):\n    return n / b * b", "gives num_tokens again"),
        ("def round_up_to_block(n, b):\n    return round(n / b) * b", "nearest multiple"),
        ("def round_up_to_block(n, b):\n    return int(n / b + 0.5) * b", "nearest multiple"),
        ("def round_up_to_block(n, b):\n    print((n + b - 1) // b * b)", "printed 16 and returned nothing"),
        ("def round_up_to_block(n, b):\n    result = (n + b - 1) // b * b", "is a `return` missing?"),
        ("def round_up_to_block(n):\n    return n", "is called as round_up_to_block(num_tokens, block_size)"),
        ("def round_up_to_block(n, b):\n    return 32", "returned 32"),
        ("def round_up_to_block(n, b):\n    if n < b:\n        return b\n    return n", "leaves longer conversations"),
        ("def round_up_to_block(n, b):\n    return max(b, (n + b - 1) // b * b)", "one block for zero tokens"),
        ("def round_up_to_block(n, b):\n    if n % b:\n        return (n // b + 1) * b", "is a `return` missing?"),
        ("import math\ndef round_up_to_block(n, b):\n    return math.ceil(n / b) * float(b)", "it is a float"),
        ("def round_up_to_block(n, b):\n    return str(-(-n // b) * b)", "(a str), expected 16 (an int)"),
        ("def round_up_to_block(n, b):\n    return [-(-n // b) * b]", "(a list), expected 16 (an int)"),
        ("def round_up_to_block(n, b):\n    return b // n * n", "returned 0, expected 32"),
        ("def round_up_to_block(n, b):\n    return round_up_to_block(n, b)", "called itself without end"),
        ("def round_up_to_block(n, b):\n    while n % b:\n        n -= 1\n    return n", "rounds down"),
        ("def round_up_to_block(n, b):\n    return blocks * b", "raised NameError: name 'blocks' is not defined"),
    ],
}
