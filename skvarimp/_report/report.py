"""`report`: a fitted model in one page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from skvarimp._data.table import as_table, check_fitted
from skvarimp._data.validation import CONSTRAINTS as SHARED
from skvarimp._data.validation import Interval, check_length, check_rows
from skvarimp._measures.base import BaseImportance
from skvarimp._measures.permutation import PermutationImportance
from skvarimp._measures.sensitivity import SensitivityImportance
from skvarimp._refits.refits import generator
from skvarimp._report import parts
from skvarimp._report.asked import Asked, ReportedRows, drawn, rows_used
from skvarimp._report.parts import Part
from skvarimp._running.private_sklearn import (
    CallbackSupportMixin,
    validate_parameter_constraints,
)
from skvarimp._running.tasks import Progress, set_callbacks, within_callbacks
from skvarimp._types import AnyEstimator, Matrix, RandomState

CONSTRAINTS = {
    "measure": [BaseImportance, None],
    "top": [Interval(Integral, 1, None, closed="left")],
    "title": [str, None],
} | {name: SHARED[name] for name in ("max_evaluations", "n_jobs", "random_state")}
PARTS = (
    parts.which_matter,
    parts.how_each_acts,
    parts.which_act_together,
    parts.which_are_entangled,
    parts.what_other_models_need,
    parts.which_are_noise,
    parts.what_the_data_are,
)


def environment():
    """Jinja's, in which everything that comes from the data is escaped."""
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError:
        raise ImportError(
            "A report needs Jinja2. Install it with `pip install 'skvarimp[report]'`."
        ) from None
    loader = PackageLoader("skvarimp", "_report")
    return Environment(loader=loader, autoescape=True, trim_blocks=True)


