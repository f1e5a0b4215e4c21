"""Damaged and made-up inputs by the thousand: what every reader must survive.

    python -m tests.fuzz --cases 1500 --seed 1
    python -m tests.fuzz --only run --cases 1 --first 4711 --seed 1    one case again

A case is a damaged run folder, XPlane file or Chrome trace, a made-up RunSpec or a made-up command
line (`cases`). It depends on its seed, kind and number alone. The readers that a verb or a page has
(`targets`) then have to answer, or to refuse in one sentence, within 20 s and 8 GB. Where the
damage can be known, as in all files with checksums, another answer than that for the undamaged
input needs a note; a spec has to keep each value as it was written, or be refused.
"""
