"""What a proposal notes on a column: why it is dropped, and what else it may be.

A later look at the columns tells by its note what the first one took a column for.
"""

from __future__ import annotations

from typing import Final

ONE: Final = "one date in all records"
CALENDAR: Final = (
    "whole numbers that look like dates such as 20001231; write them as 2000-12-31, and they are "
    "proposed as dates"
)
ID: Final = (
    'every value differs, as in an id or free text; the role "id" numbers the synthetic records'
)
ROWS: Final = (
    "it rises by one from row to row, as row names do; leave it out, or number the synthetic "
    'records by the role "id"'
)
ID_OR_AMOUNT: Final = (
    'every value differs, as in an id; the role "id" numbers the synthetic records, and amounts '
    "take a model and a range"
)
AMOUNT_OR_ID: Final = 'every value differs; ids take the role "id" or "drop"'
LARGE: Final = (
    'whole numbers beyond 2^53, as ids have; the role "id" numbers the synthetic records, and ids '
    "that several records share stand as unit above the columns"
)
INFINITE: Final = "infinite values; make empty cells of them, or finite numbers"
TEXT: Final = (
    "free text, or a code of very many levels; a code takes its levels and group_by, and ids that "
    "several records share stand as unit above the columns"
)
UNIT: Final = (
    "several records share an id, as those of a household or of one person do; unit, above the "
    "columns, says which id makes them one unit of privacy"
)
MANY_CODES: Final = (
    "whole numbers of no smooth law, as a code of very many levels has; it takes its levels and "
    "group_by, ids that several records share stand as unit above the columns, and an amount takes "
    "a model and a range"
)
CODE: Final = "whole numbers of no smooth law, as codes have; an amount takes a model and a range"
NAMED: Final = "its name is one of codes; an amount takes a model and a range"
NAMED_ID: Final = (
    "its name is one of ids; ids that several records share stand as unit above the columns, and "
    "an amount takes a model and a range"
)
NUMBERED: Final = (
    "its values are numbered, as ids are; ids that several records share stand as unit above the "
    "columns, and a code takes its levels"
)
NUMBERED_CODES: Final = (
    "its values are numbered, as codes and ids are; of ids that several records share take the "
    "levels out, and name it as unit above the columns"
)
HELD: Final = (
    "records with one value of it share other values too, as those of one employer or place do; "
    "name it as unit above the columns, or give its levels if it is no unit"
)
TIMES: Final = "times of the day; make dates of them, or numbers such as seconds"
OTHER: Final = (
    "neither numbers, dates, text, truth values nor categories; turn the column into one of these"
)
RARE: Final = (
    "too few records share its values, so none is listed; give the levels or the range that a "
    "codebook names"
)
ALIKE: Final = (
    "two levels spell one number, as 1 and 01 do; noisy-counts takes no such column, so recode one"
)
SPELLED: Final = "numbers with {}; write them with digits and a decimal point alone"
OTHER_DATES: Final = (
    "dates in another spelling; write them as 2000-12-31, and they are proposed as dates"
)
