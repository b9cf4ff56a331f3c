"""A picture as a small PNG file: few colours, as plots have them."""

import io

from PIL import Image

#: colours of a saved picture
COLOURS = 96


def small_png(picture: Image.Image, width: int) -> bytes:
    """The picture, so many pixels wide."""
    height = round(picture.height * width / picture.width)
    small = picture.convert("RGB").resize((width, height), Image.Resampling.LANCZOS)
    content = io.BytesIO()
    small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(content, "png", optimize=True)
    return content.getvalue()
