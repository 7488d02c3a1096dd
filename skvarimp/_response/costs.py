"""What a response costs: `estimation="auto"` decides by it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """What a response costs. The unit is one number written: about 20 nanoseconds.

    Attributes
    ----------
    call : float
        The model itself, for one row.
    row : float
        A row's curve, whatever its number of values.
    cell : float
        Each value of a curve.
    joint : float or None
        Each joint value of columns that move together; None: the same as `cell`.
    """

    call: float = 1.0
    row: float = 0.0
    cell: float = 1.0
    joint: float | None = None

    def evaluations(self, n_rows, n_cells):
        """Cost of curves of one column, in calls of the model; 0 if it is constant."""
        if n_cells == 1:
            return 0.0
        return n_rows * (self.row + self.cell * n_cells) / self.call

    @staticmethod
    def added(parts, n_outputs):
        """Costs of several members and of one function of their outputs.

        Parameters
        ----------
        parts : list of Costs
        n_outputs : int
        """
        joint = [c.cell if c.joint is None else c.joint for c in parts]
        return Costs(
            sum(c.call for c in parts),
            sum(c.row for c in parts),
            sum(c.cell for c in parts) + n_outputs,
            sum(joint) + n_outputs,
        )
