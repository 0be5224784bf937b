"""Benchmarks, run by hand: ``python -m tests.bench.recall``, ``latency``; ``fit_*`` fit models.

Started from the repository's root. The test library is made importable here,
under the names that the tests use (``bench``, ``support``).
"""

import sys
from pathlib import Path

_TESTS = str(Path(__file__).resolve().parents[1])
if _TESTS not in sys.path:
    sys.path.insert(0, _TESTS)