@dataclass(eq=False)
class Report:
    """What a reader asks about a fitted model; made by ``report()``.

    Attributes
    ----------
    title : str
    parts : list of Part
        Each with its question, its statements, a table, pictures, how the numbers were
        made, and the code that makes them again.
    result : Importances
        The importances that the report is about.
    facts : dict
        Name -> text: the model, measure, estimation, seeds and versions.

    Examples
    --------
    >>> from skvarimp import report
    >>> page = report(lambda X: X[:, 0], [[0, 5], [1, 3], [2, 4], [3, 6.0]])
    >>> page
    <Report 'Report on <lambda>': 6 parts>
    >>> page.parts[-1].statements[0]
    'X has 4 rows and 2 columns.'
    """

    title: str
    parts: list[Part]
    result: Any
    facts: dict[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        """All statements as text, part after part.

        Returns
        -------
        str
            A paragraph for each question.
        """
        lines = [self.title]
        for part in self.parts:
            lines.append(f"{part.question} {' '.join(part.statements)}")
        return "\n\n".join(lines)

    def to_html(self) -> str:
        """The page as text.

        Returns
        -------
        str
            One HTML file with its pictures, which needs no network.
        """
        template = environment().get_template("report.html")
        return template.render(report=self)

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or Path
            Such as ``"report.html"``. A file that exists is replaced.
        """
        Path(path).write_text(self.to_html(), "utf8")

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that a notebook's style stays."""
        page = escape(self.to_html(), quote=True)
        return (
            f'<iframe title="{escape(self.title, quote=True)}" srcdoc="{page}" '
            'style="width: 100%; height: 48em; border: 1px solid #888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report {self.title!r}: {len(self.parts)} parts>"


def report(
    estimator: AnyEstimator,
    X: Matrix,
    y: ArrayLike | None = None,
    *,
    measure: BaseImportance | None = None,
    top: int = 10,
    title: str | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    max_evaluations: int | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    callbacks: Any = None,
) -> Report:
    """Everything that a reader asks about a fitted model, on one page.

    It says which features matter, how each of them acts, which act together, which are
    correlated and what each adds to the others, which cannot be told from noise, and
    what the data are. Each statement comes from a number with its interval. Each part
    says how its numbers were made, and with which code.

    Parameters
    ----------
    estimator : object
        Fitted model, or a function of X.
    X : {array-like, frame, sparse} of shape (n_samples, n_features)
        Rows that the model was not fitted to, if possible: on its own training rows a
        model seems to use noise. Of more than 50 000 rows, or 20 million numbers, a
        part is drawn.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target. Without it the report cannot test features against noise.
    measure : importance, default=None
        A measure with ``fit(estimator, X, y)``; it is cloned. None:
        `PermutationImportance` with y, `SensitivityImportance` without.
    top : int, default=10
        How many features are shown one by one.
    title : str, default=None
        Heading of the page; None: from the name of the model.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    groups : array-like of shape (n_samples,), default=None
        Labels of rows that may depend on each other.
    feature_names : sequence of str, default=None
        Names for the columns of an X that has none.
    max_evaluations : int, default=None
        The largest number of rows that a model without a fast response is asked to
        predict. None: twice what the importances take. Parts that it does not reach
        say so.
    n_jobs : int, default=None
        Number of joblib workers. The numbers do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Source of the rows and donors that are drawn.
    callbacks : callback or list of them, default=None
        Such as :class:`sklearn.callback.ProgressBar`; told of each part. If one
        stops the work, the remaining parts are left out.

    Returns
    -------
    Report
        A notebook shows the page; `save` writes it to one file, and `summary` is its
        text.

    See Also
    --------
    PermutationImportance : The importances of the report.
    importance_across_folds : How much refits differ.

    Notes
    -----
    Tests against noise, ranks and tests given the other columns hold for all features
    together at 5%. The other intervals hold one by one.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> from skvarimp import report
    >>> X, y = make_regression(200, 3, n_informative=1, random_state=0)
    >>> found = report(LinearRegression().fit(X[:100], y[:100]), X[100:], y[100:])
    >>> [part.question for part in found.parts][:2]
    ['Which features matter?', 'How does each feature act?']
    >>> found.save("report.html")  # doctest: +SKIP
    """
    given = {"measure": measure, "top": top, "title": title}
    given |= {"max_evaluations": max_evaluations, "n_jobs": n_jobs}
    given["random_state"] = random_state
    validate_parameter_constraints(CONSTRAINTS, given, "report")
    environment()  # before any work
    table = as_table(X, feature_names)
    check_fitted(estimator, table)
    check_length(y, table.n_samples)
    check_rows(sample_weight, groups, table.n_samples)
    seed = random_state
    if not isinstance(seed, Integral):
        seed = int(generator(random_state).integers(2**31 - 1))
    everything = ReportedRows(table, y, sample_weight, groups, feature_names)
    n_used = rows_used(table.n_samples, table.n_columns)
    rows = everything.take(drawn(table.n_samples, n_used, seed))
    if n_used == table.n_samples:
        rows = everything
    importance = _measured(measure, y, seed, n_jobs)
    limited = "max_evaluations" in importance.get_params()
    if max_evaluations is not None and limited:  # the importances come first
        wanted = rows.n * (parts.DRAWS * table.n_columns + 1)
        most = min(max_evaluations, max(wanted, max_evaluations // 2))
        importance.set_params(max_evaluations=most)
    runner = Reporting()
    set_callbacks(runner, callbacks)
    progress = Progress([runner], 1 + len(PARTS), "part")

    def carried_out():
        with progress:
            rows.fitted(importance, estimator)
            path = getattr(importance, "response_path_", "black box")
            left = np.inf
            if path.startswith("black box"):
                left = _left(importance, estimator, rows, max_evaluations)
            asked = Asked(
                estimator,
                rows,
                table.n_samples,
                importance,
                top,
                seed,
                left,
                max_evaluations,
                n_jobs,
            )
            found, stopped = [], progress.step()
            for part in PARTS:
                if stopped:
                    break
                answer = part(asked)
                if answer is not None:
                    found.append(answer)
                stopped = progress.step()
            return found

    found = within_callbacks([runner], carried_out)
    name = final_name(estimator)
    facts = _facts(importance, name, seed, rows.n, table.n_samples)
    return Report(title or f"Report on {name}", found, importance.result_, facts)


class Reporting(CallbackSupportMixin, BaseEstimator):
    """What callbacks are told about."""


def _measured(measure, y, seed, n_jobs):
    """The measure to fit, with rows kept where it keeps them."""
    if measure is None:
        kind = SensitivityImportance if y is None else PermutationImportance
        measure = kind(n_jobs=n_jobs)
        if y is None:
            measure.set_params(scale=None)
    measure = clone(measure)
    known = measure.get_params()
    wanted = {"keep_rows": True}
    if "scoring" in known and known["scoring"] is not None:
        wanted = {}
    if known.get("random_state", seed) is None:
        wanted["random_state"] = seed
    return measure.set_params(**{k: v for k, v in wanted.items() if k in known})


def _left(importance, estimator, rows, max_evaluations):
    """How many rows a model that is not read may still be asked to predict."""
    X = rows.table.native
    taken = rows.n
    if hasattr(importance, "expected_evaluations"):
        taken = importance.expected_evaluations(estimator, X)
    usual = PermutationImportance().expected_evaluations(estimator, X)
    limit = 2 * usual if max_evaluations is None else max_evaluations
    return max(0, limit - taken)


def final_name(estimator):
    """The name of a model: of a pipeline's last step, of a function its own."""
    if isinstance(estimator, Pipeline):
        return final_name(estimator[-1])
    found = getattr(estimator, "best_estimator_", None)
    if found is not None:
        return final_name(found)
    return getattr(estimator, "__name__", type(estimator).__name__)


def _facts(importance, name, seed, n_rows, n_samples):
    """How the report was made, name -> text."""
    version = import_module("skvarimp").__version__
    drawn_rows = f"{n_rows} of {n_samples}" if n_rows < n_samples else f"all {n_rows}"
    facts = {
        "Model": name,
        "Measure": parts.imp_code(importance),
        "Rows": drawn_rows,
        "Estimation": str(getattr(importance, "estimation_", "exact")),
        "Response": str(getattr(importance, "response_path_", "none")),
        "Seed": str(seed),
        "Versions": (
            f"skvarimp {version}, scikit-learn {sklearn.__version__}, "
            f"NumPy {np.__version__}, Python {platform.python_version()}"
        ),
    }
    return facts
