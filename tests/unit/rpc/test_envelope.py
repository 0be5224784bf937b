"""The JSON-RPC envelope, and errors on their way through it."""

from __future__ import annotations

from typing import Any

import pytest

from memd.base import errors
from memd.base.errors import InternalError, InvalidError, InvalidRequestError, MemdError
from memd.base.limits import BATCH_REQUESTS_MAX, NAME_CHARS_MAX
from memd.rpc import envelope, faults

GOOD = {"jsonrpc": "2.0", "id": 1, "method": "m"}


def only(message: Any) -> envelope.Member:
    (member,), batch = envelope.read(envelope.write(message))
    assert not batch
    return member


def test_a_request_is_read_with_its_params() -> None:
    assert only({**GOOD, "params": {"a": 1}}) == envelope.Request(1, "m", {"a": 1})


def test_an_id_is_as_long_as_a_name_may_be() -> None:
    assert isinstance(only({**GOOD, "id": "x" * NAME_CHARS_MAX}), envelope.Request)
    assert isinstance(only({**GOOD, "id": "x" * (NAME_CHARS_MAX + 1)}), envelope.InvalidMember)


def test_a_request_with_a_null_id_is_a_request_and_one_without_is_a_notification() -> None:
    request, wire_form = only({**GOOD, "id": None}), only({"jsonrpc": "2.0", "method": "m"})
    assert isinstance(request, envelope.Request)
    assert isinstance(wire_form, envelope.Request)
    assert not request.notification
    assert wire_form.notification


def test_an_answer_is_told_from_a_request_and_means_nothing_in_a_batch() -> None:
    answer = {"jsonrpc": "2.0", "id": "x", "result": 1}
    assert only(answer) == envelope.PeerAnswer("x", 1)
    assert only({"jsonrpc": "2.0", "id": "x", "error": {}}) == envelope.PeerAnswer("x", failed=True)
    ((member,), is_batch) = envelope.read(envelope.write([answer]))
    assert is_batch
    assert isinstance(member, envelope.InvalidMember)
    assert member.notification


@pytest.mark.parametrize("bad", [True, 1.5, {}, [], "x" * 257, "a\nb"])
def test_an_id_is_a_short_string_or_a_whole_number(bad: Any) -> None:
    member = only({**GOOD, "id": bad})
    assert isinstance(member, envelope.InvalidMember)
    assert isinstance(member.error, InvalidRequestError)
    assert member.id is None


@pytest.mark.parametrize(
    "bad",
    [1, "x", None, {}, {**GOOD, "jsonrpc": "1.0"}, {**GOOD, "method": 1}, {**GOOD, "params": 1}],
)
def test_what_is_no_request_is_refused(bad: Any) -> None:
    member = only(bad)
    assert isinstance(member, envelope.InvalidMember)
    assert isinstance(member.error, InvalidRequestError)
    assert not member.notification


def test_params_go_by_name() -> None:
    member = only({**GOOD, "params": [1]})
    assert isinstance(member, envelope.InvalidMember)
    assert isinstance(member.error, InvalidError)
    assert member.id == 1


def test_one_bad_member_of_a_batch_is_refused_alone() -> None:
    received, batch = envelope.read(envelope.write([GOOD, 1, {**GOOD, "id": 2}]))
    assert batch
    assert [type(member).__name__ for member in received] == ["Request", "InvalidMember", "Request"]


def test_a_batch_holds_one_request_at_least_and_not_too_many() -> None:
    with pytest.raises(InvalidRequestError):
        envelope.read(envelope.write([]))
    with pytest.raises(errors.TooLargeError):
        envelope.read(envelope.write([GOOD] * (BATCH_REQUESTS_MAX + 1)))


def test_every_kind_of_error_has_a_code_and_every_code_a_kind() -> None:
    assert set(faults.CODES) == set(errors.kinds())


@pytest.mark.parametrize("kind", sorted(errors.kinds()))
def test_an_error_arrives_as_the_class_it_left_as(kind: str) -> None:
    cls = errors.kinds()[kind]
    original = cls("what happened", field="f", hint="do this")
    wire_form = faults.to_error(original)
    received = faults.from_error(wire_form)
    assert type(received) is cls
    assert (received.message, received.field, received.hint) == ("what happened", "f", "do this")
    assert wire_form["data"]["retry"] is cls.retry
    assert wire_form["data"].get("family") == cls.family


def test_a_bug_tells_its_incident_and_nothing_of_itself() -> None:
    wire_form = faults.to_error(RuntimeError("the text of a memory"))
    assert wire_form["code"] == -32603
    assert "memory" not in wire_form["message"].replace("memd", "")
    received = faults.from_error(faults.to_error(faults.bug("abc")))
    assert isinstance(received, InternalError)
    assert received.incident == "abc"


@pytest.mark.parametrize("bare", [errors.CallerError, errors.UnavailableError, MemdError])
def test_a_class_without_a_kind_of_its_own_is_a_bug_on_the_wire(bare: type[MemdError]) -> None:
    assert faults.to_error(bare("x"))["data"]["kind"] == "internal"


def test_an_unknown_kind_is_understood_by_its_code() -> None:
    received = faults.from_error({"code": -32004, "message": "later", "data": {"kind": "tired"}})
    assert received.retry
    assert isinstance(faults.from_error("what"), InternalError)
    assert isinstance(faults.from_error({}), InternalError)
