"""A contact between two points of modules, or between a point and the ground."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import model_validator

from granite.config.base import Angle, Name, NotNegative, Positive, Table, Vector
from granite.config.errors import InputError

GROUND = "ground"


class Side(Table):
    """A named point of a module, or a point on the ground."""

    module: Name = GROUND  #: whose point it is, or the ground
    #: of the module
    point: Name | None = None
    #: on the ground: position, then roll, pitch, yaw (R = Rz Ry Rx)
    position_m: Vector = (0.0, 0.0)
    rotation_rad: tuple[Angle, Angle, Angle] = (0.0, 0.0, 0.0)  #: on the ground: roll, pitch, yaw (R = Rz Ry Rx)

    @property
    def grounded(self) -> bool:
        """Whether it is a point on the ground."""
        return self.module == GROUND

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Side:
        if self.grounded and self.point is not None:
            expected = "position_m or a module"
            raise InputError("the ground has no points", key="point", value=self.point, expected=expected)
        if not self.grounded and self.point is None:
            raise InputError.missing("point", f"a point of module '{self.module}'")
        for key, numbers in (("position_m", self.position_m), ("rotation_rad", self.rotation_rad)):
            if not self.grounded and any(numbers):
                expected = f"none, because point '{self.point}' has its own"
                raise InputError(key=key, value=list(numbers), expected=expected)
        return self


class Profile(Table):
    """amplitude sin(2 pi t / period + phase) + offset + speed t, t from the start of the run."""

    period_s: Positive | None = None  #: period of the sine; none: no sine
    phase_rad: Angle = 0.0  #: phase of the sine at the start of the run

    @property
    def terms(self) -> tuple[float, float, float]:
        """Amplitude, offset and speed."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _swings_in_a_period(self) -> Profile:
        amplitude = self.terms[0]
        if amplitude and self.period_s is None:
            raise InputError.missing("period_s", f"a number where the amplitude is {amplitude:g}")
        if not amplitude and (self.period_s is not None or self.phase_rad):
            key = "phase_rad" if self.period_s is None else "period_s"
            raise InputError(key=key, value=getattr(self, key), expected="none where there is no amplitude")
        return self


class LinearMotion(Profile):
    """A prescribed displacement along a direction."""

    amplitude_m: float = 0.0  #: amplitude of the sine
    offset_m: float = 0.0  #: constant part
    speed_m_s: float = 0.0  #: constant speed

    @property
    def terms(self) -> tuple[float, float, float]:
        """Amplitude, offset [m] and speed [m/s]."""
        return self.amplitude_m, self.offset_m, self.speed_m_s


class AngularMotion(Profile):
    """A prescribed angle about a direction."""

    amplitude_rad: float = 0.0  #: amplitude of the sine
    offset_rad: float = 0.0  #: constant part
    speed_rad_s: float = 0.0  #: constant rate

    @property
    def terms(self) -> tuple[float, float, float]:
        """Amplitude, offset [rad] and speed [rad/s]."""
        return self.amplitude_rad, self.offset_rad, self.speed_rad_s


class Push(Profile):
    """A force along a direction."""

    amplitude_n: float = 0.0  #: amplitude of the sine
    offset_n: float = 0.0  #: constant part

    @property
    def terms(self) -> tuple[float, float, float]:
        """Amplitude and offset [N]; it does not grow."""
        return self.amplitude_n, self.offset_n, 0.0


class Moment(Profile):
    """A moment about a direction."""

    amplitude_n_m: float = 0.0  #: amplitude of the sine
    offset_n_m: float = 0.0  #: constant part

    @property
    def terms(self) -> tuple[float, float, float]:
        """Amplitude and offset [N m]; it does not grow."""
        return self.amplitude_n_m, self.offset_n_m, 0.0


class PrescribedMotion(Table):
    """Prescribed motion of P relative to E along held directions, in the axes of E."""

    x: LinearMotion | None = None  #: displacement along x
    y: LinearMotion | None = None  #: displacement along y
    z: LinearMotion | None = None  #: displacement along z
    rx: AngularMotion | None = None  #: angle about x
    ry: AngularMotion | None = None  #: angle about y
    rz: AngularMotion | None = None  #: angle about z

    @property
    def profiles(self) -> dict[str, Profile]:
        """By direction."""
        return {name: profile for name, profile in self if profile is not None}

    @model_validator(mode="after")
    def _turns_about_one_axis(self) -> PrescribedMotion:
        axes = [name for name in self.profiles if name.startswith("r")]
        if len(axes) > 1:
            # Rates about two axes of E do not add up to two angles.
            raise InputError(f"{' and '.join(axes)} are given", key=axes[1], expected="one of rx, ry, rz")
        return self


class Forcing(Table):
    """Forces on P by E along free directions, in the axes of E."""

    x: Push | None = None  #: force along x
    y: Push | None = None  #: force along y
    z: Push | None = None  #: force along z
    rx: Moment | None = None  #: moment about x
    ry: Moment | None = None  #: moment about y
    rz: Moment | None = None  #: moment about z

    @property
    def profiles(self) -> dict[str, Profile]:
        """By direction."""
        return {name: profile for name, profile in self if profile is not None}


class Compliance(Table):
    """Springs and dampers between the two sides of a contact, along the directions that its kind holds."""

    stiffness_n_m: NotNegative = 0.0  #: spring along held translations
    damping_n_s_m: NotNegative = 0.0  #: damping along held translations
    stiffness_n_m_rad: NotNegative = 0.0  #: spring about held rotations
    damping_n_m_s_rad: NotNegative = 0.0  #: damping of held rotations

    def along(self, directions: Iterable[str]) -> tuple[list[float], list[float]]:
        """Stiffness and damping along directions."""
        turns = [direction.startswith("r") for direction in directions]
        stiffness = [self.stiffness_n_m_rad if turn else self.stiffness_n_m for turn in turns]
        damping = [self.damping_n_m_s_rad if turn else self.damping_n_s_m for turn in turns]
        return stiffness, damping


class Contact(Table):
    """P, the second side, is held against E, the first; the modes of the kind are fixed in the axes of E."""

    name: Name  #: of the contact, unique in the testbed
    #: one that comes with Granite, or `FILE.py:NAME`
    kind: str
    first: Side  #: E, whose axes the contact has
    second: Side  #: P, which is held
    #: parameters of the kind, such as the pitch of a screw
    parameters: dict[str, float] = {}  # noqa: RUF012
    compliance: Compliance | None = None  #: springs and dampers along held directions; none: it is rigid
    motion: PrescribedMotion = PrescribedMotion()  #: prescribed motion along held directions
    force: Forcing = Forcing()  #: prescribed forces along free directions
