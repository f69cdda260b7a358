"""What a call of torch makes, seen from within the process that makes it."""

from __future__ import annotations

from typing import Any


class Watch:
    """What a call of torch makes: the largest tensor of floats in memory of its own, and the sizes of products."""

    def __init__(self, known: Any) -> None:
        self.known = {thing._cdata for thing in known if type(thing).__name__ == "UntypedStorage"}
        self.size, self.shape, self.products = 0, (), dict[tuple[int, int], None]()

    def seen(self) -> dict[str, Any]:
        """For the reply."""
        return {"made": [self.size, list(self.shape)], "products": list(self.products)[:200]}

    def note(self, made: Any) -> None:
        """Looks at one result."""
        storage = made.untyped_storage()
        size = storage.nbytes() // made.element_size()
        if size > self.size and storage._cdata not in self.known:
            self.size, self.shape = size, tuple(made.shape)


def modes(watch: Watch) -> list[Any]:
    """Contexts of torch in which `watch` sees what is made."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    products = (torch.ops.aten.mul, torch.ops.aten.mul_, torch.ops.aten.div, torch.ops.aten.div_)

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if function.overloadpacket in products and result.dtype in (torch.float32, torch.float64):
                sides = [one.numel() if hasattr(one, "numel") else 1 for one in args[:2]]
                watch.products[max(sides), min(sides)] = None
            return result

    class Function(TorchFunctionMode):
        def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = call(*args, **(kwargs or {}))
            for made in result if isinstance(result, (tuple, list)) else (result,):
                if isinstance(made, torch.Tensor) and made.is_floating_point():
                    watch.note(made)
            return result

    return [Dispatch(), Function()]
