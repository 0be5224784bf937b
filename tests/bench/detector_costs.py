"""What readers of a text cost on honest and on made up ones.

    python -m tests.bench.detector_costs

Milliseconds of CPU for 100 kB, of the dearest honest text and of the dearest one that is made
for a reader's patterns, the dearest readers first. The test that bounds them says which texts.
"""

from __future__ import annotations

import sys

from unit.guard.test_detectors import CHARS, FOUND, HONEST_TEXTS, cost_s, hostile

ROUNDS = 4
_MS_OF_100_KB = 1e3 * 100_000 / CHARS


def main() -> None:
    rows = []
    for name, (call, module) in FOUND.items():
        honest = [(text * CHARS)[:CHARS] for text in HONEST_TEXTS]
        plain = max(min(cost_s(call, text) for _ in range(ROUNDS)) for text in honest)
        made = max(hostile(module), key=lambda text: cost_s(call, text))
        dearest = min(cost_s(call, made) for _ in range(ROUNDS))
        rows.append((dearest * _MS_OF_100_KB, plain * _MS_OF_100_KB, name, made[:20]))
    for dear, plain, name, unit in sorted(rows, reverse=True):
        sys.stdout.write(f"{dear:8.1f} ms, honest {plain:8.1f} ms  {name}  {unit!r}\n")


if __name__ == "__main__":
    main()
