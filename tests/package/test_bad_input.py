"""Bad input of every kind: each mistake has a message of ours, before any work."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from messages import says
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skvarimp import (
    AllRelevantSelector,
    BackwardEliminationSelector,
    CoefficientImportance,
    ComparisonDisplay,
    DerivativeImportance,
    FilterImportance,
    FIRMImportance,
    FoldsDisplay,
    ForwardSelector,
    ImportanceEstimator,
    ImpurityImportance,
    InteractionImportance,
    MatrixDisplay,
    NullDisplay,
    PartialDependenceImportance,
    PermutationImportance,
    SensitivityImportance,
    compare_importances,
    importance_across_folds,
)
from skvarimp.feature_functions import Level, Step
from skvarimp.filters import auc, group_statistic, lowess_r2
from skvarimp.sequence import (
    OligomerHeatmapDisplay,
    OligomerVectorizer,
    OligomerWeights,
    PositionalOligomerImportance,
)

X, Y = load_diabetes(return_X_y=True, as_frame=True)
X, Y = X.iloc[:60, :3], Y.iloc[:60]
TREE = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y)
LINEAR = LinearRegression().fit(X, Y)
DATES = pd.date_range("2020-01-01", periods=len(Y))

MEASURES_OF_Y = {
    "sensitivity": lambda y: SensitivityImportance().fit(LINEAR, X, y),
    "permutation": lambda y: PermutationImportance().fit(LINEAR, X, y),
    "firm": lambda y: FIRMImportance().fit(None, X, y),
    "lowess": lambda y: FilterImportance(score_func=lowess_r2).fit(None, X, y),
    "auc": lambda y: FilterImportance(score_func=auc).fit(None, X, y),
}


@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_dates_are_no_target(measure):
    """NumPy counts them as nanoseconds: all importances would be next to 0."""
    with pytest.raises(
        ValueError,
        match=says("y … numbers or labels, got dates or times … Make them numbers"),
    ):
        MEASURES_OF_Y[measure](DATES)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "nan", "NA"])
@pytest.mark.parametrize("measure", MEASURES_OF_Y)
def test_missing_targets(measure, missing):
    """An object array hides them from NumPy's own check."""
    y = Y.astype(object)
    y.iloc[3] = missing
    with pytest.raises(ValueError, match=says("y … missing … Leave those rows out")):
        MEASURES_OF_Y[measure](y)


SELECTOR = BackwardEliminationSelector(Ridge())
OLIGOMERS = PositionalOligomerImportance(2)
BEFORE_FIT = {
    "to_frame": SensitivityImportance().to_frame,
    "plot": SensitivityImportance().plot,
    "plot_curves": PartialDependenceImportance().plot_curves,
    "plot_association": ImpurityImportance().plot_association,
    "heat map": InteractionImportance().plot,
    "plot_path": SELECTOR.plot_path,
    "get_support": SELECTOR.get_support,
    "get_feature_names_out": SELECTOR.get_feature_names_out,
    "predict": lambda: SELECTOR.predict(X),
    "score": lambda: SELECTOR.score(X, Y),
    "score_of": lambda: OLIGOMERS.score_of("GA"),
    "max_by_order": lambda: OLIGOMERS.max_by_order(2),
    "plot_motif": lambda: OLIGOMERS.plot_motif("GA"),
    "oligomers to_frame": OLIGOMERS.to_frame,
    "oligomers plot": OLIGOMERS.plot,
    "transform": lambda: OligomerVectorizer(2).transform(["ACGT"]),
}


@pytest.mark.parametrize("call", BEFORE_FIT)
def test_before_fit(call):
    """What a fit would set is not there yet: no AttributeError about insides."""
    with pytest.raises(NotFittedError, match="not fitted yet"):
        BEFORE_FIT[call]()


FITTED = SensitivityImportance().fit(LINEAR, X, Y)
CURVES = PartialDependenceImportance().fit(LINEAR, X)
PAIRS = InteractionImportance().fit(LINEAR, X)
FOLDS = FoldsDisplay([[0.2, 0.9], [0.4, 0.7]], ["age", "bmi"])
NULL = NullDisplay([("age", 3.0, [0.5, 1.0, 1.5], 0.25, 0.25)])
COMPARISON = ComparisonDisplay({"pairs": {"ridge": [0.2, 0.9]}}, ["age", "bmi"])
PLOTS = {
    "bars": FITTED.plot,
    "heat map": PAIRS.plot,
    "folds": FOLDS.plot,
    "comparison": COMPARISON.plot,
    "curves": lambda ax: CURVES.plot_curves(ax=ax),
    "null": lambda ax: NULL.plot(ax=ax),
}


