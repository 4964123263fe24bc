"""What is public of a table and of its columns, and values by it: levels, numbers, dates, rules."""
