"""Estimators, one file each: from measurements to q and u of the model."""

KINDS = {
    "held_object": "held_object:HeldObjectEstimator",
    "kalman": "kalman:KalmanEstimator",
}
