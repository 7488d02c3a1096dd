"""FIRM for sequences: oligomers, the weighted degree kernel, and their importance."""

from skvarimp.sequence._background import oligomer_frequencies
from skvarimp.sequence._importance import PositionalOligomerImportance
from skvarimp.sequence._kernel import weighted_degree_kernel
from skvarimp.sequence._motif import MotifProfile
from skvarimp.sequence._plots import (
    MotifDisplay,
    OligomerHeatmapDisplay,
    SequenceLogoDisplay,
)
from skvarimp.sequence._vectorizer import OligomerVectorizer
from skvarimp.sequence._weights import OligomerWeights

__all__ = [
    "OligomerVectorizer",
    "weighted_degree_kernel",
    "OligomerWeights",
    "PositionalOligomerImportance",
    "SequenceLogoDisplay",
    "oligomer_frequencies",
    "MotifProfile",
    "MotifDisplay",
    "OligomerHeatmapDisplay",
]
