"""Run a chat template that nobody vouches for: no attribute of an object, no loop without end, no text without bound.

The language is what Hugging Face's chat templates are written in: Jinja with ``trim_blocks``, ``lstrip_blocks``, ``break``
and ``continue``, ``raise_exception``, ``tojson`` and ``{% generation %}``. On top of Jinja's sandbox:

* ``a.b`` is a key of a dictionary, or one of the methods and loop variables named here, never an attribute;
* filters, tests and globals are those named here;
* every loop, call, filter and written character costs; a rendering that costs more than its budget is an error.

Source: transformers, ``utils/chat_template_utils.py`` (the environment that templates are written for).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.sandbox
from jinja2 import nodes
from jinja2.runtime import LoopContext, Macro, Undefined
from jinja2.utils import Namespace

from tootsie.tokenize.chat.budget import STEP, Budget, ChatTemplateError
from tootsie.tokenize.chat.filters import FILTERS
from tootsie.tokenize.chat.tracked import Tracked, concatenate, plain_text, tracked

STRING_METHODS = frozenset(
    {
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "split",
        "rsplit",
        "splitlines",
        "replace",
        "join",
        "upper",
        "lower",
        "title",
        "capitalize",
        "startswith",
        "endswith",
        "find",
        "rfind",
        "index",
        "count",
        "isdigit",
        "isalpha",
        "isalnum",
        "isspace",
        "isupper",
        "islower",
    }
)
DICTIONARY_METHODS = frozenset(["items", "keys", "values", "get"])
LOOP_VARIABLES = frozenset(
    ["index", "index0", "revindex", "revindex0", "first", "last", "length", "previtem", "nextitem", "cycle"]
)
TESTS = frozenset(
    {
        "defined",
        "undefined",
        "none",
        "string",
        "mapping",
        "sequence",
        "iterable",
        "number",
        "integer",
        "float",
        "boolean",
        "true",
        "false",
        "in",
        "eq",
        "==",
        "equalto",
        "ne",
        "!=",
        "lt",
        "<",
        "lessthan",
        "le",
        "<=",
        "gt",
        ">",
        "greaterthan",
        "ge",
        ">=",
        "odd",
        "even",
        "divisibleby",
        "sameas",
    }
)
LARGEST_NUMBER = 2**63


class Generation(jinja2.ext.Extension):
    """``{% generation %} … {% endgeneration %}``: what is written between is for the model to say."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> nodes.Node:
        """Turn the block into a call of :meth:`_mark`."""
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller: Callable[[], str]) -> Tracked:
        return tracked(caller()).generated()


