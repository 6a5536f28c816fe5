#!/usr/bin/env python3
"""Makes apps/inspect/math_font.css, the font of the formulas in pages, from Latin Modern Math. Needs fonttools with brotli.

  math_font.py /usr/share/texmf/fonts/opentype/public/lm-math/latinmodern-math.otf > apps/inspect/math_font.css

That is the file of Debian's fonts-lmodern (fonts-lmodern, python3-fonttools and python3-brotli are needed here alone, by no build).
The subset has the letters, digits and signs that apps/inspect/arithmetic_mathml.cpp writes, and the MATH table with what radicals,
fractions, parentheses and braces grow from. Its licence is the GUST Font License, a form of the LPPL: a changed font has another name.
"""
import base64
import io
import sys

from fontTools import subset
from fontTools.ttLib import TTFont

NAME = "Nine Math"
GREEK = "αβγδθλμνξπρσψ"
CHARACTERS = [
    *map(chr, range(0x20, 0x7F)),
    *GREEK,
    *"\u00a0\u00b7\u0302\u2016\u2026\u2032\u2061\u2062\u2202\u2212\u2211\u221a\u2264",
]
# A single letter of <mi> is italic: browsers take these characters for it. Unicode has no italic h among them.
ITALIC = (
    [chr(0x1D434 + i) for i in range(52) if i != 33]
    + ["\u210e"]
    + [chr(0x1D6FC + ord(c) - ord("α")) for c in GREEK]
)

font = TTFont(sys.argv[1], recalcTimestamp=False)
options = subset.Options()
options.layout_features, options.name_IDs, options.hinting = [], [0, 13, 14], False
options.notdef_outline, options.drop_tables = True, [
    *options.drop_tables,
    "GDEF",
    "GPOS",
    "GSUB",
    "FFTM",
]
subsetter = subset.Subsetter(options)
subsetter.populate(text="".join(CHARACTERS + ITALIC))
subsetter.subset(font)
missing = [hex(ord(c)) for c in CHARACTERS + ITALIC if ord(c) not in font.getBestCmap()]
if missing:
    sys.exit("the font lacks " + ", ".join(missing))
for number, text in (
    (1, NAME),
    (2, "Regular"),
    (4, NAME),
    (6, NAME.replace(" ", "")),
    (10, "A subset of Latin Modern Math, made for the pages of Nine."),
):
    font["name"].setName(text, number, 3, 1, 0x409)
cff = font["CFF "].cff
cff.fontNames = [NAME.replace(" ", "")]
cff.topDictIndex[0].FamilyName = cff.topDictIndex[0].FullName = NAME
font.flavor, out = "woff2", io.BytesIO()
font.save(out)
print(
    f"""/* Made by apps/inspect/math_font.py: {NAME}, a subset of Latin Modern Math. Copyright 2012-2014 for the Latin Modern math extensions
   by B. Jackowski, P. Strzelczyk and P. Pianowski (on behalf of TeX Users Groups). GUST Font License. */
@font-face {{ font-family: "{NAME}"; src: url(data:font/woff2;base64,{base64.b64encode(out.getvalue()).decode()}) format("woff2"); }}"""
)
