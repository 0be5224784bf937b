"""How many tokens a text has, counted with the installed model's own vocabulary.

One counter serves chunk bounds, ``token_count`` and the recall budget (SPEC D3,
1.4): two counters would disagree about the same budget. It reads only the
model's ``tokenizer.json`` and never loads the model itself.

Importing ``tokenizers`` and reading the vocabulary cost about 45 ms and 15 MB, so
both wait for the first count: a daemon that has not yet been asked anything stays
small. The model's own way is to look at each word by itself; so a word that was
counted once is known, most of a text is words that were said before, and the others
are looked at together: a call costs more than a word.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memd.base.errors import ModelError
from memd.domain.encoding import TokenCounter

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

TOKENIZER_FILE = "tokenizer.json"
_CHARS_PER_TOKEN = 4
_WORD_CHARS_MAX = 100  # of what the vocabulary cuts into pieces
_LONG_WORD = re.compile(r"\w{101,}")

_PLAIN = b"\t\n\r" + bytes(range(ord(" "), 0x7F))
_WORD = re.compile(r"[0-9A-Za-z]+")
_WORDS_AND_SPACE = b"\t\n\r 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WORDS_KNOWN = 8_192  # one to two megabytes; a full window has some four thousand different ones


class TextWindow(NamedTuple):
    """A part of a text that fits the model: *text*, and how many *pieces* it has."""

    text: str
    pieces: int


class DefaultTokenEstimator:
    """The documents' rule of four characters to a token, exact (SPEC 11.3)."""

    def estimate_tokens(self, text: str) -> int:
        """Return 0 for an empty text, else a quarter of its characters and at least 1.

        >>> [DefaultTokenEstimator().estimate_tokens(text) for text in ("", "abc", "12345678")]
        [0, 1, 2]
        """
        return max(1, len(text) // _CHARS_PER_TOKEN) if text else 0

    def count(self, text: str) -> int:
        return self.estimate_tokens(text)


class ModelTokens:
    """Counts the word pieces of a text as the model sees it, without [CLS] and [SEP].

    The vocabulary is read at the first count; a ModelError names a file that is
    missing or is no tokenizer. May be shared between threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokenizer: Tokenizer | None = None
        self._whole: re.Pattern[str] | None = None
        """What is one piece wherever it stands; None if words cannot be counted one by one."""
        self._known: dict[str, int] = {}

    def count(self, text: str) -> int:
        if not text:
            return 0
        pieces = self._by_words(text)
        if pieces is None:
            pieces = self._pieces(text)
        # The vocabulary makes one unknown piece of a word of over 100 characters. To a reader
        # of the prompt it is not one token, so it is charged as text that nobody can count.
        if len(max(text.split(), key=len, default="")) <= _WORD_CHARS_MAX:
            return pieces  # a look that costs a third of the pattern's
        unknown = sum(len(word) // _CHARS_PER_TOKEN for word in _LONG_WORD.findall(text))
        return pieces + unknown

    def windows(self, text: str, *, tokens_max: int) -> list[TextWindow]:
        """Split *text* into as few windows of at most *tokens_max* pieces as words allow.

        Windows are in order, do not overlap, and leave out nothing but the white
        space between them. They end between words: half a word would be cut into
        other pieces than the whole one. A word has at most 100 pieces (a longer
        one is a single unknown piece), so a window always makes progress.
        """
        encoding = self._encoded(text)
        total = len(encoding)
        if total <= tokens_max:
            return [TextWindow(text, total)]
        words, offsets = encoding.word_ids, encoding.offsets
        windows: list[TextWindow] = []
        start = 0
        while start < total:
            end = min(start + tokens_max, total)
            if end < total:
                end = _word_start(words, end, after=start)
            first = offsets[start][0]
            last = max(offset[1] for offset in offsets[start:end])
            windows.append(TextWindow(text[first:last], end - start))
            start = end
        return windows

    def _pieces(self, text: str) -> int:
        return len(self._encoded(text))

    def _encoded(self, text: str) -> Encoding:
        # A batch of one: ``encode`` keeps the interpreter to itself, a second for a megabyte.
        return self._ready().encode_batch([text], add_special_tokens=False)[0]

    def _by_words(self, text: str) -> int | None:
        """Return the pieces of a text from those of its words, None if they cannot be told so.

        White space is none, a plain sign is one, and a plain word is cut by itself, as is
        whatever stands between white space around a character that is not plain.
        """
        self._ready()
        if self._whole is None or self._whole.search(text):
            return None
        plain, odd = _plain_and_odd(text)
        words = _WORD.findall(plain)
        if len(words) + len(odd) > _WORDS_KNOWN or any(len(run) > _WORD_CHARS_MAX for run in odd):
            return None
        signs = len(plain.encode().translate(None, _WORDS_AND_SPACE))
        known = self._counted(set(words), set(odd))
        return signs + sum(map(known.__getitem__, words)) + sum(map(known.__getitem__, odd))

    def _counted(self, words: set[str], odd: set[str]) -> dict[str, int]:
        """Return a table that has all of them; the words it lacks are looked at in one call."""
        known = self._known
        if len(known) + len(words) + len(odd) > _WORDS_KNOWN:
            known = self._known = {}  # another thread may go on with the one it has
        new = [word for word in words if word not in known]
        if new:
            encoding = self._ready().encode(" ".join(new), add_special_tokens=False)
            pieces = Counter(encoding.word_ids)
            known.update((word, pieces[place]) for place, word in enumerate(new))
        known.update((run, self._pieces(run)) for run in odd if run not in known)
        return known

    def _ready(self) -> Tokenizer:
        if self._tokenizer is None:
            tokenizer = _load(self._path)
            self._whole = _whole(tokenizer)
            self._tokenizer = tokenizer  # last: another thread may look at it now
        return self._tokenizer


class FolderTokens:
    """Counts with the model of a folder once one is installed there, and estimates until then."""

    def __init__(self, model_dir: Path) -> None:
        self._path = model_dir / TOKENIZER_FILE
        self._estimate = DefaultTokenEstimator()
        self._model: ModelTokens | None = None

    def count(self, text: str) -> int:
        if self._model is None and self._path.is_file():
            self._model = ModelTokens(self._path)
        return (self._model or self._estimate).count(text)


def counter_for(model_dir: Path) -> TokenCounter:
    """Return the counter of the model in *model_dir*, or an estimate until one is installed."""
    path = model_dir / TOKENIZER_FILE
    return ModelTokens(path) if path.is_file() else FolderTokens(model_dir)


def _plain_and_odd(text: str) -> tuple[str, list[str]]:
    """Return *text* without what is not plain, and that: the runs between white space."""
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text, []
    runs = text.replace("\t", " ").replace("\n", " ").replace("\r", " ").split(" ")
    odd = [run for run in runs if not (run.isascii() and run.isprintable())]
    return " ".join([run for run in runs if run.isascii() and run.isprintable()]), odd


def _word_start(words: list[int | None], end: int, *, after: int) -> int:
    """Return where the word that *end* would cut begins; *end* if that is no progress."""
    start = end
    while start > after + 1 and words[start] is not None and words[start] == words[start - 1]:
        start -= 1
    return start if start > after + 1 else end


def _whole(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Return what finds the pieces that are never cut, None for a tokenizer of another kind."""
    kinds = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
    if [type(kind).__name__ for kind in kinds] != [
        "BertNormalizer",
        "BertPreTokenizer",
        "WordPiece",
    ]:
        return None
    added = tokenizer.get_added_tokens_decoder().values()
    return re.compile(
        "|".join(re.escape(token.content) for token in added) or r"(?!)", re.IGNORECASE
    )


def _load(path: Path) -> Tokenizer:
    # The library warns, and starts threads of its own, unless told not to.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    if not path.is_file():
        raise ModelError(f"{path} is missing", hint="run: memd model install")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise ModelError(f"{path} is not a tokenizer", hint="run: memd model install") from error
    # The file asks for 128 tokens, padded: a count needs neither.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
