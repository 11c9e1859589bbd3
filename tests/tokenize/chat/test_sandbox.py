from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tootsie.datasets.errors import SpecError
from tootsie.tokenize.chat.budget import ChatTemplateError
from tootsie.tokenize.chat.tracked import TEMPLATE, Tracked

FIELDS = {
    "messages": [{"role": "user", "content": "<|eot_id|> text"}, {"role": "assistant", "content": "yes"}]
}
Render = Callable[..., Tracked]

ENDLESS = {
    "nested loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "repeated text": "{{ 'x' * 10**12 }}",
    "repeated list": "{{ ([0] * 10**9) | length }}",
    "doubling by +": "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "doubling by ~": "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "doubling by join": "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(60) %}{% set n.s = [n.s, n.s] | join %}{% endfor %}",
    "doubling by a block": "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(60) %}"
    "{% set t %}{{ n.s }}{{ n.s }}{% endset %}{% set n.s = t %}{% endfor %}",
    "doubling lists": "{% set n = namespace(s=[1, 2]) %}{% for i in range(60) %}{% set n.s = n.s + n.s %}{% endfor %}",
    "replace": "{{ ('a' * 9999) | replace('a', 'b' * 9999) }}",
    "replace method": "{{ ('a' * 9999).replace('', 'b' * 9999) }}",
    "join method": "{{ ('a' * 99999).join(['x'] * 99999) }}",
    "much text in a loop": "{% for a in range(99999) %}" + "text " * 2000 + "{% endfor %}",
    "a macro that calls itself": "{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "powers": "{{ 9 ** 9 ** 9 }}",
    "large numbers": "{% set n = namespace(s=99999) %}{% for i in range(60) %}{% set n.s = n.s * n.s %}{% endfor %}",
    "a long range": "{{ range(10**12) | length }}",
    "wide indent": "{{ 'a' | indent(10**9) }}",
    "wide JSON": "{{ messages | tojson(indent=10**9) }}",
    "a wide format": "{{ '%1000000000d' % 1 }}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_work_without_end_is_stopped(name: str, render: Render) -> None:
    before = time.thread_time()
    with pytest.raises(ChatTemplateError):
        render(ENDLESS[name], FIELDS)
    assert time.thread_time() - before < 60


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages.__class__ }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ ''['__class__'] }}",
        "{{ messages[0].__init__.__globals__ }}",
        "{{ namespace.__init__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ loop.__class__ }}",
        "{{ messages.append }}",
        "{{ messages[0].pop }}",
        "{{ 'x'.format }}",
        "{{ 'x'.encode }}",
        "{{ messages | map(attribute='__class__') | join }}",
        "{{ cycler.__init__ }}",
        "{{ self }}",
        "{{ self.__init__ }}",
        "{% macro f() %}{% endmacro %}{{ f.name }}{{ f._func }}",
    ],
)
def test_no_attribute_of_an_object_is_seen(text: str, render: Render) -> None:
    try:
        found = render(text, FIELDS)
    except (ChatTemplateError, SpecError):
        return
    assert str(found).strip("[] ,") == ""


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% block x %}{% endblock %}",
        "{% autoescape true %}{{ messages[0].content }}{% endautoescape %}",
        "{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}",
        "{% for %}",
        "{{ 'x' | lorem }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    ],
)
def test_what_is_not_allowed_is_refused_before_it_runs(text: str, render: Render) -> None:
    with pytest.raises(SpecError, match=r"own\.jinja: --template: the chat template cannot be used"):
        render(text, FIELDS)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ raise_exception('roles must alternate') }}", "the template says: roles must alternate"),
        ("{{ nothing.at.all }}", "'nothing' is undefined"),
        ("{{ 1 + 'a' }}", "TypeError"),
        ("{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ strftime_now('%Y') }}", "give --date"),
        ("{{ messages[0].content.split('') }}", "ValueError"),
        ("{{ missing() }}", "'missing' is undefined"),
    ],
)
def test_a_template_that_fails_says_why(text: str, says: str, render: Render) -> None:
    with pytest.raises(ChatTemplateError, match=says.replace("(", r"\(")):
        render(text, FIELDS)


MESSAGE = "messages[0].content"
LAUNDERINGS = [
    f"{{{{ {MESSAGE} }}}}",
    f"{{{{ {MESSAGE} | safe }}}}",
    f"{{{{ {MESSAGE} | string }}}}",
    f"{{{{ {MESSAGE} | list | join }}}}",
    f"{{% for c in {MESSAGE} %}}{{{{ c }}}}{{% endfor %}}",
    f"{{{{ {MESSAGE}[0] + {MESSAGE}[1:] }}}}",
    f"{{{{ '' ~ {MESSAGE} ~ '' }}}}",
    f"{{{{ ''.join([{MESSAGE}]) }}}}",
    f"{{{{ 'x'.replace('x', {MESSAGE}) }}}}",
    f"{{{{ 'x' | replace('x', {MESSAGE}) }}}}",
    f"{{{{ [{MESSAGE}] | first }}}}",
    f"{{{{ ({MESSAGE} ~ 'x')[:-1] }}}}",
    f"{{{{ {MESSAGE} | upper | lower }}}}",
    f"{{{{ {MESSAGE} | trim }}}}",
    f"{{{{ {MESSAGE}.split('zz') | join('zz') }}}}",
    f"{{{{ {MESSAGE} | reverse | reverse }}}}",
    "{{ messages | map(attribute='content') | first }}",
    f"{{{{ {MESSAGE} | indent }}}}",
    f"{{% set s %}}{{{{ {MESSAGE} }}}}{{% endset %}}{{{{ s }}}}",
    f"{{% macro f(x) %}}{{{{ x }}}}{{% endmacro %}}{{{{ f({MESSAGE}) }}}}",
    f"{{% filter trim %}}{{{{ {MESSAGE} }}}}{{% endfilter %}}",
    f"{{{{ dict(a={MESSAGE}).a }}}}",
    f"{{{{ {MESSAGE} | default('x') }}}}",
    f"{{{{ [{MESSAGE}] | sort | unique | max }}}}",
    f"{{{{ {{{MESSAGE}: 1}} | items | first | first }}}}",
    f"{{{{ {{{MESSAGE}: 1}} }}}}",
    f"{{{{ [{MESSAGE}] }}}}",
    f"{{{{ {MESSAGE} | tojson }}}}",
    "{{ messages | tojson }}",
    f"{{{{ {MESSAGE} * 1 }}}}",
    f"{{{{ '<|' ~ {MESSAGE}[2:8] ~ '|>' }}}}",
    f"{{{{ '%s' | replace('%s', {MESSAGE}) }}}}",
]


@pytest.mark.parametrize("text", LAUNDERINGS)
def test_a_message_never_spells_a_special_token(text: str, render: Render, chat_tokenizer: Any) -> None:
    from tootsie.tokenize.chat.encoding import ConversationEncoder

    found = render(text, FIELDS)
    assert "<|eot_id|>" in str(found)
    encoded = ConversationEncoder(chat_tokenizer).encode(found)
    assert not set(encoded.ids.tolist()) & set(chat_tokenizer.specials.values())


def test_what_the_template_spells_is_the_template_s(render: Render) -> None:
    assert render("{{ '<|eot' ~ '_id|>' }}", FIELDS).runs == ((10, TEMPLATE),)
    assert render("<|eot_id|>", FIELDS).runs == ((10, TEMPLATE),)
    assert render("{% set x = '<|eot_id|>' %}{{ x }}", FIELDS).runs == ((10, TEMPLATE),)
