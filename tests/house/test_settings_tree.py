"""Every setting takes effect, is warned of, or is refused: there is no fourth kind.

Whoever adds a key shows its effect in a test (``support.setting_effects.shows``) over the socket
of a daemon, or has the settings say by name that it has none (docs/decisions/0074).
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError
from support import settings_page, sources
from support.setting_effects import merged, tree

from memd.base.settings import SettingsWarning
from memd.domain.settings.settings import Settings

TESTS = sources.ROOT / "tests"
PLACEHOLDER = re.compile(r"\.<\w+>|\[\]")

SHOWN = {
    "org_memory.backend":
        "examples/test_x15_graph_rag.py::test_by_words_alone_the_exception_is_not_found",
    "org_memory.temporal.history_retention_days":
        "examples/test_x16_temporal.py::test_older_history_is_hidden_not_erased",
    "usage.transcript_roots":
        "e2e/test_usage_file.py::test_a_transcript_elsewhere_is_refused_and_the_watching_goes_on",
}  # fmt: skip
"""Keys that tests of something else show over the socket, too: the test of each."""

WARNED: dict[str, Any] = {
    "memory.consolidation.archival.enabled": False,
    "memory.embedder.provider": "p",
    "memory.embedder.model": "m",
    "memory.embedder.dims": 768,
    "memory.retrieval.default_relevance": 0.4,
}
"""What is accepted with a warning that names it: a value for each."""

NEEDS_A_MODEL: dict[str, Any] = {
    "memory.consolidation.strategy": "llm",
    "memory.consolidation.archival.dual_mode.summarization_model": "small",
    "memory.consolidation.archival.dual_mode.max_summary_tokens": 100,
    "memory.consolidation.llm.group_threshold": 4,
    "memory.consolidation.llm.temperature": 0.1,
    "memory.consolidation.llm.max_summary_tokens": 400,
    "memory.consolidation.llm.include_distillation_context": False,
    "memory.consolidation.llm.max_trajectory_context_entries": 4,
    "memory.consolidation.llm.max_trajectory_chars_per_entry": 400,
    "memory.consolidation.llm.max_entry_input_chars": 1_000,
    "memory.consolidation.llm.max_total_user_content_chars": 9_000,
    "memory.consolidation.llm.fallback_truncate_length": 100,
    "memory.consolidation.experience_compressor.enabled": True,
    "memory.consolidation.experience_compressor.model": "small",
    "memory.consolidation.experience_compressor.temperature": 0.1,
    "memory.consolidation.experience_compressor.max_tokens": 200,
    "memory.consolidation.experience_compressor.min_compression_ratio": 0.5,
    "llm.url": "http://127.0.0.1:1/v1",
    "llm.model": "small",
    "llm.api_key_file": "key",
    "llm.allowed_hosts": ["llm.lan"],
    "llm.command": ["assistant", "-p"],
    "llm.job_days": 1,
    "llm.answer_bytes": 2_048,
    "llm.timeout_seconds": 5,
    "llm.wait_seconds": 5,
    "llm.night_tokens": 5,
    "llm.uses.naps": True,
    "llm.uses.compression": True,
    "llm.uses.reformulation": True,
    "llm.uses.triples": True,
    "llm.uses.routing": True,
    "llm.uses.lessons": True,
    "llm.uses.reranking": True,
}
"""What is warned of where ``llm.provider`` is none, and shown with one: a value for each."""

REFUSED: dict[str, Any] = {
    "memory.backend": "inmemory",
    "memory.composite.routes": {"a": "inmemory"},
    "memory.composite.default": "inmemory",
}
"""What a daemon cannot do: a value for each."""


def _kinds(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [kind for part in get_args(annotation) for kind in _kinds(part)]


def _keys(model: type[BaseModel] = Settings, place: str = "") -> Iterator[tuple[str, Any]]:
    for name, field in model.model_fields.items():
        kinds = _kinds(field.annotation)
        if not kinds:
            yield place + name, field.annotation
        for kind in kinds:
            yield from _keys(kind, f"{place}{name}.")


def _is_constant(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


@cache
def _tests() -> dict[str, frozenset[str]]:
    """Return the tests of each file that shows a setting, ``file::name``, with the keys of each."""
    keys_of = {}
    for path in TESTS.rglob("test_*.py"):
        name = str(path.relative_to(TESTS))
        if "@shows(" in sources.text(path) or any(test.startswith(name) for test in SHOWN.values()):
            for function in sources.functions(path):
                keys_of[f"{name}::{function.name}"] = frozenset(_keys_shown(function))
    return keys_of


def _keys_shown(function: sources.Function) -> Iterator[str]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name):
            for argument in decorator.args if decorator.func.id == "shows" else ():
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value


def _shown() -> frozenset[str]:
    return frozenset().union(*_tests().values()) | SHOWN.keys()


def test_every_setting_takes_effect_or_is_warned_of_or_refused() -> None:
    constant = {key for key, annotation in _keys() if _is_constant(annotation)}
    accounted = _shown() | WARNED.keys() | REFUSED.keys() | constant

    missing = {key for key, _ in _keys()} - accounted
    assert not missing, "show its effect: tests/support/setting_effects.py says how"


def test_no_key_is_accounted_for_that_is_no_setting() -> None:
    keys = {key for key, _ in _keys()}

    assert (_shown() | WARNED.keys() | REFUSED.keys()) <= keys
    assert not _shown() & WARNED.keys(), "what has an effect is not warned of"
    assert not REFUSED.keys() - {"memory.backend"} & _shown()


@pytest.mark.parametrize("key", SHOWN)
def test_a_test_that_shows_a_setting_is_there(key: str) -> None:
    assert SHOWN[key] in _tests()


def test_the_page_of_the_settings_has_every_key_and_says_which_have_no_effect() -> None:
    shipped = Settings().model_dump(mode="json")
    texts = {
        PLACEHOLDER.sub("", f"{key.section}.{key.name}"): key.text
        for key in settings_page.keys(Settings, "", shipped)
    }
    silent = {key for key, text in texts.items() if "no effect" in text.lower()}

    assert texts.keys() == {key for key, _ in _keys()}
    assert silent == WARNED.keys()


def test_every_setting_of_a_language_model_is_accounted_for_without_one() -> None:
    own = {key for key, _ in _keys() if key.startswith("llm.")} - {"llm.provider"}
    assert own <= NEEDS_A_MODEL.keys() <= _shown()


def test_what_shows_a_setting_goes_over_the_socket() -> None:
    names = {name for name, keys in _tests().items() if keys} | set(SHOWN.values())

    assert not [name for name in names if not name.startswith(("e2e/", "examples/"))]


@pytest.mark.parametrize("key", [key for key, annotation in _keys() if _is_constant(annotation)])
def test_a_setting_with_one_value_refuses_every_other(key: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(tree(key, "another"))


@pytest.mark.parametrize("key", WARNED | NEEDS_A_MODEL)
def test_a_setting_that_waits_is_named_in_a_warning(key: str) -> None:
    whole = tree(key, (WARNED | NEEDS_A_MODEL)[key])
    if key.endswith("embedder.model"):
        whole = merged(whole, tree("memory.embedder.dims", 384))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Settings.model_validate(whole)

    named = [str(warning.message) for warning in caught]
    names = (key, key.rpartition(".")[0], key.removeprefix("memory.consolidation."))
    assert any(name in sentence for sentence in named for name in names), named


SWITCHES = {
    "memory.consolidation.llm.": "strategy llm",
    "memory.consolidation.archival.dual_mode.": "strategy dual_mode",
    "memory.consolidation.experience_compressor.": "enabled",
}
"""What else than a language model a section needs, as its warning says."""


@pytest.mark.parametrize(
    ("key", "switch"),
    [
        (key, switch)
        for key in NEEDS_A_MODEL
        for section, switch in SWITCHES.items()
        if key.startswith(section) and not key.endswith(".enabled")
    ],
)
def test_with_a_model_what_is_not_switched_on_is_named(key: str, switch: str) -> None:
    uses = {"lessons": True}
    model = tree("llm", {"provider": "assistant", "night_tokens": 5, "uses": uses})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Settings.model_validate(merged(model, tree(key, NEEDS_A_MODEL[key])))

    (named,) = [str(warning.message) for warning in caught]
    assert key in named
    assert switch in named


REFORMULATES = {"retrieval": {"strategy": "tool_based", "query_reformulation_enabled": True}}


@pytest.mark.parametrize(
    ("llm", "memory", "key"),
    [
        ({"night_tokens": 5}, {}, "llm.provider"),
        ({"uses": {"lessons": True}, "night_tokens": 5, "wait_seconds": 5}, {}, "llm.wait_seconds"),
        ({"uses": {"reformulation": True}, "night_tokens": 5}, REFORMULATES, "llm.night_tokens"),
    ],
)
def test_what_of_a_model_nothing_makes_use_of_is_named(llm: Any, memory: Any, key: str) -> None:
    with pytest.warns(SettingsWarning, match=f"{key} .*has no effect"):
        Settings.model_validate({"llm": {"provider": "assistant", **llm}, "memory": memory})


@pytest.mark.parametrize("key", REFUSED)
def test_what_a_daemon_cannot_do_is_refused(key: str) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate(tree(key, REFUSED[key]))
