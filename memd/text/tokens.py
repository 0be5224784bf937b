"""Count the tokens of a text with the installed model's vocabulary.

One counter serves chunk bounds, ``token_count`` and the recall budget (SPEC D3, 1.4), so that they
agree. It reads only the model's ``tokenizer.json`` and never loads the model.

Importing ``tokenizers`` and reading the vocabulary cost about 45 ms and 15 MB. Both wait for the
first count, so that an unused daemon stays small. The tokenizer splits each word independently of
its context, so the counts of words are cached. Words missing from the cache are encoded in one
call, because a call costs more than a word.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from memd.base.errors import ModelError
from memd.domain.encoding import TokenCounter

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

TOKENIZER_FILE = "tokenizer.json"
_CHARS_PER_TOKEN = 4
_WORD_CHARS_MAX = 100  # longer words are one unknown piece of the vocabulary
_LONG_WORD = re.compile(r"\w{101,}")

_PLAIN = b"\t\n\r" + bytes(range(ord(" "), 0x7F))  # printable ASCII and white space
_WORD = re.compile(r"[0-9A-Za-z]+")
_WORDS_AND_SPACE = b"\t\n\r 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WORDS_CACHED_MAX = 8_192
"""Words in the cache: one to two megabytes. A full context window has about 4,000 words."""


class TextWindow(NamedTuple):
    """A part of a text that fits the model, and its number of *pieces*."""

    text: str
    pieces: int


class DefaultTokenEstimator:
    """The specification's rule of four characters per token, exactly (SPEC 11.3)."""

    def estimate_tokens(self, text: str) -> int:
        """Return 0 for an empty text, else a quarter of its characters and at least 1.

        >>> [DefaultTokenEstimator().estimate_tokens(text) for text in ("", "abc", "12345678")]
        [0, 1, 2]
        """
        return max(1, len(text) // _CHARS_PER_TOKEN) if text else 0

    def count(self, text: str) -> int:
        return self.estimate_tokens(text)


class ModelTokens:
    """Counts the word pieces of a text as the model does, without [CLS] and [SEP].

    The vocabulary is read at the first count; a ModelError names a file that is
    missing or is no tokenizer. May be shared between threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokenizer: Tokenizer | None = None
        self._unsplit: re.Pattern[str] | None = None
        """Matches tokens that are never split ("[MASK]"); None if counts by word are not exact."""
        self._pieces_by_word: dict[str, int] = {}

    def count(self, text: str) -> int:
        if not text:
            return 0
        pieces = self._count_by_words(text)
        if pieces is None:
            pieces = self._count_whole(text)
        # A word of over 100 characters is one unknown piece of the vocabulary. In a prompt it
        # is more than one token, so a quarter of its characters is added. The first check costs
        # a third of the pattern.
        if len(max(text.split(), key=len, default="")) <= _WORD_CHARS_MAX:
            return pieces
        unknown = sum(len(word) // _CHARS_PER_TOKEN for word in _LONG_WORD.findall(text))
        return pieces + unknown

    def windows(self, text: str, *, tokens_max: int) -> list[TextWindow]:
        """Split *text* into windows of at most *tokens_max* pieces, as few as possible.

        Windows are in order, do not overlap, and omit only the white space between them. They
        end between words, because half a word has other pieces than the whole word. A word has
        at most 100 pieces (a longer one is a single unknown piece), so each window has one.
        """
        encoding = self._encode(text)
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

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Return each text's pieces as their numbers in the vocabulary, without [CLS] and [SEP]."""
        encodings = self._load_tokenizer().encode_batch(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def encodings(self, texts: list[str]) -> list[Encoding]:
        """Return the encoding of each text with [CLS] and [SEP], without padding."""
        return self._load_tokenizer().encode_batch(texts)

    def _count_whole(self, text: str) -> int:
        return len(self._encode(text))

    def _encode(self, text: str) -> Encoding:
        # A batch of one: ``encode`` holds the GIL, for a second per megabyte.
        return self._load_tokenizer().encode_batch([text], add_special_tokens=False)[0]

    def _count_by_words(self, text: str) -> int | None:
        """Return the number of pieces as the sum over the words; None if that is not exact.

        White space has no piece, an ASCII punctuation mark has one. ASCII words are split
        independently, and so are the runs between white space with other characters.
        """
        self._load_tokenizer()
        if self._unsplit is None or self._unsplit.search(text):
            return None
        plain, special = _split_plain(text)
        words = _WORD.findall(plain)
        if len(words) + len(special) > _WORDS_CACHED_MAX or any(
            len(run) > _WORD_CHARS_MAX for run in special
        ):
            return None
        marks = len(plain.encode().translate(None, _WORDS_AND_SPACE))
        pieces_by_word = self._count_words(set(words), set(special))
        return (
            marks
            + sum(map(pieces_by_word.__getitem__, words))
            + sum(map(pieces_by_word.__getitem__, special))
        )

    def _count_words(self, words: set[str], special: set[str]) -> dict[str, int]:
        """Return the cache, after adding the counts of all *words* and *special* runs to it."""
        pieces_by_word = self._pieces_by_word
        if len(pieces_by_word) + len(words) + len(special) > _WORDS_CACHED_MAX:
            # A new dict: another thread may still use the old one.
            pieces_by_word = self._pieces_by_word = {}
        new = [word for word in words if word not in pieces_by_word]
        if new:
            encoding = self._load_tokenizer().encode(" ".join(new), add_special_tokens=False)
            pieces = Counter(encoding.word_ids)
            pieces_by_word.update((word, pieces[place]) for place, word in enumerate(new))
        pieces_by_word.update(
            (run, self._count_whole(run)) for run in special if run not in pieces_by_word
        )
        return pieces_by_word

    def _load_tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            tokenizer = _load(self._path)
            self._unsplit = _unsplit_pattern(tokenizer)
            self._tokenizer = tokenizer  # set last: another thread may use it from here on
        return self._tokenizer


_SHARED: WeakValueDictionary[tuple[Path, int], ModelTokens] = WeakValueDictionary()


def model_tokens(path: Path) -> ModelTokens:
    """Return the counter of the tokenizer at *path*, shared by all users of the same file.

    Reading a vocabulary takes 20 ms, and a daemon needs it for counts and for windows.
    """
    try:
        key = path, path.stat().st_mtime_ns
    except OSError:
        return ModelTokens(path)  # its first count raises the ModelError
    tokens = _SHARED.get(key)
    if tokens is None:
        _SHARED[key] = tokens = ModelTokens(path)
    return tokens


class FolderTokens:
    """Counts with the model in a folder, and estimates as long as none is installed."""

    def __init__(self, model_dir: Path) -> None:
        self._path = model_dir / TOKENIZER_FILE
        self._file = str(self._path)
        self._estimate = DefaultTokenEstimator()
        self._model: ModelTokens | None = None

    def count(self, text: str) -> int:
        # Chunking a long text makes thousands of counts; ``Path.exists`` would double their cost.
        if self._model is None and os.access(self._file, os.F_OK):
            self._model = model_tokens(self._path)
        return (self._model or self._estimate).count(text)


def counter_for(model_dir: Path) -> TokenCounter:
    """Return the counter of the model in *model_dir*; it estimates until a model is installed."""
    path = model_dir / TOKENIZER_FILE
    return model_tokens(path) if path.is_file() else FolderTokens(model_dir)


def _split_plain(text: str) -> tuple[str, list[str]]:
    """Return the printable ASCII part of *text*, and the runs with other characters.

    Runs are separated by white space: "Café au lait" gives "au lait" and ["Café"].
    """
    if text.isascii() and not text.encode().translate(None, _PLAIN):
        return text, []
    runs = text.replace("\t", " ").replace("\n", " ").replace("\r", " ").split(" ")
    special = [run for run in runs if not (run.isascii() and run.isprintable())]
    return " ".join([run for run in runs if run.isascii() and run.isprintable()]), special


def _word_start(words: list[int | None], end: int, *, after: int) -> int:
    """Return the start of the word that *end* splits, or *end* if that word begins at *after*."""
    start = end
    while start > after + 1 and words[start] is not None and words[start] == words[start - 1]:
        start -= 1
    return start if start > after + 1 else end


def _unsplit_pattern(tokenizer: Tokenizer) -> re.Pattern[str] | None:
    """Return a pattern of the tokens that are never split, None unless it is a BERT tokenizer."""
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
    """Return the tokenizer in the file *path*; raises ModelError."""
    # By default the library starts its own threads, and warns after a fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from tokenizers import Tokenizer

    if not path.is_file():
        raise ModelError(f"{path} is missing", hint="run: memd model install")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise ModelError(f"{path} is not a tokenizer", hint="run: memd model install") from error
    # The file sets truncation to 128 tokens and padding, which a count must not have.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
