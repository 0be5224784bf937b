"""Run an embedding model in memory, memd's own or any ONNX encoder.

The classes implement :class:`memd.embedding.embed.Encoder`.

**Centring.** The vectors of many models lie in a narrow cone: two unrelated texts have a cosine of
0.7 or more, and more still in the same language. memd's thresholds (whether anything answers,
whether a text is new) are fitted to a model without either effect. So the mean vector and the
directions that separate languages are measured when a model is added, stored in its folder, and
removed from each vector (docs/decisions/0160, 0183).

**Token vectors.** memd's own model also gives a small vector for each content token, which is
stored with the vector of the text. A question about one word of a memory, in another form, is lost
in the mean of either text; late interaction finds it (``recall/ranking/features.py``,
docs/decisions/0322). A token vector has the first 64 principal components of the state, with
their spreads halved on a logarithmic scale; they discriminate as well as all 384 numbers.
``python -m tests.bench.fit_tokens`` makes the projection, ``token_projection.npz``. Stored token
vectors depend on it: a new projection needs a step in ``store/file/migrate.py`` that removes them,
and the embedding queue computes them again.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memd.base.errors import DegradedError, EmbeddingError, ModelError
from memd.domain.encoding import ModelFingerprint
from memd.embedding.model_files import INSTALL_HINT, ONNX_FILE, REPOSITORY, Manifest
from memd.embedding.model_thread import keep_libraries_quiet, load_fastembed
from memd.embedding.onnx_graph import LAST_OUTPUT, STATES_OUTPUT
from memd.text.tokens import TOKENIZER_FILE, TextWindow, model_tokens
from memd.text.words import ENGLISH_FUNCTION_WORDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float32]

CENTRE_FILE = "centre.f32"
UNKNOWN, CLS, SEP = 100, 101, 102  # token ids in the vocabulary of BERT
_SPECIAL_TOKENS = 2  # they share the window with the text
_SIGNS = "?!.,'\"-():;"
PROJECTION_FILE = "token_projection.npz"
_TOKEN_LENGTH = 127.0
"""The length of a token vector, so that each component fits an int8."""


class TokenProjection(NamedTuple):
    """The mean of all states, and the directions that are kept."""

    mean: Rows
    """Of shape (384,)."""
    directions: Rows
    """Of shape (384, ``TOKEN_BYTES``)."""

    def project(self, states: Rows) -> bytes:
        """Return the token vectors of pieces with these *states*, of shape (pieces, 384)."""
        import numpy as np

        rows = (states - self.mean) @ self.directions
        rows *= _TOKEN_LENGTH / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return bytes(np.rint(rows).astype(np.int8).tobytes())


@cache
def token_projection() -> TokenProjection:
    """Return the projection that ships with memd; read once."""
    import numpy as np

    raw = resources.files("memd.embedding").joinpath(PROJECTION_FILE).read_bytes()
    with np.load(io.BytesIO(raw)) as arrays:
        mean, directions = (arrays[name].astype(np.float32) for name in TokenProjection._fields)
    return TokenProjection(mean, directions)


class EncodedBatch(NamedTuple):
    """A vector for each text, and its token vectors."""

    vectors: Rows
    tokens: list[bytes]


class FastembedEncoder:
    """The model loaded by ``fastembed``: mean pooling, normalised, one thread."""

    def __init__(self, folder: Path, fingerprint: ModelFingerprint) -> None:
        keep_libraries_quiet()
        import fastembed

        self._window = fingerprint.window_tokens - _SPECIAL_TOKENS
        self._tokens = model_tokens(folder / TOKENIZER_FILE)
        model = load_fastembed(fastembed.TextEmbedding, REPOSITORY, folder, "model", INSTALL_HINT)
        self._session = model.model.model
        words = self._tokens.ids([*ENGLISH_FUNCTION_WORDS, *_SIGNS])
        self._function_ids = frozenset(ids[0] for ids in words if len(ids) == 1)

    def windows(self, text: str) -> list[TextWindow]:
        return self._tokens.windows(text, tokens_max=self._window)

    def encode(self, texts: list[str]) -> EncodedBatch:
        import numpy as np

        ids = self._tokens.ids(texts)
        states = self.last_states(ids)
        unpadded = [
            rows[: len(text_ids) + _SPECIAL_TOKENS]
            for rows, text_ids in zip(states, ids, strict=True)
        ]
        vectors = unit(np.stack([rows.mean(0) for rows in unpadded]))
        tokens = [
            token_projection().project(rows[1:-1][self._content(text_ids)])
            for rows, text_ids in zip(unpadded, ids, strict=True)
        ]
        return EncodedBatch(vectors, tokens)

    def _content(self, ids: list[int]) -> Any:
        """Return a mask of the tokens that are neither function words nor punctuation.

        None is selected that is not in the vocabulary: all of those are one token. If there are
        neither, all tokens are selected.
        """
        import numpy as np

        content = np.array([token not in self._function_ids for token in ids], bool)
        known = content & np.not_equal(ids, UNKNOWN)
        return known if content.any() else ~content

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens."""
        return self._tokens.ids(texts)

    def last_states(self, ids: list[list[int]]) -> Rows:
        """Return the states of the last layer, of shape (texts, longest + 2, 384), padded.

        *ids* are those of :meth:`ids`; [CLS] and [SEP] are added.
        """
        return self._run([[CLS, *text_ids, SEP] for text_ids in ids], LAST_OUTPUT)

    def states(self, windows: list[list[int]]) -> Rows:
        """Return the states of the fourth layer, of shape (windows, longest, 384), padded.

        A window is a list of token ids, special tokens included. Raises DegradedError if the
        model file lacks this output.
        """
        if STATES_OUTPUT not in {output.name for output in self._session.get_outputs()}:
            raise DegradedError("the model file lacks the states of sentences", hint=INSTALL_HINT)
        return self._run(windows, STATES_OUTPUT)

    def _run(self, windows: list[list[int]], output: str) -> Rows:
        import numpy as np

        longest = max(map(len, windows))
        ids = np.array(
            [[*window, *[0] * (longest - len(window))] for window in windows], dtype=np.int64
        )
        mask = np.array([[at < len(window) for at in range(longest)] for window in windows])
        inputs = {
            "input_ids": ids,
            "attention_mask": mask.astype(np.int64),
            "token_type_ids": np.zeros_like(ids),
        }
        states: Rows = self._session.run([output], inputs)[0].astype(np.float32, copy=False)
        return states


