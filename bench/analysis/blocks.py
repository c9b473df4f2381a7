"""Compares the servers of one table: one case at one level, by one figure.

Each repeat is a block in which every server has its turn. What a block has in common, such as the
state of the machine, cancels when its servers are compared. The model is additive on logarithms:

    log(value) = server + block + noise of the server

It is fitted by least squares to the turns that there are, so that missing ones bias nothing
(Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013, on repeats and ratios).

Servers differ in their noise, and a few repeats say little about it. So each server's variance is
moderated: it is drawn towards that of all servers, the more so the less servers differ in it
(Smyth, Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments, 2004). Noisy servers weigh less in the effects of blocks. Each pair has a
standard error of its own, with Satterthwaite's degrees of freedom, and all intervals of a table
share its error equally (Bonferroni), which needs no equal variances.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr, zeta

from bench.analysis.compact_letters import letters
from bench.analysis.estimates import ERROR, ROUNDING, Difference, Estimate, Ratio, bounded, mean_of

# The values of a server, by block
Repeats = Mapping[int, float]

# A server whose repeats vary by less than this share is held by something else, such as the
# offered rate: its noise says nothing of the others', and the blocks' effects do not reach it
_STILL = 1e-3

# An interval whose high is more than so many times its low says nothing of a figure
_WIDEST = 10.0

# A variance of more than this many medians counts as so many in the mean of all
_OUTLIER = 4.0

# How often servers are weighed by their noise, and that estimated again
_PASSES = 4

# Degrees of freedom of the prior if servers do not differ in their noise
_EQUAL = 1e6

_Array = NDArray[np.float64]

_trigamma = partial(zeta, 2)  # DLMF, 5.15.1


class _Design:
    """Weighted least squares of the turns that there are, by server and block."""

    def __init__(self, logs: _Array, noise: _Array, part: NDArray[np.intp]) -> None:
        """``noise`` are the servers' variances, up to a factor; ``part`` is of :func:`_parts`."""
        servers, blocks = logs.shape
        present = ~np.isnan(logs)
        self._weights = present * (noise.min() / noise)[:, None]
        normal = _normal(self._weights)
        count = part.max() + 1
        free = np.eye(count)[part]  # in each part, a constant may move from servers to blocks
        free[servers:] *= -1
        inverse = np.linalg.inv(normal + free @ free.T)
        # Whether no blocks connect two servers; on the diagonal, whether none connect a server
        # with all the others
        self.apart = part[:servers, None] != part[:servers]
        np.fill_diagonal(self.apart, count > 1)
        weighted = self._weights * np.where(present, logs, 0)
        sums = np.concatenate([weighted.sum(axis=1), weighted.sum(axis=0)])
        of_servers, self.blocks = np.split(inverse @ sums, [servers])
        residuals = np.where(present, logs - of_servers[:, None] - self.blocks, 0)
        # The sum of each server's residuals
        self.squares: _Array = np.sum(residuals**2, axis=1)
        one, other = np.split(np.diag(inverse), [servers])
        leverage = one[:, None] + other + 2 * inverse[:servers, servers:]
        # The degrees of freedom of each
        self.freedom: _Array = np.sum(present - self._weights * leverage, axis=1)
        # Of the servers over all blocks
        self.means: _Array = of_servers + self.blocks.mean()
        mean = np.hstack([np.eye(servers), np.full((servers, blocks), 1 / blocks)])
        self._solution = mean @ inverse

    def covariance(self, noise: _Array) -> _Array:
        """Of the means, if these are the servers' variances."""
        sums = _normal(self._weights**2 * noise[:, None])
        return np.asarray(self._solution @ sums @ self._solution.T)


def _parts(logs: _Array) -> NDArray[np.intp]:
    """For each server and then each block, the number of what trials connect it with."""
    return np.asarray(connected_components(_normal(~np.isnan(logs)))[1])


