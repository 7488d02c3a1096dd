"""Examples of pages write into folders of their own, and need what is installed."""

from importlib.util import find_spec

import pytest

collect_ignore = [] if find_spec("sksurv") else ["survival.rst"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
