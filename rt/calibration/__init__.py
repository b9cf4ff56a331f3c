"""Calibration procedures, one file each: what the operator does, what the devices measure, and the fit."""

#: the procedure of each kind, in the order in which a testbed is calibrated
KINDS = {
    "joints": "joints:Joints",
    "force": "force:Force",
    "strain": "strain:Strain",
    "motors": "motors:Motors",
    "thrusters": "thrusters:Thrusters",
    "inertia": "inertia:Inertia",
}