class OnnxEncoder:
    """Any other encoder as ONNX; its vectors are pooled, centred and of length 1."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        keep_libraries_quiet()
        import numpy as np
        import onnxruntime

        model = manifest.fingerprint
        self._prefix, self._cls = manifest.prefix, model.pooling.startswith("cls")
        self._dimension = model.dimension
        self._tokens = model_tokens(folder / TOKENIZER_FILE)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # two threads compete on a small machine
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder / ONNX_FILE), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises bare Exceptions
            raise ModelError(f"{folder.name} cannot be loaded: {type(error).__name__}") from error
        self._tokens_max = model.window_tokens
        (prefix,) = self._tokens.ids([self._prefix])
        self._window = max(1, model.window_tokens - _SPECIAL_TOKENS - len(prefix))
        self._inputs = {model_input.name for model_input in self._session.get_inputs()}
        self._centre: Rows | None = None
        if (folder / CENTRE_FILE).exists():
            centre_rows = np.fromfile(folder / CENTRE_FILE, dtype="<f4").reshape(
                -1, self._dimension
            )
            self._centre, self._directions = centre_rows[0], centre_rows[1:]

    def windows(self, text: str) -> list[TextWindow]:
        """Return the parts of *text* that fit the model's window; at least one."""
        return self._tokens.windows(text, tokens_max=self._window)

    def encode(self, texts: list[str]) -> EncodedBatch:
        """Return one vector for each text that fits the window, in order, and no token vectors."""
        rows = self.pool(texts)
        if self._centre is not None:
            rows = rows - self._centre
            rows = unit(rows - rows @ self._directions.T @ self._directions)
        return EncodedBatch(rows, [b""] * len(texts))

    def pool(self, texts: list[str]) -> Rows:
        """Return the model's own vectors, of length 1; EmbeddingError for another dimension."""
        import numpy as np

        encodings = self._tokens.encodings([self._prefix + text for text in texts])
        inputs = {
            "input_ids": self._pad([encoding.ids for encoding in encodings]),
            "attention_mask": self._pad([encoding.attention_mask for encoding in encodings]),
            "token_type_ids": self._pad([encoding.type_ids for encoding in encodings]),
        }
        output = self._session.run(
            None, {name: inputs[name] for name in self._inputs & inputs.keys()}
        )[0]
        if output.ndim == 3:  # noqa: PLR2004  # a vector for each token
            weights = inputs["attention_mask"][:, :, None].astype(np.float32)
            output = output[:, 0] if self._cls else (output * weights).sum(1) / weights.sum(1)
        if output.shape != (len(texts), self._dimension):
            raise EmbeddingError(
                f"the model gives vectors of shape {output.shape}, "
                f"not {(len(texts), self._dimension)}"
            )
        return unit(output.astype(np.float32))

    def _pad(self, rows: Sequence[list[int]]) -> NDArray[np.int64]:
        """Return *rows* as one array, padded with 0.

        A row that exceeds the window is truncated before its last token, which is special.
        """
        import numpy as np

        longest = min(max(map(len, rows)), self._tokens_max)
        padded = np.zeros((len(rows), longest), dtype=np.int64)
        for at, row in enumerate(rows):
            end = min(len(row), longest)
            padded[at, :end] = [*row[: end - 1], row[-1]]
        return padded


def unit(rows: Rows) -> Rows:
    """Return *rows* at length 1. Raises EmbeddingError for a zero, infinite or NaN row."""
    import numpy as np

    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all((norms > 0.0) & (norms < np.inf)):  # also false for NaN
        raise EmbeddingError("the model gave a vector that has no direction")
    directions: Rows = rows / norms
    return directions
