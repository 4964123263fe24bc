"""What a study prints."""

from pyvws_studies.replicates import Report
from rich.console import Console


def report_text(report: Report) -> str:
    """The parts of a report as a console prints them, with single blanks."""
    console = Console(width=140)
    with console.capture() as capture:
        for part in report.shown:
            console.print(part)
    return " ".join(capture.get().split())
