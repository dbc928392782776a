"""The debugger of programs: what is called in it, and what `breakpoint()` leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from penstock.autograph._graph_debugger import GraphDebugger, debuggers

__all__ = ["Debugger", "current", "step"]


class Debugger(GraphDebugger):
    r"""Python's debugger, which goes through traced functions line by line, too, as their graphs run.

    In a traced function the values of variables are those that the graph has computed, in each iteration of
    a loop and in the branch that is taken. Commands are those of `pdb`; `break LINE if CONDITION` may be
    written in place of `break LINE, CONDITION`. An assignment changes what is shown, not the graph.

    Args:
        stdin: where commands come from; the terminal by default.
        stdout: where output goes.

    >>> import io
    >>> import penstock as tf
    >>> @tf.function
    ... def double(x):
    ...     y = x + x
    ...     return y
    >>> told = io.StringIO()
    >>> debugger = tf.debugging.experimental.Debugger(io.StringIO("next\np y\ncontinue\n"), told)
    >>> debugger.runcall(double, tf.constant(2)).numpy()
    np.int32(4)
    >>> [line for line in told.getvalue().splitlines() if "numpy" in line]
    ['(Pdb) <tf.Tensor: shape=(), dtype=int32, numpy=4>']
    """

    def runcall(self, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        r"""Call a function, and stop at its first line.

        Args:
            func: a traced function, or one of Python.
            *args: its arguments.
            **kwargs: its keyword arguments.

        Returns:
            Its result; None where the debugger was left by `quit`.

        >>> import io
        >>> import penstock as tf
        >>> debugger = tf.debugging.experimental.Debugger(io.StringIO("continue\n"), io.StringIO())
        >>> debugger.runcall(tf.function(lambda x: x + 1), tf.constant(1)).numpy()
        np.int32(2)
        """
        with self.session():
            return super().runcall(func, *args, **kwargs)

    def run(  # type: ignore[override]
        self,
        cmd: str | CodeType,
        globals: dict[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
    ) -> None:
        r"""Run statements, and stop at the first line.

        Args:
            cmd: text, or code that was compiled.
            globals: global names; those of `__main__` by default.
            locals: local names.

        >>> import io
        >>> import penstock as tf
        >>> debugger = tf.debugging.experimental.Debugger(io.StringIO("continue\n"), io.StringIO())
        >>> debugger.run("x = 1", {})
        """
        with self.session():
            super().run(cmd, globals, locals)

    def examine(self, error: Exception) -> None:
        r"""Read commands about an error that a program has ended with, in the frames that it came through.

        Args:
            error: one that was caught.

        >>> import io
        >>> import penstock as tf
        >>> debugger = tf.debugging.experimental.Debugger(io.StringIO("quit\n"), io.StringIO())
        >>> try:
        ...     int("x")
        ... except ValueError as error:
        ...     debugger.examine(error)
        """
        self.reset()
        self.interaction(None, error.__traceback__)


def current() -> GraphDebugger:
    """The debugger that runs, or one for breakpoints."""
    if debuggers.current is None:
        debuggers.current = Debugger()
    return debuggers.current


def step(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function in a debugger, which goes through it line by line, through traced functions too.

    Args:
        func: a traced function, or one of Python that may call some.
        *args: its arguments.
        **kwargs: its keyword arguments.

    Returns:
        Its result; None where the debugger was left by `quit`.

    Raises:
        TypeError: for what is no function.
        FailedPreconditionError: where there is no terminal for commands; `Debugger` takes them from
            elsewhere.

    >>> import penstock as tf
    >>> tf.debugging.experimental.step(3)
    Traceback (most recent call last):
    TypeError: argument 'func' must be callable, got 3
    """
    if not callable(func):
        raise TypeError(f"argument 'func' must be callable, got {func!r}")
    return Debugger().runcall(func, *args, **kwargs)
