"""Kinds of devices, one file each: the data sheet as a table, and the names and units of its signals.

A new kind is a file here and its simulation in `sim/`; a user's own is one class in a file that the testbed names.
"""

KINDS = {
    "joint_sensors": "joint_sensors:JointSensors",
    "tachometers": "joint_sensors:Tachometers",
    "vision": "vision:Vision",
    "camera": "camera:Camera",
    "gyro": "gyro:Gyro",
    "accelerometer": "accelerometer:Accelerometer",
    "pressure": "pressure:Pressure",
    "force_gauges": "force_gauges:ForceGauges",
    "strain_gauges": "strain_gauges:StrainGauges",
    "motors": "motors:Motors",
    "momentum_wheel": "momentum_wheel:MomentumWheels",
    "reaction_wheel": "momentum_wheel:MomentumWheels",  # the same device by its other name
    "thrusters": "thrusters:Thrusters",
    "grips": "grips:Grips",
    "photodiode": "photodiode:Photodiode",
    "emergency_stop": "emergency_stop:EmergencyStop",
}
