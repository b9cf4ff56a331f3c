"""Tolerances of the model and of its simulation, by quantity. Each stands here once, with its unit and its reason.

Lengths and angles share one number where constraints of both kinds are compared: [m, rad] is metres or radians.
"""

from __future__ import annotations

# --- time

#: two times closer than this are the same time: the rounding error of a clock that has run for a day is 1e-11 [s]
SAME_TIME_S = 1e-9
#: the same as a part of a step, where a time is divided by a step length
SAME_STEP = 1e-6

# --- position errors of constraints

#: a stop touches: Newton's method in time ends here, an order above the rounding error of positions of 1 m [m]
TOUCHING_GAP = 1e-13
#: poses are projected until no gap is larger: two orders above rounding error, so that the iteration ends [m, rad]
PROJECTED_GAP = 1e-12
#: stops closer than this at the time of an impact take part in it [m]
SIMULTANEOUS_GAP = 1e-9
#: a contact counts as closed: above what projection leaves where constraints depend on each other [m, rad]
CLOSED_GAP = 1e-9
#: one Newton step after an integration step leaves a smaller gap, or the pose was not near a solution [m, rad]
NEWTON_GAP = 1e-6
#: a closed contact with a larger gap is torn: its prescribed motion needs more than the modules can do [m, rad]
TORN_GAP = 1e-2

# --- velocity errors of constraints

#: velocities that differ by less are equal, in an impact and for the approach to a stop [m/s]
SAME_SPEED = 1e-9
#: a contact that starts to slip gets this speed, so that its friction has a direction [m/s]
INITIAL_SLIP = 1e-9
#: a larger slip after projection means that prescribed motions contradict each other [m/s, rad/s]
CONTRADICTORY_SLIP = 1e-6

# --- position and velocity errors together

#: a larger error would make dependent constraints look independent to a linearisation [m, rad], [m/s, rad/s]
LINEARISATION_ERROR = 1e-10
#: errors of a start up to this are decimals that a person did not type [m, rad], [m/s, rad/s]
TYPED_ERROR = 1e-6

# --- forces

#: a stop pulls if its force is below minus this; also the absolute part of the limit of static friction [N]
PULLING_FORCE = 1e-9
#: a stop pulls in an impact if its impulse is below minus this [N s]
PULLING_IMPULSE = 1e-12
#: relative: static friction holds up to its limit and this much more; equal solutions of a friction problem
FRICTION_ROUNDING = 1e-9

# --- dependence of constraints, as sines of angles in the metric of the mass matrix

#: square of the sine above which elimination keeps enough digits; below, singular values are used
ELIMINATION_SINE_SQUARED = 1e-6
#: constraints at a smaller sine depend on each other: of all constraint forces the smallest are taken
DEPENDENT_SINE = 1e-9
#: square of the part of a unit force that no motion shows: above, the constraint depends on others
HIDDEN_PART = 1e-6
#: a constraint whose Jacobian has no larger entry cannot move: the entries are rounding error [1, m/rad]
IMMOVABLE_ROW = 1e-12
#: forces with a shorter lever, per metre between contacts, do not turn a module
NO_LEVER = 1e-6
#: relative: a residual of the linearised constraints that should vanish
LINEARISED_RESIDUAL = 1e-7
#: added to a divisor against 0 / 0; smaller than any number that it is added to
NO_DIVISION_BY_ZERO = 1e-300

# --- modes

#: squares of eigenvalues are known to this part of the largest: rigid-body modes are double zeros
EIGENVALUE_ROUNDING = 1e-13
#: eigenvalues below this count as rigid-body modes: a period of two months [rad/s]
RIGID_MODE = 1e-6
#: accelerations below this count as equilibrium [m/s^2, rad/s^2]
EQUILIBRIUM = 1e-6
#: relative: a frequency that one more shape a link changes by more is not that of the beam
COARSE_MODE = 0.01

# --- flexible links

#: relative: integrals of orthogonal shapes below this are rounding error
INTEGRAL_ROUNDING = 1e-13
