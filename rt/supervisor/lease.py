"""The lease: which operator has the controls, since when; everybody else may hold and stop, and take it over.

Nobody has it until an operator takes it or has a goal accepted; until then everybody may command. It is a function of
the requests alone, so a replay has the same holder in every tick.
"""

from __future__ import annotations

from granite.config.expected_modes import GOALS
from granite.config.reasons import Reason
from granite.config.run_modes import Reply, Request, RequestKind

#: what only the holder may ask for
_LEASED = frozenset(
    {
        *GOALS,
        RequestKind.ARM,
        RequestKind.START,
        RequestKind.RESTART,
        RequestKind.FLOAT,
        RequestKind.RESET,
        RequestKind.SET_GAIN,
    }
)


class Lease:
    """The lease of one run."""

    def __init__(self) -> None:
        #: number of the operator's key; 0: nobody
        self.holder = 0
        #: [s]
        self.since = 0.0

    def keeps_out(self, request: Request) -> bool:
        """Whether this may be asked by the holder only, who is another one; the loop's own terminal is never out."""
        return bool(self.holder and request.sender not in (0, self.holder) and request.ask in _LEASED)

    def ask(self, t: float, request: Request) -> Reply:
        """Take it (the argument is the sender), pass it on to another, or give it back (0)."""
        if request.sender not in (request.argument, self.holder) or request.argument < 0:
            return Reply.NOT_IN_CONTROL
        self._give(t, request.argument)
        return Reply.DONE

    def note(self, t: float, request: Request, reply: Reply) -> None:
        """The first goal takes the lease; an operator who is lost has none."""
        if request.ask in GOALS and reply is Reply.DONE and not self.holder and request.sender > 0:
            self._give(t, request.sender)
        is_lost = request.ask is RequestKind.REPORT and request.argument == Reason.OPERATOR_LOST
        if is_lost and request.sender == self.holder:
            self._give(t, 0)

    def _give(self, t: float, holder: int) -> None:
        if holder != self.holder:
            self.holder, self.since = holder, t