def _normal(weights: _Array) -> _Array:
    """The matrix of the normal equations, by server and then by block."""
    by_server, by_block = np.diag(weights.sum(axis=1)), np.diag(weights.sum(axis=0))
    return np.block([[by_server, weights], [weights.T, by_block]])


def block_effects(servers: Sequence[Repeats]) -> dict[int, float]:
    """What the turns of each block have in common, as a logarithm."""
    logs = np.log(_by_block(servers))
    found = _Design(logs, np.ones(len(servers)), _parts(logs)).blocks
    return dict(zip(sorted(set().union(*servers)), found.tolist(), strict=True))


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
        self._covariance = np.diag(np.maximum(noise, _STILL**2) / turns)
        self._unknown = np.zeros((count, count), dtype=bool)
        self._most_freedom = math.inf
        moving = np.flatnonzero(~(noise < _STILL**2))
        if len(moving) > 1:
            self._fit(logs[moving], moving)

    def _fit(self, logs: _Array, moving: NDArray[np.intp]) -> None:
        """Fit the model to the servers that nothing holds."""
        logs = logs[:, ~np.isnan(logs).all(axis=0)]  # without blocks that only the others have
        inside = np.ix_(moving, moving)
        part = _parts(logs)
        design = _Design(logs, np.ones(len(logs)), part)
        self._unknown[inside] = design.apart
        self._most_freedom = design.freedom.sum()
        if self._most_freedom < ROUNDING:
            return
        for _ in range(_PASSES):
            noise, self._freedom[moving] = _moderated(design.squares, design.freedom)
            design = _Design(logs, noise, part)
        self._means[moving] = design.means
        self._covariance[inside] = design.covariance(noise)

    def __contains__(self, name: str) -> bool:
        return name in self._at

    def estimate(self, name: str) -> Estimate:
        """A server's own figure.

        Its interval is that of its mean over the blocks of this run, without how much they vary.
        """
        at = self._at[name]
        values = tuple(self._values[at].values())
        variance = self._covariance[at, at]
        regular = all(0 < value < math.inf for value in values)
        if regular and not (self._unknown[at, at] or math.isnan(variance)):
            own = Difference(self._means[at], math.sqrt(variance), self._freedom[at])
            found = own.ratio(self._error)
            if found.high <= _WIDEST * found.low:
                return Estimate(found.value, found.low, found.high, "interval", values)
        return Estimate.without_interval(mean_of(values), values)

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

    def letters(self, names: Sequence[str], bounds: Collection[str] = ()) -> dict[str, str]:
        """The letters of servers that are not told apart, from the best on.

        Of those in ``bounds``, only a bound is known: none is told apart from a better one.
        """
        middle, deviation, freedom = self._differences
        apart = np.abs(middle) / np.maximum(deviation, ROUNDING)
        differ = stdtr(freedom, -apart) < self._error / 2  # not where a chance is NaN

        def is_better(one: str, other: str) -> bool:
            return other not in bounds and bool(differ[self._at[one], self._at[other]])

        return letters(names, is_better)

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

    As limma's ``squeezeVar``, but for the middle of the prior, which there is the geometric mean
    of the variances, or near it. Noise is not normal enough for that: 6% of runs of 33 equal
    servers would name a difference. Here it is the mean, in which outliers are cut.
    """
    known = freedom > ROUNDING
    variances = np.maximum(squares[known] / freedom[known], ROUNDING**2)
    middle = np.minimum(variances, _OUTLIER * np.median(variances)).mean()
    spread = -float(_trigamma(freedom[known] / 2).mean())
    if len(variances) > 1:
        spread += float(np.log(variances).var(ddof=1))
    prior = _EQUAL
    if spread > _trigamma(_EQUAL / 2):
        prior = 2 * brentq(lambda half: _trigamma(half) - spread, 1 / _EQUAL, _EQUAL / 2)
    moderated = (prior * middle + squares) / (prior + freedom)
    return moderated, np.minimum(prior + freedom, freedom.sum())
