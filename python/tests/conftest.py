import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

DEMO = Path(os.environ["TRACECONV_REPOSITORY"]) / "testdata" / "demo"


@pytest.fixture
def demo():
    """The folder of the recordings that come with the program."""
    return DEMO
