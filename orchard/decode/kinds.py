"""What bytes are, told by their first bytes and never by a file's name."""

from __future__ import annotations

import re

from orchard.decode.refusal import PictureRefused

PICTURE_FORMATS = (
    "JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF", "ICO", "PPM", "JPEG2000",
)  # fmt: skip

_EXTENSIONS: dict[str, tuple[str, ...]] = {
    "JPEG": ("jpg", "jpeg", "jpe", "jfif", "mpo", "jps"),
    "PNG": ("png", "apng"),
    "WEBP": ("webp",),
    "GIF": ("gif",),
    "BMP": ("bmp", "dib"),
    "TIFF": ("tif", "tiff"),
    "HEIF": ("heic", "heif", "hif"),
    "AVIF": ("avif", "avifs"),
    "ICO": ("ico",),
    "PPM": ("ppm", "pgm", "pbm", "pnm"),
    "JPEG2000": ("jp2", "j2k", "jpx", "jpf", "j2c", "jpc"),
}

_AVIF_BRANDS = {b"avif", b"avis"}
_HEIF_BRANDS = {
    b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1", b"msf1",
}  # fmt: skip

# Prefix → what a person would call it. Longer prefixes stand before shorter ones.
_OTHER_KINDS: tuple[tuple[bytes, str], ...] = (
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "a JPEG XL picture"),
    (b"\xff\x0a", "a JPEG XL picture"),
    (b"8BPS", "a Photoshop document"),
    (b"%PDF", "a PDF document"),
    (b"%!PS", "a PostScript document"),
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document or Thumbs.db"),
    (b"\x00\x05\x16\x07", "a companion file that macOS writes (._name)"),
    (b"\x00\x00\x00\x01Bud1", "a folder note that macOS writes (.DS_Store)"),
    (b"SQLite format 3\x00", "a SQLite database"),
    (b"\x1aE\xdf\xa3", "a video (Matroska or WebM)"),
    (b"ID3", "a sound recording (MP3)"),
    (b"OggS", "a sound recording (Ogg)"),
    (b"fLaC", "a sound recording (FLAC)"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
)

_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_ADVICE = "Upload the photo itself as JPEG, PNG, WebP, GIF, BMP, TIFF, HEIC or AVIF"


def picture_format(payload: bytes) -> str | None:
    """The picture format that the bytes claim, one of `PICTURE_FORMATS`, or None.

    Reads the first 64 bytes only; whether the rest keeps the promise shows in decoding.
    """
    head = payload[:64]
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WEBP"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if _is_bitmap(head):
        return "BMP"
    # 42 is TIFF, 43 is BigTIFF; "CR" at 8 is Canon's raw format inside a TIFF.
    if head.startswith((b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")) and head[8:10] != b"CR":
        return "TIFF"
    if head[4:8] == b"ftyp":
        return _container_format(head)
    if head.startswith(b"\x00\x00\x01\x00"):
        return "ICO"
    if re.match(rb"P[1-6][\s#]", head):
        return "PPM"
    if head.startswith((b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP  \r\n\x87\n")):
        return "JPEG2000"
    return None


def extension_fits(extension: str, picture: str) -> bool:
    """Whether a file extension (no dot, any case) is one of the picture format's usual ones."""
    return extension.lower() in _EXTENSIONS[picture]


def refusal_of(payload: bytes) -> PictureRefused:
    """The refusal that names what bytes without a picture format are."""
    if not payload:
        return PictureRefused(
            "empty",
            "The file is empty (0 bytes)",
            way_out="Copy it again from the camera or the place it came from",
        )
    if not payload.strip(b"\x00"):
        return PictureRefused(
            "zero_bytes",
            f"The file holds {len(payload):,} zero bytes and no picture",
            way_out="The copy broke off or the disk failed; copy it again from its source",
        )
    other = other_kind(payload[:64])
    if other is not None:
        code = "unsupported_format" if "picture" in other or "Photoshop" in other else None
        return PictureRefused(
            code or "not_a_picture",
            f"This is {other} ({len(payload):,} bytes) and not a picture that can be read",
            way_out=_ADVICE,
        )
    text = as_text(payload[:4096])
    if text is not None:
        return _refusal_of_text(text, len(payload))
    return PictureRefused(
        "not_a_picture",
        f"The {len(payload):,} bytes are not a picture of any kind that is known",
        value=payload[:16].hex(" "),
        way_out=_ADVICE,
    )


def _is_bitmap(head: bytes) -> bool:
    """BM alone also begins many texts; the size of the information header decides."""
    return head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in (
        12, 16, 40, 52, 56, 64, 108, 124,
    )  # fmt: skip


def _container_format(head: bytes) -> str | None:
    """HEIF or AVIF by the brands of an ISO media file; None for videos."""
    size = min(int.from_bytes(head[:4], "big"), len(head))
    brands = [head[8:12]] + [head[at : at + 4] for at in range(16, size - 3, 4)]
    # A file may begin with the general brand mif1 and say AVIF only among the compatible ones.
    if _AVIF_BRANDS.intersection(brands):
        return "AVIF"
    if _HEIF_BRANDS.intersection(brands):
        return "HEIF"
    return None


def other_kind(head: bytes) -> str | None:
    """What a person would call bytes that are no picture, by their first 64; None: unknown."""
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "a sound recording (WAV)"
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        return "a video (AVI)"
    if head[4:8] == b"ftyp":
        return "a sound recording (M4A)" if head[8:11] == b"M4A" else "a video (MP4 or MOV)"
    if head[:3] in (b"II*", b"MM\x00") and head[8:10] == b"CR":
        return "a camera raw picture (CR2)"
    if len(head) > 1 and head[0] == 0xFF and head[1] in (0xFB, 0xF3, 0xF2):
        return "a sound recording (MP3)"
    for prefix, name in _OTHER_KINDS:
        if head.startswith(prefix):
            return name
    return None


def as_text(head: bytes) -> str | None:
    """The bytes as text, or None where they hold what no text holds."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head[: len(head) // 2 * 2].decode("utf-16", errors="replace")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            # The cut may fall into a character: up to three bytes at the end may be half of one.
            text = head.decode(encoding)
        except UnicodeDecodeError as error:
            if encoding == "cp1252" or error.start < len(head) - 3:
                continue
            text = head[: error.start].decode(encoding)
        return None if _CONTROL_CHARACTER.search(text) else text
    return None


def _refusal_of_text(text: str, size: int) -> PictureRefused:
    start = text.lstrip().lower()
    if start.startswith(("<!doctype html", "<html", "<head", "<body")) or "<html" in start[:1024]:
        return PictureRefused(
            "html",
            f"This is a web page (HTML, {size:,} bytes) and not a picture",
            way_out="A download most likely returned an error page; download the picture again",
        )
    if "<svg" in start[:1024]:
        return PictureRefused(
            "unsupported_format",
            f"This is a drawing (SVG, {size:,} bytes) and not a photo",
            way_out="Export it as PNG or JPEG",
        )
    if start.startswith("version https://git-lfs"):
        return PictureRefused(
            "text",
            "This is only Git LFS's pointer to the picture and not the picture",
            way_out="Run `git lfs pull` and upload again",
        )
    return PictureRefused(
        "text",
        f"This is a text file ({size:,} bytes) and not a picture",
        value=" ".join(text.split())[:40],
        way_out=_ADVICE,
    )
