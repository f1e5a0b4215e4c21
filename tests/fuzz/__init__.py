"""Damaged runs and wrong requests by the thousand: what every reader must survive.

    python -m tests.fuzz --cases 100000 --seed 1 --processes 2
    python -m tests.fuzz --cases 100000 --seed 1 --minutes 30 --ledger rounds.jsonl
                                               as many as fit, after those that the file has
    python -m tests.fuzz --total rounds.jsonl  their sum
    python -m tests.fuzz --seed 1 --case 4711          one case again, with what it did
    python -m tests.fuzz --replay failures/1-4711.json

A case is a copy of a sound run with one to three mutations (`mutations`), or a wrong request
(`requests`). The summary, the list of runs and one of ten cheap readers, in every fifth case also
one of seven expensive ones (`targets`), then have to answer, or to refuse in one sentence: no other
exception, no more than 10 s, no more than 2 GB, and no number that differs from the sound run's
without a note (`judge`). A case depends on its seed and number alone.
"""
