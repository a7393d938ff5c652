"""What the bytes of a recording are, told by their first bytes and never by a file's name."""

from __future__ import annotations

from orchard.decode.kinds import as_text, other_kind, picture_format
from orchard.decode.sound_refusal import SoundRefused

SOUND_FORMATS = ("WAV", "FLAC", "OGG", "MP3", "AIFF")

_EXTENSIONS: dict[str, tuple[str, ...]] = {
    "WAV": ("wav", "wave", "bwf", "rf64"),
    "FLAC": ("flac",),
    "OGG": ("ogg", "oga", "opus"),
    "MP3": ("mp3",),
    "AIFF": ("aif", "aiff", "aifc"),
}
SOUND_ENDINGS = frozenset(f".{ending}" for endings in _EXTENSIONS.values() for ending in endings)

_ADVICE = "Upload the recording as WAV, FLAC, OGG or MP3"
_CONVERT = "Convert it to WAV, FLAC or MP3 first, for example with `ffmpeg -i FILE FILE.wav`"

# Prefix → what a person would call it: sound that is not read here.
_OTHER_SOUNDS: tuple[tuple[bytes, str], ...] = (
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a Windows Media recording (WMA)"),
    (b"#!AMR", "a telephone recording (AMR)"),
    (b".snd", "a Sun recording (AU)"),
    (b"caff", "an Apple recording (CAF)"),
    (b"wvpk", "a WavPack recording"),
    (b"MAC ", "a Monkey's Audio recording"),
    (b"MThd", "notes of music (MIDI) without sound"),
)


def sound_format(payload: bytes) -> str | None:
    """The format that the bytes claim, one of `SOUND_FORMATS`, or None.

    Reads the first bytes only; whether the rest keeps the promise shows in decoding.
    """
    head = payload[:16]
    if head[:4] in (b"RIFF", b"RIFX", b"RF64") and head[8:12] == b"WAVE":
        return "WAV"
    if head.startswith(b"fLaC"):
        return "FLAC"
    if head.startswith(b"OggS"):
        return "OGG"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "AIFF"
    if head.startswith(b"ID3") or _is_mpeg_frame(head):
        return "MP3"
    return None


def extension_fits(extension: str, sound: str) -> bool:
    """Whether a file extension (no dot, any case) is one of the format's usual ones."""
    return extension.lower() in _EXTENSIONS[sound]


def refusal_of(payload: bytes) -> SoundRefused:
    """The refusal that names what bytes without a known sound format are."""
    size = len(payload)
    if not payload:
        return SoundRefused(
            "empty", "The file is empty (0 bytes)", way_out="Copy it again from its source"
        )
    if not payload.strip(b"\x00"):
        return SoundRefused(
            "zero_bytes",
            f"The file holds {size:,} zero bytes and no recording",
            way_out="The copy broke off or the disk failed; copy it again from its source",
        )
    head = payload[:64]
    if _is_adts_frame(head) or head[4:11] in (b"ftypM4A", b"ftypM4B"):
        kind = "M4A" if head[4:8] == b"ftyp" else "AAC"
        return SoundRefused(
            "unsupported_format",
            f"This is an {kind} recording ({size:,} bytes), whose coding (AAC) is not read here",
            way_out=_CONVERT,
        )
    for prefix, name in _OTHER_SOUNDS:
        if head.startswith(prefix):
            return SoundRefused(
                "unsupported_format",
                f"This is {name} ({size:,} bytes), which is not read here",
                way_out=_CONVERT,
            )
    picture = picture_format(payload)
    other = f"a picture ({picture})" if picture else other_kind(head)
    if other is not None:
        return SoundRefused(
            "not_audio",
            f"This is {other} ({size:,} bytes) and not a recording that can be read",
            way_out=_ADVICE,
        )
    text = as_text(payload[:4096])
    if text is not None:
        return _refusal_of_text(text, size)
    return SoundRefused(
        "not_audio",
        f"The {size:,} bytes are not a recording of any kind that is known",
        value=payload[:16].hex(" "),
        way_out=_ADVICE,
    )


def _is_mpeg_frame(head: bytes) -> bool:
    """An MPEG audio frame of layer I to III: eleven set bits, then fields that are not reserved
    (ISO/IEC 11172-3, 2.4.2.3)."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return False
    version, layer = head[1] >> 3 & 3, head[1] >> 1 & 3
    bit_rate, rate = head[2] >> 4, head[2] >> 2 & 3
    return version != 1 and layer != 0 and bit_rate not in (0, 15) and rate != 3


def _is_adts_frame(head: bytes) -> bool:
    """The header of a bare AAC stream: twelve set bits, layer 0."""
    return len(head) > 1 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0


def _refusal_of_text(text: str, size: int) -> SoundRefused:
    start = text.lstrip().lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<body")) or "<html" in start[:1024]:
        return SoundRefused(
            "html",
            f"This is a web page (HTML, {size:,} bytes) and not a recording",
            way_out="A download most likely returned an error page; download the recording again",
        )
    if start.startswith("version https://git-lfs"):
        return SoundRefused(
            "text",
            "This is only Git LFS's pointer to the recording and not the recording",
            way_out="Run `git lfs pull` and upload again",
        )
    return SoundRefused(
        "text",
        f"This is a text file ({size:,} bytes) and not a recording",
        value=" ".join(text.split())[:40],
        way_out=_ADVICE,
    )