@pytest.mark.parametrize("ax", [3, "axes", "figure"])
@pytest.mark.parametrize("plot", PLOTS)
def test_axes_that_are_none(plot, ax):
    """A figure or a number is no Axes."""
    ax = Figure() if ax == "figure" else ax
    with pytest.raises(TypeError, match=says("`ax` … Leave it out")):
        PLOTS[plot](ax)


@pytest.mark.parametrize("plot", ["bars", "folds", "comparison"])
def test_keywords_of_plots(plot):
    """They go to matplotlib, which names the one that it does not know."""
    with pytest.raises(AttributeError, match="'heading'"):
        PLOTS[plot](None, heading="Importances")


def test_keywords_of_histograms():
    """As those of bars."""
    with pytest.raises(AttributeError, match="'heading'"):
        NULL.plot(heading="Importances")


PIPELINE = make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y)
MIXING = make_pipeline(PCA(2), LinearRegression()).fit(X, Y)


class NoEstimator:
    """It has no `fit`."""


class Classless(ClassifierMixin, BaseEstimator):
    """It does not say what its labels are."""

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        """One half each."""
        return np.full((len(X), 2), 0.5)


class FewCoefficients(BaseEstimator):
    """Coefficients of which something is wrong."""

    def __init__(self, coef_=(1.0, 2.0)):
        self.coef_, self.intercept_ = np.array(coef_), 0.0

    def predict(self, X):
        """Nothing."""
        return np.zeros(len(X))


