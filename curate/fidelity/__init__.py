"""How much of a page's formulas, tables, code, structure and text arrives in its Markdown: measured, not asserted."""
