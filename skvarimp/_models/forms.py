"""What fitted models are, in plain arrays: the forms that readers return.

A form is tested against the model itself through `outputs`: its scores, and the link
that turns them into what the model's response method returns. Responses, gradients,
coefficients and connection weights are views of forms; none of them looks at an
estimator. `registry.read` makes them.

A form is no response. A linear one has one of three responses, by its link and its
parts; a hundred members become one form before there is a table; and a response knows
the rows, which nothing else that looks at forms does.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skvarimp._data.table import as_table
from skvarimp._models.links import IDENTITY, Mixed, NoGradient, Then
from skvarimp._models.transformers import affine, selection
from skvarimp._running.guards import users_code


class NotReadable(Exception):
    """A model that has no known form; the message is the reason."""


class Form:
    """A fitted model in plain arrays.

    Attributes
    ----------
    single : bool
        Whether the model's own parameters are in single precision.
    piecewise_constant : bool
        Whether the response jumps between constants, or is one.
    constant : bool
        Whether the response is one constant, whose derivatives are 0.
    """

    single = False
    piecewise_constant = constant = False

    def scores(self, X):
        """Scores of rows.

        Parameters
        ----------
        X : {array, frame, sparse} of shape (n_rows, n_columns)
            In a container that the model takes.

        Returns
        -------
        ndarray of shape (n_scores, n_rows)
        """
        raise NotImplementedError

    def outputs(self, X):
        """What the model's response method returns, (n_outputs, n_rows)."""
        raise NotImplementedError

    def gradient(self, X):
        """The response and its derivatives by the columns of rows.

        Returns
        -------
        outputs : ndarray of shape (n_outputs, n_rows)
        slopes : ndarray of shape (n_outputs, n_rows, n_columns)

        Raises
        ------
        NoGradient
            With the reason.
        """
        raise NoGradient(f"the form {type(self).__name__} has no gradient")

    @property
    def elements_per_row(self):
        """How many numbers the gradient of one row takes in memory."""
        return 1

    def after(self, steps):
        """The form of this model behind an affine map; None if it is of another kind.

        Parameters
        ----------
        steps : Affine
        """
        return

    def on(self, columns, n_columns):
        """The form of this model on a wider table; None if it is of another kind.

        Parameters
        ----------
        columns : ndarray of int
            The columns of the wider table that this form sees, in its own order. Any
            may occur twice.
        n_columns : int
        """
        if np.array_equal(columns, np.arange(n_columns)):
            return self
        return self.after(selection(columns, n_columns))

    @staticmethod
    def mixed(members, mix):
        """The form of mixed outputs of members as one form of this kind, or None.

        Parameters
        ----------
        members : list of Form
            All of this kind.
        mix : Mixed
        """
        return

    def behind(self, link):
        """The form of the link of this one's outputs, where that is of this kind."""
        return


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkedForm(Form):
    """A form whose response is a link of scores.

    Attributes
    ----------
    link : callable
        From scores to the response; see `links.py`.
    """

    link: object = IDENTITY
    single: bool = False

    def behind(self, link):
        return replace(self, link=link) if self.link is IDENTITY else None

    def outputs(self, X):
        return self.link(self.scores(X))[0]

    def gradient(self, X):
        """The chain rule."""
        scores, slopes = self.slopes(X)
        return self.link(scores)[0], self.link.chain(scores, slopes)

    def slopes(self, X):
        """Scores, and their derivatives of shape (n_scores, n_rows, n_columns)."""
        raise NotImplementedError


def numbers(X):
    """X as float64, array or CSC."""
    X = as_table(X).numeric()
    if X is None:
        raise NoGradient("X has columns that are not numbers")
    return X


class Read(NamedTuple):
    """A model inside another, and the form that was read from it."""

    form: Form
    model: object


@dataclass(frozen=True, eq=False, kw_only=True)
class Combined(LinkedForm):
    """One function of the outputs of member forms: votes, transformed targets.

    The scores are the members' outputs, one member's after another's, and the link is
    the function.

    Attributes
    ----------
    members : list of Read
    name : str
        The words before the members' paths in `response_path_`.
    """

    members: list
    name: str

    def scores(self, X):
        return np.concatenate([form.outputs(X) for form, _ in self.members])

    def slopes(self, X):
        outputs, slopes = zip(*(form.gradient(X) for form, _ in self.members))
        return np.concatenate(outputs), np.concatenate(slopes)

    @property
    def piecewise_constant(self):
        return all(form.piecewise_constant for form, _ in self.members)

    @property
    def elements_per_row(self):
        return 2 * sum(form.elements_per_row for form, _ in self.members)


@dataclass(frozen=True, eq=False, kw_only=True)
class BehindSteps(Form):
    """A form behind column-wise steps.

    Attributes
    ----------
    steps : Pipeline
        Fitted column-wise steps.
    source : ndarray of shape (n_model_columns,)
        The input column that each column behind the steps comes from.
    form : Form
    model : Model
        What comes behind the steps.
    """

    steps: object
    source: np.ndarray
    form: Form
    model: object

    @property
    def single(self):
        return self.form.single

    @property
    def piecewise_constant(self):
        return self.form.piecewise_constant

    def _behind(self, X):
        with users_code():
            return self.steps.transform(X)

    def outputs(self, X):
        return self.form.outputs(self._behind(X))

    def gradient(self, X):
        """The chain rule."""
        matrix = affine(self.steps, as_table(X).n_columns).matrix
        outputs, slopes = self.form.gradient(self._behind(X))
        flat = slopes.reshape(-1, slopes.shape[-1]) @ matrix.T
        return outputs, flat.reshape(*outputs.shape, matrix.shape[0])

    @property
    def elements_per_row(self):
        return 2 * self.form.elements_per_row


def mixed(members, matrix, name, shift=0.0, link=IDENTITY):
    """The form of link(matrix @ outputs + shift) of all members' outputs.

    It is of the members' own kind where that kind can be mixed, or else `Combined`.

    Parameters
    ----------
    members : list of Read
    matrix : ndarray of shape (n_mixes, n_blocks) or (n_blocks,)
        See `Mixed`.
    name : str
        See `Combined`.
    shift : float or ndarray of shape (n_outputs,)
    link : Link
    """
    forms = [member.form for member in members]
    mix = Mixed(np.atleast_2d(np.asarray(matrix, dtype=np.float64)), shift)
    alone = np.array_equal(mix.matrix, [[1.0]])
    if alone and link is IDENTITY and not np.any(shift):
        return forms[0]
    kind = type(forms[0])
    if all(type(form) is kind for form in forms):
        form = kind.mixed(forms, mix)
        if form is not None and link is not IDENTITY:
            form = form.behind(link)
        if form is not None:
            return form
    return combined(members, mix if link is IDENTITY else Then(mix, link), name)


def combined(members, link, name):
    """The `Combined` form of a link of members' outputs; see its attributes."""
    single = any(member.form.single for member in members)
    return Combined(members=members, link=link, name=name, single=single)
