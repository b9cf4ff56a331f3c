"""Frames come back from bytes as they went in, whatever the pieces, and nothing altered passes."""

import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from granite.drivers.board import cobs
from granite.drivers.board.frame import Decoder, encode, judge
from granite.drivers.board.frame_kernel import CompiledDecoder, Encode, FrameKernel, frame_coding
from granite.drivers.board.wire import MAX_ENCODED, MAX_FRAME, VERSION, FrameVerdict
from granite.kernels.c_compiler import find_compiler

KERNEL = FrameKernel() if find_compiler() else None
DECODERS = [Decoder, *([lambda: CompiledDecoder(KERNEL)] if KERNEL else [])]
both = pytest.mark.parametrize("decoder_of", DECODERS, ids=["python", "compiled"][: len(DECODERS)])
ANY = st.binary(max_size=MAX_FRAME - 10)
NUMBER = st.integers(0, 65535)


@given(st.binary(max_size=1000) | st.binary(max_size=4).map(lambda b: b * 260))
def test_cobs_has_no_zero_and_one_byte_more_for_each_254(raw: bytes):
    encoded = cobs.encode(raw)
    assert 0 not in encoded
    assert len(encoded) <= len(raw) + len(raw) // 254 + 1
    assert cobs.decode(encoded) == raw


@pytest.mark.parametrize(
    ("raw", "encoded"),
    [
        (b"", "01"),
        (b"\0", "0101"),
        (b"\0\0", "010101"),
        (b"\x11\x22\0\x33", "0311220233"),
        (b"\x11\0\0\0", "0211010101"),
        (bytes(range(1, 255)), "ff" + bytes(range(1, 255)).hex()),
        (bytes(range(255)), "01ff" + bytes(range(1, 255)).hex()),
        (bytes(range(1, 256)), "ff" + bytes(range(1, 255)).hex() + "02ff"),
        (bytes([*range(2, 256), 0]), "ff" + bytes(range(2, 256)).hex() + "0101"),
    ],
)
def test_cobs_agrees_with_published_examples(raw: bytes, encoded: str):
    """Those of the encyclopedia's article, which follow Cheshire and Baker."""
    assert cobs.encode(raw).hex() == encoded


@both
@given(st.lists(st.tuples(st.integers(1, 255), NUMBER, NUMBER, ANY), max_size=5), st.integers(1, 97))
def test_frames_are_found_in_any_pieces(
    decoder_of: Callable[[], Decoder], frames: list[tuple[int, int, int, bytes]], piece: int
):
    stream = b"".join(encode(*frame) for frame in frames)
    decoder = decoder_of()
    decoded = [f for i in range(0, len(stream), piece) for f in decoder.feed(stream[i : i + piece])]
    assert [tuple(f) for f in decoded] == frames
    assert not decoder.is_within_frame


@both
@given(ANY, st.integers(0), st.integers(1, 255))
def test_a_changed_byte_is_noticed_and_the_next_frame_arrives(
    decoder_of: Callable[[], Decoder], payload: bytes, where: int, change: int
):
    first, second = bytearray(encode(3, 1, 0, payload)), encode(3, 2, 0, payload)
    first[where % len(first)] ^= change
    decoder = decoder_of()
    assert [f.sequence for f in decoder.feed(bytes(first) + second) if f.sequence != 1] == [2]


@both
def test_each_fault_is_counted_by_its_name(decoder_of: Callable[[], Decoder]):
    decoder = decoder_of()
    whole = encode(3, 1, 0, b"payload")
    for damaged in (
        b"\0" + b"\x01" * (MAX_ENCODED + 1) + b"\0",
        b"\0\x09abc\0",
        b"\0\x04abc\0",
        whole.replace(b"payload", b"paYload"),
        encode(3, 1, 0, b"payload", version=VERSION + 1),
    ):
        decoder.feed(damaged)
    assert {v: decoder.count[v] for v in FrameVerdict} == dict.fromkeys(FrameVerdict, 1) | {FrameVerdict.ACCEPTED: 0}
    assert decoder.version == VERSION + 1
    assert len(decoder.feed(whole)) == 1


def test_a_frame_of_301_bytes_is_too_long_even_if_its_crc_is_right():
    raw = bytes([VERSION]) * (MAX_FRAME - 3)
    raw += zlib.crc32(raw).to_bytes(4, "little")
    assert judge(cobs.encode(raw))[0] is FrameVerdict.OVERSIZE
    raw = bytes([VERSION]) * (MAX_FRAME - 4)
    assert judge(cobs.encode(raw + zlib.crc32(raw).to_bytes(4, "little")))[0] is FrameVerdict.ACCEPTED


@both
def test_a_stream_without_zeros_is_one_frame_that_is_too_long(decoder_of: Callable[[], Decoder]):
    decoder = decoder_of()
    for _ in range(1000):
        decoder.feed(b"\x55" * 1000)
    assert decoder.is_within_frame
    decoder.feed(b"\0")
    assert not decoder.is_within_frame
    assert decoder.count[FrameVerdict.OVERSIZE] == 1


def test_a_stream_without_zeros_does_not_grow():
    decoder = Decoder()
    for _ in range(1000):
        decoder.feed(b"\x55" * 1000)
    assert len(decoder._rest) == MAX_ENCODED + 1


@pytest.mark.skipif(KERNEL is None, reason="there is no C compiler")
@given(st.integers(0, 255), NUMBER, NUMBER, ANY)
def test_compiled_frames_have_the_bytes_of_those_in_python(kind: int, sequence: int, answers: int, payload: bytes):
    assert KERNEL.encode(kind, sequence, answers, payload) == encode(kind, sequence, answers, payload)


@pytest.mark.parametrize("coded", [encode, *([KERNEL.encode] if KERNEL else [])])
def test_a_payload_that_no_frame_can_have_is_refused_with_and_without_a_compiler(coded: Encode):
    assert len(Decoder().feed(coded(3, 1, 0, bytes(290)))) == 1
    with pytest.raises(ValueError, match="at most 290 bytes, not 291"):
        coded(3, 1, 0, bytes(291))


def test_without_a_compiler_frames_are_coded_in_python(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRANITE_NO_COMPILER", "1")
    assert (frame_coding()[0], type(frame_coding()[1])) == (encode, Decoder)
