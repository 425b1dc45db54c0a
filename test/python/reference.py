"""Attention in double precision, in the words of its definition.

One request at a time: q[i][h], k[j][g], v[j][g] are lists of numbers.  Query i
stands at position i + kv_len - q_len; a row that sees no key is 0 with LSE -inf.
"""

import math


def attention(q, k, v, scale, visible, score=lambda s, h: s):
    """(o[i][h][c], lse[i][h]); visible(q, k) and score(s, h) are the hooks."""
    o, lse = [], []
    for i, rows in enumerate(q):
        position = i + len(k) - len(q)
        o.append([])
        lse.append([])
        for h, row in enumerate(rows):
            group = len(rows) // len(k[0]) if k else 1
            scores = {j: score(scale * sum(a * b for a, b in zip(row, key[h // group])), h)
                      for j, key in enumerate(k) if visible(position, j)}
            if not scores:
                width = len(v[0][0]) if v else len(row)
                o[-1].append([0.0] * width)
                lse[-1].append(-math.inf)
                continue
            top = max(scores.values())
            total = sum(math.exp(s - top) for s in scores.values())
            out = [sum(math.exp(s - top) * v[j][h // group][c] for j, s in scores.items()) / total
                   for c in range(len(v[0][0]))]
            o[-1].append(out)
            lse[-1].append(top + math.log(total))
    return o, lse


def nested(flat, *shape):
    """A flat sequence as nested lists."""
    if len(shape) == 1:
        return list(flat[:shape[0]])
    step = len(flat) // shape[0] if shape[0] else 0
    return [nested(flat[i * step:(i + 1) * step], *shape[1:]) for i in range(shape[0])]
