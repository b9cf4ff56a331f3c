"""Calibration procedures, one file each: what the operator does, what the devices measure, and the fit."""

#: the procedure of each kind, in the order in which a testbed is calibrated
KINDS = {
    "camera": "camera:CameraProcedure",
    "joints": "joints:JointsProcedure",
    "force": "force:ForceProcedure",
    "strain": "strain:StrainProcedure",
    "motors": "motors:MotorsProcedure",
    "thrusters": "thrusters:ThrustersProcedure",
    "inertia": "inertia:InertiaProcedure",
    "latency": "latency:LatencyProcedure",
}
#: those by the log of a flight, which is flown by `granite run` under the guard
FLOWN = {
    "inertia": "flight_inertia:FlightInertia",
    "table": "table:FlownTable",
    "residuals": "flight_residuals:FlightResiduals",
}
