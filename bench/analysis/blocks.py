"""Compares the servers of one table: one case at one level, by one figure.

Each repeat is a block in which every server has its turn. What a block has in common, such as the
state of the machine, cancels when its servers are compared. The model is additive on logarithms:

    log(value) = server + block + noise

It is fitted by least squares to the turns that there are, so that missing ones bias nothing, and
the noise of all servers is pooled (Kalibera and Jones, Rigorous benchmarking in reasonable time,
2013, on repeats and ratios; Georges, Buytaert and Eeckhout, Statistically rigorous Java
performance evaluation, 2007, on comparing more than two by the analysis of variance).

Servers that are noisier than the others, or that have values without a logarithm, are compared by
their own noise instead, from the differences within each block.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution
from scipy.stats import studentized_range
from scipy.stats import t as t_distribution

from bench.analysis.compact_letters import letters
from bench.analysis.estimates import ERROR, ROUNDING, Estimate, Ratio, alone, bounded

Repeats = Mapping[int, float]
"""The values of a server, by block."""

_NOISIER = 0.2
"""The share of a table's error that is for taking servers for noisier than the others that are not;
the rest is for the intervals."""

_Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Design:
    """What least squares gets from the turns that there are, whatever their values."""

    freedom: int
    """Degrees of freedom of the residuals."""
    fitted: _Array
    """The fitted values, from the values."""
    means: _Array
    """The servers' means over all blocks, from the values."""
    blocks: _Array
    """The blocks' effects, from the values."""
    variances: _Array
    """Of the servers' means, in units of the noise's."""
    pairs: _Array
    """The variances of their differences; NaN where no blocks connect two servers."""


@lru_cache(maxsize=512)
def _design(turns: bytes, servers: int) -> _Design:
    present = np.frombuffer(turns, dtype=bool).reshape(servers, -1)
    blocks = present.shape[1]
    server, block = np.nonzero(present)
    model = np.hstack([np.eye(servers)[server], np.eye(blocks)[block]])
    solution = np.linalg.pinv(model)
    mean = np.hstack([np.eye(servers), np.full((servers, blocks), 1 / blocks)])
    missed = mean - mean @ solution @ model
    means = mean @ solution
    covariance = means @ means.T
    variances = np.diag(covariance)
    pairs = variances[:, None] + variances[None, :] - 2 * covariance
    apart = np.linalg.norm(missed[:, None, :] - missed[None, :, :], axis=2) > ROUNDING
    return _Design(
        freedom=len(server) - int(np.linalg.matrix_rank(model)),
        fitted=model @ solution,
        means=means,
        blocks=np.asarray(solution[servers:], dtype=np.float64),
        variances=np.where(np.linalg.norm(missed, axis=1) > ROUNDING, np.nan, variances),
        pairs=np.where(apart, np.nan, pairs),
    )


@dataclass(frozen=True)
class _Fit:
    """The model of some of the servers."""

    design: _Design
    means: _Array
    residuals: _Array
    """By server and block; NaN where there was no turn."""

    @property
    def noise(self) -> float:
        """The pooled standard deviation."""
        return math.sqrt(np.nansum(self.residuals**2) / self.design.freedom)


