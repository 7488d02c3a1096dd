"""One line of a table for each feature of a study: how often the truth is inside."""

import numpy as np

HEAD = (
    f"{'':54s} {'truth':>8s} {'mean':>8s} {'error/spread':>12s} {'coverage':>8s} "
    f"{'p <= 0.05':>9s}"
)


def ends(fitted):
    """Lower and upper ends of the package's own 95% intervals, in order of features."""
    table = fitted.interval()
    listed = list(table["feature"])
    rows = [listed.index(name) for name in fitted.features_]
    lower, upper = table["lower"].to_numpy(), table["upper"].to_numpy()
    return lower[rows].astype(float), upper[rows].astype(float)


class Coverage:
    """What many samples said about importances whose true values are known.

    Parameters
    ----------
    truth : ndarray of shape (n_features,) or None
        None takes the mean of the estimates.
    """

    def __init__(self, truth=None):
        self.truth = truth
        self.values, self.errors, self.bounds, self.p_values = [], [], [], []

    def add(self, values, errors, bounds, p_values=None):
        """Estimates, their standard errors and intervals in one sample."""
        self.values.append(values)
        self.errors.append(errors)
        self.bounds.append(bounds)
        self.p_values.append(
            np.full(len(values), np.nan) if p_values is None else p_values
        )

    def add_fitted(self, fitted):
        """Those of a fitted importance."""
        drawn = getattr(fitted, "monte_carlo_errors_", None)
        drawn = 0.0 if drawn is None else drawn
        errors = np.hypot(fitted.standard_errors_, drawn)
        self.add(fitted.importances_, errors, ends(fitted))

    def report(self, name):
        """Print a line per feature."""
        values, errors = np.array(self.values), np.array(self.errors)
        lower, upper = np.array(self.bounds).swapaxes(0, 1)
        truth = values.mean(axis=0) if self.truth is None else self.truth
        truth = np.broadcast_to(truth, values.shape[1:])
        inside = ((lower <= truth) & (truth <= upper)).mean(axis=0)
        ratio = np.sqrt(np.mean(errors**2, axis=0)) / values.std(axis=0)
        p_values = np.array(self.p_values)
        for j, true in enumerate(truth):
            small = np.mean(p_values[:, j] <= 0.05)
            small = "" if np.isnan(p_values).any() else f"{small:9.3f}"
            print(
                f"{name + f', feature {j}':54s} {true:8.4f} {values[:, j].mean():8.4f} "
                f"{ratio[j]:12.3f} {inside[j]:8.3f} {small}",
                flush=True,
            )
