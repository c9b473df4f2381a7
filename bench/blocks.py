"""Compares the servers of one table: one case at one level, by one figure.

Each repeat is a block in which every server has its turn. What a block has in common, such as the
state of the machine, cancels when its servers are compared. The model is additive on logarithms:

    log(value) = server + block + noise of the server

It is fitted by least squares to the turns that there are, so that missing ones bias nothing
(Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013, on repeats and ratios).

Servers differ in their noise, and a few repeats say little about it. So each server's variance is
moderated: it is drawn towards that of all servers, the more so the less servers differ in it
(Smyth, Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments, 2004). Each pair has a standard error of its own, with the degrees of
freedom of Satterthwaite, and all intervals of a table share its error equally (Bonferroni), which
needs no equal variances.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import polygamma
from scipy.stats import t as t_distribution

from bench.letters import letters
from bench.statistics import ERROR, ROUNDING, Difference, Estimate, Kind, Ratio, bounded, mean_of

Repeats = Mapping[int, float]
"""The values of a server, by block."""

_STILL = 1e-3
"""A server whose repeats vary by less than this share is held by something else, such as the
offered rate: its noise says nothing of the others', and the blocks' effects do not reach it."""

_EQUAL = 1e6
"""Degrees of freedom of the prior if servers do not differ in their noise."""

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Design:
    """What least squares gets from the turns that there are, whatever their values."""

    residuals: _Array
    """The residuals, from the values."""
    means: _Array
    """The servers' means over all blocks, from the values."""
    blocks: _Array
    """The blocks' effects, from the values."""
    apart: NDArray[np.bool_]
    """Whether no blocks connect two servers; on the diagonal, whether a server's blocks are
    connected to all others."""


@lru_cache(maxsize=512)
def _design(turns: bytes, servers: int) -> _Design:
    present = np.frombuffer(turns, dtype=bool).reshape(servers, -1)
    blocks = present.shape[1]
    server, block = np.nonzero(present)
    model = np.hstack([np.eye(servers)[server], np.eye(blocks)[block]])
    solution = np.linalg.pinv(model)
    mean = np.hstack([np.eye(servers), np.full((servers, blocks), 1 / blocks)])
    missed = mean - mean @ solution @ model
    apart = np.linalg.norm(missed[:, None, :] - missed[None, :, :], axis=2)
    np.fill_diagonal(apart, np.linalg.norm(missed, axis=1))
    return _Design(
        residuals=np.eye(len(server)) - model @ solution,
        means=mean @ solution,
        blocks=np.asarray(solution[servers:], dtype=np.float64),
        apart=apart > ROUNDING,
    )


def block_effects(servers: Sequence[Repeats]) -> dict[int, float]:
    """What the turns of each block have in common, as a logarithm."""
    logs = np.log(_by_block(servers))
    blocks = sorted(set().union(*servers))
    present = ~np.isnan(logs)
    effects = _design(present.tobytes(), len(logs)).blocks @ logs[present]
    return dict(zip(blocks, effects.tolist(), strict=True))


def _by_block(servers: Sequence[Repeats]) -> _Array:
    blocks = sorted(set().union(*servers))
    return np.array([[of.get(block, math.nan) for block in blocks] for of in servers])


