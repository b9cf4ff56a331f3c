"""A domain of ROS 2 for each process of tests."""

import os

import pytest


@pytest.fixture
def domain(monkeypatch):
    """A domain in which nobody else is."""
    number = 100 + os.getpid() % 120
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return number
