"""The tables that come with the program; ``bundled/README.md`` says where each is from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from privexplorer.data.reference import TableColumn
from privexplorer.data.source import Source
from privexplorer.errors import DataError


@dataclass(frozen=True)
class BundledTable:
    """One table that comes with the program.

    ``column`` is the column shown first, ``counts`` its count column (empty when each row is one
    record), ``file`` the name of the file with the table.
    """

    id: str
    title: str
    description: str
    provenance: str
    column: str
    counts: str
    file: str

    def reference(self) -> TableColumn:
        """Name the column shown first, as scenarios do."""
        return TableColumn(data=self.id, column=self.column, counts=self.counts)


_SKLEARN = "As distributed with scikit-learn"
_TABLES = (
    BundledTable(
        "census-surnames",
        "Surnames, US census 2000",
        "20,412 surnames of 86,080 people: the census counts divided by 2,421.25, rounded, zeros left out.",
        "US Census Bureau, surname file of the 2000 census; public domain.",
        "surname",
        "count",
        "census_2000_surnames.csv",
    ),
    BundledTable(
        "hamlet-words",
        "Words of Hamlet",
        "4,756 different words of 32,053 in the play, stage directions included, all in lower case.",
        "William Shakespeare, Hamlet; public domain. The published study counts 31,999 words, 4,804 different.",
        "word",
        "count",
        "hamlet_words.csv",
    ),
    BundledTable(
        "iris",
        "Iris flowers",
        "Length and width (cm) of sepals and petals of 150 irises of three species.",
        f"R. A. Fisher, 1936; UCI Machine Learning Repository. {_SKLEARN}.",
        "species",
        "",
        "iris.csv",
    ),
    BundledTable(
        "wine",
        "Wines of three cultivars",
        "Thirteen chemical measurements of 178 wines from one region of Italy.",
        f"S. Aeberhard and M. Forina, 1992; UCI Machine Learning Repository. {_SKLEARN}.",
        "cultivar",
        "",
        "wine.csv",
    ),
    BundledTable(
        "breast-cancer",
        "Breast tumours, Wisconsin",
        "Thirty measurements of cell nuclei from 569 breast tumours, and the diagnosis.",
        f"W. Wolberg, O. Mangasarian, N. Street, W. Street, 1995; UCI Machine Learning Repository. {_SKLEARN}.",
        "diagnosis",
        "",
        "breast_cancer.csv",
    ),
    BundledTable(
        "diabetes",
        "Diabetes patients",
        "Age, sex, body mass index, blood pressure, six serum values and progression of 442 patients.",
        f"B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, 2004. {_SKLEARN}, in the original units.",
        "age",
        "",
        "diabetes.csv",
    ),
    BundledTable(
        "digits",
        "Handwritten digits",
        "Brightness (0 to 16) of the 8 by 8 pixels of 1,797 handwritten digits, and the digit meant.",
        f"E. Alpaydin and C. Kaynak, 1998; UCI Machine Learning Repository. {_SKLEARN}.",
        "digit",
        "",
        "digits.csv",
    ),
    BundledTable(
        "linnerud",
        "Fitness club",
        "Three exercises and three body measurements of twenty men in a fitness club.",
        f"A. C. Linnerud; M. Tenenhaus, 1998. {_SKLEARN}.",
        "Chins",
        "",
        "linnerud.csv",
    ),
)


def bundled() -> tuple[BundledTable, ...]:
    """Give all tables that come with the program; the histograms are first."""
    return _TABLES


@lru_cache(maxsize=len(_TABLES))
def load(id: str) -> Source:
    """Read a bundled table's bytes.

    Raises
    ------
    DataError
        No bundled table has this id; the sentence lists those there are.
    """
    for table in _TABLES:
        if table.id == id:
            data = resources.files("privexplorer.data").joinpath("bundled", table.file).read_bytes()
            return Source.from_bytes(table.file, data, id=id)
    listed = ", ".join(table.id for table in _TABLES)
    raise DataError(f"No bundled table is called “{id}”; there are {listed}.", field="data")


__all__ = ["BundledTable", "bundled", "load"]