class ChatEnvironment(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox; one rendering at a time."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))
    concat = staticmethod(concatenate)  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[Generation, jinja2.ext.loopcontrols],
            finalize=self._written,
            cache_size=0,
        )
        self.budget = Budget(0)
        self.filters = {name: self._charged(function) for name, function in FILTERS.items()}
        self.filters["_iterate"] = _uncharged(self._iterate)
        self.tests = {name: test for name, test in self.tests.items() if name in TESTS}
        self.globals = {
            "range": self._range,
            "namespace": Namespace,
            "dict": dict,
            "raise_exception": _raise_exception,
        }
        self._template_characters = 0

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed = super()._parse(source, name, filename)
        self._template_characters = len(source)
        return _guarded(parsed)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether a template may call it: all that it can reach may be called (and undefined says that it is)."""
        return True

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a key, or one of the methods and loop variables that templates may use."""
        if isinstance(obj, dict):
            if attribute in DICTIONARY_METHODS and attribute not in obj:
                return getattr(obj, attribute)
        elif isinstance(obj, str):
            if attribute in STRING_METHODS:
                return getattr(tracked(obj), attribute)
        elif isinstance(obj, LoopContext):
            if attribute in LOOP_VARIABLES:
                return getattr(obj, attribute)
        elif isinstance(obj, Undefined):
            obj._fail_with_undefined_error()
        elif isinstance(obj, Namespace) and not attribute.startswith("_"):
            return getattr(obj, attribute, self.undefined(obj="", name=attribute))
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        return self.undefined(obj=_kind(obj), name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an item of a dictionary, list, tuple or string."""
        if isinstance(obj, dict | list | tuple | str | range):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                pass
        elif isinstance(obj, Undefined):
            obj._fail_with_undefined_error()
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        return self.undefined(obj=_kind(obj), name=argument)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return ``left operator right``, of bounded size."""
        sized = [value for value in (left, right) if isinstance(value, str | list | tuple)]
        if sized and operator == "+":
            self.budget.charge(STEP + sum(map(len, sized)))
        elif sized and operator == "*":
            times = right if sized[0] is left else left
            if not isinstance(times, int):
                raise ChatTemplateError("a text can only be multiplied by a number")
            self.budget.charge_product(times, len(sized[0]))
            if isinstance(sized[0], str):
                return concatenate([sized[0]] * times)
        elif sized:
            raise ChatTemplateError(f"the operator {operator} is not for texts and lists here")
        elif operator == "**" and (abs(left) > 2**31 or abs(right) > 63):
            raise ChatTemplateError("the power is too large")
        result = self.binop_table[operator](left, right)
        if isinstance(result, int) and abs(result) > LARGEST_NUMBER:
            raise ChatTemplateError("the number is too large")
        return result

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """Call a function, method or macro, charged."""
        budget = __self.budget
        budget.charge(STEP + (__self._template_characters if isinstance(__obj, Macro) else 0))
        method, subject = getattr(__obj, "__name__", ""), getattr(__obj, "__self__", None)
        if isinstance(subject, Tracked):
            if method == "replace" and len(args) > 1 and isinstance(args[1], str):
                budget.charge_product(str.count(subject, str(args[0])), len(args[1]))
            elif method == "join" and args and hasattr(args[0], "__len__"):
                budget.charge_product(len(args[0]), len(subject))
            budget.charge(len(subject))
        result = super().call(__context, __obj, *args, **kwargs)
        if isinstance(result, str | list):
            budget.charge(len(result))
        return result

    def _written(self, value: Any) -> Any:
        text = plain_text(value)
        self.budget.charge(len(text))
        return text

    def _charged(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @jinja2.pass_context
        def run(context: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            self.budget.charge(STEP + (len(value) if isinstance(value, str | list | tuple | dict) else 0))
            result = function(context, value, *args, **kwargs)
            if isinstance(result, str | list):
                self.budget.charge(len(result))
            return result

        return run

    def _iterate(self, context: Any, value: Any, cost: int) -> Any:
        return _Counted(value, self.budget, cost)

    def _range(self, *bounds: int) -> range:
        made = range(*bounds)
        if len(made) > jinja2.sandbox.MAX_RANGE:
            raise ChatTemplateError(f"a range of more than {jinja2.sandbox.MAX_RANGE:,}")
        return made


class _Counted:
    """What a loop runs over; every turn is charged."""

    def __init__(self, value: Iterable[Any], budget: Budget, cost: int) -> None:
        self._value = value
        self._budget = budget
        self._cost = cost

    def __len__(self) -> int:
        return len(self._value)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        for item in self._value:
            self._budget.charge(self._cost)
            yield item


def compile_template(source: str) -> tuple[ChatEnvironment, jinja2.Template]:
    """Return the environment and the compiled template.

    Raises:
      ChatTemplateError: it is not a template, or uses what is not allowed here.
    """
    environment = ChatEnvironment()
    try:
        return environment, environment.from_string(source)
    except jinja2.TemplateSyntaxError as error:
        raise ChatTemplateError(f"line {error.lineno}: {error.message}") from None
    except (RecursionError, MemoryError):
        raise ChatTemplateError("nested too deep") from None
    except (SyntaxError, ValueError, OverflowError) as error:
        raise ChatTemplateError(str(error)) from None


FORBIDDEN = (
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
    nodes.ScopedEvalContextModifier,
    nodes.EvalContextModifier,
)


def _guarded(template: nodes.Template) -> nodes.Template:
    """Charge every loop, join with flags, and refuse what needs files or another way of writing."""
    waiting: list[nodes.Node] = [template]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FORBIDDEN):
            raise ChatTemplateError(f"line {node.lineno}: {type(node).__name__.lower()} is not allowed")
        if isinstance(node, nodes.Name) and node.name == "self":
            raise ChatTemplateError(f"line {node.lineno}: self is not allowed")
        for field, value in list(node.iter_fields()):
            children = value if isinstance(value, list) else [value]
            changed = [_replaced(child) if isinstance(child, nodes.Node) else child for child in children]
            setattr(node, field, changed if isinstance(value, list) else changed[0])
            waiting += [child for child in changed if isinstance(child, nodes.Node)]
    assert template.environment is not None
    return template.set_environment(template.environment)  # type: ignore[return-value]


def _replaced(node: nodes.Node) -> nodes.Node:
    if isinstance(node, nodes.Concat):
        return _filter(nodes.List(node.nodes), "_concatenate", [], node.lineno)
    if isinstance(node, nodes.For):
        if node.recursive:
            raise ChatTemplateError(f"line {node.lineno}: recursive loops are not allowed")
        cost = STEP + sum(
            len(part.data) if isinstance(part, nodes.TemplateData) else 1
            for part in _below([*node.body, *node.else_, *([node.test] if node.test else [])])
        )
        node.iter = _filter(node.iter, "_iterate", [nodes.Const(cost)], node.lineno)
    return node


def _filter(node: nodes.Node, name: str, arguments: list[nodes.Expr], line: int) -> nodes.Filter:
    made = nodes.Filter(node, name, arguments, [], None, None)  # type: ignore[arg-type]
    made.set_lineno(line)
    return made


def _below(waiting: list[nodes.Node]) -> Iterator[nodes.Node]:
    waiting = list(waiting)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.iter_child_nodes()


def _uncharged(function: Callable[..., Any]) -> Callable[..., Any]:
    @jinja2.pass_context
    def run(context: Any, value: Any, *args: Any) -> Any:
        return function(context, value, *args)

    return run


def _kind(obj: Any) -> Any:
    return obj if isinstance(obj, Undefined) else {} if isinstance(obj, dict) else ""


def _raise_exception(message: str = "") -> NoReturn:
    raise ChatTemplateError(f"the template says: {str(message)[:500]}")