SCORES = {
    "none": lambda model, X, y: None,
    "text": lambda model, X, y: "good",
    "several": lambda model, X, y: [1.0, 2.0],
}
MISUSES = {
    # an estimator that cannot be refitted
    "selector of a string": (
        lambda: BackwardEliminationSelector("ridge").fit(X, Y),
        TypeError,
        says("`estimator` … `fit` … got 'ridge' … `fit`"),
    ),
    "selector of a class": (
        lambda: BackwardEliminationSelector(Ridge).fit(X, Y),
        TypeError,
        "`estimator` must be an estimator with a `fit` method",
    ),
    "selector of None": (
        lambda: BackwardEliminationSelector(None).fit(X, Y),
        TypeError,
        "`estimator` must be an estimator with a `fit` method",
    ),
    "no fit": (
        lambda: ImportanceEstimator(NoEstimator(), SensitivityImportance()).fit(X, Y),
        TypeError,
        "`estimator` must be an estimator with a `fit` method",
    ),
    # weights
    "weights too large to be summed": (
        lambda: SensitivityImportance().fit(TREE, X, Y, sample_weight=1e307 + 0 * Y),
        ValueError,
        says("`sample_weight` … got 1e+307 … Divide"),
    ),
    "no weight of any tree": (
        lambda: ImpurityImportance(surrogates=True).fit(TREE, X, Y, tree_weights=[0]),
        ValueError,
        says("`tree_weights` … 0"),
    ),
    "too many repeated rows": (
        lambda: FilterImportance(score_func=group_statistic).fit(
            None, X, Y > 140, sample_weight=1e8 + 0 * Y
        ),
        ValueError,
        says("`sample_weight` … 6e+09 … smaller weights"),
    ),
    # targets and weights of selectors
    "short y": (
        lambda: BackwardEliminationSelector(Ridge()).fit(X, Y[:5]),
        ValueError,
        "y has 5 rows, but X has 60 rows",
    ),
    "labels for surrogates of a regression": (
        lambda: ImpurityImportance(surrogates=True).fit(TREE, X, Y.astype(str) + "a"),
        ValueError,
        says("y … numbers … got labels … training target"),
    ),
    "labels for unseen rows of a regression": (
        lambda: ImpurityImportance(rows="unseen").fit(TREE, X, Y.astype(str) + "a"),
        ValueError,
        says("y … numbers … got labels … the trees predict"),
    ),
    "out-of-bag impurity of dates": (
        lambda: AllRelevantSelector(RandomForestRegressor(5), max_iter=2).fit(
            pd.DataFrame({"day": DATES}), Y
        ),
        ValueError,
        says("RandomForestRegressor … no numbers … PermutationImportance"),
    ),
    "ragged weights": (
        lambda: SensitivityImportance().fit(TREE, X, Y, sample_weight=[1.0, [2.0]]),
        ValueError,
        says("`sample_weight` … finite"),
    ),
    "columns of a selector's measure": (
        lambda: AllRelevantSelector(
            Ridge(), measure=SensitivityImportance(categorical_features=["x99"])
        ).fit(X, Y),
        ValueError,
        "'x99' is not among",
    ),
    "negative weights": (
        lambda: BackwardEliminationSelector(Ridge()).fit(X, Y, sample_weight=-Y),
        ValueError,
        says("`sample_weight` … non-negative"),
    ),
    "weights all 0": (
        lambda: BackwardEliminationSelector(Ridge()).fit(X, Y, sample_weight=0 * Y),
        ValueError,
        says("`sample_weight` … 0 everywhere"),
    ),
    "no y": (
        lambda: importance_across_folds(Ridge(), X, None, SensitivityImportance()),
        ValueError,
        says("y … required … Ridge"),
    ),
    # splits
    "numbers for splits": (
        lambda: BackwardEliminationSelector(Ridge(), cv=[1, 2]).fit(X, Y),
        ValueError,
        says("`cv` … positions of training and held-out rows"),
    ),
    "half a split": (
        lambda: importance_across_folds(
            Ridge(), X, Y, SensitivityImportance(), [[[0]]]
        ),
        ValueError,
        says("`cv` … positions of training and held-out rows"),
    ),
    # scorers
    "unknown scorer of a selector": (
        lambda: ForwardSelector(Ridge(), scoring="r3").fit(X, Y),
        ValueError,
        "'r3' is not a valid scoring value",
    ),
    "unknown scorer": (
        lambda: PermutationImportance(scoring="r3").fit(LINEAR, X, Y),
        ValueError,
        "'r3' is not a valid scoring value",
    ),
    "functions in a list": (
        lambda: PermutationImportance(scoring=["r2", max]).fit(LINEAR, X, Y),
        ValueError,
        says("`scoring` … list … got ['r2', … Use a dict"),
    ),
    "no scorer": (
        lambda: PermutationImportance(scoring=[]).fit(LINEAR, X, Y),
        ValueError,
        says("`scoring` … one scorer … got []"),
    ),
    "no scorers but numbers": (
        lambda: PermutationImportance(scoring={"a": 1}).fit(LINEAR, X, Y),
        ValueError,
        says("`scoring` … dict … got 'a': 1"),
    ),
    "scorer of classes": (
        lambda: PermutationImportance(scoring="accuracy").fit(LINEAR, X, Y),
        ValueError,
        says("scoring='accuracy' … Classification … continuous"),
    ),
    # models
    "complex predictions": (
        lambda: SensitivityImportance().fit(lambda X: 1j * X["age"], X),
        ValueError,
        says("response … complex … real"),
    ),
    "classifier without classes": (
        lambda: SensitivityImportance().fit(Classless(), X, Y > 140),
        ValueError,
        says("Classless … `classes_` … callable"),
    ),
    "coefficients of other columns": (
        lambda: CoefficientImportance(statistic="absolute").fit(FewCoefficients(), X),
        TypeError,
        says("one coefficient … got shape (1, 2) … FewCoefficients … 3 columns"),
    ),
    "unknown coefficients": (
        lambda: CoefficientImportance(statistic="absolute").fit(
            FewCoefficients([0.0, np.nan, 1.0]), X
        ),
        ValueError,
        says("`coef_` … FewCoefficients … NaN"),
    ),
    "coefficients without y": (
        lambda: CoefficientImportance(statistic="standardized").fit(LINEAR, X),
        ValueError,
        says("statistic='standardized' … y … statistic='absolute'"),
    ),
    # the order of arguments, and what is checked before any model is asked
    "no model to compare": (
        lambda: compare_importances(X, Y),
        TypeError,
        says("compare_importances(estimators, X, y)"),
    ),
    "class of a model": (
        lambda: PermutationImportance().fit(Ridge, X, Y),
        TypeError,
        says("`estimator` … got the class Ridge … fit it first"),
    ),
    "second model unfitted": (
        lambda: compare_importances([must_not_be_asked, Ridge()], X, Y),
        NotFittedError,
        says("Ridge … not fitted"),
    ),
    # what reads one model
    **{
        f"{type(measure).__name__} of a pipeline": (
            partial(measure.fit, MIXING, X, Y),
            TypeError,
            says("got a Pipeline … mix columns … PCA … pipeline[-1]"),
        )
        for measure in (CoefficientImportance(), ImpurityImportance())
    },
    # oligomers
    "unknown letter": (
        lambda: OligomerWeights({1: np.eye(3, 4)}).weights_of("N"),
        ValueError,
        says("`oligomer` … 'N' at position 0 … 'ACGT'"),
    ),
    # tables
    "mask of other columns": (
        lambda: SensitivityImportance(categorical_features=[True, False]).fit(TREE, X),
        ValueError,
        says("`categorical_features` … 3 values … got 2"),
    ),
    "values that are lists": (
        lambda: SensitivityImportance(scale=None).fit(
            lambda X: np.zeros(len(X)), pd.DataFrame({"a": [[1], [2], [1]]})
        ),
        TypeError,
        says("[1] … numbers, strings or tuples … `features`"),
    ),
    "masked target": (
        lambda: PermutationImportance().fit(LINEAR, X, np.ma.masked_less(Y, 100)),
        TypeError,
        says("y … masked … y.filled(np.nan)"),
    ),
    "ragged target": (
        lambda: PermutationImportance().fit(LINEAR, X, [[1.0], [1.0, 2.0]] * 30),
        ValueError,
        says("y … one length … got [[1.0], [1.0, 2.0]"),
    ),
    # pictures of nothing
    "matrix of nothing": (
        lambda: MatrixDisplay(np.empty((0, 0)), []).plot(),
        ValueError,
        says("`names` … empty"),
    ),
    "oligomers of nothing": (
        lambda: OligomerHeatmapDisplay(np.empty((0, 4)), list("ACGT")).plot(),
        ValueError,
        says("`importances` … empty"),
    ),
    # functions and columns
    "set of levels": (
        lambda: FIRMImportance(feature_functions=[Level("age", [1, 2])]).fit(LINEAR, X),
        TypeError,
        says("`value` … got [1, 2] … callable"),
    ),
    "set of columns": (
        lambda: SensitivityImportance(features={"age", "bmi"}).fit(LINEAR, X, Y),
        TypeError,
        says("`features` … order … got { … features=[name]"),
    ),
    "mask of columns": (
        lambda: SensitivityImportance(features=X.columns == "age").fit(LINEAR, X, Y),
        TypeError,
        says("`features` … np.flatnonzero(mask) … got"),
    ),
    "level as a number": (
        lambda: SensitivityImportance(grid={"old": [0.5]}, scale=None).fit(
            lambda X: X["old"].to_numpy(float), pd.DataFrame({"old": [True, False]})
        ),
        ValueError,
        says("'old' … 0.5 … levels are [False, True]"),
    ),
    "feature function as a class": (
        lambda: FIRMImportance(feature_functions=[Step]).fit(LINEAR, X),
        TypeError,
        says("`feature_functions` … callables … Make an instance"),
    ),
    "no derivative": (
        lambda: DerivativeImportance().fit(TREE, X),
        ValueError,
        says("DerivativeImportance … no derivative … SensitivityImportance"),
    ),
    "columns that a filter names": (
        lambda: FilterImportance(score_func=partial(lowess_r2, frac=0.5)).fit(
            None, X.where(X > 0), Y
        ),
        ValueError,
        r"X contains NaN or infinity in \['age', 'sex', 'bmi'\]",
    ),
}


