"""What columns are predicted by: R's designs and public ones, patterns, cells and units."""
