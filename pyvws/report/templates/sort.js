// A click on a heading sorts its table, a second click turns the order round.
for (const button of document.querySelectorAll("table.sorts thead button")) {
  button.addEventListener("click", () => {
    const cell = button.parentElement;
    const body = cell.closest("table").tBodies[0];
    const up = cell.getAttribute("aria-sort") !== "ascending";
    for (const other of cell.parentElement.children) other.removeAttribute("aria-sort");
    cell.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => row.cells[cell.cellIndex].textContent.trim();
    const size = (row) => (isNaN(parseFloat(key(row))) ? -Infinity : parseFloat(key(row)));
    const numbers = cell.dataset.numbers === "yes";
    const rows = [...body.rows].sort((a, b) =>
      numbers ? size(a) - size(b) : key(a).localeCompare(key(b), "en", { numeric: true })
    );
    body.append(...(up ? rows : rows.reverse()));
  });
}
