"""The simulated lab: the plant, its table, and every device with its imperfections, behind the driver contract."""

#: the simulated device of each kind
KINDS = {
    "joint_sensors": "joint_sensors:SimulatedJointSensors",
    "vision": "vision:SimulatedVision",
    "camera": "camera.device:SimulatedCamera",
    "gyro": "gyro:SimulatedGyro",
    "pressure": "pressure:SimulatedPressure",
    "force_gauges": "force_gauges:SimulatedForceGauges",
    "strain_gauges": "strain_gauges:SimulatedStrainGauges",
    "motors": "motors:SimulatedMotors",
    "momentum_wheel": "momentum_wheel:SimulatedMomentumWheels",
    "thrusters": "thrusters:SimulatedThrusters",
    "grips": "grips:SimulatedGrips",
    "photodiode": "photodiode:SimulatedPhotodiode",
    "emergency_stop": "emergency_stop:SimulatedEmergencyStop",
}