def _fit(logs: _Array) -> _Fit:
    present = ~np.isnan(logs)
    design = _design(present.tobytes(), len(logs))
    values = logs[present]
    residuals = np.full(logs.shape, np.nan)
    residuals[present] = values - design.fitted @ values
    return _Fit(design, design.means @ values, residuals)


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
        self._at = {name: at for at, name in enumerate(repeats)}
        self._values = list(repeats.values())
        self._error = (1 - _NOISIER) * error
        values = _by_block(self._values)
        self._logs = np.log(bounded(values, most))
        regular = ~np.any((values <= 0) | np.isinf(values), axis=1)
        self._pooled, self._model = _steady(self._logs, regular, _NOISIER * error)

    def __contains__(self, name: str) -> bool:
        """Whether it has the server."""
        return name in self._at

    def estimate(self, name: str) -> Estimate:
        """A server's own figure.

        Its interval is that of its mean over the blocks of this run, simultaneous over the servers
        (Šidák): two servers whose intervals are apart differ, but two that differ may overlap, as
        the noise of a difference is less than that of both. It does not include how much blocks
        vary: on another day, all servers may be slower.
        """
        at = self._at[name]
        values = tuple(self._values[at].values())
        each = 1 - (1 - self._error) ** (1 / len(self._at))
        if self._pooled[at] and self._model:
            place = int(self._pooled[:at].sum())
            variance = self._model.design.variances[place]
            if not math.isnan(variance):
                middle = self._model.means[place]
                half = _t(each, self._model.design.freedom) * self._model.noise * variance**0.5
                low, high = math.exp(middle - half), math.exp(middle + half)
                return Estimate(math.exp(middle), low, high, "interval", values)
        return alone(values, each)

    def ratio(self, name: str, to: str) -> Ratio | None:
        """The ratio of two servers, with an interval that is simultaneous over all pairs.

        By Tukey's studentized range, with Kramer's standard error of each difference where turns
        are missing (Kramer, Extension of multiple range tests to group means with unequal numbers
        of replications, 1956). None if nothing is known of their noise.
        """
        if name == to:
            return Ratio(1, 1, 1)
        pair = self._at[name], self._at[to]
        middle, half = self._differences[0][pair], self._differences[1][pair]
        if math.isnan(half):
            return None
        return Ratio(math.exp(middle), math.exp(middle - half), math.exp(middle + half))

    def letters(self, names: Sequence[str]) -> dict[str, str]:
        """The letters of servers that are not told apart, in this order."""
        middle, half = self._differences
        differ = np.abs(middle) > half + ROUNDING  # not where a half is NaN
        return letters(names, lambda one, other: bool(differ[self._at[one], self._at[other]]))

    @cached_property
    def _differences(self) -> tuple[_Array, _Array]:
        """The logarithms of all ratios, and half of the lengths of their intervals."""
        count = len(self._at)
        middle, half = np.zeros((count, count)), np.full((count, count), np.nan)
        if self._model:
            inside = np.ix_(self._pooled, self._pooled)
            means = self._model.means
            middle[inside] = means[:, None] - means[None, :]
            width = _range(self._error, count, self._model.design.freedom) * self._model.noise
            half[inside] = width * np.sqrt(self._model.design.pairs)
        for one in range(count):
            for other in range(one):
                if not (self._pooled[one] and self._pooled[other]):
                    found = self._paired(one, other)
                    middle[one, other], half[one, other] = found
                    middle[other, one], half[other, one] = -found[0], found[1]
        return middle, half

    def _paired(self, one: int, other: int) -> tuple[float, float]:
        """The difference within blocks, and its interval by the noise of these two alone."""
        apart = self._logs[one] - self._logs[other]
        apart = apart[~np.isnan(apart)]
        if len(apart) < 2:
            return math.nan, math.nan
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        return float(apart.mean()), _range(self._error, len(self._at), len(apart) - 1) * error


def _steady(
    logs: _Array, steady: NDArray[np.bool_], error: float
) -> tuple[NDArray[np.bool_], _Fit | None]:
    """The servers whose noise can be pooled, as they are no noisier than the rest; their model.

    Each server's residuals are tested against those of the others by F, from the noisiest on.
    There is no model if it leaves no residual.
    """
    while steady.sum() > 1:
        fit = _fit(logs[steady][:, np.any(~np.isnan(logs[steady]), axis=0)])
        noisiest = _noisier(fit, error)
        if noisiest is None:
            return steady, fit if fit.design.freedom else None
        steady = steady.copy()
        steady[np.flatnonzero(steady)[noisiest]] = False
    return steady, None


def _noisier(fit: _Fit, error: float) -> int | None:
    """The noisiest server, if it is noisier than the others."""
    servers, freedom = len(fit.residuals), np.sum(~np.isnan(fit.residuals), axis=1) - 1
    rest = fit.design.freedom - freedom
    squares = np.nansum(fit.residuals**2, axis=1)
    own = squares * servers / (servers - 1)
    others = np.maximum(squares.sum() - own, ROUNDING**2)
    known = (freedom > 0) & (rest > 0)
    if servers < 3 or not known.any():
        return None
    times = np.where(known, (own / np.maximum(freedom, 1)) / (others / np.maximum(rest, 1)), 0)
    noisiest = int(np.argmax(times))
    chance = f_distribution.sf(times[noisiest], freedom[noisiest], rest[noisiest])
    return noisiest if chance * servers < error else None


@lru_cache
def _t(error: float, freedom: int) -> float:
    return float(t_distribution.isf(error / 2, freedom))


@lru_cache
def _range(error: float, count: int, freedom: int) -> float:
    """The critical value for the difference of two means, in units of its standard error."""
    return float(studentized_range.isf(error, count, freedom)) / math.sqrt(2)
