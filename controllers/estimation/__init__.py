"""Estimators, one file each: from measurements to q and u of the model."""

KINDS = {"kalman": "kalman:KalmanEstimator"}
