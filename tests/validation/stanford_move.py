"""The move of the Stanford report's computed-torque example."""

#: our case: start, amplitudes and gains of the one case
CASE = (
    "loop.duration_s=20.0",
    "controller.law.gains.joints={stiffness_1_s2=0.64, damping_1_s=1.6}",
    "simulation.initial={shoulder_rad=0.4, elbow_rad=0.9}",
    "behaviour.waypoints=[{duration_s=20.0, target={base_x_m=1.0, base_y_m=0.5, base_heading_rad=1.5707963267948966,"
    " shoulder_rad=-0.2, elbow_rad=1.4}}]",
    "safety.table_m=[-5.0, -5.0, 5.0, 5.0]",
)
