"""What the helper process of `lowering` does: Triton's compiler, as far as it needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TARGET = ("cuda", 90, 32)  # the architecture does not matter to the first stage
TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "bool": "i1", "int8": "i8",
         "uint8": "u8", "int16": "i16", "int32": "i32", "int64": "i64"}


def lower(kernel: Any, arguments: Mapping[str, Any]) -> None:
    """Turns `kernel` into Triton's IR for arguments like these, by place; raises what the compiler raises.

    arguments: constants, or objects with the `dtype` of a tensor.
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    signature: dict[str, str] = {}
    constants: dict[tuple[int], Any] = {}
    for place, (parameter, value) in enumerate(zip(kernel.params, arguments.values(), strict=True)):
        signature[parameter.name] = "constexpr" if parameter.is_constexpr or value is None else _type(value)
        if signature[parameter.name] == "constexpr":
            constants[(place,)] = value
    target = GPUTarget(*TARGET)
    backend = make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, signature, constants)
    source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)


def _type(value: Any) -> str:
    """Triton's name for the type of an argument."""
    if hasattr(value, "dtype"):
        return f"*{TYPES[value.dtype]}"
    if isinstance(value, float):
        return "fp32"
    return "i32" if -(2**31) <= value < 2**31 else "i64"
