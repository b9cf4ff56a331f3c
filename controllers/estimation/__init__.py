"""Estimators, one file each: from what was measured to q and u of the model."""

KINDS = {"kalman": "kalman:KalmanEstimator"}