def must_not_be_asked(X):
    """A model that takes long."""
    raise AssertionError


@pytest.mark.parametrize("misuse", MISUSES)
def test_misuse(misuse):
    """The message says what was wrong and what to do."""
    call, error, message = MISUSES[misuse]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("score", SCORES)
def test_scores_that_are_no_numbers(score):
    """NumPy would complain about its isfinite."""
    with pytest.raises(ValueError, match="`scoring` must give one finite number"):
        PermutationImportance(scoring=SCORES[score]).fit(LINEAR, X, Y)
    with pytest.raises(ValueError, match=r"returned .* for 18 held-out rows"):
        BackwardEliminationSelector(Ridge(), scoring=SCORES[score]).fit(X, Y)


NO_TABLES = {
    "None": (None, r"got None of type NoneType. Pass an array or a frame"),
    "text": ("X", r"got 'X' of type str. Pass an array or a frame"),
    "dict": ({"age": [1, 2]}, r"of type dict. Pass an array or a frame"),
    "series": (X["age"], r"got a Series. Pass X.to_frame\(\)"),
    "row": (X.to_numpy()[0], r"Reshape one column with X.reshape"),
    "sparse row": (
        sparse.coo_array([1.0, 0.0]),
        r"got 1 dimension\(s\). Pass a matrix",
    ),
}


@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table(kind):
    """A Series has no reshape, and None is not a matter of dimensions."""
    given, message = NO_TABLES[kind]
    with pytest.raises(ValueError, match=r"X must be 2-dimensional, .*" + message):
        SensitivityImportance().fit(LINEAR, given, Y)


@pytest.mark.parametrize("n_jobs", ["two", 0, 1.5])
def test_workers_that_are_no_number_of_them(n_jobs):
    """The parameter is named, before threads start."""
    measure = SensitivityImportance(n_jobs=n_jobs)
    with pytest.raises(ValueError, match="'n_jobs' parameter of SensitivityImportance"):
        measure.fit(TREE, X, Y)
    with pytest.raises(ValueError, match="'n_jobs' parameter of SensitivityImportance"):
        compare_importances({"tree": TREE}, X, Y, {"sensitivity": measure})


def test_endless_iterations_are_refused():
    """A number of iterations that would never end is a mistake."""
    X, y = np.arange(10.0)[:, np.newaxis], np.arange(10)
    with pytest.raises(ValueError, match=r"'n_iter' parameter .* Got 1000000"):
        lowess_r2(X, y, n_iter=10**6)
