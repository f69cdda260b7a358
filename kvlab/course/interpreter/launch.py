"""`guarded`: a Triton kernel in the interpreter, with every load and store looked at."""

from __future__ import annotations

import importlib
import inspect
import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from kvlab.course.interpreter import hooks
from kvlab.course.interpreter.arguments import Region, Window, flattened, is_descriptor, refuse, regions_of
from kvlab.course.interpreter.faults import NOWHERE, KernelFault, Line
from kvlab.course.interpreter.memory import Memory
from kvlab.errors import UsageError

Grid = int | tuple[int, ...] | Callable[[dict[str, Any]], tuple[int, ...]]


class Work(NamedTuple):
    """What a launch did: how many programs ran, and how many elements each argument was asked for and given.

    written: by argument, which of its elements were stored to, in memory order. unfilled: the first line that loads
    floats under a mask without saying what masked lanes get: they got nan.
    """

    programs: int
    loaded: Mapping[str, int]
    stored: Mapping[str, int]
    written: Mapping[str, np.ndarray] = MappingProxyType({})
    unfilled: Line = NOWHERE


def guarded(kernel: Any, grid: Grid, /, *arguments: Any, poisoned: Iterable[str] | None = None,
            shared: Iterable[str] = (), **named: Any) -> Work:
    """Runs `kernel[grid](*arguments, **named)` in Triton's interpreter; tensors are changed as the kernel changes them.

    kernel: a `@triton.jit` function; it may have been made for a GPU. grid: as in a launch. Tensors lie on the CPU.
    A `Window` in place of a tensor stands for the far end of a huge one.
    poisoned: arguments in which NaN, and `POISON` in integer tables, mean "never written"; None for all of them. Give
    () for a kernel that may copy such elements.
    shared: arguments of which several programs may write the same element.

    Raises KernelFault at the first access outside an argument, store of a value that comes from what was never written,
    element that two programs write, or address that leaves int32. UsageError for what the interpreter gets wrong
    (bfloat16) or cannot do (autotuning). What the kernel itself raises comes out as it is. Where Triton's interpreter
    is not what the guard knows, the kernel runs without it, with one warning.
    """
    fn = function_of(kernel)
    bound = _bound(fn, arguments, named)
    steps = _steps(grid, bound)
    lacking = hooks.unavailable()
    if lacking:
        return _unguarded(kernel, steps, bound, lacking)
    regions = regions_of(bound, None if poisoned is None else tuple(poisoned))
    memory = Memory(hooks.interpreter()._interpreter, regions, tuple(shared), fn)
    with hooks.held(memory) as module, np.errstate(all="ignore"):
        body = (kernel if isinstance(kernel, module.InterpretedFunction) else module.InterpretedFunction(fn)).rewrite()
        _run(module, memory, body, steps, _converted(module, fn, bound, iter(regions.values())))
    return Work(len(memory.programs) - 1, {region.name: region.loaded for region in regions.values()},
                {region.name: region.stored for region in regions.values()},
                {region.name: region.written() for region in regions.values() if region.stored}, memory.unfilled)


def function_of(kernel: Any) -> Any:
    """The Python function inside a kernel. UsageError for what is no kernel, or needs a GPU to be one."""
    if hasattr(kernel, "configs"):
        sizes = next((config.kwargs for config in kernel.configs if config.kwargs), {"TILE": 64})
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        raise UsageError("@triton.autotune measures on a GPU, so it cannot run here: leave it out, and give the sizes "
                         f"in the launch, as in {given}")
    fn = getattr(kernel, "fn", None)
    if not inspect.isfunction(fn):
        name = getattr(kernel, "__name__", type(kernel).__name__)
        raise UsageError(f"{name} is no Triton kernel: put @triton.jit on the line above its def")
    return fn


def steps_of(kernel: Any, grid: Grid, arguments: tuple[Any, ...]) -> tuple[int, ...]:
    """The grid as numbers, one for each axis. UsageError if it is none."""
    return _steps(grid, _bound(function_of(kernel), arguments, {}))


def _bound(fn: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name. Options of the compiler (num_warps) mean nothing here and are left out."""
    names = inspect.signature(fn).parameters
    kept = {name: value for name, value in named.items() if name in names}
    try:
        return inspect.getcallargs(fn, *arguments, **kept)
    except TypeError as trouble:
        raise UsageError(f"{trouble}; its parameters are ({', '.join(names)})") from None


def _steps(grid: Grid, bound: dict[str, Any]) -> tuple[int, ...]:
    steps = grid(bound) if callable(grid) else grid
    steps = (steps,) if isinstance(steps, int) else tuple(steps)
    if not 1 <= len(steps) <= 3 or any(not isinstance(count, int) or count < 0 for count in steps):
        raise UsageError(f"a grid has 1 to 3 numbers that are at least 0, got {steps}")
    return steps


def _converted(module: Any, fn: Any, bound: dict[str, Any], regions: Any) -> dict[str, Any]:
    """The arguments as the kernel sees them, with made-up addresses for tensors."""
    return {name: value if _is_constexpr(fn.__annotations__.get(name)) else _convert(module, value, regions)
            for name, value in bound.items()}


def _is_constexpr(annotation: Any) -> bool:
    return "constexpr" in (annotation if isinstance(annotation, str) else getattr(annotation, "__name__", ""))


def _convert(module: Any, value: Any, regions: Any) -> Any:
    if isinstance(value, tuple):
        items = [_convert(module, item, regions) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if not flattened({"": value}):
        return module._implicit_cvt(value)
    region: Region = next(regions)
    made = module._implicit_cvt(value if is_descriptor(value) else region.tensor)
    pointer = made.handle.base if is_descriptor(value) else made.handle
    pointer.data = np.array([region.base], dtype=np.uint64)
    return made


def _run(module: Any, memory: Memory, body: Any, steps: tuple[int, ...], converted: dict[str, Any]) -> None:
    builder = module.interpreter_builder
    builder.set_grid_dim(*steps, *(1,) * (3 - len(steps)))
    try:
        for program in itertools.product(*map(range, steps)):
            memory.start(program)
            builder.set_grid_idx(*program, *(0,) * (3 - len(steps)))
            body(**converted)
    except Exception as trouble:
        raise _origin(trouble) from None


def _origin(trouble: BaseException) -> BaseException:
    """What was raised at first: the interpreter wraps it once for every helper it passes through."""
    chain: BaseException | None = trouble
    while chain is not None:
        if isinstance(chain, KernelFault):
            return chain
        chain = chain.__cause__ or chain.__context__
    while type(trouble).__name__ == "InterpreterError" and trouble.__cause__ is not None:
        trouble = trouble.__cause__
    return trouble


def _unguarded(kernel: Any, steps: tuple[int, ...], bound: dict[str, Any], lacking: str) -> Work:
    """The plain launch, for a Triton that the guard does not know."""
    warnings.warn(lacking, RuntimeWarning, stacklevel=3)
    for name, value in flattened(bound):
        if isinstance(value, Window):
            raise UsageError(f"{name} is a window into a tensor that does not exist, which needs the guard. {lacking}")
        refuse(name, value)
    launchable = kernel if hasattr(kernel, "__getitem__") else importlib.import_module("triton").jit(kernel.fn)
    launchable[steps](**bound)
    return Work(int(np.prod(steps)), {}, {})