class Table:
    """The servers of one case at one level, by one figure."""

    def __init__(
        self, repeats: Mapping[str, Repeats], error: float = ERROR, most: float = math.inf
    ) -> None:
        """``error`` is the table's share of the run's; an infinite value counts as
        ``most``, which it is known to exceed."""
        count = len(repeats)
        self._at = {name: at for at, name in enumerate(repeats)}
        self._values = list(repeats.values())
        self._error = error / (count * (count + 1) / 2)  # of each server's interval, and pair's
        logs = np.log(bounded(_by_block(self._values), most))
        turns = np.sum(~np.isnan(logs), axis=1)
        self._means = np.nanmean(logs, axis=1)
        self._freedom = turns - 1.0
        squares = np.nansum((logs - self._means[:, None]) ** 2, axis=1)
        noise = squares / np.where(turns > 1, self._freedom, math.nan)
        self._covariance = np.diag(noise / turns)
        self._unknown = np.zeros((count, count), dtype=bool)
        self._most_freedom = math.inf
        moving = np.flatnonzero(~(noise < _STILL**2))
        if len(moving) > 1:
            self._fit(logs[moving], moving)

    def _fit(self, logs: _Array, moving: NDArray[np.intp]) -> None:
        """Fit the model to the servers that nothing holds."""
        present = ~np.isnan(logs)
        design, server = _design(present.tobytes(), len(logs)), np.nonzero(present)[0]
        of_server = np.eye(len(logs))[:, server]
        squares = of_server @ (design.residuals @ logs[present]) ** 2
        freedom = of_server @ np.diag(design.residuals)
        noise, self._freedom[moving] = _moderated(squares, freedom)
        self._most_freedom = freedom.sum()
        self._means[moving] = design.means @ logs[present]
        inside = np.ix_(moving, moving)
        self._covariance[inside] = design.means * noise[server] @ design.means.T
        self._unknown[inside] = design.apart

    def __contains__(self, name: str) -> bool:
        """Whether it has the server."""
        return name in self._at

    def estimate(self, name: str) -> Estimate:
        """A server's own figure.

        Its interval is that of its mean over the blocks of this run: two servers whose intervals
        are apart differ, but two that differ may overlap, as the noise of a difference is less
        than that of both. It does not include how much blocks vary: on another day, all servers
        may be slower.
        """
        at = self._at[name]
        values = tuple(self._values[at].values())
        variance = self._covariance[at, at]
        regular = all(0 < value < math.inf for value in values)
        if not regular or self._unknown[at, at] or math.isnan(variance):
            kind: Kind = "single" if len(values) == 1 else "range"
            return Estimate(mean_of(values), min(values), max(values), kind, values)
        own = Difference(self._means[at], math.sqrt(variance), self._freedom[at])
        found = own.ratio(self._error)
        return Estimate(found.value, found.low, found.high, "interval", values)

    def difference(self, name: str, to: str) -> Difference | None:
        """The difference of the logarithms of two servers; None if nothing is known of their
        noise."""
        pair = self._at[name], self._at[to]
        middle, deviation, freedom = (float(of[pair]) for of in self._differences)
        return None if math.isnan(deviation) else Difference(middle, deviation, freedom)

    def ratio(self, name: str, to: str) -> Ratio | None:
        """The ratio of two servers, with an interval that is simultaneous over all pairs; None if
        nothing is known of their noise."""
        if name == to:
            return Ratio(1, 1, 1)
        found = self.difference(name, to)
        return found.ratio(self._error) if found else None

    def letters(self, names: Sequence[str]) -> dict[str, str]:
        """The letters of servers that are not told apart, in this order."""
        middle, deviation, freedom = self._differences
        half = t_distribution.isf(self._error / 2, freedom) * deviation
        differ = np.abs(middle) > half + ROUNDING  # not where a half is NaN
        return letters(names, lambda one, other: bool(differ[self._at[one], self._at[other]]))

    @cached_property
    def _differences(self) -> tuple[_Array, _Array, _Array]:
        """The differences of all pairs, their standard errors and degrees of freedom."""
        own = np.diag(self._covariance)
        both = own[:, None] + own[None, :]
        variances = np.where(self._unknown, math.nan, both - 2 * self._covariance)
        with np.errstate(invalid="ignore"):  # servers without any noise
            each = own**2 / self._freedom
            freedom = both**2 / (each[:, None] + each[None, :])
        freedom = np.minimum(np.where(both > 0, freedom, 1), self._most_freedom)
        middle = self._means[:, None] - self._means[None, :]
        return middle, np.sqrt(np.maximum(variances, 0)), freedom


def _moderated(squares: _Array, freedom: _Array) -> tuple[_Array, _Array]:
    """The servers' variances and their degrees of freedom, from the sums of squares.

    As limma's ``squeezeVar``, but for the middle of the prior: the pooled variance, not Smyth's,
    which is lower. With the noise of the published results, his lets 7% of runs of 33 equal
    servers name a difference.
    """
    total = freedom.sum()
    pooled = squares.sum() / total if total > ROUNDING else math.nan
    known = freedom > ROUNDING
    logs = np.log(np.maximum(squares[known] / freedom[known], ROUNDING**2))
    sampling = float(polygamma(1, freedom[known] / 2).mean()) if known.any() else 0.0
    spread = float(logs.var(ddof=1)) - sampling if len(logs) > 1 else 0.0
    prior = _EQUAL
    if spread > polygamma(1, _EQUAL / 2):
        prior = 2 * brentq(lambda half: polygamma(1, half) - spread, 1 / _EQUAL, _EQUAL / 2)
    return (prior * pooled + squares) / (prior + freedom), np.minimum(prior + freedom, total)
