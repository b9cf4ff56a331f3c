"""Models in the virtual machine: the compiled functions to the bit, and there at once."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from granite.config.modules import Module
from tests.support.dense_model import Model


@functools.cache
def interpreted(module: Module) -> Model:
    """The model of a module, made without the compiler."""
    model = Model(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRANITE_NO_COMPILER", "1")
        model.mass_matrix(np.zeros(model.n_q))
    return model
