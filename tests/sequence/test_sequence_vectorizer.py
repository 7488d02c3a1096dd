"""Oligomer indicators: by definition, in every container, in pipelines and searches."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from literal_sequence import random_sequences
from messages import says
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from skvarimp.sequence import OligomerVectorizer

SEQUENCES = ["ACGTA", "CCGTT", "ACGGA", "TTTTT"]


@pytest.mark.parametrize(
    ("alphabet", "max_order"), [("ACGT", 1), ("ACGT", 3), ("AB", 5)]
)
def test_column_is_what_its_name_says(alphabet, max_order):
    """Column "i:z" is 1 exactly for the sequences that read z at position i."""
    sequences = random_sequences(np.random.default_rng(0), 7, 5, alphabet)
    vectorizer = OligomerVectorizer(max_order, alphabet, normalize=False)

    indicators = vectorizer.fit_transform(sequences).toarray()

    names = vectorizer.get_feature_names_out()
    assert indicators.shape == (7, vectorizer.n_features_out_) == (7, len(names))
    assert len(set(names)) == len(names)
    for row, x in enumerate(sequences):
        for column, name in enumerate(names):
            position, oligomer = name.split(":")
            expected = x[int(position) :].startswith(oligomer)
            assert indicators[row, column] == expected


def test_columns_are_sorted_by_order_position_oligomer():
    """The order of the columns is that of the tables of OligomerWeights."""
    names = OligomerVectorizer(2, "AB").fit(["AAA"]).get_feature_names_out().tolist()

    assert names == [
        *("0:A", "0:B", "1:A", "1:B", "2:A", "2:B"),
        *("0:AA", "0:AB", "0:BA", "0:BB", "1:AA", "1:AB", "1:BA", "1:BB"),
    ]


def test_normalized_rows_have_norm_one():
    """Every sequence has the same number of windows, here 5 + 4 + 3."""
    unit = OligomerVectorizer(3).fit_transform(SEQUENCES)
    plain = OligomerVectorizer(3, normalize=False).fit_transform(SEQUENCES)

    np.testing.assert_allclose((unit**2).sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(unit.toarray(), plain.toarray() / 12**0.5, rtol=1e-15)


@pytest.mark.parametrize(
    "container",
    [
        tuple,
        np.array,
        lambda x: np.array(x, dtype=object),
        pd.Series,
        lambda x: pd.Series(x, dtype=object, index=list("wxyz")),
        lambda x: pd.Series(x, dtype="category"),
        pl.Series,
    ],
    ids=["tuple", "str", "object", "pandas", "pandas-object", "category", "polars"],
)
def test_containers_agree_and_are_not_written_to(container):
    """The strings count, not what holds them."""
    expected = OligomerVectorizer(2).fit_transform(SEQUENCES)
    held = container(SEQUENCES)

    result = OligomerVectorizer(2).fit(held).transform(held)

    assert (result != expected).nnz == 0
    assert list(held) == SEQUENCES


def test_case_is_one_letter_unless_the_alphabet_has_both():
    """Soft-masked (lower-case) DNA is read as DNA; "Aa" is an alphabet of two."""
    lower = OligomerVectorizer(2).fit_transform(["acgt", "ACGT"]).toarray()
    small = OligomerVectorizer(1, "acgt").fit_transform(["acgt", "ACGT"]).toarray()
    both = OligomerVectorizer(1, "Aa", normalize=False).fit_transform(["Aa", "aa"])

    np.testing.assert_array_equal(lower[0], lower[1])
    np.testing.assert_array_equal(small[0], small[1])
    np.testing.assert_array_equal(both.toarray(), [[1, 0, 0, 1], [0, 1, 0, 1]])
    with pytest.raises(ValueError, match="'b' at position 1"):
        OligomerVectorizer(1, "AaB").fit(["ab"])


def test_windows_with_unknown_letters_are_no_oligomers():
    """N at position 2 of 4 leaves the letters 0, 1, 3 and the window at 0."""
    vectorizer = OligomerVectorizer(2, normalize=False, unknown="ignore")

    row = vectorizer.fit_transform(["ACNT"]).toarray()[0]

    names = vectorizer.get_feature_names_out()[row > 0]
    assert names.tolist() == ["0:A", "1:C", "3:T", "0:AC"]
    assert OligomerVectorizer(2, unknown="ignore").fit_transform(["NNN"]).nnz == 0


def test_unknown_letters_do_not_change_the_scale_of_the_others():
    """The divisor is the number of windows of the length, a constant."""
    vectorizer = OligomerVectorizer(2, unknown="ignore").fit(["ACNT", "ACGT"])

    values = vectorizer.transform(["ACNT", "ACGT"]).data

    np.testing.assert_allclose(values, 7**-0.5, rtol=1e-15)


def test_letters_beyond_ascii_and_large_alphabets():
    """Any character is a letter; more than 127 of them too."""
    greek = OligomerVectorizer(1, "αβ𝛾", normalize=False).fit_transform(["β𝛾"])
    large = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    columns = (
        OligomerVectorizer(1, large).fit_transform([large[150] + large[3]]).indices
    )

    np.testing.assert_array_equal(greek.toarray(), [[0, 1, 0, 0, 0, 1]])
    np.testing.assert_array_equal(columns, [150, 203])


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["ACGT", "ACG"], ValueError, "4 letters at index 0 and 3 at index 1"),
        ([], ValueError, says("X … no sequences")),
        (["", ""], ValueError, "empty sequences"),
        (["ACGN"], ValueError, "'N' at position 3.*unknown='ignore'"),
        (["ACGT", None], TypeError, "None of type NoneType at index 1"),
        ([b"ACGT"], TypeError, "bytes at index 0"),
        ("ACGT", TypeError, "got one string"),
        (4, TypeError, says("X … list or array … got 4")),
        ([["A", "C"]], TypeError, "list at index 0"),
        (np.array([["ACGT"]]), ValueError, r"shape \(1, 1\)"),
        (np.array("ACGT"), ValueError, r"shape \(\)"),
        (
            pd.DataFrame({"s": ["ACGT"]}),
            ValueError,
            says("X … got DataFrame of shape (1, 1) … single column"),
        ),
        (["AC", "AG"], ValueError, says("`max_order` … at most 2 … got 3")),
    ],
)
def test_bad_sequences(X, error, message):
    """The error names the row, the letter and the way out."""
    with pytest.raises(error, match=message):
        OligomerVectorizer(3).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_order": 0}, "'max_order' parameter"),
        ({"max_order": 1.5}, "'max_order' parameter"),
        ({"max_order": 2, "unknown": "drop"}, "'unknown' parameter"),
        ({"max_order": 2, "normalize": "l2"}, "'normalize' parameter"),
        ({"max_order": 2, "alphabet": 4}, "'alphabet' parameter"),
        ({"max_order": 2, "alphabet": "A"}, says("`alphabet` … got 'A' … 'ACGT'")),
        ({"max_order": 2, "alphabet": "ACA"}, says("`alphabet` … got 'ACA' … 'ACGT'")),
        ({"max_order": 2, "alphabet": ["A", "CG"]}, "single letters"),
        ({"max_order": 16, "unknown": "ignore"}, "weighted_degree_kernel"),
    ],
)
def test_bad_parameters(parameters, message):
    """Parameters are checked by fit, before any work."""
    with pytest.raises(ValueError, match=message):
        OligomerVectorizer(**parameters).fit(["ACGT" * 5])


def test_transform_checks_the_length_and_the_fit():
    """A sequence of another length has other columns."""
    vectorizer = OligomerVectorizer(2)
    with pytest.raises(NotFittedError):
        vectorizer.transform(SEQUENCES)
    with pytest.raises(NotFittedError):
        vectorizer.get_feature_names_out()

    with pytest.raises(ValueError, match="4 letters, but 5 are expected"):
        vectorizer.fit(SEQUENCES).transform(["ACGT"])


def test_clone_pickle_repr_tags():
    """An estimator like any other, of strings in one dimension."""
    vectorizer = OligomerVectorizer(2, alphabet="TGCA", normalize=False).fit(SEQUENCES)

    copy = clone(vectorizer)
    restored = pickle.loads(pickle.dumps(vectorizer))

    assert copy.get_params() == vectorizer.get_params()
    assert not hasattr(copy, "sequence_length_")
    assert repr(copy).startswith("OligomerVectorizer(")
    difference = restored.transform(SEQUENCES) != vectorizer.transform(SEQUENCES)
    assert difference.nnz == 0
    tags = get_tags(vectorizer).input_tags
    assert tags.string
    assert not tags.two_d_array


def motif_data(n=120, length=12, seed=0):
    """Class "yes" reads GAT from position 4 on."""
    rng = np.random.default_rng(seed)
    sequences = random_sequences(rng, n, length)
    labels = np.where(rng.random(n) < 0.5, "yes", "no")
    planted = [
        x[:4] + "GAT" + x[7:] if label == "yes" else x
        for x, label in zip(sequences, labels)
    ]
    return planted, labels


@pytest.mark.parametrize("model", [LinearSVC(), LogisticRegression()])
def test_pipelines(model):
    """A linear model on the oligomers finds a planted motif."""
    X, y = motif_data()

    scores = cross_val_score(make_pipeline(OligomerVectorizer(3), model), X, y, cv=3)

    assert scores.mean() > 0.9


def test_search_over_the_order():
    """GridSearchCV splits lists of strings and sets the vectorizer's parameters."""
    X, y = motif_data()
    pipeline = make_pipeline(OligomerVectorizer(1), LinearSVC())
    grid = {"oligomervectorizer__max_order": [1, 3], "linearsvc__C": [0.1, 1.0]}

    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y)

    assert search.best_score_ > 0.9
    assert len(search.cv_results_["params"]) == 4


def test_column_transformer():
    """One column of sequences among others, in pandas."""
    frame = pd.DataFrame({"sequence": ["AC", "CA"], "age": [1.0, 2.0]})
    columns = ColumnTransformer(
        [("oligomer", OligomerVectorizer(1, "AC"), "sequence")], remainder="passthrough"
    )

    result = columns.fit_transform(frame)

    assert result.shape == (2, 5)
    assert columns.get_feature_names_out().tolist() == [
        *("oligomer__0:A", "oligomer__0:C", "oligomer__1:A", "oligomer__1:C"),
        "remainder__age",
    ]
